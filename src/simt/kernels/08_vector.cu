/* SPDX-License-Identifier: Apache-2.0 */
/* 08_vector - 16 bytes per memory access; A's tile is transposed while it is loaded.
 *
 * Removes  three of four load instructions of 07_tile2d. Global memory, shared memory
 *          and C are accessed four elements at a time. The elements of A that a thread
 *          needs in one step must be adjacent for that, so A's tile is stored
 *          transposed. Also removes the bank conflicts of 07: the columns of a thread
 *          are vectors of four, interleaved with the vectors of the other threads, so
 *          that the 16-byte accesses of adjacent threads are adjacent.
 * Leaves   shared-memory loads that the threads of a warp do not share: a warp reads
 *          few elements of A but a whole row of B's tile (see 09).
 * Try      rung bench --kernels 07,08
 *
 * The rows of both tiles are padded by four elements: 16-byte loads stay aligned, and
 * transposing stores fall into different banks. These stores conflict once a warp loads
 * more than 32 bytes of a row along k, so A's tile is loaded in parts of 32 bytes.
 * PAD changes the padding of B's tile. PAD=5 is a common choice, but it breaks the
 * alignment of 16-byte accesses to shared memory: each becomes four single accesses.
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
#define BK 8 // 8 16
#endif
#ifndef TM
#define TM 8 // 4 8
#endif
#ifndef TN
#define TN 8 // 4 8
#endif
#ifndef PAD
#define PAD 4 // 0 4 5
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
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
#define LDA (BM + 4)
#define LDB (BN + PAD)
#define A_LOAD_K (WIDE && BK * IN_BYTES % 32 == 0 && BM * 32 / IN_BYTES % (4 * THREADS) == 0 ? 32 / IN_BYTES : BK)

#if THREADS > 1024
#error "BM/TM*BN/TN threads must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "BM*BK/4 and BN*BK/4 vectors must divide evenly among the threads"
#endif
#if (LDA + LDB) * BK * IN_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

KERNEL(THREADS)
rung_08_vector(index_t m, index_t n, index_t k,
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
    const uint tile_row = threadIdx.x / (BN / TN) * TM;
    const uint tile_col = threadIdx.x % (BN / TN) * 4;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[TM], b_fragment[TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        UNROLL_VECTORS
        for (uint dk = 0; dk < BK; dk += A_LOAD_K)
            load_tile(&a_tile[dk * LDA], LDA, BM, A_LOAD_K, THREADS, a, a_slice, row0, k0 + dk, m, slice_k, A_MN_MAJOR);
        load_tile(b_tile, LDB, BN, BK, THREADS, b, transposed_view(b_slice), col0, k0, n, slice_k, B_MN_MAJOR);
        __syncthreads();

        UNROLL_STEPS
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i += 4)
                load4_shared(&a_fragment[i], &a_tile[step * LDA + tile_row + i], LDA);
#pragma unroll
            for (uint j = 0; j < TN; j += 4)
                load4_shared(&b_fragment[j], &b_tile[step * LDB + tile_col + j * (BN / TN)], LDB);
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
            epilogue_store4(&output, row0 + tile_row + i, col0 + tile_col + j * (BN / TN), &sum[i * TN + j]);
}
