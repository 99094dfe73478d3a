#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rung plan: what it predicts is what simulations of the same ranks took, the machines of the repository can be read, and what is
# wrong with a file or a question is said.
set -u
cd "$RUNG_SOURCE" || exit 1
fail() { echo "$*" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Within two in a hundred, of every simulation that was kept.
looked=0
while IFS= read -r line; do
    read -r ranks m n k seconds < <(jq -r '[.ranks, .m, .n, .k, .seconds] | @tsv' <<< "$line")
    plan=$("$RUNG" plan --ranks "$ranks" --m "$m" --n "$n" --k "$k" --dtype f64 --machine machines/simulated.txt --json) ||
        fail "rung plan failed for $line"
    jq -e --argjson took "$line" '.plan | [.pm, .pn, .pk] == $took.grid and .received == $took.received and
        (.seconds / $took.seconds - 1 | fabs) < 0.02' <<< "$plan" > /dev/null ||
        fail "$ranks ranks took $seconds s, and the plan says $(jq -c .plan <<< "$plan")"
    looked=$((looked + 1))
done < results/simgrid-3.32/squares.jsonl
[ $looked -ge 3 ] || fail "where are the simulations?"

for machine in machines/*.txt; do
    "$RUNG" plan --ranks 64 --m 20000 --dtype f64 --machine "$machine" > "$work/out" || fail "$machine is not read"
    grep -q 'of peak' "$work/out" || fail "$machine: nothing is told"
done
# Every figure that is not ours has its source.
for machine in machines/dgx-*.txt; do
    ! grep -E '^[a-z0-9_]+ *=' "$machine" | grep -v '^title' | grep -v '#' || fail "$machine: figures without a source"
done

wrong() { # TEXT-OF-FILE REASON
    printf '%b' "$1" > "$work/machine.txt"
    "$RUNG" plan --ranks 8 --m 1000 --dtype f64 --machine "$work/machine.txt" > "$work/out" 2>&1
    [ $? -eq 2 ] || fail "a file that says '$1' is taken"
    grep -q "$2" "$work/out" || { cat "$work/out"; fail "not a word of $2"; }
}
wrong 'f64 = 1e12\n' 'no network speed'
wrong 'network = 1e9\n' 'no speed for f64'
wrong 'network = fast\n' ':1: the value is not a number'
wrong 'title = x\nnetwork = -1\n' ':2: the value is not a number'
wrong 'speed = 1\n' ':1: unknown field'
wrong 'network\n' 'field = value'
wrong "title = $(printf '%64s' '' | tr ' ' x)\nnetwork = 1e9\n" ':1: the title is longer than 63'
wrong "network = 1$(printf '%130s' '' | tr ' ' 0)\n" ':1: the value is longer than 127'
wrong 'network = 1e9\nf64 = 1e12\nmemory = 1000\n' 'use more ranks'

# However large the cluster is said to be, there is an end to it: a row for each power of two that can be asked for.
printf 'network = 1e9\nf64 = 1e12\nranks = 1e18\n' > "$work/machine.txt"
timeout 60 "$RUNG" plan --ranks 100000 --m 30000 --dtype f64 --machine "$work/machine.txt" --json > "$work/out" ||
    fail "a large cluster has no end"
jq -e '[.sweep[].ranks] | length == 19 and .[-1] == 131072 and . == (. | sort) and any(. == 100000)' "$work/out" > /dev/null ||
    { jq -c '[.sweep[].ranks]' "$work/out"; fail "other numbers of ranks are told"; }
printf 'network = 1e9\nf64 = 1e12\nmemory = 1000\nranks = 1e18\n' > "$work/machine.txt"
timeout 60 "$RUNG" plan --ranks 131072 --m 30000 --dtype f64 --machine "$work/machine.txt" > "$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'use more ranks' "$work/out" || fail "memory that is never enough is looked for without an end"

# Clusters by their names, in upper or lower case, from any folder.
for name in dgx-a100 DGX-A100 Dgx-H100.txt simulated; do
    (cd "$work" && "$RUNG" plan --ranks 8 --m 20000 --dtype f64 --machine "$name") > "$work/out" 2>&1 ||
        { cat "$work/out"; fail "$name is not found"; }
done
"$RUNG" plan --ranks 8 --m 20000 --machine dgx > "$work/out" 2>&1 && fail "a machine that is not known is taken"
grep -q 'dgx-a100 dgx-h100 simulated' "$work/out" || { cat "$work/out"; fail "the machines are not listed"; }

# What is missing is said at once.
"$RUNG" plan > "$work/out" 2>&1
[ $? -eq 2 ] && grep -q -- '--m, --ranks, --machine' "$work/out" || { cat "$work/out"; fail "not all that is missing"; }
"$RUNG" plan --m 5 --machine simulated > "$work/out" 2>&1
[ $? -eq 2 ] && grep -q -- 'missing: --ranks;' "$work/out" || { cat "$work/out"; fail "--ranks is missing"; }
"$RUNG" plan --m 5x --ranks 4 --machine simulated > "$work/out" 2>&1
[ $? -eq 2 ] && grep -q -- '--m is 5x' "$work/out" || { cat "$work/out"; fail "a size that is none"; }

"$RUNG" plan --ranks 8 --m 1000 --machine "$work/none.txt" > "$work/out" 2>&1 && fail "a machine that is not there is taken"
"$RUNG" plan --ranks 0 --m 1000 --machine machines/simulated.txt > "$work/out" 2>&1 && fail "no ranks are taken"
exit 0
