# SPDX-License-Identifier: Apache-2.0
"""class_page.py PAGE JSON - a page of `rung grade --class --html` must be well-formed XML, need nothing from elsewhere, and show
the numbers of the JSON of the same command."""
import json
import re
import sys
import xml.dom.minidom

text = open(sys.argv[1], encoding="utf-8").read()
document = xml.dom.minidom.parseString(text.encode())
graded = json.load(open(sys.argv[2], encoding="utf-8", errors="replace"))
students, count = graded["students"], graded["submissions"]
faults = []


def content(node):
    if node.nodeType == node.TEXT_NODE:
        return node.data
    return "".join(content(child) for child in node.childNodes)


def section(name):
    return next(node for node in document.getElementsByTagName("section") if node.getAttribute("id") == name)


def rows(name):
    body = section(name).getElementsByTagName("tbody")[0]
    return [[content(cell) for cell in row.childNodes if cell.nodeType == cell.ELEMENT_NODE]
            for row in body.getElementsByTagName("tr")]


def plain(value):
    """The page replaces characters that HTML and XML do not have."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ufffd]+", "\ufffd", value)


def same(what, shown, expected):
    shown, expected = [[plain(str(cell)) for cell in row] for row in shown], [[plain(str(cell)) for cell in row] for row in expected]
    if shown != expected:
        first = next((i for i, pair in enumerate(zip(shown, expected)) if pair[0] != pair[1]), min(len(shown), len(expected)))
        faults.append(f"{what}: row {first} of the page is {shown[first:first + 1]}, in the JSON {expected[first:first + 1]}")


def losses(student):
    """Returns the last column of a student."""
    lost = [f"{part['name']}: {part['text']}" for part in student["parts"] if part["points"] < part["max_points"]
            and not part["text"].startswith(("counts only", "not run"))]
    return student["problem"] or "\n".join(lost)


# The sums of the JSON are those of its students.
points = sorted(student["points"] for student in students)
if len(students) != count or graded["full"] != points.count(graded["max_points"]):
    faults.append("the numbers of students in the JSON differ")
if abs(graded["mean"] - sum(points) / count) > 1e-6 or graded["median"] != (points[(count - 1) // 2] + points[count // 2]) / 2:
    faults.append("the mean or the median of the JSON is wrong")
bins = [0] * 11
for one in points:
    bins[one * 10 // graded["max_points"]] += 1
same("distribution in the JSON", [[one["students"]] for one in graded["distribution"]], [[one] for one in bins])
for i, part in enumerate(graded["parts"]):
    own = [student["parts"][i]["points"] for student in students]
    if part["points_of_all"] != sum(own) or part["students"] != own.count(part["max_points"]):
        faults.append(f"the sums of the part {part['name']} are wrong")
for mistake in graded["mistakes"]:
    if mistake["kind"] == "finding":
        own = sum(any(one["kind"] == mistake["reason"] for one in student["findings"]) for student in students)
    elif mistake["kind"] == "problem":
        own = mistake["students"] if any(student["problem"] for student in students) else 0
    else:
        own = sum(part["name"] == mistake["reason"] and part["points"] < part["max_points"]
                  and not part["text"].startswith(("counts only", "not run"))
                  for student in students for part in student["parts"])
    if own != mistake["students"]:
        faults.append(f"the mistake {mistake['reason']} has {mistake['students']} students instead of {own}")
if sum(one["students"] for one in graded["mistakes"] if one["kind"] == "problem") != sum(bool(one["problem"]) for one in students):
    faults.append("the numbers of problems differ")
if [one["students"] for one in graded["mistakes"]] != sorted((one["students"] for one in graded["mistakes"]), reverse=True):
    faults.append("the mistakes are not sorted")

# The page shows them.
cards = [content(node).split()[0] for node in document.getElementsByTagName("b") if node.parentNode.parentNode.getAttribute("class") == "cards"]
expected = [count, graded["full"], f"{graded['mean']:.1f}", f"{graded['median']:.1f}", sum(bool(one["problem"]) for one in students)]
same("cards", [cards], [expected])
same("distribution", [row[:2] for row in rows("distribution")], [[one["points"], one["students"]] for one in graded["distribution"]])
same("parts", [row[:3] for row in rows("parts")],
     [[part["name"], part["students"], f"{part['points_of_all'] / count:.1f} of {part['max_points']}"] for part in graded["parts"]])
for what, lengths, largest in (("distribution", [one["students"] for one in graded["distribution"]], max(bins)),
                               ("parts", [part["students"] for part in graded["parts"]], count)):
    drawn = [node.getAttribute("style") for node in section(what).getElementsByTagName("i")]
    same(f"bars of {what}", [drawn], [[f"width:{100 * length / largest:.1f}%" for length in lengths]])
shown = []
for item in section("mistakes").getElementsByTagName("li"):
    code = item.getElementsByTagName("code")
    number = re.match(r"\d+", content(item.getElementsByTagName("div")[0]))[0]
    shown.append([number, content(item.getElementsByTagName("b")[0]), content(item.getElementsByTagName("p")[0]),
                  content(code[0]) if code else ""])
same("mistakes", shown, [[one["students"], one["reason"], f"{one['example']['student']}: {one['example']['text']}",
                          f"{one['example']['line']}: {one['example']['source']}" if one["example"]["source"] else ""]
                         for one in graded["mistakes"]])
variants = [[", ".join(f"{key} = {value}" for key, value in one["variant"]["values"].items())] if "variant" in one else []
            for one in students]
same("students", rows("students"), [[one["name"], one["points"], *[part["points"] for part in one["parts"]], *variant, losses(one)]
                                    for one, variant in zip(students, variants)])

outside = [link for link in re.findall(r'(?:src|href)="([^"]*)"', text) if not link.startswith("#")]
if outside or re.search(r"@import|url\(|fetch\(|XMLHttpRequest|\bimport\b\s*\(", text):
    faults.append(f"the page needs {outside or 'something from elsewhere'}")
if len(document.getElementsByTagName("script")) != 1:
    faults.append("the page does not have one script")
print("\n".join(faults))
sys.exit(1 if faults else 0)
