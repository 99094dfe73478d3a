#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# error_rates.sh [EQUAL [PLANTED [SESSIONS [FILE]]]] - how often rung compare is right where the truth is known:
#
#   equal       EQUAL (40) interleaved comparisons of rung with itself; at most 2 rows of 100 may be reported
#   planted     PLANTED (20) with a rung that spins for 5 % of every run: at least 9 of 10 comparisons must report
#               every row as slower, and the other rows must be "cannot tell"
#   sessions    SESSIONS (20) measurements of one rung, five runs each, neighbours compared without interleaving
#   single      the same of one run each: every row must be "cannot tell"
#
# It takes about 15 minutes. The summary is written to FILE (build/compare-many.txt), to be committed as
# results/compare/many.txt.
set -u
equal=${1:-40} planted=${2:-20} sessions=${3:-20}
file=${4:-$RUNG_BUILD/compare-many.txt}
slowed=$RUNG_BUILD/tests/compare/rung_slowed
sizes=(96 192 256 384)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
export PLANTED_PERCENT=5
say() { echo "$*" | tee -a "$file"; }
size_of() { echo "${sizes[$(($1 % ${#sizes[@]}))]}"; }
bench() { # EXECUTABLE SIZE OPTIONS...
    local executable=$1 size=$2; shift 2
    timeout 600 "$executable" bench --device cpu --kernels 07,09,10 --sizes "$size" --threads 1 --quiet "$@" > /dev/null 2> "$work/said.txt"
}
# judge KIND NUMBER SIZE OLD NEW: adds a line per row to rows.txt and one with all to the file
judge() {
    "$RUNG" compare --json "$4" "$5" > "$work/compared.json"
    local code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || { echo "$1 $2: rung compare fails" >&2; exit 1; }
    jq -r --arg kind "$1" '.rows[] | [$kind, .result, .run_sd // "-", .change] | @tsv' "$work/compared.json" >> "$work/rows.txt"
    say "$1 $2 f32 $3: $(jq -r '[.rows[] | "\(.kernel) \(.change * 1000 | round / 10)% sd \(if .run_sd then "\(.run_sd * 1000 | round / 10)%" else "-" end) \(.result)"] | join("; ")' "$work/compared.json")"
}
count() { awk -F '\t' -v kind="$1" -v result="$2" '$1 == kind && $2 ~ result { n++ } END { print n + 0 }' "$work/rows.txt"; }
# middle FIELD KIND: the median and the largest of that field's sizes, in per cent
middle() {
    awk -F '\t' -v kind="$2" -v field="$1" '$1 == kind && $field != "-" { x = $field; print x < 0 ? -x : x }' "$work/rows.txt" | sort -g |
        awk '{ x[NR] = $1 } END { if (NR == 0) printf "unknown"; else printf "median %.1f %%, largest %.1f %%", 100 * x[int((NR + 1) / 2)], 100 * x[NR] }'
}

: > "$file"
: > "$work/rows.txt"
say "# tests/compare/error_rates.sh $equal $planted $sessions"
say "# $("$RUNG" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, $(date -u +%Y-%m-%d), load at the start $(cut -d ' ' -f 1 /proc/loadavg)"
for kind in equal planted; do
    for i in $(seq "${!kind}"); do
        new=$RUNG; [ $kind = planted ] && new=$slowed
        bench "$new" "$(size_of "$i")" --budget 1 --baseline "$RUNG" --baseline-json "$work/old.json" -o "$work/new.json"
        code=$?
        [ $code -eq 0 ] || [ $code -eq 3 ] || { cat "$work/said.txt" >&2; echo "$kind $i: exit code $code" >&2; exit 1; }
        judge $kind "$i" "$(size_of "$i")" "$work/old.json" "$work/new.json"
    done
done
for kind in sessions single; do
    runs=5; [ $kind = single ] && runs=1
    rm -f "$work/old.json"
    for i in $(seq 0 "$sessions"); do
        bench "$RUNG" 256 --runs $runs --budget 0.5 -o "$work/new.json" || { cat "$work/said.txt" >&2; exit 1; }
        [ ! -e "$work/old.json" ] || judge $kind "$i" 256 "$work/old.json" "$work/new.json"
        mv "$work/new.json" "$work/old.json"
    done
done

say "# load at the end $(cut -d ' ' -f 1 /proc/loadavg)"
for kind in equal planted sessions single; do
    say "# $kind: $(count $kind .) rows: $(count $kind slower) slower, $(count $kind faster) faster, $(count $kind same) same, $(count $kind 'cannot tell') cannot tell; sd between runs: $(middle 3 $kind); change: $(middle 4 $kind)"
done
found=$(grep -c '^planted [^%]*% sd [^%]*% slower; [^%]*% sd [^%]*% slower; [^%]*% sd [^%]*% slower$' "$file")
say "# planted: every row found in $found of $planted comparisons"
[ "$(count equal 'slower|faster')" -le $(($(count equal .) * 2 / 100)) ] || { echo "too many false reports"; bad=1; }
[ "$found" -ge $((planted * 9 / 10)) ] || { echo "too few found"; bad=1; }
[ "$(count planted 'faster|same')" -eq 0 ] || { echo "a planted difference was denied"; bad=1; }
[ "$(count sessions 'slower|faster')" -le $(($(count sessions .) * 2 / 100)) ] || { echo "too many false reports between sessions"; bad=1; }
[ "$(count single 'cannot tell')" -eq "$(count single .)" ] || { echo "a single run was judged"; bad=1; }
exit $bad
