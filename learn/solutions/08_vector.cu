/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - the elements that a thread needs in a step are adjacent, so one load reads them. */
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
            const in4_t down = *(SHARED const in4_t *)&a_tile[step][tile_row];
            const in4_t across = *(SHARED const in4_t *)&b_tile[step][tile_col];
            a_fragment[0] = widen(down.x);
            a_fragment[1] = widen(down.y);
            a_fragment[2] = widen(down.z);
            a_fragment[3] = widen(down.w);
            b_fragment[0] = widen(across.x);
            b_fragment[1] = widen(across.y);
            b_fragment[2] = widen(across.z);
            b_fragment[3] = widen(across.w);
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
