/* SPDX-License-Identifier: Apache-2.0 */
/* 07_tile2d - step 6: EACH x EACH elements per thread, an outer product in registers.
 *
 * The elements of a thread are SIDE rows and SIDE columns apart. In each step a thread multiplies
 * EACH elements of A by EACH elements of B, every pair. Then run: rung verify learn/07_tile2d.cu */
#include "dialect.h"

#define TILE 64
#define STEPS 8
#define EACH 4
#define SIDE (TILE / EACH)
#define BM TILE
#define BN TILE
#define BK STEPS

KERNEL(SIDE * SIDE)
learn_07_tile2d(index_t m, index_t n, index_t k,
                sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                GLOBAL const in_t *__restrict__ b, view_t b_view,
                sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t a_tile[TILE][STEPS];
    __shared__ in_t b_tile[STEPS][TILE];

    const uint tile_row = threadIdx.x / SIDE;
    const uint tile_col = threadIdx.x % SIDE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;

    sum_t sum[EACH][EACH], a_fragment[EACH], b_fragment[EACH];
    for (uint i = 0; i < EACH; i++)
        for (uint j = 0; j < EACH; j++)
            sum[i][j] = 0;
    for (index_t k0 = 0; k0 < k; k0 += BK) {
#pragma unroll 1
        for (uint i = threadIdx.x; i < TILE * STEPS; i += SIDE * SIDE) {
            a_tile[i / STEPS][i % STEPS] = load_or_zero(a, a_view, row0 + i / STEPS, k0 + i % STEPS, m, k);
            b_tile[i / TILE][i % TILE] = load_or_zero(b, b_view, k0 + i / TILE, col0 + i % TILE, k, n);
        }
        __syncthreads();
        for (uint step = 0; step < STEPS; step++) {
            for (uint i = 0; i < EACH; i++)
                a_fragment[i] = widen(a_tile[tile_row + i * SIDE][step]);
            /* TODO: do the same for b_fragment, along row `step` of b_tile. */
            for (uint j = 0; j < EACH; j++)
                b_fragment[j] = 0;
            /* TODO: add a_fragment[i] * b_fragment[j] to every sum[i][j]. */
            sum[0][0] += a_fragment[0] * b_fragment[0];
        }
        __syncthreads();
    }
    for (uint i = 0; i < EACH; i++)
        for (uint j = 0; j < EACH; j++) {
            const index_t row = row0 + tile_row + i * SIDE, col = col0 + tile_col + j * SIDE;
            if (row < m && col < n)
                store(&c[at(c_view, row, col)], alpha, sum[i][j], beta);
        }
}
