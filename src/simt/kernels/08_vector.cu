/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - 16 bytes an access, A transposed on its way in.
 *
 * Removes  three of four load instructions of 07_tile2d: global memory, shared
 *          memory and C are moved four elements at a time. For that the elements of
 *          A that a thread needs at one step must lie side by side, so A's tile is
 *          stored transposed.
 * Leaves   two-way bank conflicts: the TM or TN elements of a thread are one
 *          stretch, so the 16-byte loads of neighbouring threads lie TN elements
 *          apart and meet in the same banks (see 09).
 * Watch    rung bench --kernels 07,08
 *
 * PAD adds columns to B's tile. Five of them, as one often sees it, break the
 * stride between rows, but also the alignment of 16-byte accesses to shared memory:
 * they become four single ones.
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
#define BK 8 // 8 16
#endif
#ifndef TM
#define TM 8 // 4 8
#endif
#ifndef TN
#define TN 8 // 4 8
#endif
#ifndef PAD
#define PAD 0 // 0 4 5
#endif
// preset f64: BM=64,BN=64,BK=16,TM=4,TN=4
// preset tiny: BM=16,BN=16,BK=4,TM=4,TN=4
// preset pad5: PAD=5
// preset small: BM=64,BN=64,BK=16,TM=4,TN=4

#if TM % 4 != 0 || TN % 4 != 0 || TM < 4 || TN < 4
#error "TM and TN must be multiples of four"
#endif
#if BM < TM || BN < TN || BM % TM != 0 || BN % TN != 0
#error "TM must divide BM and TN must divide BN"
#endif
#if BK < 4 || BK % 4 != 0
#error "BK must be a multiple of four"
#endif

#define THREADS (BM / TM * (BN / TN))

#if THREADS > 1024
#error "BM/TM*BN/TN threads must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "each thread must load as many pieces of four as any other"
#endif
#if (BM + BN + PAD) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

#define LDB (BN + PAD)

KERNEL(THREADS)
rung_08_vector(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               extra_t extra, GLOBAL const index_t *__restrict__ places,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials)
{
    __shared__ __align__(32) in_t a_tile[BK * BM];
    __shared__ __align__(32) in_t b_tile[BK * LDB];

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint tile_row = threadIdx.x / (BN / TN) * TM;
    const uint tile_col = threadIdx.x % (BN / TN) * TN;

    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    const index_t share = take_share(&a_share, &b_share, &c_item, k, extra, places);
    sum_t sum[TM * TN];
    sum_t a_part[TM], b_part[TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    for (index_t k0 = 0; k0 < share; k0 += BK) {
        bring(a_tile, BM, BM, BK, THREADS, a, a_share, row0, k0, m, share, A_ALONG_L);
        bring(b_tile, LDB, BN, BK, THREADS, b, flipped(b_share), col0, k0, n, share, B_ALONG_L);
        __syncthreads();

        EACH_STEP
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i += 4)
                take4(&a_part[i], &a_tile[step * BM + tile_row + i], BM);
#pragma unroll
            for (uint j = 0; j < TN; j += 4)
                take4(&b_part[j], &b_tile[step * LDB + tile_col + j], LDB);
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
            finish4(&output, row0 + tile_row + i, col0 + tile_col + j, &sum[i * TN + j]);
}
