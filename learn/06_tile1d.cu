/* SPDX-License-Identifier: Apache-2.0 */
/* 06_tile1d - step 5: TM elements per thread, ROWS apart in a column of C.
 *
 * The block has ROWS x TILE threads for TILE x TILE elements. Each element of B in a register
 * serves TM products. Then run: rung verify learn/06_tile1d.cu */
#include "dialect.h"

#define TILE 32
#define TM 4
#define ROWS (TILE / TM)
#define BM TILE
#define BN TILE
#define BK TILE

KERNEL(ROWS * TILE)
learn_06_tile1d(index_t m, index_t n, index_t k,
                sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                GLOBAL const in_t *__restrict__ b, view_t b_view,
                sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t a_tile[TILE][TILE];
    __shared__ in_t b_tile[TILE][TILE];

    const uint tile_row = threadIdx.x / TILE; /* first of this thread's rows */
    const uint tile_col = threadIdx.x % TILE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + tile_row;
    const index_t col = (index_t)block_col * BN + tile_col;

    sum_t sum[TM];
    for (uint i = 0; i < TM; i++)
        sum[i] = 0;
    for (index_t k0 = 0; k0 < k; k0 += BK) {
        for (uint i = 0; i < TM; i++) {
            const uint down = i * ROWS;
            a_tile[tile_row + down][tile_col] = load_or_zero(a, a_view, row + down, k0 + tile_col, m, k);
            b_tile[tile_row + down][tile_col] = load_or_zero(b, b_view, k0 + tile_row + down, col, k, n);
        }
        __syncthreads();
        for (uint step = 0; step < TILE; step++) {
            const sum_t b_value = widen(b_tile[step][tile_col]);
            /* TODO: this is the first of TM sums. The row of sum i is i * ROWS further down. */
            sum[0] += widen(a_tile[tile_row][step]) * b_value;
        }
        __syncthreads();
    }
    for (uint i = 0; i < TM; i++)
        if (row + i * ROWS < m && col < n)
            store(&c[at(c_view, row + i * ROWS, col)], alpha, sum[i], beta);
}
