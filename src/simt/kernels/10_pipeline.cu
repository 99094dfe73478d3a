/* SPDX-License-Identifier: Apache-2.0 */
/* 10_pipeline - several tiles in flight, one barrier per tile.
 *
 * Removes  the wait for global memory in 09_warptile. While one tile is multiplied, the
 *          next STAGES - 1 tiles are being copied to shared memory (by cp.async on sm_80
 *          and later, through registers before). The fragments of the next step are read
 *          from shared memory while the current step is multiplied.
 * Leaves   the multiply-add instructions themselves: FP32 arithmetic is now the limit.
 *          11 and 12 use the matrix engine.
 * Try      rung bench --kernels 09,10 --params STAGES=2,3,4
 *
 * The partial tile along k is loaded first, so the main loop needs no bounds check in k.
 * One barrier per tile is enough: a stage is overwritten only after all threads have
 * passed the barrier that follows its use. All addresses are computed before the main
 * loop, which only adds to them. docs/reference/cutlass-comparison.md analyses the loop.
 */
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"

#ifndef BM
#define BM 128 // 64 128 256
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
#ifndef BK
#define BK 8 // 8 16
#endif
#ifndef WM
#define WM 64 // 32 64
#endif
#ifndef WN
#define WN 32 // 32 64
#endif
#ifndef TM
#define TM 8 // 4 8 16
#endif
#ifndef TN
#define TN 8 // 4 8 16
#endif
#ifndef STAGES
#define STAGES 3 // 2 3 4
#endif
/* 1: emulated copies complete as late as the rules allow, so that a wrong wait is detected. */
#ifndef CHECKED
#define CHECKED 0 // 0 1
#endif
// preset f64: BM=64,BN=64,BK=8,WM=32,WN=32,TM=4,TN=8,STAGES=3
// preset tiny: BM=32,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,STAGES=3
// preset wide: BM=128,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,STAGES=3
// preset small: BM=64,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,STAGES=3
// preset deep: BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,STAGES=4
// preset large: BM=128,BN=256,BK=16,WM=64,WN=64,TM=16,TN=8,STAGES=3

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
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif

#define THREADS (BM / WM * (BN / WN) * 32)
#define LDA (BM + 4)
#define LDB (BN + 4)
#define STAGE (BK * (LDA + LDB)) /* elements: a tile of A followed by a tile of B */

#if THREADS > 1024
#error "32 threads per warp must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "BM*BK/4 and BN*BK/4 vectors must divide evenly among the threads"
#endif
#define SHARED_BYTES (STAGES * STAGE * IN_BYTES)
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the maximum per block"
#endif

#if CHECKED && (STAGES - 1) * (BM + BN) * BK / THREADS > 256
#error "with CHECKED=1 a thread may have at most 256 copies in flight"
#endif

#include "async.h"

#define A_VECTORS (BM * BK / (4 * THREADS))
#define B_VECTORS (BN * BK / (4 * THREADS))
#define VECTORS_MAX (A_VECTORS > B_VECTORS ? A_VECTORS : B_VECTORS)

/* Loads this thread's vectors of one operand, tile after tile. */
typedef struct {
    GLOBAL const in_t *from[VECTORS_MAX];   /* the vectors of the next tile */
    uint               inside[VECTORS_MAX]; /* elements of each that are inside the matrix */
    index_t            stride;              /* between adjacent elements of a vector */
    index_t            step;                /* between adjacent tiles, in bytes */
    uint               to;                  /* byte offset of the first vector in the stages */
} loader_t;

/* Returns the offset of a vector in its tile, in elements. */
DEVICE uint tile_offset(uint vector, uint tile_mn, uint ld, int mn_major)
{
    return vector_k(vector, tile_mn, BK, mn_major) * ld + vector_mn(vector, tile_mn, BK, mn_major);
}

/* Returns the distance from this thread's first vector to its i-th in the tile. The distance is
 * a constant, except for unusual tile sizes, where it may be negative. */
DEVICE int offset_from_first(uint i, uint tile_mn, uint ld, int mn_major)
{
    const uint vectors_per_row = mn_major ? tile_mn / 4 : BK / 4;
    if (THREADS % vectors_per_row == 0)
        return (int)(THREADS / vectors_per_row * i * (mn_major ? ld : 1));
    return (int)tile_offset(i * THREADS + threadIdx.x, tile_mn, ld, mn_major) -
           (int)tile_offset(threadIdx.x, tile_mn, ld, mn_major);
}

/* Finds this thread's vectors of the tile at (mn, k), which goes to offset `to` of the stages. Tiles
 * are complete along k, so a K-major vector is entirely inside or outside the matrix. A vector
 * outside is replaced by any other, because it only affects rows or columns outside C. */
DEVICE void loader_init(loader_t *loader, uint count, uint tile_mn, uint ld, GLOBAL const in_t *memory,
                        view_t view, index_t mn, index_t k, index_t mn_end, uint to, int mn_major)
{
    loader->to = (to + tile_offset(threadIdx.x, tile_mn, ld, mn_major)) * IN_BYTES;
    loader->stride = WIDE ? 1 : mn_major ? view.row_stride : view.col_stride;
    loader->step = (WIDE && !mn_major ? 1 : view.col_stride) * (BK * IN_BYTES);
#pragma unroll
    for (uint i = 0; i < count; i++) {
        const uint vector = i * THREADS + threadIdx.x;
        const index_t mn_at = mn + vector_mn(vector, tile_mn, BK, mn_major);
        const index_t left = GUARDED ? mn_end - mn_at : 4;
        const index_t mn_clamped = left > 0 || mn_major ? mn_at : mn_end - 1;
        loader->from[i] = &memory[at(view, mn_clamped, k + vector_k(vector, tile_mn, BK, mn_major))];
        loader->inside[i] = !mn_major || left >= 4 ? 4 : left > 0 ? (uint)left : 0;
    }
}

/* Takes bytes, not elements, so that the main loop has no multiplication by the element size. */
DEVICE SHARED in_t *stage_address(SHARED in_t *stages, uint bytes)
{
    return (SHARED in_t *)((SHARED char *)stages + bytes);
}

/* Starts the copies of this thread's vectors: four elements per copy if memory and tile are MN-major
 * and no vector is partial, else one. One branch decides for all, since the main loop contains it. */
DEVICE void loader_issue(copies_t *copies, const loader_t *loader, uint count, uint tile_mn, uint ld,
                         SHARED in_t *stages, int mn_major)
{
    SHARED in_t *to = stage_address(stages, loader->to);
    int is_whole = WIDE && mn_major;
#pragma unroll
    for (uint i = 0; i < count && GUARDED; i++)
        is_whole = is_whole && loader->inside[i] == 4;
#pragma unroll
    for (uint i = 0; i < count && is_whole; i++)
        copy4_async(copies, to + offset_from_first(i, tile_mn, ld, mn_major), loader->from[i]);
#pragma unroll
    for (uint i = 0; i < count && !is_whole; i++)
#pragma unroll
        for (uint j = 0; j < 4; j++)
            copy_async(copies, to + offset_from_first(i, tile_mn, ld, mn_major) + j * (mn_major ? 1 : ld),
                       loader->from[i] + j * loader->stride, !GUARDED || !mn_major || j < loader->inside[i]);
}

/* Advances to the next tile and to the stage that is `bytes` further. After the last tile the
 * pointers are outside the matrix and are not dereferenced. */
DEVICE void loader_advance(loader_t *loader, uint count, uint bytes)
{
    loader->to += bytes;
#pragma unroll
    for (uint i = 0; i < count; i++)
        loader->from[i] = (GLOBAL const in_t *)((GLOBAL const char *)loader->from[i] + loader->step);
}

/* Loads this thread's fragments of A and B for one step of k. */
DEVICE void load_step(sum_t *a_fragment, sum_t *b_fragment, SHARED const in_t *a_row, SHARED const in_t *b_row)
{
#pragma unroll
    for (uint i = 0; i < TM; i += 4)
        load4_shared(&a_fragment[i], &a_row[i * (WM / TM)], LDA);
#pragma unroll
    for (uint j = 0; j < TN; j += 4)
        load4_shared(&b_fragment[j], &b_row[j * (WN / TN)], LDB);
}

KERNEL(THREADS)
rung_10_pipeline(index_t m, index_t n, index_t k,
                 sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                 GLOBAL const in_t *__restrict__ b, view_t b_view,
                 sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                 launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
                 GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                 GLOBAL sum_t *__restrict__ partials)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(in_t, stages, STAGES * STAGE);
#else
    __shared__ __align__(32) in_t stages[STAGES * STAGE];
#endif

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (BN / WN) * WM + lane / (WN / TN) * 4;
    const uint tile_col = warp % (BN / WN) * WN + lane % (WN / TN) * 4;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[2][TM], b_fragment[2][TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    const index_t tiles = (slice_k + BK - 1) / BK;
    const index_t first = slice_k - (tiles - 1) * BK; /* length of the first tile along k */
    copies_t copies;
    copies_init(&copies);

    /* The first tile may be partial along k. The complete tiles follow it. */
    if (tiles > 0) {
        load_tile_async(&copies, stages, LDA, BM, BK, THREADS, a, a_slice, row0, 0, m, first, A_MN_MAJOR, 1);
        load_tile_async(&copies, stages + BK * LDA, LDB, BN, BK, THREADS, b, transposed_view(b_slice), col0, 0, n,
                        first, B_MN_MAJOR, 1);
    }
    copies_commit(&copies);
    loader_t a_loader, b_loader;
    loader_init(&a_loader, A_VECTORS, BM, LDA, a, a_slice, row0, first, m, STAGE, A_MN_MAJOR);
    loader_init(&b_loader, B_VECTORS, BN, LDB, b, transposed_view(b_slice), col0, first, n, STAGE + BK * LDA,
                B_MN_MAJOR);
    for (uint stage = 1; stage < STAGES - 1; stage++) {
        if (stage < tiles) {
            loader_issue(&copies, &a_loader, A_VECTORS, BM, LDA, stages, A_MN_MAJOR);
            loader_issue(&copies, &b_loader, B_VECTORS, BN, LDB, stages, B_MN_MAJOR);
        }
        copies_commit(&copies);
        loader_advance(&a_loader, A_VECTORS, STAGE * IN_BYTES);
        loader_advance(&b_loader, B_VECTORS, STAGE * IN_BYTES);
    }

    /* Byte offsets of this thread's elements in the stage to multiply, and the distance to the next
     * stage. The stage to fill precedes it and makes the same step one iteration later. */
    const uint next_stage = STAGE * IN_BYTES, wrap_around = (1 - STAGES) * STAGE * IN_BYTES;
    uint a_at = tile_row * IN_BYTES, b_at = (BK * LDA + tile_col) * IN_BYTES, stage_step = wrap_around;
    for (index_t tiles_left = tiles; tiles_left > 0; tiles_left--) {
        copies_wait(&copies, STAGES - 2);
        __syncthreads();
        if (tiles_left > STAGES - 1) {
            loader_issue(&copies, &a_loader, A_VECTORS, BM, LDA, stages, A_MN_MAJOR);
            loader_issue(&copies, &b_loader, B_VECTORS, BN, LDB, stages, B_MN_MAJOR);
        }
        copies_commit(&copies); /* an empty group keeps the count for copies_wait correct */

        SHARED const in_t *a_tile = stage_address(stages, a_at);
        SHARED const in_t *b_tile = stage_address(stages, b_at);
        load_step(a_fragment[0], b_fragment[0], a_tile, b_tile);
#pragma unroll
        for (uint step = 0; step < BK; step++) {
            if (step + 1 < BK)
                load_step(a_fragment[(step + 1) % 2], b_fragment[(step + 1) % 2], &a_tile[(step + 1) * LDA],
                          &b_tile[(step + 1) * LDB]);
#pragma unroll
            for (uint i = 0; i < TM; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++)
                    sum[i * TN + j] += a_fragment[step % 2][i] * b_fragment[step % 2][j];
        }
        loader_advance(&a_loader, A_VECTORS, stage_step);
        loader_advance(&b_loader, B_VECTORS, stage_step);
        stage_step = a_at < (STAGES - 1) * next_stage ? next_stage : wrap_around;
        a_at += stage_step;
        b_at += stage_step;
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            epilogue_store4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                            col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
