/* SPDX-License-Identifier: Apache-2.0 */
/* missing_product - for the microscope's test: it leaves the last product out. */
#include "dialect.h"

#define BM 32
#define BN 1

KERNEL(32)
wrong(index_t m, index_t n, index_t k,
      sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
      GLOBAL const in_t *__restrict__ b, view_t b_view,
      sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const index_t row = (index_t)(blockIdx.x / (uint)n) * BM + threadIdx.x;
    const index_t col = blockIdx.x - blockIdx.x / (uint)n * (uint)n;
    if (row >= m)
        return;
    sum_t sum = 0;
    for (index_t i = 0; i < k - 1; i++) {
        const sum_t x = widen(a[at(a_view, row, i)]);
        sum += x * widen(b[at(b_view, i, col)]);
    }
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
