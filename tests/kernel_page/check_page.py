# SPDX-License-Identifier: Apache-2.0
"""check_page.py PAGE JSON - a page of `rung explain --html` must be well-formed XML, need nothing from elsewhere, and contain the
first kernel of the JSON of the same command. A third argument is the JSON of the command without --html, which must be the
same without the trace and the checks."""
import json
import re
import sys
import xml.dom.minidom

page = open(sys.argv[1], encoding="utf-8").read()
faults = []
xml.dom.minidom.parseString(page.encode())
scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)
if len(scripts) != 2:
    sys.exit(f"the page has {len(scripts)} scripts instead of 2")
data = json.loads(scripts[0])
printed = json.load(open(sys.argv[2], encoding="utf-8", errors="replace"))["kernels"][0]
if data != printed:
    faults.append("the data of the page and the JSON differ")
if len(sys.argv) > 3:
    plain = json.load(open(sys.argv[3]))["kernels"][0]
    if {"trace", "checks"} & plain.keys():
        faults.append("the JSON without a page has a trace")
    if {**plain, "trace": 0, "checks": 0} != {**data, "trace": 0, "checks": 0}:
        faults.append("the page has other numbers than the JSON without a page")

# The counts in the table are those of the data.
for line in {row["line"] for row in data["lines"]}:
    row = re.search(rf'<tr id="L{line}".*?</tr>', page, re.S)
    own = [other for other in data["lines"] if other["line"] == line]
    if not row:
        faults.append(f"line {line} has no row")
        continue
    requests = re.search(r'requests">(\d*)<', row[0])
    if requests is None or int(requests[1] or 0) != sum(other["requests"] for other in own):
        faults.append(f"line {line}: the requests differ")
    for unit, ideal in (("sectors", "sectors_ideal"), ("wavefronts", "wavefronts_ideal")):
        sums = sum(other[unit] for other in own), sum(other[ideal] for other in own)
        shown = re.search(rf'title="(\d+) {unit}, (\d+) are enough"', row[0])
        if shown and (int(shown[1]), int(shown[2])) != sums or not shown and sums != (0, 0):
            faults.append(f"line {line}: the {unit} differ: {sums}")

# Recorded requests: within the bounds, and as many as the page says.
trace = data["trace"]
for part in trace["rows"]:
    steps = [len(warp["steps"]) // 2 for warp in part["warps"]]
    if len(steps) > trace["warps_recorded"] or max(steps) > trace["steps_per_warp"]:
        faults.append(f"row {part['row']} has more steps than the bounds")
    if part["requests_of_the_run"] - part["left_out"] != sum(steps):
        faults.append(f"row {part['row']}: {part['left_out']} left out of {part['requests_of_the_run']}, {sum(steps)} recorded")
for pattern in trace["patterns"]:
    if len(pattern) != 38:
        faults.append("a pattern has the wrong length")

outside = [link for link in re.findall(r'(?:src|href)="([^"]*)"', page) if not link.startswith("#")]
if outside or re.search(r"@import|url\(|fetch\(|XMLHttpRequest|\bimport\b\s*\(", page):
    faults.append(f"the page needs {outside or 'something from elsewhere'}")
if len(page) > 2 << 20:
    faults.append(f"the page has {len(page)} bytes")
print("\n".join(faults))
sys.exit(1 if faults else 0)
