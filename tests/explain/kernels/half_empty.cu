/* SPDX-License-Identifier: Apache-2.0 */
/* half_empty - for the microscope's test: 48 threads a block, a warp and a half. */
#include "dialect.h"

#define BM 1
#define BN 48

KERNEL(48)
half_empty(index_t m, index_t n, index_t k,
           sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
           GLOBAL const in_t *__restrict__ b, view_t b_view,
           sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint across = (uint)((n + BN - 1) / BN);
    const index_t row = blockIdx.x / across;
    const index_t col = (index_t)(blockIdx.x - blockIdx.x / across * across) * BN + threadIdx.x;
    if (col >= n)
        return;
    sum_t sum = 0;
    for (index_t i = 0; i < k; i++) {
        const sum_t x = widen(a[at(a_view, row, i)]);
        sum += x * widen(b[at(b_view, i, col)]); /* the load */
    }
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
