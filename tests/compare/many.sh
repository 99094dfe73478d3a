#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# many.sh [COUNT [FILE]] - how often verdicts are right where the truth is known: COUNT (20) comparisons of rung
# with itself, of which one at most may say that anything changed, and as many with a rung that spins for 5 %
# of every run, of which nine of ten must say that both kernels are slower. The machine should do nothing else.
# What was found goes to FILE (build/compare-many.txt), to be committed as results/compare/many.txt.
set -u
count=${1:-20}
file=${2:-$RUNG_BUILD/compare-many.txt}
slowed=$RUNG_BUILD/tests/compare/rung_slowed
sizes=(96 192 256 384)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
export PLANTED_PERCENT=5

# compare KIND NUMBER NEW: a line with the shifts and verdicts; its last word is what they come to.
compare() {
    local size=${sizes[$(($2 % ${#sizes[@]}))]} code told
    "$3" bench --device cpu --kernels 09,10 --sizes "$size" --threads 1 --budget 4 --quiet --json \
        --baseline "$RUNG" --baseline-json "$work/old.json" > "$work/new.json" 2> "$work/said.txt"
    code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || { cat "$work/said.txt" >&2; echo "$1 $2: exit code $code" >&2; exit 1; }
    "$RUNG" compare --json "$work/old.json" "$work/new.json" > "$work/compared.json"
    [ $? -eq $code ] || { echo "$1 $2: bench and compare disagree" >&2; exit 1; }
    told=$(jq -r '[.rows[] | "\(.kernel) \(.shift * 1000 | round / 10)% p=\(.p * 1000000 | round / 1000000) \(.pairs) pairs: \(.verdict)"]
                  + [.rows | map(.verdict) | unique | if length == 1 then .[0] else "mixed" end] | join("; ")' "$work/compared.json")
    echo "$1 $2 f32 $size: $told" | tee -a "$file"
}

: > "$file"
{
    echo "# tests/compare/many.sh $count"
    echo "# $("$RUNG" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(date -u +%Y-%m-%d)"
} >> "$file"
for i in $(seq "$count"); do compare same "$i" "$RUNG" > /dev/null || exit 1; done
for i in $(seq "$count"); do compare planted "$i" "$slowed" > /dev/null || exit 1; done
wrong=$(grep -c '^same .*; \(slower\|faster\|mixed\)$' "$file")
found=$(grep -c '^planted .*; slower$' "$file")
echo "# of $count comparisons with itself $wrong said that something changed; of $count with 5 % planted $found found it" | tee -a "$file"
[ "$wrong" -le $(((count + 19) / 20)) ] || { echo "too many false verdicts"; bad=1; }
[ "$found" -ge $((count * 9 / 10)) ] || { echo "too few found"; bad=1; }
exit $bad
