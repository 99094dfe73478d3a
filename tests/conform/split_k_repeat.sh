#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# split_k_repeat.sh TIMES - k cut into shares gives the same bits every run, in each kernel that
# cuts it, with an epilogue and in a batch.
set -u
out=$(mktemp) && trap 'rm -f "$out"' EXIT
"$RUNG" verify --device opencl --kernels 07,08,09,10 --params tiny --m 40 --n 24 --k 1000 \
    --splits 7 --batch 2 --epilogue bias_col,gelu --repeat "$1" --json > "$out"
code=$?
[ $code -eq 77 ] && exit 77
jq -c '.by_kernel[] | [.kernel, .dtype, .cases, .wrong, .skipped]' "$out"
[ $code -eq 0 ] || { cat "$out"; exit 1; }
jq -e '.wrong == 0 and .skipped == 0 and (.by_kernel | length) == 4' "$out" > /dev/null || { cat "$out"; exit 1; }
