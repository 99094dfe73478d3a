#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grade_class.py RUNG TASKS FOLDER [--every N] [--seed SEED] [--table FILE] [--summary FILE] - grades the class of
make_class.py, two submissions at a time, and compares the grades with what is expected. --every N grades only each Nth
submission.

A submission is graded right if it gets all points exactly if it is right. The reason of a wrong one is right if it
loses points for what is expected (see make_class.py)."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import make_class

PROCESSES = 2
NEEDS_RESULTS = "counts only"


def task_parts(tasks):
    """Returns the keys of each part, by task and name. The values of these files are JSON, too."""
    parts = {}
    for path in pathlib.Path(tasks).glob("*/task.toml"):
        tables = path.read_text().split("[[part]]")[1:]
        keys = [{key: json.loads(value) for key, value in re.findall(r"^(\w+) = (.*)$", table, re.M)} for table in tables]
        parts[path.parent.name] = {part["name"]: part for part in keys}
    return parts


def has_reason(parts, grade, expected):
    lost = [part for part in grade["parts"] if part["points"] < part["max_points"]]
    measured = [part for part in lost if not part["text"].startswith((NEEDS_RESULTS, "not run"))]
    wrong_shapes = [part for part in measured if "shapes" in parts[part["name"]]]
    kind, _, rest = expected.partition(" ")
    if kind == "results":
        return bool(wrong_shapes)
    if kind == "says":
        return rest in grade["problem"] or any(rest in part["text"] for part in wrong_shapes)
    if kind == "metric":
        return any(part["name"] == rest for part in measured)
    assert kind == "finding", expected
    if not any(finding["kind"] == rest for finding in grade["findings"]):
        return False
    with_kind = [name for name, part in parts.items() if rest in part.get("findings", [])]
    return any(part["name"] in with_kind for part in measured) if with_kind else bool(wrong_shapes)


def why(grade):
    """Describes a grade in one cell of a table."""
    if grade["problem"]:
        return grade["problem"]
    lost = [part for part in grade["parts"] if part["points"] < part["max_points"]]
    kinds = sorted({finding["kind"] for finding in grade["findings"]})
    found = ["found: " + ", ".join(kinds)] if kinds else []
    return "; ".join([f"{part['name']}: {part['text']}" for part in lost[:2]] + found)


def grade_one(rung, tasks, folder, seed, row):
    task, name, _, _ = row
    command = [rung, "grade", f"{tasks}/{task}", f"{name}.cu", "--seed", str(seed), "--json"]
    process = subprocess.Popen(command, cwd=pathlib.Path(folder) / task, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == 77:
        print(errors.decode())
        os._exit(77)
    if process.returncode not in (0, 1):
        return {"points": -1, "max_points": 0, "problem": errors.decode().strip(), "parts": [], "findings": []}, 0
    return json.loads(out), usage.ru_utime + usage.ru_stime


def judge(parts, row, grade):
    """Returns whether the grade is right, and whether the reason is."""
    expected = row[3]
    is_full = grade["points"] == grade["max_points"]
    if expected == "all points":
        return is_full, is_full
    return not is_full and grade["points"] >= 0, not is_full and has_reason(parts[row[0]], grade, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rung")
    parser.add_argument("tasks", type=os.path.abspath)
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20261119)
    parser.add_argument("--table")
    parser.add_argument("--summary")
    options = parser.parse_args()
    rows = make_class.write(options.tasks, options.folder)[::options.every]
    parts = task_parts(options.tasks)
    began = time.monotonic()
    rung = os.path.abspath(options.rung)
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        graded = list(pool.map(lambda row: grade_one(rung, options.tasks, options.folder, options.seed, row), rows))
    elapsed = time.monotonic() - began
    table = ["task\tsubmission\tkind\texpected\tpoints\tof\tgraded\treason\tcpu s\tgrade"]
    counts = {"right": [0, 0, 0], "wrong": [0, 0, 0]}
    for row, (grade, seconds) in zip(rows, graded):
        is_right, has = judge(parts, row, grade)
        count = counts["right" if row[3] == "all points" else "wrong"]
        for i, one in enumerate((True, is_right, has)):
            count[i] += one
        if not (is_right and has):
            print(f"{row[0]}/{row[1]}: expected {row[3]}, but {grade['points']} of {grade['max_points']}: {why(grade)}")
        table.append("\t".join(map(str, (*row, grade["points"], grade["max_points"], "right" if is_right else "wrong",
                                         "right" if has else "wrong", f"{seconds:.2f}", " ".join(why(grade).split())))))
    (wrong, found, reasons), (right, accepted, _) = counts["wrong"], counts["right"]
    cpu = sum(seconds for _, seconds in graded)
    summary = [("submissions", len(rows)), ("wrong submissions", wrong), ("right submissions", right),
               ("graded right", f"{100 * (found + accepted) / len(rows):.1f} %"),
               ("wrong submissions that lose points", found), ("right submissions that get all points", accepted),
               ("wrong submissions with the right reason", f"{reasons} ({100 * reasons / max(wrong, 1):.1f} %)"),
               ("kinds of mistakes", len({row[2] for row in rows if row[3] != "all points"})),
               ("seed", options.seed), ("processes at a time", PROCESSES),
               ("processor time", f"{cpu:.0f} s"), ("elapsed time", f"{elapsed:.0f} s")]
    text = "\n".join(f"{name}\t{value}" for name, value in summary) + "\n"
    print(text, end="")
    if options.table:
        pathlib.Path(options.table).write_text("\n".join(table) + "\n")
    if options.summary:
        pathlib.Path(options.summary).write_text(text)
    good = accepted == right and found + accepted >= 0.99 * len(rows) and reasons >= 0.95 * wrong
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
