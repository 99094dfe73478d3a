/* SPDX-License-Identifier: Apache-2.0 */
/* 06_tile1d - TM outputs per thread, in one column of C.
 *
 * Removes  half of the shared-memory loads of 04_shared. An element of B in a
 *          register serves TM multiply-adds.
 * Leaves   one shared-memory load of A per multiply-add. No element of A is reused in
 *          registers (see 07).
 * Try      rung bench --kernels 04,06 --params TM=1,8
 *
 * A block computes a BM x BN tile of C in steps of BK. The tiles have more elements
 * than the block has threads, so each thread loads several elements in a loop. If the
 * threads divide the elements evenly, the loop has no branch. The steps of one 16-byte
 * load of A are unrolled: four, or two of double. More steps need more registers.
 */
#include "dialect.h"

#ifndef BM
#define BM 64 // 32 64 128
#endif
#ifndef BN
#define BN 64 // 32 64
#endif
#ifndef BK
#define BK 8 // 8 16 32
#endif
#ifndef TM
#define TM 8 // 4 8 16
#endif
// preset tiny: BM=16,BN=16,BK=4,TM=4
// preset privatised: BM=32,BN=32,BK=32,TM=4
// preset privatised16: BM=16,BN=16,BK=16,TM=4

#if BM < 1 || BN < 1 || BK < 1 || TM < 1 || BM % TM != 0
#error "TM must divide BM"
#endif

#define THREADS (BM / TM * BN)
#if IN_BYTES == 8
#define UNROLL_STEPS _Pragma("unroll 2")
#else
#define UNROLL_STEPS _Pragma("unroll 4")
#endif

#if THREADS > 1024
#error "BM/TM*BN threads must fit a block of 1024"
#endif
#if (BM + BN) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

KERNEL(THREADS)
rung_06_tile1d(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    __shared__ in_t a_tile[BM * BK];
    __shared__ in_t b_tile[BK * BN];

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint tile_row = threadIdx.x / BN * TM;
    const uint tile_col = threadIdx.x % BN;

    sum_t sum[TM];
#pragma unroll
    for (uint i = 0; i < TM; i++)
        sum[i] = 0;

    for (index_t k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
        for (uint i = 0; i < BM * BK; i += THREADS) {
            const uint e = i + threadIdx.x;
            if (BM * BK % THREADS == 0 || e < BM * BK)
                a_tile[e] = load_or_zero(a, a_view, row0 + e / BK, k0 + e % BK, m, k);
        }
#pragma unroll
        for (uint i = 0; i < BK * BN; i += THREADS) {
            const uint e = i + threadIdx.x;
            if (BK * BN % THREADS == 0 || e < BK * BN)
                b_tile[e] = load_or_zero(b, b_view, k0 + e / BN, col0 + e % BN, k, n);
        }
        __syncthreads();

        UNROLL_STEPS
        for (uint step = 0; step < BK; step++) {
            const sum_t b_value = widen(b_tile[step * BN + tile_col]);
#pragma unroll
            for (uint i = 0; i < TM; i++)
                sum[i] += widen(a_tile[(tile_row + i) * BK + step]) * b_value;
        }
        __syncthreads();
    }

#pragma unroll
    for (uint i = 0; i < TM; i++)
        if (row0 + tile_row + i < m && col0 + tile_col < n)
            store(&c[at(c_view, row0 + tile_row + i, col0 + tile_col)], alpha, sum[i], beta);
}
