#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify_gemm.sh [RESULT] - rung verify understands every file of gemm/: what it computes, for which sizes, all cases
# right, no findings. The table must be results/plain_cuda/gemm.tsv; with RESULT it is written there instead. Instead of
# RESULT, --every N takes every N-th file only.
set -u
here=$(realpath "$(dirname "$0")")
source=${RUNG_SOURCE:-$(realpath "$here/../..")}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$source/build/tools}/python RUNG LC_ALL=C

# One row: file, kernel, computes, sizes, right cases, findings, whether a comment line was added.
cat > "$work/row.py" << 'END'
import json, sys
report = json.load(open(sys.argv[1]))
for kernel in report["kernels"]:
    sizes = kernel.get("sizes", "") if kernel["ran"] else ""
    cases = "%d of %d" % (kernel["cases"] - kernel["wrong"], kernel["cases"]) if kernel["ran"] else "not run"
    print(sys.argv[2], kernel["kernel"], kernel.get("computes", kernel.get("reason", "")), sizes, cases,
          len(report["findings"]), sys.argv[3], sep="\t")
END

# verify FILE - runs a copy of the file, with its comment line if it needs one
verify() {
    local name line
    name=$(basename "$1")
    cp "$1" "$work/$name"
    line=$(awk -F '\t' -v name="$name" '$1 == name { print $2 }' "$here/launch_lines.tsv")
    [ -z "$line" ] || echo "$line" >> "$work/$name"
    "$RUNG" verify "$work/$name" --time-limit 600 --json > "$work/$name.json" 2> "$work/$name.error" || cat "$work/$name.error" >&2
    python3 "$work/row.py" "$work/$name.json" "$name" "${line:+one line}" > "$work/$name.tsv"
}

running=0
every=1 number=0
[ "${1:-}" != --every ] || every=$2
for file in "$here"/gemm/*.cu; do
    [ $((++number % every)) -eq 0 ] || continue
    verify "$file" &
    [ $((++running % 2)) -ne 0 ] || wait
done
wait
{
    echo "# rung verify on tests/plain_cuda/gemm: file, kernel, what it computes, sizes, right cases, findings, added line."
    cat "$work"/*.cu.tsv
} > "$work/table"
if [ $every -gt 1 ]; then
    [ "$(wc -l < "$work/table")" -gt 5 ] || { echo "hardly a file was verified"; exit 1; }
    if grep -vxF -f "$source/results/plain_cuda/gemm.tsv" "$work/table"; then
        echo "the table has other rows"
        exit 1
    fi
elif [ $# -gt 0 ]; then
    cp "$work/table" "$1"
else
    diff "$source/results/plain_cuda/gemm.tsv" "$work/table" ||
        { echo "the table differs; update it with verify_gemm.sh results/plain_cuda/gemm.tsv"; exit 1; }
fi
