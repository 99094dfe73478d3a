# SPDX-License-Identifier: Apache-2.0
"""run_workflow.py WORKFLOW REPOSITORY TEMP - runs the steps of a GitHub workflow as a runner does, in the folder of a checkout. The
only step that is not run is the checkout itself.

Prints a line CODE TITLE=TEXT... : the exit code, and the annotations that GitHub reads from the output.
"""
import os
import pathlib
import re
import subprocess
import sys

from ruamel.yaml import YAML


def annotations(output):
    """Returns the notices of an output. What lies between ::stop-commands::TOKEN and ::TOKEN:: is no command."""
    notices, end = [], None
    for line in output.splitlines():
        if end:
            end = None if line == f"::{end}::" else end
        elif match := re.fullmatch(r"::stop-commands::(\S+)", line):
            end = match[1]
        elif match := re.fullmatch(r"::notice title=([^:]*)::(.*)", line):
            notices.append(f"{match[1]}={match[2]}")
    assert not end, "the output ends while commands are stopped"
    return notices


def main():
    workflow, repository, temp = sys.argv[1:]
    read = YAML(typ="safe").load(pathlib.Path(workflow))
    (job,) = read["jobs"].values()
    paths = pathlib.Path(temp, "paths")
    paths.touch()
    environment = {**os.environ, **read.get("env", {}), "RUNNER_TEMP": temp, "GITHUB_PATH": str(paths)}
    others = [step["uses"] for step in job["steps"] if "uses" in step]
    assert len(others) == 1 and others[0].startswith("actions/checkout@"), others
    code, notices = 0, []
    for step in job["steps"]:
        if "run" not in step or code:
            continue
        assert "${{" not in step["run"], "this test does not know expressions of GitHub"
        environment["PATH"] = os.pathsep.join([*reversed(paths.read_text().split()), os.environ["PATH"]])
        script = pathlib.Path(temp, "step.sh")
        script.write_text(step["run"])
        done = subprocess.run(["bash", "-e", script], cwd=repository, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout, file=sys.stderr)
        code, notices = done.returncode, notices + annotations(done.stdout)
    print(code, *notices)


main()
