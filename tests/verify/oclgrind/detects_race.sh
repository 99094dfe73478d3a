#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checker checks: a race in a kernel that an ordinary driver runs to the right
# result is in Oclgrind's log.
set -u
here=$(dirname "$0")
. "$here/oclgrind.sh"
cat > "$work/race.cu" <<'KERNEL'
/* race.cu - each thread reads what its left neighbour wrote, with no barrier. */
#include "dialect.h"
#define BM 8
#define BN 8
KERNEL(64)
race(index_t m, index_t n, index_t k, sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
     GLOBAL const in_t *__restrict__ b, view_t b_view, sum_t beta, GLOBAL out_t *__restrict__ c,
     view_t c_view)
{
    __shared__ index_t ones[64];
    const index_t row = threadIdx.x / 8, col = threadIdx.x % 8;
    ones[threadIdx.x] = 1;
    const index_t steps = k * ones[threadIdx.x > 0 ? threadIdx.x - 1 : 0];
    sum_t sum = 0;
    for (index_t i = 0; i < steps; i++)
        sum += a[at(a_view, row, i)] * b[at(b_view, i, col)];
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
KERNEL
"$RUNG" verify --device opencl --kernels "$work/race.cu" --m 8 > "$work/pocl.txt"
pocl=$?
[ $pocl -eq 77 ] && exit 77
[ $pocl -eq 0 ] || { echo "expected a right result from a driver that does not check"; cat "$work/pocl.txt"; exit 1; }
verify_checked --kernels "$work/race.cu" --m 8
grep -q "data race" "$log" || { echo "the race is not in the log:"; cat "$log"; exit 1; }
