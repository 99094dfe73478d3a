#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tasks.sh [TASK...] - every task of tasks/ is complete, and its files are graded as they say:
# - the solution gets all points with every seed of the list;
# - the skeleton compiles and gets fewer points;
# - a file of wrong/ loses exactly the parts, and has exactly the kinds of findings, that its second line lists:
#   /* no_bound - wrong: no wrong accesses; found: out-of-bounds */
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
cd "$RUNG_SOURCE" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0 count=0

fail() { echo "$*"; bad=1; }

# lost: prints the parts without all points and the kinds of findings of $work/json, as the second line of a file does.
lost() {
    jq -r '([.parts[] | select(.points < .max_points) | .name] | join(", ")) +
           (([.findings[].kind] | unique | join(", ")) | if . == "" then "" else "; found: " + . end)' "$work/json"
}

"$RUNG" grade vector_add tasks/vector_add/solution.cu > "$work/first" 2>&1
[ $? -ne 77 ] || { cat "$work/first"; exit 77; }

[ $# -gt 0 ] || set -- $(cd tasks && for folder in */; do echo "${folder%/}"; done)
for task in "$@"; do
    folder=tasks/$task
    count=$((count + 1))
    for file in task.toml README.md skeleton.cu solution.cu; do
        [ -s "$folder/$file" ] || fail "$folder has no $file"
    done
    [ "$(grep -c '<details>' "$folder/README.md")" -ge 3 ] || fail "$folder/README.md has fewer than three hints"
    for seed in 1 20261119; do
        "$RUNG" grade "$task" "$folder/solution.cu" --seed $seed --json > "$work/json" 2> "$work/errors" ||
            { fail "the solution of $task does not get all points with seed $seed:"; cat "$work/json" "$work/errors"; }
    done
    "$RUNG" grade "$task" "$folder/skeleton.cu" --json > "$work/json" 2> "$work/errors"
    [ $? -eq 1 ] && [ "$(jq -r .problem "$work/json")" = "" ] ||
        { fail "the skeleton of $task:"; cat "$work/json" "$work/errors"; }
    wrong=0
    for file in "$folder"/wrong/*.cu; do
        wrong=$((wrong + 1))
        expected=$(sed -n '2s|^/\* [a-z0-9_]* - wrong: \(.*\) \*/$|\1|p' "$file")
        "$RUNG" grade "$task" "$file" --json > "$work/json" 2> "$work/errors"
        [ $? -eq 1 ] && [ "$(lost)" = "$expected" ] ||
            { fail "$file: expected \"$expected\", but it is graded \"$(lost)\""; cat "$work/errors"; }
    done
    [ $wrong -ge 3 ] || fail "$task has $wrong wrong submissions; it needs three"
done
[ $count -ge 1 ] || fail "no tasks were tested"
exit $bad
