/* SPDX-License-Identifier: Apache-2.0 */
/* 11_wmma - the matrix engine (tensor cores) through the wmma instructions.
 *
 * Removes  the limit of 10_pipeline, the multiply-add instructions. One instruction of
 *          a warp multiplies 16 x 16 x 16 elements (16 x 16 x 8 for FP32 as TF32).
 * Leaves   an engine that is idle half of the time. Each fragment is read from shared memory
 *          for one multiply, single elements are copied, and between the two barriers of
 *          04_shared nothing is copied while the engine multiplies (see 12).
 * Try      rung explain 11 --dtype f16
 *
 * Each warp computes one 16 x 16 tile of C. All tiles pass through shared memory, so any
 * size and stride is supported; elements outside the matrices are loaded as zero. Adjacent
 * threads load adjacent elements whether an operand is row-major or column-major.
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
#define BN 64 // 32 64
#endif
// preset tiny: BM=16,BN=32

#define BK 32
#define THREADS (BM / 16 * (BN / 16) * 32)

/* Elements between rows of the tiles, which are rows of A, B and C. The padding moves the rows
 * that a warp accesses together to different banks. */
#define LDA (BK + 16 / IN_BYTES)
#define LDB (BN + 8)
#define LDC (BN + 8)

#if BM < 16 || BN < 16 || BM > 256 || BN > 256 || (BM & BM - 1) != 0 || (BN & BN - 1) != 0
#error "BM and BN must be powers of two from 16 to 256"
#endif
#if THREADS > 1024
#error "32 threads per 16 x 16 tile of the block must fit a block of 1024"
#endif

/* This thread's elements of one operand's next tile: the first, and steps to the others. Adjacent
 * threads have elements that are adjacent in memory, along k or along mn: m of A or n of B. */
typedef struct {
    GLOBAL const in_t *from;
    index_t step, tile_step; /* in memory, to the next element of this thread and to the next tile */
    uint to, to_step;        /* offset in the tile, in elements */
    int mn_left, k;          /* rows of A or columns of B up to the edge; k in the tile */
    int mn_step, k_step;     /* one of these is 0 */
} source_t;

/* Element (mn, k) of the tile is at mn * ld_mn + k * ld_k in shared memory. */
DEVICE source_t source_of(GLOBAL const in_t *memory, view_t view, index_t mn0, index_t mn_end, uint tile_mn, uint ld_mn,
                          uint ld_k)
{
    source_t source;
    const int mn_major = view.row_stride < view.col_stride;
    const uint mn = mn_major ? threadIdx.x % tile_mn : threadIdx.x / BK;
    const uint k = mn_major ? threadIdx.x / tile_mn : threadIdx.x % BK;
    const uint mn_step = mn_major ? 0 : THREADS / BK, k_step = mn_major ? THREADS / tile_mn : 0;
    source.from = memory + at(view, mn0 + mn, k);
    source.step = mn_step * view.row_stride + k_step * view.col_stride;
    source.tile_step = BK * view.col_stride;
    source.to = mn * ld_mn + k * ld_k;
    source.to_step = mn_step * ld_mn + k_step * ld_k;
    source.mn_left = (mn_end - mn0 < tile_mn ? (int)(mn_end - mn0) : (int)tile_mn) - (int)mn;
    source.k = (int)k;
    source.mn_step = (int)mn_step;
    source.k_step = (int)k_step;
    return source;
}

/* Loads the next tile, with k_left steps of k inside. Elements outside are zero. */
DEVICE void load_tile(SHARED in_t *tile, source_t *source, uint tile_mn, int k_left)
{
#pragma unroll
    for (int i = 0; i < (int)(tile_mn * BK / THREADS); i++) {
        const int is_inside = i * source->mn_step < source->mn_left && source->k + i * source->k_step < k_left;
        tile[source->to + i * source->to_step] = is_inside ? source->from[i * source->step] : (in_t)0;
    }
    source->from += source->tile_step;
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
    __shared__ __align__(32) in_t a_tile[BM * LDA];
    __shared__ __align__(32) in_t b_tile[BK * LDB];
    __shared__ __align__(32) sum_t c_tile[BM * LDC];

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;
    const engine_t engine = engine_of(launch_args, THREADS);
    const uint warp = threadIdx.x / 32;
    const uint warp_row = warp / (BN / 16) * 16, warp_col = warp % (BN / 16) * 16;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    source_t a_source = source_of(a, a_slice, row0, m, BM, LDA, 1);
    source_t b_source = source_of(b, transposed_view(b_slice), col0, n, BN, 1, LDB);
    fragment_t a_fragment, b_fragment;
    sums_t sums;
#pragma unroll
    for (uint i = 0; i < 8; i++)
        sums.values[i] = 0;

    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        const int k_left = slice_k - k0 < BK ? (int)(slice_k - k0) : BK;
        load_tile(a_tile, &a_source, BM, k_left);
        load_tile(b_tile, &b_source, BN, k_left);
        __syncthreads();
#pragma unroll
        for (uint step = 0; step < BK; step += WK) {
            wmma_load(&a_fragment, &a_tile[warp_row * LDA + step], LDA, 0);
            wmma_load(&b_fragment, &b_tile[step * LDB + warp_col], LDB, 1);
            wmma_mma(engine, &sums, &a_fragment, &b_fragment);
        }
        __syncthreads();
    }

    wmma_store(&c_tile[warp_row * LDC + warp_col], &sums, LDC);
    __syncthreads();
    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    for (uint i = threadIdx.x; i < BM * BN; i += THREADS)
        if (row0 + i / BN < m && col0 + i % BN < n)
            epilogue_store(&output, row0 + i / BN, col0 + i % BN, c_tile[i / BN * LDC + i % BN]);
}
