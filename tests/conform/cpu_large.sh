#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpu_large.sh - the ways that the CPU's 10_pipeline takes for large operands alone, which no suite of small problems
# reaches, one problem each: B read in place for many rows, copies of A that are kept, of more rows than are kept at a
# time, and C past the caches.
set -u
one() {
    "$RUNG" verify --device cpu --kernels 10 --quiet "$@" > /dev/null || { echo "wrong: $*"; exit 1; }
}
one --m 20 --n 700 --k 600 --alpha 0.5 --beta 2
one --m 100 --n 700 --k 600 --alpha 0.5 --beta 2
one --m 100 --n 700 --k 600 --dtype f64
one --m 100 --n 700 --k 600 --dtype f64:f32 --threads 3
one --m 140 --n 513 --k 1024 --a-strides 1024,1 --threads 2
one --m 300 --n 200 --k 512 --params KC=128,NC=32 --beta 1
one --m 259 --n 200 --k 512 --params KC=128,NC=32 --dtype f64
one --m 300 --n 200 --k 512 --params KC=128,NC=32 --a-strides 1,300
one --m 300 --n 200 --k 512 --params KC=128,NC=32 --epilogue bias_row,relu --threads 2
one --m 300 --n 60 --k 8192 --params KC=8192,NC=32 --dtype f64 # 252 rows, then 48
one --m 2049 --n 2112 --k 9
echo "11 problems"
