#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# planted.sh - the soak test finds planted faults, reduces them to small cases and repeats these. A run continues after an
# interruption.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
program=$RUNG_BUILD/tests/soak/soak_planted
wrong() { cat "$work/out"; echo "$*"; exit 1; }

"$program" --count 60 > "$work/out" 2>&1 || wrong "without a fault"
grep -q '^seeds 1 to 60: .* 0 cases wrong' "$work/out" || wrong "the totals"

# plant NAME MAXIMUM WORDS: the fault is found, the smallest case has at most MAXIMUM elements of C and the words, and it fails
# when it is repeated, but not without the fault.
plant() {
    local m n steps seed
    SOAK_PLANT=$1 "$program" --count 600 --failures 1 > "$work/out" 2>&1
    [ $? -eq 1 ] || wrong "$1 was not found"
    read -r m n < <(sed -n 's/^  smallest: .*, m \([0-9]*\) n \([0-9]*\) k .*/\1 \2/p' "$work/out" | head -n 1)
    [ $((m * n)) -le "$2" ] || wrong "$1 was reduced to $m x $n"
    grep -A 1 '^  smallest: ' "$work/out" | head -n 2 | tr '\n' ' ' | grep -q -- "$3" || wrong "$1 is not described by '$3'"
    read -r seed steps < <(sed -n 's/^  repeat it: .*--case \([0-9]*\) --steps \([0-9.]*\)/\1 \2/p' "$work/out" | head -n 1)
    SOAK_PLANT=$1 "$program" --case "$seed" --steps "$steps" > "$work/again" 2>&1 && wrong "$1: the smallest case passes"
    "$program" --case "$seed" --steps "$steps" > "$work/again" 2>&1 || wrong "$1: the smallest case fails without the fault"
    echo "$1: $(grep -m 1 '^  smallest: ' "$work/out")"
}
plant tail 5 'n 5 .*expected'
plant beta 1 'beta -1.*expected'
plant strides 1 'batch 2.* of item 1 is'
plant threads 21 'other bits with 3 threads'
plant gap 2 'memory of c'
plant input 1 'memory of bias'

# A run of two parts compares as much as one.
"$program" --state "$work/parts" --count 25 > "$work/out" 2>&1 || wrong "the first part"
"$program" --state "$work/parts" --count 35 > "$work/out" 2>&1 || wrong "the second part"
"$program" --state "$work/whole" --count 60 > "$work/out" 2>&1 || wrong "the whole"
diff <(cut -d ' ' -f 1-5 "$work/parts") <(cut -d ' ' -f 1-5 "$work/whole") > "$work/out" || wrong "the parts differ from the whole"
exit 0
