/* SPDX-License-Identifier: Apache-2.0 */
/* 04_shared - load each tile into shared memory once and use it TILE times.
 *
 * Removes  the repeated global loads of 02_coalesced, where every thread loaded a
 *          whole row of A and a whole column of B by itself.
 * Leaves   two shared-memory loads per multiply-add. A thread owns a single element
 *          of C, so nothing is reused in registers (see 06 and 07).
 * Try      rung verify --device opencl --kernels 04 --params TILE=16
 *          TILE=32 halves the global traffic of TILE=16 but needs 1024 threads per
 *          block. Which is faster depends on how many blocks fit on an SM.
 *
 * A block of TILE*TILE threads walks along k, one tile of A and one tile of B per
 * iteration. Two barriers are needed: no thread may multiply before all threads have
 * loaded, and no thread may load the next tile before all threads have multiplied.
 */
#include "dialect.h"

#ifndef TILE
#define TILE 32 // 8 16 32
#endif
// preset tiny: TILE=8
// preset tile16: TILE=16

#if TILE < 1 || TILE * TILE > 1024
#error "TILE*TILE threads must fit a block of 1024"
#endif

#define BM TILE
#define BN TILE
#define BK TILE

KERNEL(TILE * TILE)
rung_04_shared(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
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
        a_tile[tile_row][tile_col] = load_or_zero(a, a_view, row, k0 + tile_col, m, k);
        b_tile[tile_row][tile_col] = load_or_zero(b, b_view, k0 + tile_row, col, k, n);
        __syncthreads();

        for (uint i = 0; i < TILE; i++)
            sum += widen(a_tile[tile_row][i]) * widen(b_tile[i][tile_col]);
        __syncthreads();
    }

    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
