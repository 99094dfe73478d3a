#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_class.py TASKS FOLDER - writes the files of a simulated class: FOLDER/TASK/NAME.cu, and FOLDER/expected.tsv.

The wrong submissions are the solutions of the tasks with one mistake each, from the rows of mutants.tsv. The right
ones are other ways to write the solutions: the rows of rewrites.tsv, and the files of right/. equivalent.tsv has
changes that look like mistakes but are none, with the reason; these submissions are right, too.

A row replaces texts of a solution: " ;; " separates several replacements, "\\n" is a line break. A text must occur once
in the solution; "#2 TEXT" is its second occurrence, and "#* TEXT" are all of them.

What a wrong submission is expected to lose points for:
  results       the results of a shape
  finding KIND  a finding of this kind, in the part for it if the task has one
  metric PART   the measured number of this part
  says TEXT     the grading reports this text instead of results
The column "corrected" says why an expectation was changed after the first grading of the class.
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def rows(name):
    lines = (HERE / name).read_text().splitlines()
    header = lines[0].split("\t")
    for line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(header):
            sys.exit(f"{name}: {len(cells)} columns instead of {len(header)}: {line}")
        yield dict(zip(header, cells))


def replace_once(source, old, new):
    number = re.match(r"#(\d|\*) ", old)
    if number:
        old = old[3:]
    if number and number[1] == "*":
        assert old in source, "does not occur"
        return source.replace(old, new)
    count = source.count(old)
    wanted = int(number[1]) if number else 1
    assert count >= wanted and (number or count == 1), f"occurs {count} times"
    at = -1
    for _ in range(wanted):
        at = source.index(old, at + 1)
    return source[:at] + new + source[at + len(old):]


def changed(source, row):
    olds, news = row["replaced"].split(" ;; "), row["by"].split(" ;; ")
    if len(olds) != len(news):
        sys.exit(f"{row['task']}, {row['kind']}: {len(olds)} texts are replaced by {len(news)}")
    for old, new in zip(olds, news):
        try:
            source = replace_once(source, old.replace("\\n", "\n"), new.replace("\\n", "\n"))
        except AssertionError as why:
            sys.exit(f"{row['task']}, {row['kind']}: {old!r} {why}")
    return source


def submissions(tasks):
    """Yields (task, name, text, kind, expected); expected is "all points" for the right ones."""
    names = set()
    for table in "mutants.tsv", "equivalent.tsv", "rewrites.tsv":
        for row in rows(table):
            solution = (tasks / row["task"] / "solution.cu").read_text()
            plain = re.sub(r"\W+", "_", row["kind"])
            name, number = plain, 1
            while (row["task"], name) in names:
                number += 1
                name = f"{plain}_{number}"
            names.add((row["task"], name))
            yield row["task"], name, changed(solution, row), row["kind"], row.get("expected", "all points")
    for path in sorted((HERE / "right").glob("*.cu")):
        task, name = path.stem.split("-")
        yield task, name, path.read_text(), "rewritten", "all points"


def write(tasks, folder):
    table = []
    for task, name, text, kind, expected in submissions(pathlib.Path(tasks)):
        path = pathlib.Path(folder) / task / f"{name}.cu"
        os.makedirs(path.parent, exist_ok=True)
        path.write_text(text)
        table.append((task, name, kind, expected))
    lines = ["task\tsubmission\tkind\texpected"] + ["\t".join(row) for row in table]
    (pathlib.Path(folder) / "expected.tsv").write_text("\n".join(lines) + "\n")
    return table


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(len(write(sys.argv[1], sys.argv[2])), "submissions")
