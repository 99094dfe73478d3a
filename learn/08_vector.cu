/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - step 7: four elements per load instruction.
 *
 * The elements of a thread are now adjacent, and A's tile is transposed. The four elements that a
 * thread needs in a step are 16 adjacent bytes, which one load can read. This kernel is correct
 * but reads them one by one. Then run: rung explain learn/08_vector.cu */
#include "dialect.h"

#define TILE 64
#define STEPS 8
#define EACH 4
#define PAD 4
#define SIDE (TILE / EACH)
#define BM TILE
#define BN TILE
#define BK STEPS

KERNEL(SIDE * SIDE)
learn_08_vector(index_t m, index_t n, index_t k,
                sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                GLOBAL const in_t *__restrict__ b, view_t b_view,
                sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ __align__(32) in_t a_tile[STEPS][TILE + PAD];
    __shared__ __align__(32) in_t b_tile[STEPS][TILE];

    const uint tile_row = threadIdx.x / SIDE * EACH; /* four adjacent rows, four adjacent columns */
    const uint tile_col = threadIdx.x % SIDE * EACH;
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
            a_tile[i % STEPS][i / STEPS] = load_or_zero(a, a_view, row0 + i / STEPS, k0 + i % STEPS, m, k);
            b_tile[i / TILE][i % TILE] = load_or_zero(b, b_view, k0 + i / TILE, col0 + i % TILE, k, n);
        }
        __syncthreads();
        for (uint step = 0; step < STEPS; step++) {
            /* TODO: read four elements at once, const in4_t four = *(SHARED const in4_t *)&a_tile[step][tile_row],
             * and use four.x, four.y, four.z and four.w. Do the same for b_tile. */
            for (uint i = 0; i < EACH; i++) {
                a_fragment[i] = widen(a_tile[step][tile_row + i]);
                b_fragment[i] = widen(b_tile[step][tile_col + i]);
            }
            for (uint i = 0; i < EACH; i++)
                for (uint j = 0; j < EACH; j++)
                    sum[i][j] += a_fragment[i] * b_fragment[j];
        }
        __syncthreads();
    }
    for (uint i = 0; i < EACH; i++)
        for (uint j = 0; j < EACH; j++) {
            const index_t row = row0 + tile_row + i, col = col0 + tile_col + j;
            if (row < m && col < n)
                store(&c[at(c_view, row, col)], alpha, sum[i][j], beta);
        }
}
