/* SPDX-License-Identifier: Apache-2.0 */
/* 11_wmma - the matrix engine, the plain way.
 *
 * Removes  what bounded 10_pipeline, the multiply-adds: one instruction of a warp
 *          multiplies 16 x 16 x 16 (FP32, as TF32, 16 x 16 x 8).
 * Leaves   an engine that mostly waits: each fragment is read from shared memory for one
 *          multiply, over bank conflicts and behind the barriers of 04_shared (see 12).
 * Watch    rung explain 11 --dtype f16
 *
 * A warp has one 16 x 16 of C, and a block as many warps as it has of those. Tiles go
 * through shared memory so that any size and stride can be had: what is outside is zero.
 */
// takes: f16,f16:f32 from sm_70
// takes: i8 from sm_75
// takes: bf16,bf16:f32,f32,f32:f16,f32:bf16 from sm_80
// computes: tf32
#include "dialect.h"
#include "finish.h"
#include "engine.h"
#include "wmma.h"

#ifndef BM
#define BM 64 // 32 64
#endif
#ifndef BN
#define BN 32 // 32 64
#endif
// preset tiny: BM=16,BN=32

#define BK (IN_BYTES == 4 ? 8 : 16)
#define THREADS (BM / 16 * (BN / 16) * 32)
#define LD (BK + 32 / IN_BYTES) // rows begin at multiples of 32 bytes or of 16, as wmma wants them

#if BM < 16 || BN < 16 || BM % 16 != 0 || BN % 16 != 0
#error "BM and BN must be multiples of 16"
#endif
#if THREADS > 1024
#error "32 threads for each 16 x 16 of a block must fit a block of 1024"
#endif

/* Brings rows of A, or columns of B, with k along each. */
DEVICE void bring_rows(SHARED in_t *tile, uint tile_l, GLOBAL const in_t *memory, view_t view, index_t l,
                       index_t k, index_t l_end, index_t k_end)
{
#pragma unroll 1 // side by side, the addresses would want more registers than there are
    for (uint i = threadIdx.x; i < tile_l * BK; i += THREADS)
        tile[i / BK * LD + i % BK] = load_or_zero(memory, view, l + i / BK, k + i % BK, l_end, k_end);
}

KERNEL(THREADS)
rung_11_wmma(index_t m, index_t n, index_t k,
             sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
             GLOBAL const in_t *__restrict__ b, view_t b_view,
             sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
             extra_t extra, GLOBAL const index_t *__restrict__ places,
             GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
             GLOBAL sum_t *__restrict__ partials ENGINE_ARGUMENT)
{
    __shared__ __align__(32) in_t a_tile[BM * LD];
    __shared__ __align__(32) in_t b_tile[BN * LD];
    __shared__ __align__(32) sum_t c_tile[BM * BN];

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;
    const engine_t engine = engine_of(extra, THREADS);
    const uint warp = threadIdx.x / 32;
    const uint warp_row = warp / (BN / 16) * 16, warp_col = warp % (BN / 16) * 16;

    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    const index_t share = take_share(&a_share, &b_share, &c_item, k, extra, places);
    fragment_t a_part, b_part;
    sums_t sums;
#pragma unroll
    for (uint i = 0; i < 8; i++)
        sums.values[i] = 0;

    for (index_t k0 = 0; k0 < share; k0 += BK) {
        bring_rows(a_tile, BM, a, a_share, row0, k0, m, share);
        bring_rows(b_tile, BN, b, flipped(b_share), col0, k0, n, share);
        __syncthreads();
        wmma_load(&a_part, &a_tile[warp_row * LD], LD, 0);
        wmma_load(&b_part, &b_tile[warp_col * LD], LD, 1);
        wmma_mma(engine, &sums, &a_part, &b_part);
        __syncthreads();
    }

    wmma_store(&c_tile[warp_row * BN + warp_col], &sums, BN);
    __syncthreads();
    const output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
    for (uint i = threadIdx.x; i < BM * BN; i += THREADS)
        if (row0 + i / BN < m && col0 + i % BN < n)
            finish(&output, row0 + i / BN, col0 + i % BN, c_tile[i]);
}
