/* SPDX-License-Identifier: Apache-2.0 */
/* cliff - for the test of what explain finds: a tile of 34,000 bytes, of which an SM of sm_86 with
 * its 100 KiB holds two; three would fit if it were 900 bytes smaller. */
#include "dialect.h"

#ifndef WORDS
#define WORDS 8500 // 8256 8500
#endif

#define BM 16
#define BN 16

KERNEL(256)
cliff(index_t m, index_t n, index_t k,
      sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
      GLOBAL const in_t *__restrict__ b, view_t b_view,
      sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t tile[WORDS];

    const uint across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / across;
    const index_t row = (index_t)block_row * BM + threadIdx.x / BN;
    const index_t col = (index_t)(blockIdx.x - block_row * across) * BN + threadIdx.x % BN;
    sum_t sum = 0;
    for (index_t k0 = 0; k0 < k; k0 += 16) {
        for (uint i = threadIdx.x; i < WORDS; i += 256) /* only the first 256 are of use */
            tile[i] = load_or_zero(a, a_view, (index_t)block_row * BM + i / 16 % 16, k0 + i % 16, m, k);
        __syncthreads();
        for (uint i = 0; i < 16; i++)
            sum += widen(tile[threadIdx.x / BN * 16 + i]) * widen(load_or_zero(b, b_view, k0 + i, col, k, n));
        __syncthreads();
    }
    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
