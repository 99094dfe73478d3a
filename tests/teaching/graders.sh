#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# graders.sh - the assignments of examples/teaching for nbgrader and otter-grader, graded by their own commands: the notebook of the
# students has neither the solution nor the hidden seed; the solution gets 100 points, a kernel without a bound 80,
# the file to start from 0.
set -u
. "$RUNG_SOURCE/tests/notebooks/common.sh"
"$python" -W ignore -c 'import nbgrader, otter' 2> /dev/null || { echo "nbgrader or otter-grader is not here; run tools/install-test-tools"; exit 77; }
export PATH=$RUNG_TEST_TOOLS/notebooks/bin:$PATH PYTHONWARNINGS=ignore
examples=$RUNG_SOURCE/examples/teaching
bad=0
fail() { echo "$*"; bad=1; }
# step COMMAND...: runs a command of a grader, and shows its output if it fails.
step() { "$@" > "$work/out" 2>&1 || { cat "$work/out"; fail "$* failed"; }; }
# submit NAME FOLDER NOTEBOOK: the solution, or without the check of the index.
submit() {
    mkdir -p "$2"
    if [ "$1" = no_bound ]; then sed 's/if (i < n)/if (i >= 0)/' "$3"; else cat "$3"; fi > "$2/vector_add.ipynb"
}

# ---- nbgrader ----
cp -r "$examples/nbgrader" "$work/course" && cd "$work/course" || exit 1
step nbgrader generate_assignment vector_add --create
released=release/vector_add/vector_add.ipynb
grep -q 'YOUR CODE HERE' $released || fail "nbgrader: the notebook of the students has no place for their code"
! grep -qE 'i < n\)|20261119' $released || fail "nbgrader: the notebook of the students has the solution or the hidden seed"
for name in right no_bound; do submit $name submitted/$name/vector_add source/vector_add/vector_add.ipynb; done
submit untouched submitted/untouched/vector_add $released
step nbgrader autograde vector_add --create
step nbgrader export
points=$(cut -d, -f4,10,11 grades.csv | tr '\n' ' ')
[ "$points" = "student_id,score,max_score no_bound,80.0,100.0 right,100.0,100.0 untouched,0.0,100.0 " ] ||
    fail "nbgrader: other points: $points"

# ---- otter-grader ----
mkdir "$work/otter" && cd "$work/otter" || exit 1
step otter assign "$examples/otter/vector_add.ipynb" dist
grep -q 'YOUR CODE HERE' dist/student/vector_add.ipynb || fail "otter: the notebook of the students has no place for their code"
! grep -qE 'i < n\)|20261119' dist/student/vector_add.ipynb || fail "otter: the notebook of the students has the solution or the hidden seed"
for name in right no_bound; do
    submit $name $name dist/autograder/vector_add.ipynb
    step otter run -a dist/autograder/*.zip -o $name $name/vector_add.ipynb
    echo "$name $(jq '[.tests[].score // 0] | add' $name/results.json)"
done > points
[ "$(cat points)" = "$(printf 'right 100\nno_bound 80')" ] || fail "otter: other points: $(cat points)"
exit $bad
