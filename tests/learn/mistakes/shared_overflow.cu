/* SPDX-License-Identifier: Apache-2.0 */
/* shared_overflow - a mistake to be found: two tiles of 32 KiB, where CUDA gives a block 48 KiB. */
#include "dialect.h"

#define TILE 16
#define DEPTH 512
#define BM TILE
#define BN TILE
#define BK DEPTH

KERNEL(TILE * TILE)
shared_overflow(index_t m, index_t n, index_t k,
                sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                GLOBAL const in_t *__restrict__ b, view_t b_view,
                sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t a_tile[TILE][DEPTH];
    __shared__ in_t b_tile[DEPTH][TILE];

    const uint tile_row = threadIdx.x / TILE;
    const uint tile_col = threadIdx.x % TILE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + tile_row;
    const index_t col = (index_t)block_col * BN + tile_col;

    sum_t sum = 0;
    for (index_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (uint i = 0; i < DEPTH; i += TILE) {
            a_tile[tile_row][i + tile_col] = load_or_zero(a, a_view, row, k0 + i + tile_col, m, k);
            b_tile[i + tile_row][tile_col] = load_or_zero(b, b_view, k0 + i + tile_row, col, k, n);
        }
        __syncthreads();

        for (uint i = 0; i < DEPTH; i++)
            sum += widen(a_tile[tile_row][i]) * widen(b_tile[i][tile_col]);
        __syncthreads();
    }
    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
