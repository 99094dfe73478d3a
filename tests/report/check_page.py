#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py PAGE.html [INPUT.json ...] - whether a report is whole: well-formed, with nothing in it that is fetched or run, no
coordinate that is no number or stands outside its picture, no words on words, and every number of the inputs in a table.
With --svg, whether pictures that stand alone are."""
import json
import math
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"
faults = []


def fault(text):
    if len(faults) < 40:
        faults.append(text)


def width_of(text, size):
    """In a face of ordinary width; browsers are asked by in_browser.sh."""
    return size * sum(0.3 if c in "iljI|.,:;!' " else 0.85 if c in "mwMW%@" else 0.55 for c in text)


def box_of(text):
    size = float(text.get("font-size"))
    width = width_of("".join(text.itertext()), size)
    shift = {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    turned = re.match(r"translate\(([-\d.]+) ([-\d.]+)\) rotate\(-90\)", text.get("transform") or "")
    if turned:
        x, y = float(turned[1]), float(turned[2])
        return (x - 0.75 * size, y + shift - width, x + 0.2 * size, y + shift)
    x, y = float(text.get("x")), float(text.get("y"))
    return (x - shift, y - 0.75 * size, x - shift + width, y + 0.2 * size)


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 0.5


def numbers_of(svg):
    """Every coordinate: its element, its name, its value."""
    across = {"x", "x1", "x2", "cx", "width"}
    down = {"y", "y1", "y2", "cy", "height"}
    for element in svg.iter():
        for name, value in element.attrib.items():
            if name in across or name in down or name in ("r", "rx", "font-size", "stroke-width"):
                yield element, "across" if name in across else "down" if name in down else "size", value
            if name == "points":
                for point in value.split():
                    yield element, "across", point.split(",")[0]
                    yield element, "down", point.split(",")[1]


def check_svg(svg, name):
    box = [float(x) for x in svg.get("viewBox").split()]
    if not (0 < box[2] < 2000 and 0 < box[3] < 20000):
        fault(f"{name}: a picture of {box[2]} x {box[3]}")
    if svg.find(f"{SVG}title") is None or svg.find(f"{SVG}desc") is None:
        fault(f"{name}: no title or no desc")
    for element, kind, value in numbers_of(svg):
        if element is svg:
            continue
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        limit = box[2] if kind == "across" else box[3]
        if not math.isfinite(number) or not -3 <= number <= limit + 3:
            fault(f"{name}: {element.tag.split('}')[1]} has {kind} {value}, outside of {limit}")
    texts = [(box_of(t), "".join(t.itertext())) for t in svg.iter(f"{SVG}text") if t.get("x") or "rotate(-90)" in t.get("transform")]
    for i, (a, words) in enumerate(texts):
        if a[0] < -2 or a[2] > box[2] + 2 or a[1] < -2 or a[3] > box[3] + 2:
            fault(f"{name}: \"{words}\" stands outside: {a} of {box}")
        for b, others in texts[i + 1:]:
            if overlap(a, b):
                fault(f"{name}: \"{words}\" stands on \"{others}\"")


def check_safe(root, name):
    for element in root.iter():
        tag = element.tag.split("}")[-1]
        if tag in ("script", "iframe", "object", "embed", "img", "image", "link", "foreignObject", "use"):
            fault(f"{name}: there is a {tag}")
        for attribute, value in element.attrib.items():
            attribute = attribute.split("}")[-1]
            if attribute.startswith("on") or (attribute in ("href", "src") and not value.startswith("#")):
                fault(f"{name}: {tag} has {attribute}={value}")
            if attribute != "viewBox" and re.search(r"\b(nan|inf)\b", value) and attribute not in ("aria-label",):
                fault(f"{name}: {tag} has {attribute}={value}")


def check_ids(root, name):
    seen = set()
    for element in root.iter():
        if element.get("id") in seen:
            fault(f"{name}: the id {element.get('id')} is there twice")
        if element.get("id"):
            seen.add(element.get("id"))
    for link in root.iter(f"{HTML}a"):
        if link.get("href")[1:] not in seen:
            fault(f"{name}: {link.get('href')} leads nowhere")


def cells_of(root):
    found = set()
    for table in root.iter(f"{HTML}table"):
        heads = len(table.find(f"{HTML}thead/{HTML}tr"))
        for row in table.iterfind(f"{HTML}tbody/{HTML}tr"):
            if len(row) != heads:
                fault(f"a row of {len(row)} cells below {heads} heads")
            for cell in row:
                for part in ("".join(cell.itertext())).split(", "):
                    try:
                        found.add(float(part))
                    except ValueError:
                        pass
    return found


def values_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from values_of(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def check_page(path, inputs):
    root = tree.parse(path).getroot()
    check_safe(root, path)
    check_ids(root, path)
    pictures = list(root.iter(f"{SVG}svg"))
    for picture in pictures:
        check_svg(picture, f"{path}: {picture.find(f'{SVG}title').text} ({picture.get('class')})")
    cells = cells_of(root)
    for name in inputs:
        missing = {v for v in values_of(json.load(open(name, encoding="utf-8", errors="replace"))) if v not in cells}
        if missing:
            fault(f"{name}: {len(missing)} numbers are in no table, such as {sorted(missing)[:3]}")
    return len(pictures)


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--svg":
        for name in arguments[1:]:
            root = tree.parse(name).getroot()
            check_safe(root, name)
        count = len(arguments) - 1
    else:
        count = check_page(arguments[0], arguments[1:])
    for text in faults:
        print(text)
    print(f"{count} pictures, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
