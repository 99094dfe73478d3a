# SPDX-License-Identifier: Apache-2.0
"""links.py FOLDER PAGE... - checks the links of Markdown pages to files of the project: the file exists, and the heading, if the link
names one. Prints the links that lead nowhere."""
import functools
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|href=\"([^\"]+)\"")
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`", re.M | re.S)


def anchor(heading):
    """Returns the anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(path):
    found, counts = set(), {}
    text = re.sub(r"^( *)```.*?^\1```$", "", path.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} (.*)$", text, re.M):
        name = anchor(heading)
        count = counts[name] = counts.get(name, -1) + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def check(root, page):
    """Yields the faults of a page, and the number of its links at the end."""
    count = 0
    for link in (first or second for first, second in LINK.findall(CODE.sub("`code`", (root / page).read_text()))):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        name, _, heading = link.partition("#")
        target = (root / page).parent / name if name else root / page
        if not target.exists():
            yield f"{page}: {link}: there is no such file"
        elif heading and target.suffix == ".md" and heading not in anchors(target.resolve()):
            yield f"{page}: {link}: there is no such heading"
    yield count


def main():
    root, pages = pathlib.Path(sys.argv[1]), sys.argv[2:]
    faults, links = [], 0
    for page in pages:
        *found, count = check(root, page)
        faults += found
        links += count
    print(*faults, f"{len(pages)} pages, {links} links", sep="\n")
    return 1 if faults else 0


sys.exit(main())
