#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/trust-summary: the sums of made-up tables, a table without a needed column, and that the committed summary is the
# one of the committed tables.
set -u
cd "$RUNG_SOURCE" || exit 1
command -v jq > /dev/null || { echo "jq is not here"; exit 77; }
bad=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
table() { tr ' ' '\t' > "$work/$1.tsv"; }

table fault_points << 'EOF'
scenario points wrong aborted leaked hung
a 10 1 2 3 4
b 20 0 0 1 0
EOF
table fuzz << 'EOF'
target cpu_seconds executions crashes
a 1800 100 0
b 900 50 1
c 0 0 0
EOF
table soak << 'EOF'
device types problems refused wrong cpu_seconds
all all 15 3 1 7200
cpu f32 10 1 1 3600
cuda f32 5 2 0 3600
EOF
table mutants << 'EOF'
area result
core killed
core killed
core survived
core equivalent
core not_built
core not_run
EOF
table coverage << 'EOF'
directory lines_percent branches_percent
src/core 97.5 91.0
src/cpu 1 2
EOF
tools/trust-summary "$work" > /dev/null || { echo "trust-summary exits with $?"; bad=1; }
expected='30 7 4 2 0.75 150 1 12 1 2.00 4 1 66.7 97.5 91.0 null'
found=$(jq -r '[.fault_points, .faults_wrong, .leaks, .fuzz_targets, .fuzz_cpu_hours, .fuzz_executions, .fuzz_crashes,
    .problems_compared, .problems_wrong, .soak_hours, .mutants, .mutants_equivalent, .mutants_killed_percent,
    .coverage_core_lines, .coverage_core_branches, .flips_injected] | map(tostring) | join(" ")' "$work/summary.json")
[ "$(tr ' ' '\n' <<< "$expected" | sed 's/\.0*$//')" = "$(tr ' ' '\n' <<< "$found" | sed 's/\.0*$//')" ] ||
    { echo "the summary is $found instead of $expected"; bad=1; }

sed -i '1s/wrong/right/' "$work/soak.tsv"
tools/trust-summary "$work" > /dev/null 2> "$work/message" && { echo "a missing column is not noticed"; bad=1; }
grep -q 'soak.tsv has no column wrong' "$work/message" || { echo "the message is: $(cat "$work/message")"; bad=1; }

rm "$work"/*
cp results/trust/*.tsv "$work"
tools/trust-summary "$work" > /dev/null || bad=1
cmp "$work/summary.json" results/trust/summary.json || { echo "run tools/trust-summary and tools/write-numbers, and commit the results"; bad=1; }
exit $bad
