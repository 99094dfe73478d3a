/* SPDX-License-Identifier: Apache-2.0 */
/* 09_warptile - block, warp, thread: each warp its own piece of C.
 *
 * Removes  the bank conflicts of 08_vector, and shared-memory loads that warps
 *          repeated for each other. A warp owns WM x WN of C; within it a thread's
 *          elements are pieces of four, with the other threads' pieces between them,
 *          so that the 16-byte loads of neighbours lie side by side.
 * Leaves   the wait at each tile: nothing is loaded while the warp multiplies
 *          (see 10).
 * Watch    rung explain 09, and 08: wavefronts a request
 *
 * The 32 threads of a warp stand in a grid of WM/TM x WN/TN. A's rows are four
 * elements longer than its tile, and 16-byte loads stay aligned; the transposing
 * stores then fall into different banks, as long as a warp brings two pieces of a
 * row, 8 of k, and not four: so a tile of A is brought in parts.
 */
#include "dialect.h"
#include "finish.h"
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
#define A_PART (WIDE && BK % 8 == 0 && BM * 8 % (8 * THREADS) == 0 ? 8 : BK) // else registers run out

#if THREADS > 1024
#error "32 threads a warp must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "each thread must load as many pieces of four as any other"
#endif
#if (LDA + LDB) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

KERNEL(THREADS)
rung_09_warptile(index_t m, index_t n, index_t k,
                 sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                 GLOBAL const in_t *__restrict__ b, view_t b_view,
                 sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                 extra_t extra, GLOBAL const index_t *__restrict__ places,
                 GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                 GLOBAL sum_t *__restrict__ partials)
{
    __shared__ __align__(32) in_t a_tile[BK * LDA];
    __shared__ __align__(32) in_t b_tile[BK * LDB];

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (BN / WN) * WM + lane / (WN / TN) * 4;
    const uint tile_col = warp % (BN / WN) * WN + lane % (WN / TN) * 4;

    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    const index_t share = take_share(&a_share, &b_share, &c_item, k, extra, places);
    sum_t sum[TM * TN];
    sum_t a_part[TM], b_part[TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    for (index_t k0 = 0; k0 < share; k0 += BK) {
        EACH_PIECE
        for (uint part = 0; part < BK; part += A_PART)
            bring(&a_tile[part * LDA], LDA, BM, A_PART, THREADS, a, a_share, row0, k0 + part, m, share, A_ALONG_L);
        bring(b_tile, LDB, BN, BK, THREADS, b, flipped(b_share), col0, k0, n, share, B_ALONG_L);
        __syncthreads();

        EACH_STEP
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i += 4)
                take4(&a_part[i], &a_tile[step * LDA + tile_row + i * (WM / TM)], LDA);
#pragma unroll
            for (uint j = 0; j < TN; j += 4)
                take4(&b_part[j], &b_tile[step * LDB + tile_col + j * (WN / TN)], LDB);
#pragma unroll
            for (uint i = 0; i < TM; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++)
                    sum[i * TN + j] += a_part[i] * b_part[j];
        }
        __syncthreads();
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            finish4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                   col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
