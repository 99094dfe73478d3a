#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# detection.sh - runs rung check on the planted bugs, and compares the findings with the marks in the files and with
# results/plain_cuda/detection.tsv. With --update it writes the table. --every N takes every N-th file only.
#
# A bug is found if a finding has the kind and one of the lines of a mark "// BUG kind ...". A finding of a marked kind at
# other lines only is a wrong line. RUNG_JOBS sets how many files run at a time. clean_kernels.sh counts false alarms.
set -u
here=$(cd "$(dirname "$0")" && pwd)
results=$RUNG_SOURCE/results/plain_cuda/detection.tsv
tab=$'\t'

# Prints "kind line other_line" of each finding in the JSON output of rung check.
findings()
{
    awk -F'"' '/"findings"/ { inside = 1 }
        inside && $2 == "kind" { kind = $4 }
        inside && $2 == "line" { line = $3; gsub(/[^0-9]/, "", line) }
        inside && $2 == "other_line" { other = $3; gsub(/[^0-9]/, "", other); print kind, line, other }'
}

# Prints one row: file, result, findings.
check_file()
{
    local file=$1 output status
    output=$(cd "$(dirname "$file")" && timeout 120 "$RUNG" check --json "$(basename "$file")" 2> /dev/null)
    status=$?
    findings <<< "$output" | awk -v file="$(basename "$file" .cu)" -v status=$status '
        FNR == NR {
            if (match($0, /\/\/ BUG .*/)) {
                count = split(substr($0, RSTART + 7), kinds, " ")
                for (i = 1; i <= count; i++) { marks[kinds[i], FNR] = 1; marked[kinds[i]] = 1 }
            }
            next
        }
        {
            if (($1, $2) in marks || ($1, $3) in marks) found = 1
            else if ($1 in marked) wrong = 1
            text = text (text ? ", " : "") $1 " " $2 ($3 + 0 ? "/" $3 : "")
        }
        END {
            result = status > 1 ? "error" : found ? "found" : wrong ? "wrong line" : "missed"
            print file "\t" result "\t" text
        }' "$file" -
}

# Adds what the list says about each bug. Notes explain the bugs that are not found.
with_list()
{
    awk -F'\t' -v OFS='\t' '
        FNR == NR { if (FNR > 1) { bug[$1 "_" $2] = $1 OFS $2; expected[$1 "_" $2] = $3; note[$1 "_" $2] = $5 } next }
        { print bug[$1], expected[$1], $2, $3, note[$1] }' "$here/bugs/list.tsv" -
}

# Prints how many bugs of each kind were found.
summary()
{
    awk -F'\t' 'NR > 1 { total[$1]++; count[$1, $4]++; all++; every[$4]++ }
        END {
            printf "%-22s %5s %10s %6s %5s\n", "bug", "found", "wrong line", "missed", "error"
            for (bug in total)
                printf "%-22s %5d %10d %6d %5d\n", bug, count[bug, "found"], count[bug, "wrong line"],
                       count[bug, "missed"], count[bug, "error"] | "sort"
            close("sort")
            printf "%-22s %5d %10d %6d %5d  of %d\n", "all", every["found"], every["wrong line"], every["missed"],
                   every["error"], all
        }' "$1"
}

if [ "${1:-}" = --file ]; then
    check_file "$2"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$RUNG" check "$here/clean/vector_add.cu" > "$folder/first" 2>&1
if [ $? -gt 1 ]; then
    cat "$folder/first"
    echo "rung check does not run CUDA files here; NVRTC is needed"
    exit 77
fi
every=1
[ "${1:-}" != --every ] || every=$2
# sample FILE... - every N-th of the files
sample() { printf '%s\n' "$@" | awk -v every="$every" 'NR % every == 0'; }
run() { printf '%s\0' "$@" | xargs -0 -n 1 -P "${RUNG_JOBS:-$(nproc)}" "$BASH" "$0" --file | LC_ALL=C sort; }
{
    echo "bug${tab}kernel${tab}expected${tab}result${tab}findings${tab}note"
    run $(sample "$here"/bugs/*.cu) | with_list
} > "$folder/table"
summary "$folder/table"
if [ "${1:-}" = --update ]; then
    cp "$folder/table" "$results"
    exit
fi
status=0
if [ "$every" -eq 1 ]; then
    diff "$results" "$folder/table" || status=1
elif grep -vxF -f "$results" "$folder/table"; then
    status=1
fi
[ "$(wc -l < "$folder/table")" -gt 5 ] || { echo "the table has hardly a row"; status=1; }
[ $status = 0 ] || echo "the table differs from $results; look at the differences, then run this script with --update"
exit $status
