# SPDX-License-Identifier: Apache-2.0
"""check_gradescope.py RESULTS - checks results.json by Gradescope's specification of autograders
(https://gradescope-autograders.readthedocs.io/en/latest/specs/): the names, types and values of all fields, and that the points
add up. Prints the score, the maximum and the names of the failed tests."""
import json
import sys

VISIBILITY = ("hidden", "after_due_date", "after_published", "visible")
FORMAT = ("text", "html", "simple_format", "md", "ansi")
NUMBER = (int, float)
RESULT = {"score": NUMBER, "execution_time": NUMBER, "output": str, "output_format": FORMAT, "test_output_format": FORMAT,
          "test_name_format": FORMAT, "visibility": VISIBILITY, "stdout_visibility": VISIBILITY, "extra_data": dict,
          "tests": list, "leaderboard": list}
TEST = {"score": NUMBER, "max_score": NUMBER, "status": ("passed", "failed"), "name": str, "name_format": FORMAT,
        "number": str, "output": str, "output_format": FORMAT, "tags": list, "visibility": VISIBILITY, "extra_data": dict}


def check(record, fields, where):
    """Returns the faults of the fields of an object."""
    faults = [f"{where}: {name} is not a field" for name in record.keys() - fields.keys()]
    for name in record.keys() & fields.keys():
        value, allowed = record[name], fields[name]
        is_choice = isinstance(allowed, tuple) and isinstance(allowed[0], str)
        if not (value in allowed if is_choice else isinstance(value, allowed) and not isinstance(value, bool)):
            faults.append(f"{where}: {name} is {value!r}")
    return faults


def faults_of(results):
    tests = results.get("tests", [])
    faults = check(results, RESULT, "results.json")
    for index, test in enumerate(tests):
        faults += check(test, TEST, f"test {index}")
        faults += [f"test {index}: {name} is missing" for name in ("name", "score", "max_score", "status", "output") if name not in test]
        if test.get("score", 0) > test.get("max_score", 0):
            faults.append(f"test {index}: the score is larger than the maximum")
        if (test.get("status") == "passed") != (test.get("score") == test.get("max_score")):
            faults.append(f"test {index}: the status does not fit the score")
    if "score" not in results:
        faults.append("the score is missing")
    elif tests and results["score"] != sum(test.get("score", 0) for test in tests):
        faults.append("the score is not the sum of the tests")
    return faults


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    faults = faults_of(results)
    for fault in faults:
        print(fault)
    if not faults:
        tests = results["tests"]
        failed = [test["name"] for test in tests if test["status"] == "failed"]
        print(results["score"], sum(test["max_score"] for test in tests), ", ".join(failed))
    return 1 if faults else 0


sys.exit(main())
