#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predictions on record are compared with measured speeds. The measured folder here is made up, because no GPU runs the
# tests: two kernels within their range, one outside, one unverified.
set -u
source=$RUNG_SOURCE
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
wrong=0
expect() { grep -qF -- "$1" "$work/out" || { echo "not printed: $1"; cat "$work/out"; wrong=1; }; }

printf 'machine\ttitle\tkernel\tdtype\tsize\tparameters\tpredicted\tlow\thigh\tlimited_by\n' > "$work/table.tsv"
printf 'x\tGeForce RTX 30\t01_naive\tf32\t4096\t-\t1\t1\t1\tmath\n' >> "$work/table.tsv"
for row in 01_naive:200:150:270 04_shared:1000:740:1350 10_pipeline:9000:6700:12000 12_matrix:5000:4000:6000; do
    IFS=: read -r kernel predicted low high <<< "$row"
    printf 'x\tGeForce RTX 3090\t%s\tf32\t4096\t-\t%s\t%s\t%s\tmath\n' "$kernel" "$predicted" "$low" "$high" >> "$work/table.tsv"
done
echo '{"devices": [{"backend": "cpu", "missing": "", "title": "cpu"},
 {"backend": "cuda", "missing": "", "title": "NVIDIA GeForce RTX 3090"}]}' > "$work/devices.json"
echo '{"results": [
 {"kernel": "01_naive", "dtype": "f32", "m": 4096, "n": 4096, "k": 4096, "verified": true, "gflops": 220},
 {"kernel": "04_shared", "dtype": "f32", "m": 4096, "n": 4096, "k": 4096, "verified": true, "gflops": 1100},
 {"kernel": "04_shared", "dtype": "f32", "m": 4096, "n": 4096, "k": 64, "verified": true, "gflops": 7},
 {"kernel": "10_pipeline", "dtype": "f32", "m": 4096, "n": 4096, "k": 4096, "verified": true, "gflops": 4500},
 {"kernel": "12_matrix", "dtype": "f32", "m": 4096, "n": 4096, "k": 4096, "verified": false, "gflops": 4500}]}' > "$work/bench.json"

"$source/tools/compare-predictions" "$work" "$work/table.tsv" > "$work/out" || { echo "exits with $?"; wrong=1; }
expect "NVIDIA GeForce RTX 3090, predicted in table.tsv"
expect "220 GFLOPS, predicted      200 (150 to 270)  within the range"
expect "4500 GFLOPS, predicted     9000 (6700 to 12000)  OUTSIDE the range"
expect "geometric error 1.34, largest 2.00, rank correlation 1.000" # 1.1, 1.1 and 2
grep -q 12_matrix "$work/out" && { echo "an unverified result is compared"; wrong=1; }

sed -i 's/RTX 3090/RTX 9999/' "$work/devices.json"
"$source/tools/compare-predictions" "$work" "$work/table.tsv" > "$work/out"
expect "no prediction for NVIDIA GeForce RTX 9999 is on record"

# The tables of the project have what the comparison reads.
for table in "$source"/results/predictions/*.tsv; do
    head -1 "$table" | grep -q "^machine.title.kernel.dtype.size.parameters.predicted.low.high.limited_by$" ||
        { echo "$table has other columns"; wrong=1; }
    [ "$(cut -f1 "$table" | sort -u | wc -l)" -ge 13 ] || { echo "$table has fewer than 12 GPUs"; wrong=1; }
done
exit $wrong
