/* SPDX-License-Identifier: Apache-2.0 */
/* alternating_lanes - for the microscope's test: lanes of a warp load in turns, even ones in even steps and
 * odd ones in odd. Their n-th loads are not one request. */
#include "dialect.h"

#define BM 1
#define BN 32

KERNEL(32)
turns(index_t m, index_t n, index_t k,
      sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
      GLOBAL const in_t *__restrict__ b, view_t b_view,
      sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint across = (uint)((n + BN - 1) / BN);
    const index_t row = blockIdx.x / across;
    const index_t col = (index_t)(blockIdx.x - blockIdx.x / across * across) * BN + threadIdx.x;
    sum_t sum = 0;
    if (col >= n)
        return;
    for (uint phase = 0; phase < 2; phase++)
        for (index_t i = 0; i < k; i++)
            if ((i + threadIdx.x + phase) % 2 == 0) /* the branch */
                sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]); /* the loads */
    store(&c[at(c_view, row, col)], alpha, sum, beta);
}
