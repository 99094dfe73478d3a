/* SPDX-License-Identifier: Apache-2.0 */
/* 05_padded - step 4: avoid bank conflicts.
 *
 * Later steps need A's tile transposed. This kernel transposes it correctly, but the 32 threads
 * that store a row of A write down a column of the tile: 32 words of the same bank.
 * Remove the conflict. Then run: rung explain learn/05_padded.cu */
#include "dialect.h"

#define TILE 32
#define BM TILE
#define BN TILE
#define BK TILE

KERNEL(TILE * TILE)
learn_05_padded(index_t m, index_t n, index_t k,
                sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                GLOBAL const in_t *__restrict__ b, view_t b_view,
                sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    /* TODO: how much longer must a row be, so that the elements of a column are in different banks? */
    __shared__ in_t a_tile[TILE][TILE];
    __shared__ in_t b_tile[TILE][TILE];

    const uint tile_row = threadIdx.x / TILE;
    const uint tile_col = threadIdx.x % TILE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + tile_row;
    const index_t col = (index_t)block_col * BN + tile_col;

    sum_t sum = 0;
    for (index_t k0 = 0; k0 < k; k0 += BK) {
        a_tile[tile_col][tile_row] = load_or_zero(a, a_view, row, k0 + tile_col, m, k);
        b_tile[tile_row][tile_col] = load_or_zero(b, b_view, k0 + tile_row, col, k, n);
        __syncthreads();
        for (uint i = 0; i < TILE; i++)
            sum += widen(a_tile[i][tile_row]) * widen(b_tile[i][tile_col]);
        __syncthreads();
    }
    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
