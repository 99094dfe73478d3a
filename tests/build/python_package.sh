#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyproject.toml agrees with the rest: one version, and the versions of tools/install-test-tools in the extra "lab". The
# list of contents is JSON. tests/build/wheel.sh builds the wheel.
set -eu
cd "$RUNG_SOURCE"
python3 - <<'PYTHON'
import json, re, sys, tomllib

def fail(message):
    sys.exit(f"python_package.sh: {message}")

settings = tomllib.load(open("pyproject.toml", "rb"))
project, build = settings["project"], settings["tool"]["scikit-build"]
version = build["metadata"]["version"]
found = re.findall(version["regex"], open(version["input"]).read())
if len(found) != 1:
    fail(f"{version['input']} has {len(found)} versions that match {version['regex']}")
header = open("include/rung/rung.h").read()
numbers = [re.search(rf"#define RUNG_VERSION_{part} +(\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
if found[0] != ".".join(numbers):
    fail(f"the version is {found[0]} in {version['input']} and {'.'.join(numbers)} in rung.h")

tools = re.findall(r"[a-z0-9-]+==[0-9.]+", open("tools/install-test-tools").read())
for requirement in project["optional-dependencies"]["lab"]:
    pinned = requirement.split(";")[0].strip()
    if not re.fullmatch(r"[a-z0-9-]+==[0-9.]+", pinned):
        fail(f"{pinned} of the extra lab has no exact version")
    if pinned.startswith("nvidia") and pinned not in tools:
        fail(f"{pinned} of the extra lab is not what tools/install-test-tools installs")
if project["scripts"] != {"rung": "rung._command:main"}:
    fail("the console script rung must be rung._command:main")

text = re.sub(r"@[A-Za-z_]+@", "x", open("cmake/rung.spdx.json.in").read())
names = {package["SPDXID"] for package in json.loads(text)["packages"]} | {"SPDXRef-DOCUMENT"}
for relation in json.loads(text)["relationships"]:
    if {relation["spdxElementId"], relation["relatedSpdxElement"]} - names:
        fail(f"cmake/rung.spdx.json.in: {relation} names a package that is not listed")
PYTHON
grep -q "scikit-build-core==$(sed -nE 's/.*scikit-build-core==([0-9.]+)".*/\1/p' pyproject.toml)" tools/build-wheel ||
    { echo "tools/build-wheel and pyproject.toml name different versions of scikit-build-core"; exit 1; }
for script in tools/build-wheel cmake/zig/cc cmake/zig/ar cmake/zig/ranlib; do
    [ -x "$script" ] && bash -n "$script" || { echo "$script is not a script that can run"; exit 1; }
done
