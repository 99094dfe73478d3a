#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_variants.py RUNG TASKS FOLDER - the variants of the tasks: every task with variants has a row in solutions.tsv, which
turns its solution into one whose constants are the variables of the variants. With the values of a student, this solution
must get all points for the variant of that student. With the values of another student, and without values, it must lose the
points for results, because elements are wrong. Each variable is also changed alone, once per reference: the values of another
student do not show that the reference follows every variable."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "class"))
import make_class  # noqa: E402

STUDENTS = [f"student {number}" for number in range(12)]


def run(rung, *arguments):
    process = subprocess.run([rung, *arguments], capture_output=True, text=True)
    if process.returncode == 77:
        print(process.stderr)
        sys.exit(77)
    return process


def values_of(rung, task, student):
    tasks = json.loads(run(rung, "tasks", task, "--variant", student, "--json").stdout)["tasks"]
    assert tasks[0]["variant"]["id"] == student
    return tasks[0]["variant"]["values"]


def solutions(tasks):
    """Returns the solution with variables, by task."""
    lines = (HERE / "solutions.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
    return {row["task"]: make_class.changed((tasks / row["task"] / "solution.cu").read_text(), row) for row in rows}


def write(folder, name, text, values):
    path = folder / f"{name}.cu"
    path.write_text("".join(f"#define {key} {value}\n" for key, value in values.items()) + text)
    return path


def check_points(rung, task, student, path, is_right):
    """Returns what is wrong with the grade of a file, or None."""
    grade = json.loads(run(rung, "grade", task, str(path), "--variant", student, "--json").stdout)
    if is_right and grade["points"] == grade["max_points"] and not grade["problem"]:
        return None
    wrong = [part["text"] for part in grade["parts"] if part["points"] == 0 and " are wrong; " in part["text"]]
    outside = [finding for finding in grade["findings"] if finding["kind"] == "out-of-bounds"]
    if not is_right and not grade["problem"] and (wrong or outside):
        return None
    return f"{task}: {path.name} for {student}: {grade['points']} points, {grade['problem']} {grade['parts']}"


def jobs_of(rung, tasks, folder, task, text, references, faults):
    """Lists the files of a task: (student, file, whether it is right). `references` are those that other tasks had."""
    values = [values_of(rung, task, student) for student in STUDENTS]
    first = {key: None for key in values[0]}
    texts = {json.dumps(value) for value in values}
    declared = tasks / task / "task.toml"
    base = {}
    for table in declared.read_text().split("[[variant]]")[1:]:
        lines = dict(line.split(" = ", 1) for line in table.split("\n[[")[0].splitlines() if " = " in line)
        base[json.loads(lines["name"])] = json.loads(lines["values"])
    if set(first) != set(base):
        faults.append(f"{task}: the variables are {set(first)} instead of {set(base)}")
        return []
    combinations = 1
    for choices in base.values():
        combinations *= len(choices)
    if len(texts) < min(combinations - 1, 12) // 3:
        faults.append(f"{task}: 12 students have {len(texts)} of {combinations} variants")
    public = {key: choices[0] for key, choices in base.items()}
    if json.dumps(public) in texts:
        faults.append(f"{task}: a student has the variant of the public solution")
    student, own = STUDENTS[0], values[0]
    other = next(value for value in values if value != own)
    yes, no = True, False
    jobs = [(student, write(folder, f"{task}-own", text, own), yes),
            (student, write(folder, f"{task}-other", text, other), no),
            (student, write(folder, f"{task}-public", text, public), no)]
    reference = next(line for line in declared.read_text().splitlines() if line.startswith("reference = "))
    is_new = reference not in references
    references.add(reference)
    for key, choices in base.items() if is_new else ():
        for choice in [choice for choice in choices if choice != own[key]][:1]:
            jobs.append((student, write(folder, f"{task}-{key}", text, {**own, key: choice}), no))
    return jobs


def main():
    rung, tasks, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    faults, texts, jobs, references = [], solutions(tasks), [], set()
    run(rung, "grade", "vector_add", str(tasks / "vector_add" / "solution.cu"))  # ends the test without a compiler
    with_variants = {path.parent.name for path in tasks.glob("*/task.toml") if "[[variant]]" in path.read_text()}
    if with_variants != set(texts) or len(texts) < 8:
        faults.append(f"tasks with variants: {sorted(with_variants)}; in solutions.tsv: {sorted(texts)}")
    for task in sorted(with_variants & set(texts)):
        jobs += [(task, *job) for job in jobs_of(rung, tasks, folder, task, texts[task], references, faults)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults += filter(None, pool.map(lambda job: check_points(rung, *job), jobs))
    print("\n".join(faults))
    print(f"{len(with_variants)} tasks, {len(jobs)} gradings")
    sys.exit(1 if faults else 0)


main()
