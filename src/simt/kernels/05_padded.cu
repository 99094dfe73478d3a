/* SPDX-License-Identifier: Apache-2.0 */
/* 05_padded - 16-byte loads along k from padded tiles; the next tile loads meanwhile.
 *
 * Removes  most of the shared-memory load instructions of 04_shared. B's tile is stored
 *          transposed, so that the elements of a row of A and of a column of B are both
 *          adjacent along k: one 16-byte load of each serves four multiply-adds. Also
 *          removes the wait between loading a tile and using it: the loads of the next
 *          tile are in flight, into registers, while the current tile is multiplied.
 * Leaves   two elements from shared memory per multiply-add, as in 04 (see 06 and 07).
 * Try      rung explain 05 --params PAD=0, then PAD=1 and PAD=4
 *
 * PAD adds elements to the rows of the tiles. A warp reads B's tile down a column. Without
 * padding, rows of 32 words put a whole column into the same banks. PAD=1 separates the
 * banks but breaks the alignment of 16-byte loads. PAD=4 has neither problem: adjacent rows
 * are 16 bytes further in the banks.
 *
 * A warp computes 4 x 8 elements of C. Bit 0 of the lane selects a row and bit 1 a column,
 * so B's address is the same for lanes n and n^1, and A's for n and n^2. A GPU then serves
 * a 16-byte load in two wavefronts instead of four.
 */
#include "dialect.h"

#ifndef TILE
#define TILE 32 // 8 16 32
#endif
#ifndef PAD
#define PAD 4 // 0 1 4
#endif
#ifndef UNROLL
#define UNROLL 8 // 4 8 16
#endif
// preset f64: PAD=2
// preset tiny: TILE=8
// preset tile16: TILE=16

#if TILE < 8 || TILE % 8 != 0
#error "TILE must be a multiple of eight"
#endif
#if TILE * TILE > 1024
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
    __shared__ in_t b_tile[TILE][TILE + PAD]; /* transposed: b_tile[column][k] */

    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (TILE / 8) * 4 + lane / 16 * 2 + lane % 2;
    const uint tile_col = warp % (TILE / 8) * 8 + lane / 2 % 8;
    const uint load_row = threadIdx.x / TILE; /* of A: a warp loads adjacent elements of a row */
    const uint load_col = threadIdx.x % TILE;
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t row = row0 + tile_row;
    const index_t col = (index_t)block_col * BN + tile_col;

    sum_t sum = 0;
    in_t a_next = load_or_zero(a, a_view, row0 + load_row, load_col, m, k);
    in_t b_next = load_or_zero(b, b_view, tile_row, col, k, n);
    for (index_t k0 = 0; k0 < k; k0 += BK) {
        a_tile[load_row][load_col] = a_next;
        b_tile[tile_col][tile_row] = b_next;
        __syncthreads();

        /* Past the last tile both are zero and never stored. */
        a_next = load_or_zero(a, a_view, row0 + load_row, k0 + BK + load_col, m, k);
        b_next = load_or_zero(b, b_view, k0 + BK + tile_row, col, k, n);
#pragma unroll 1
        for (uint i = 0; i < TILE; i += UNROLL)
            for (uint step = 0; step < UNROLL; step++)
                sum += widen(a_tile[tile_row][i + step]) * widen(b_tile[tile_col][i + step]);
        __syncthreads();
    }

    if (row < m && col < n)
        store(&c[at(c_view, row, col)], alpha, sum, beta);
}
