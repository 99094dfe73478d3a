#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# services.sh - examples/teaching/github-classroom and examples/teaching/gradescope, used as GitHub and Gradescope use them: the steps of
# the workflow are run in a checkout, and the zip is unpacked, set up and run with submissions. pip has no network: the
# wheel of rung is made from this build (make_wheels.py). Planted: a workflow and results.json with faults.
set -u
here=$RUNG_SOURCE/tests/teaching examples=$RUNG_SOURCE/examples/teaching tasks=$RUNG_SOURCE/tasks
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
checks=$RUNG_TEST_TOOLS/checks/bin/python
"$checks" -c 'import check_jsonschema' 2> /dev/null || { echo "check-jsonschema is not here; run tools/install-test-tools"; exit 77; }
# The Python whose NumPy the tools have.
python=$("$RUNG_TEST_TOOLS/python/bin/python3" -c 'import sys; print(sys.base_prefix)')/bin/python3
export PATH=${python%/*}:/usr/local/bin:/usr/bin:/bin
bad=0
fail() { echo "$*"; bad=1; }
mkdir "$work/wheels" "$work/others"
"$python" "$here/make_wheels.py" "$RUNG_BUILD" "$RUNG_TEST_TOOLS" "$work/wheels" "$work/others" || exit 77
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$work/others PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
unset VIRTUAL_ENV PYTHONPATH

# ---- GitHub Classroom ----
workflow=$examples/github-classroom/.github/workflows/classroom.yml
valid() { "$checks" -m check_jsonschema --builtin-schema vendor.github-workflows "$1" > "$work/out" 2>&1; }
valid "$workflow" || { cat "$work/out"; fail "classroom.yml is no workflow"; }
sed 's/^    steps:/    stages:/' "$workflow" > "$work/faulty.yml"
valid "$work/faulty.yml" && fail "planted: a workflow without steps passes"

mkdir -p "$work/repository" "$work/runner"
cp -r "$examples/github-classroom/.github" "$work/wheels" "$work/repository/"
# push EXPECTED: runs the workflow on the repository.
push() {
    local got
    got=$("$checks" "$here/run_workflow.py" "$work/repository/.github/workflows/classroom.yml" "$work/repository" "$work/runner" 2> "$work/log")
    [ "$got" = "$1" ] || { cat "$work/log"; fail "classroom.yml: expected \"$1\", but it is \"$got\""; }
}
points() { echo "Autograding complete=Points $1/100 Autograding report={\"totalPoints\":$1,\"maxPoints\":100}"; }
cp "$tasks/vector_add/solution.cu" "$work/repository/vector_add.cu"
push "0 $(points 100)"
# The environment is there now: the next pushes only grade.
sed -i '/- name: Install rung/,/GITHUB_PATH/d' "$work/repository/.github/workflows/classroom.yml"
# A kernel that prints the points that it would like.
sed 's/^{/{ if (threadIdx.x + blockIdx.x == 0) printf("::notice title=Autograding report::{\\"totalPoints\\":100,\\"maxPoints\\":100}\\n");/' \
    "$tasks/vector_add/wrong/no_bound.cu" > "$work/repository/vector_add.cu"
push "1 $(points 80)"
grep -q '^::notice title=Autograding report::{"totalPoints":100' "$work/log" || { cat "$work/log"; fail "the kernel did not print: nothing was tested"; }
rm "$work/repository/vector_add.cu"
push "2 $(points 0)"
grep -q 'vector_add.cu: cannot be opened' "$work/log" || fail "classroom.yml does not say that the file is missing"
# Planted: without the protection, the kernel gets what it prints.
cp "$work/repository/.github/workflows/classroom.yml" "$work/guarded.yml"
sed -i '/stop-commands/d' "$work/repository/.github/workflows/classroom.yml"
sed 's/^{/{ if (threadIdx.x + blockIdx.x == 0 \&\& n == 1024) printf("::notice title=Mine::1\\n");/' "$tasks/vector_add/solution.cu" > "$work/repository/vector_add.cu"
push "0 Mine=1 $(points 100)"

# ---- Gradescope ----
wheel=$(echo "$work"/wheels/rung-*.whl)
build_zip() { "$examples/gradescope/build-zip" "$@" > "$work/out" 2>&1; }
build_zip vector_add secret "$wheel" "$work/x.zip" && fail "build-zip takes a seed that is no number"
build_zip 'a b' 1 "$wheel" "$work/x.zip" && fail "build-zip takes a task that is no name"
build_zip vector_add 1 "$work/none.whl" "$work/x.zip" && fail "build-zip takes a wheel that is not there"
build_zip vector_add 20261119 "$wheel" "$work/autograder.zip" || { cat "$work/out"; fail "build-zip fails"; }

# As Gradescope does: the zip is unpacked to source, setup.sh runs once, run_autograder is copied and run in /autograder.
# There is no network: apt-get is replaced.
export RUNG_AUTOGRADER=$work/autograder
mkdir -p "$work/bin" "$RUNG_AUTOGRADER"/{source,submission,results}
printf '#!/bin/sh\necho "$*" >> "%s"\n' "$work/apt-get" > "$work/bin/apt-get" && chmod +x "$work/bin/apt-get"
"$python" -m zipfile -e "$work/autograder.zip" "$RUNG_AUTOGRADER/source"
PATH=$work/bin:$PATH bash "$RUNG_AUTOGRADER/source/setup.sh" > "$work/out" 2>&1 || { cat "$work/out"; fail "setup.sh fails"; }
grep -q 'install .*python3-venv' "$work/apt-get" || fail "setup.sh does not install python3-venv"
cp "$RUNG_AUTOGRADER/source/run_autograder" "$RUNG_AUTOGRADER/" && chmod +x "$RUNG_AUTOGRADER/run_autograder"
# grades EXPECTED: runs the autograder on what is in submission, and empties it.
grades() {
    local got
    rm -f "$RUNG_AUTOGRADER"/results/*
    (cd "$RUNG_AUTOGRADER" && env -i PATH="$PATH" RUNG_AUTOGRADER="$RUNG_AUTOGRADER" ./run_autograder) > "$work/log" 2>&1 ||
        { cat "$work/log"; fail "run_autograder fails"; }
    got=$("$python" "$here/check_gradescope.py" "$RUNG_AUTOGRADER/results/results.json") || { cat "$work/log"; fail "results.json has faults"; }
    [ "$got" = "$1" ] || fail "Gradescope: expected \"$1\", but it is \"$got\""
    rm -f "$RUNG_AUTOGRADER"/submission/*
}
submission=$RUNG_AUTOGRADER/submission results=$RUNG_AUTOGRADER/results/results.json
cp "$tasks/vector_add/solution.cu" "$submission/vector_add.cu"
grades "100 100 "
cp "$tasks/vector_add/wrong/no_bound.cu" "$submission/-my kernel.cu" # the only file may have any name
grades "80 100 no wrong accesses"
cp "$results" "$work/results.json"
grep -q '20261119' "$results" && fail "results.json has the secret seed"
grades "0 0 "
grep -q 'Upload a file with the name vector_add.cu. Your submission has 0 files' "$results" || fail "an empty submission gets no sentence"
ln -s ../source/assignment "$submission/vector_add.cu"
grades "0 0 "
grep -q 'Upload a file' "$results" || fail "a link is read"
head -c 1100000 /dev/zero | tr '\0' ' ' > "$submission/vector_add.cu"
grades "0 0 "
grep -q 'Nothing was graded. rung: ./vector_add.cu: ' "$results" || { cat "$results"; fail "a file that is too large gets no sentence"; }
# The command of the page for teachers, over a folder of files.
mkdir -p "$work/class/submissions"
cp "$tasks/vector_add/solution.cu" "$work/class/submissions/ada.cu"
cp "$tasks/vector_add/wrong/no_bound.cu" "$work/class/submissions/bob.cu"
awk '/^```sh$/ { block = ""; inside = 1; next } /^```$/ { if (block ~ /submissions/) print block; inside = 0 } inside { block = block $0 "\n" }' \
    "$RUNG_SOURCE/docs/start/teaching.md" > "$work/command.sh"
(cd "$work/class" && PATH=$RUNG_AUTOGRADER/rung/bin:$PATH bash -e "$work/command.sh") > "$work/out" 2>&1
[ $? = 1 ] || { cat "$work/out"; fail "teaching.md: the command does not report that a student lost points"; }
grep -qx 'ada  *100 *' "$work/out" && grep -qx 'bob  *80  no wrong accesses' "$work/out" ||
    { cat "$work/out"; fail "teaching.md: the command prints other points"; }
grep -q 'no wrong accesses' "$work/class/class.html" || fail "teaching.md: the page of the class has no reasons"
# Without the compiler there is no grade, so that Gradescope reports the autograder.
cp "$tasks/vector_add/solution.cu" "$submission/vector_add.cu"
printf '#!/bin/sh\nexit 77\n' > "$RUNG_AUTOGRADER/rung/bin/rung"
rm -f "$results"
(cd "$RUNG_AUTOGRADER" && ./run_autograder) > "$work/log" 2>&1 &&
    { cat "$work/log"; fail "run_autograder succeeds without a compiler"; }
[ ! -e "$results" ] || fail "there are results without a compiler"

# A teacher's own task is inside of the zip.
build_zip "$tasks/saxpy" 7 "$wheel" "$work/own.zip" || { cat "$work/out"; fail "build-zip fails for a folder"; }
"$python" -m zipfile -l "$work/own.zip" > "$work/out"
grep -q '^task/task.toml ' "$work/out" || fail "the task is not in the zip"

# Planted: results.json with a fault.
# faulty FILTER TEXT: jq applies the filter, and the check says the text.
faulty() {
    jq "$1" "$work/results.json" > "$work/faulty.json"
    "$python" "$here/check_gradescope.py" "$work/faulty.json" > "$work/out" && fail "planted: results.json passes with $1"
    grep -qF -- "$2" "$work/out" || { cat "$work/out"; fail "planted: $1 is not reported"; }
}
faulty 'del(.score)' 'the score is missing'
faulty 'del(.tests[0].max_score)' 'test 0: max_score is missing'
faulty '.tests[1].status = "pass"' "test 1: status is 'pass'"
faulty '.tests[0].points = 3' 'test 0: points is not a field'
faulty '.visibility = "all"' "visibility is 'all'"
faulty '.score = 90' 'the score is not the sum of the tests'
exit $bad
