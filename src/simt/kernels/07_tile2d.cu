/* SPDX-License-Identifier: Apache-2.0 */
/* 07_tile2d - TM x TN outputs per thread, as outer products in registers.
 *
 * Removes  most of the shared-memory loads of 06_tile1d. TM elements of A and TN
 *          elements of B in registers serve TM*TN multiply-adds. This is the largest gain.
 * Leaves   one instruction per element moved, in global and in shared memory, and
 *          two-way bank conflicts: the TN elements of a thread are contiguous, so the
 *          loads of adjacent threads are TN elements apart and fall into the same
 *          banks (see 08).
 * Try      rung bench --kernels 06,07
 *
 * From this step on, a kernel has several paths. The host chooses one when it compiles
 * the kernel (see tile.h). A's tile has the layout of A: row by row. Also from this step
 * on, blocks that run at the same time form a rectangle of C, so that they share tiles of
 * A and of B in the L2 cache.
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
#define GROUP 8 // rows of tiles per group of blocks, see tile.h

#if THREADS > 1024
#error "BM/TM*BN/TN threads must fit a block of 1024"
#endif
#if (BM + BN) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

/* Two steps at a time: the compiler keeps the fragments of all unrolled steps in registers, and with
 * more than 128 registers per thread only one block fits a multiprocessor. On a CPU that is no limit,
 * bytes are multiplied four steps at a time, and the other paths have no registers for a second step. */
#if WIDE && !GUARDED && IN_BYTES != 1 && !defined(__OPENCL_C_VERSION__)
#define UNROLL_TWO_STEPS _Pragma("unroll 2")
#else
#define UNROLL_TWO_STEPS UNROLL_STEPS
#endif

KERNEL(THREADS)
rung_07_tile2d(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials)
{
    __shared__ in_t a_tile[BM * BK];
    __shared__ in_t b_tile[BK * BN];

#if IN_BYTES == 8 /* without groups: F64 spilled on sm_120 */
    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
#else
    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
#endif
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint tile_row = threadIdx.x / (BN / TN) * TM;
    const uint tile_col = threadIdx.x % (BN / TN) * TN;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[TM], b_fragment[TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        UNROLL_ELEMENTS
        for (uint i = 0; i < BM * BK; i += THREADS) {
            const uint e = i + threadIdx.x;
            const uint row = A_MN_MAJOR ? e % BM : e / BK, p = A_MN_MAJOR ? e / BM : e % BK;
            if (BM * BK % THREADS == 0 || e < BM * BK)
                a_tile[row * BK + p] = load_global(a, a_slice, row0 + row, k0 + p, m, slice_k);
        }
        UNROLL_ELEMENTS
        for (uint i = 0; i < BK * BN; i += THREADS) {
            const uint e = i + threadIdx.x;
            const uint col = B_MN_MAJOR ? e % BN : e / BK, p = B_MN_MAJOR ? e / BN : e % BK;
            if (BK * BN % THREADS == 0 || e < BK * BN)
                b_tile[p * BN + col] = load_global(b, transposed_view(b_slice), col0 + col, k0 + p, n, slice_k);
        }
        __syncthreads();

        UNROLL_TWO_STEPS
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i++)
                a_fragment[i] = widen(a_tile[(tile_row + i) * BK + step]);
#pragma unroll
            for (uint j = 0; j < TN; j++)
                b_fragment[j] = widen(b_tile[step * BN + tile_col + j]);
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
        for (uint j = 0; j < TN; j++)
            if (!GUARDED || (row0 + tile_row + i < m && col0 + tile_col + j < n))
                epilogue_store(&output, row0 + tile_row + i, col0 + tile_col + j, sum[i * TN + j]);
}
