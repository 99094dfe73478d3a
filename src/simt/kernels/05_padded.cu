/* SPDX-License-Identifier: Apache-2.0 */
/* 05_padded - load the next tile while multiplying the current one; pad the rows.
 *
 * Removes  the wait of 04_shared between loading a tile and using it. The loads of
 *          the next tile are in flight, into registers, while the current tile is
 *          multiplied.
 * Leaves   two shared-memory loads per multiply-add, as in 04 (see 06 and 07).
 * Try      rung bench --kernels 04,05 --params PAD=0,1
 *
 * PAD adds columns to the tiles in shared memory so that the elements of one column
 * fall into different banks. This kernel gains nothing from PAD: a warp reads a row of
 * B's tile and one element of A's tile, without bank conflicts. Padding pays where a
 * warp reads or writes down a column. The parameter exists to show the difference.
 */
#include "dialect.h"

#ifndef TILE
#define TILE 32 // 8 16 32
#endif
#ifndef PAD
#define PAD 1 // 0 1
#endif
#ifndef UNROLL
#define UNROLL 4 // 1 2 4 8
#endif
// preset tiny: TILE=8
// preset tile16: TILE=16

#if TILE < 1 || TILE * TILE > 1024
#error "TILE*TILE threads must fit a block of 1024"
#endif
#if UNROLL < 1 || TILE % UNROLL != 0
#error "UNROLL must divide TILE"
#endif
#if PAD > 32
#error "PAD must be 0 to 32"
#endif

#define BM TILE
#define BN TILE
#define BK TILE

KERNEL(TILE * TILE)
rung_05_padded(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t a_tile[TILE][TILE + PAD];
    __shared__ in_t b_tile[TILE][TILE + PAD];

    const uint tile_row = threadIdx.x / TILE;
    const uint tile_col = threadIdx.x % TILE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row = (index_t)block_row * BM + tile_row;
    const index_t col = (index_t)block_col * BN + tile_col;

    sum_t sum = 0;
    in_t a_next = load_or_zero(a, a_view, row, tile_col, m, k);
    in_t b_next = load_or_zero(b, b_view, tile_row, col, k, n);
    for (index_t k0 = 0; k0 < k; k0 += BK) {
        a_tile[tile_row][tile_col] = a_next;
        b_tile[tile_row][tile_col] = b_next;
        __syncthreads();

        /* Past the last tile both are zero and never stored. */
        a_next = load_or_zero(a, a_view, row, k0 + BK + tile_col, m, k);
        b_next = load_or_zero(b, b_view, k0 + BK + tile_row, col, k, n);
        for (uint i = 0; i < TILE; i += UNROLL)
            for (uint step = 0; step < UNROLL; step++)
                sum += widen(a_tile[tile_row][i + step]) * widen(b_tile[i + step][tile_col]);
        __syncthreads();
    }

    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
