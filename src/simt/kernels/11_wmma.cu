/* SPDX-License-Identifier: Apache-2.0 */
/* 11_wmma - the matrix engine (tensor cores) through the wmma instructions.
 *
 * Removes  the limit of 10_pipeline, the multiply-add instructions. One instruction of
 *          a warp multiplies 16 x 16 x 16 elements (16 x 16 x 8 for FP32 as TF32).
 * Leaves   an engine that is mostly idle. Each fragment is read from shared memory for one
 *          multiply, with bank conflicts and between the two barriers of 04_shared (see 12).
 * Try      rung explain 11 --dtype f16
 *
 * Each warp computes one 16 x 16 tile of C. All tiles pass through shared memory, so any
 * size and stride is supported; elements outside the matrices are loaded as zero.
 */
// takes: f16,f16:f32 from sm_70
// takes: i8 from sm_75
// takes: bf16,bf16:f32,f32,f32:f16,f32:bf16 from sm_80
// computes: tf32
#include "dialect.h"
#include "epilogue.h"
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
#define LD (BK + 32 / IN_BYTES) // rows start at multiples of 32 or 16 bytes, as wmma requires

#if BM < 16 || BN < 16 || BM % 16 != 0 || BN % 16 != 0
#error "BM and BN must be multiples of 16"
#endif
#if THREADS > 1024
#error "32 threads per 16 x 16 tile of the block must fit a block of 1024"
#endif

/* Loads tile_mn rows of A, or columns of B, of BK elements each. Elements outside are zero. */
DEVICE void load_rows(SHARED in_t *tile, uint tile_mn, GLOBAL const in_t *memory, view_t view, index_t mn,
                      index_t k, index_t mn_end, index_t k_end)
{
#pragma unroll 1 // unrolled, the addresses would need too many registers
    for (uint i = threadIdx.x; i < tile_mn * BK; i += THREADS)
        tile[i / BK * LD + i % BK] = load_or_zero(memory, view, mn + i / BK, k + i % BK, mn_end, k_end);
}

KERNEL(THREADS)
rung_11_wmma(index_t m, index_t n, index_t k,
             sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
             GLOBAL const in_t *__restrict__ b, view_t b_view,
             sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
             launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
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
    const engine_t engine = engine_of(launch_args, THREADS);
    const uint warp = threadIdx.x / 32;
    const uint warp_row = warp / (BN / 16) * 16, warp_col = warp % (BN / 16) * 16;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    fragment_t a_fragment, b_fragment;
    sums_t sums;
#pragma unroll
    for (uint i = 0; i < 8; i++)
        sums.values[i] = 0;

    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        load_rows(a_tile, BM, a, a_slice, row0, k0, m, slice_k);
        load_rows(b_tile, BN, b, transposed_view(b_slice), col0, k0, n, slice_k);
        __syncthreads();
        wmma_load(&a_fragment, &a_tile[warp_row * LD], LD, 0);
        wmma_load(&b_fragment, &b_tile[warp_col * LD], LD, 1);
        wmma_mma(engine, &sums, &a_fragment, &b_fragment);
        __syncthreads();
    }

    wmma_store(&c_tile[warp_row * BN + warp_col], &sums, BN);
    __syncthreads();
    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    for (uint i = threadIdx.x; i < BM * BN; i += THREADS)
        if (row0 + i / BN < m && col0 + i % BN < n)
            epilogue_store(&output, row0 + i / BN, col0 + i % BN, c_tile[i]);
}
