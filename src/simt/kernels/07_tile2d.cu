/* SPDX-License-Identifier: Apache-2.0 */
/* 07_tile2d - TM x TN outputs a thread, an outer product in registers.
 *
 * Removes  most of the shared-memory loads of 06_tile1d: TM elements of A and TN of B,
 *          once in registers, serve TM*TN multiply-adds. This is the big step.
 * Leaves   one instruction for each element moved, in global and in shared memory
 *          (see 08).
 * Watch    rung bench --kernels 06,07
 *
 * From here on a kernel has several paths, chosen by the host when it compiles it:
 * tile.h says which. A's tile stands as A does, row by row.
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
#define BK 8 // 8 16 32
#endif
#ifndef TM
#define TM 8 // 4 8
#endif
#ifndef TN
#define TN 8 // 4 8 16
#endif
// preset cpu: BM=128,BN=128,BK=32,TM=8,TN=16
// preset cpu_small: BM=16,BN=16,BK=8,TM=4,TN=16
// preset cpu_f64: BM=128,BN=128,BK=16,TM=4,TN=32
// preset cpu_i32: BM=128,BN=128,BK=8,TM=8,TN=8
// preset f64: BM=64,BN=64,BK=8,TM=4,TN=4
// preset tiny: BM=16,BN=16,BK=4,TM=4,TN=4
// preset small: BM=64,BN=64,BK=16,TM=4,TN=4

#if BM < 1 || BN < 1 || BK < 1 || TM < 1 || TN < 1 || BM % TM != 0 || BN % TN != 0
#error "TM must divide BM and TN must divide BN"
#endif

#define THREADS (BM / TM * (BN / TN))

#if THREADS > 1024
#error "BM/TM*BN/TN threads must fit a block of 1024"
#endif
#if (BM + BN) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

KERNEL(THREADS)
rung_07_tile2d(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               extra_t extra, GLOBAL const index_t *__restrict__ places,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials)
{
    __shared__ in_t a_tile[BM * BK];
    __shared__ in_t b_tile[BK * BN];

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
        EACH_ELEMENT
        for (uint i = threadIdx.x; i < BM * BK; i += THREADS) {
            const uint row = A_ALONG_L ? i % BM : i / BK, p = A_ALONG_L ? i / BM : i % BK;
            a_tile[row * BK + p] = fetch(a, a_share, row0 + row, k0 + p, m, share);
        }
        EACH_ELEMENT
        for (uint i = threadIdx.x; i < BK * BN; i += THREADS) {
            const uint col = B_ALONG_L ? i % BN : i / BK, p = B_ALONG_L ? i / BN : i % BK;
            b_tile[p * BN + col] = fetch(b, flipped(b_share), col0 + col, k0 + p, n, share);
        }
        __syncthreads();

        EACH_STEP
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i++)
                a_part[i] = widen(a_tile[(tile_row + i) * BK + step]);
#pragma unroll
            for (uint j = 0; j < TN; j++)
                b_part[j] = widen(b_tile[step * BN + tile_col + j]);
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
        for (uint j = 0; j < TN; j++)
            if (!GUARDED || (row0 + tile_row + i < m && col0 + tile_col + j < n))
                finish(&output, row0 + tile_row + i, col0 + tile_col + j, sum[i * TN + j]);
}
