/* SPDX-License-Identifier: Apache-2.0 */
/* 09_warptile - block tile, warp tile, thread tile.
 *
 * Removes  the shared-memory loads of 08_vector that several warps repeated. A warp owns
 *          a WM x WN tile of C. The elements of a thread are vectors of four, interleaved
 *          with the vectors of the other threads, so that the 16-byte loads of a warp are
 *          adjacent or equal. Blocks that run at the same time compute a rectangle of C
 *          and share its tiles in L2.
 * Leaves   the wait at each tile: no tile is loaded while the warp multiplies
 *          (see 10).
 * Try      rung explain 09, and rung explain 08: compare the shared loads per multiply-add
 *
 * The 32 threads of a warp form a grid of WM/TM x WN/TN. The rows of A's tile in shared
 * memory are padded by four elements: 16-byte loads stay aligned, and the transposing
 * stores fall into different banks. The stores conflict once a warp loads four vectors
 * of a row (16 of k), so A's tile is loaded in parts of 8 of k, two vectors per row.
 */
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"

#ifndef BM
#define BM 128 // 64 128
#endif
#ifndef BN
#define BN 128 // 64 128
#endif
#ifndef BK
#define BK 16 // 8 16
#endif
#ifndef WM
#define WM 64 // 32 64
#endif
#ifndef WN
#define WN 64 // 32 64
#endif
#ifndef TM
#define TM 8 // 4 8 16
#endif
#ifndef TN
#define TN 16 // 4 8 16
#endif
// preset i32: BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8
// preset f64: BM=64,BN=64,BK=16,WM=16,WN=32,TM=4,TN=4
// preset tiny: BM=32,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4
// preset warp64: BM=128,BN=128,BK=8,WM=64,WN=64,TM=8,TN=16

#if TM < 4 || TN < 4 || TM % 4 != 0 || TN % 4 != 0
#error "TM and TN must be multiples of four"
#endif
#if WM % TM != 0 || WN % TN != 0 || WM / TM * (WN / TN) != 32
#error "WM/TM x WN/TN must be the 32 threads of a warp"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if BK < 4 || BK % 4 != 0
#error "BK must be a multiple of four"
#endif

#define THREADS (BM / WM * (BN / WN) * 32)
#define LDA (BM + 4)
#define LDB BN
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
#define A_LOAD_K (WIDE && BK % 8 == 0 && BM * 8 % (8 * THREADS) == 0 ? 8 : BK) // otherwise too many registers

#if THREADS > 1024
#error "32 threads per warp must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "BM*BK/4 and BN*BK/4 vectors must divide evenly among the threads"
#endif
#if (LDA + LDB) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

KERNEL(THREADS)
rung_09_warptile(index_t m, index_t n, index_t k,
                 sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                 GLOBAL const in_t *__restrict__ b, view_t b_view,
                 sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                 launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
                 GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                 GLOBAL sum_t *__restrict__ partials)
{
    __shared__ __align__(32) in_t a_tile[BK * LDA];
    __shared__ __align__(32) in_t b_tile[BK * LDB];

    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (BN / WN) * WM + lane_row(lane, WM / TM, WN / TN) * 4;
    const uint tile_col = warp % (BN / WN) * WN + lane_col(lane, WM / TM, WN / TN) * 4;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[TM], b_fragment[TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    /* Without guards the pointers advance from tile to tile, so that a thread computes the offsets of its
     * vectors once. Guards need k anyway. */
    GLOBAL const in_t *a_next = a, *b_next = b;
    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        const index_t k_at = GUARDED ? k0 : 0;
        UNROLL_VECTORS
        for (uint dk = 0; dk < BK; dk += A_LOAD_K)
            load_tile(&a_tile[dk * LDA], LDA, BM, A_LOAD_K, THREADS, a_next, a_slice, row0, k_at + dk, m, slice_k,
                      A_MN_MAJOR);
        load_tile(b_tile, LDB, BN, BK, THREADS, b_next, transposed_view(b_slice), col0, k_at, n, slice_k, B_MN_MAJOR);
        if (!GUARDED) {
            a_next += BK * a_slice.col_stride;
            b_next += BK * b_slice.row_stride;
        }
        __syncthreads();

        UNROLL_STEPS
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i += 4)
                load4_shared(&a_fragment[i], &a_tile[step * LDA + tile_row + i * (WM / TM)], LDA);
#pragma unroll
            for (uint j = 0; j < TN; j += 4)
                load4_shared(&b_fragment[j], &b_tile[step * LDB + tile_col + j * (WN / TN)], LDB);
#pragma unroll
            for (uint i = 0; i < TM; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++)
                    sum[i * TN + j] += a_fragment[i] * b_fragment[j];
        }
        __syncthreads();
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            epilogue_store4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                            col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
