#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_cublas.sh - cuBLAS behind kernel 00, by the same oracle as our own kernels, on a fake of
# it that is column-major as it is: every type it has, row- and column-major.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"

verify() {
    with_driver "$RUNG" verify --device cuda --kernels 00 --json "$@" > "$work/out" 2>&1
    [ $? -eq 0 ] && jq -e '.wrong == 0 and .cases - .skipped > 0' "$work/out" > "$work/shown" ||
        { cat "$work/out"; wrong "$*"; }
}

verify --dtype f32,f64,f16,bf16,f16:f32,bf16:f32 --suite quick
jq -e '.cases - .skipped > 300 and ([.by_kernel[] | select(.cases > .skipped)] | length) == 6' "$work/out" > "$work/shown" ||
    { cat "$work/out"; wrong "too little was run"; }
# Whole numbers by fours alone.
verify --dtype i8 --m 32 --n 24 --k 20
verify --dtype i8 --m 32 --n 24 --k 20 --a-strides 1,32 --b-strides 1,20
for mode in bf16x3 tf32 bf16x1; do verify --compute $mode --suite edges; done

# Without cuBLAS it is told what to install.
mkdir "$work/alone" && cp "$emulated_driver/libcuda.so.1" "$work/alone"
LD_LIBRARY_PATH=$work/alone "$RUNG" verify --device cuda --kernels 00 --m 8 --json > "$work/out" 2>&1
[ $? -eq 77 ] && grep -q "pip install nvidia-cublas-cu12" "$work/out" || { cat "$work/out"; wrong "cuBLAS is not missed"; }
