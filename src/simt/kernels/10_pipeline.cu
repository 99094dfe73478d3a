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
 * passed the barrier that follows its use. The barrier precedes the multiply-adds of a
 * tile's last step, whose fragments are in registers: they hide the wait for the other
 * warps and the first loads of the next tile. All addresses are computed before the main
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
#ifndef STAGES
#define STAGES 2 // 2 3 4
#endif
/* 1: emulated copies complete as late as the rules allow, so that a wrong wait is detected. */
#ifndef CHECKED
#define CHECKED 0 // 0 1
#endif
// preset i32: BM=128,BN=128,BK=8,WM=64,WN=32,TM=8,TN=8,STAGES=3
// preset f64: BM=64,BN=64,BK=8,WM=32,WN=32,TM=4,TN=8,STAGES=3
// preset tiny: BM=32,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,STAGES=3
// preset wide: BM=128,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,STAGES=3
// preset small: BM=64,BN=64,BK=16,WM=32,WN=32,TM=4,TN=8,STAGES=2
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
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
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

#define A_ELEMENTS (BM * BK / THREADS) /* per thread and tile */
#define B_ELEMENTS (BN * BK / THREADS)

/* 1 before sm_80: registers hold the next tile while the current one is multiplied. */
#if WIDE && defined(__CUDA_ARCH__)
#define VIA_REGISTERS (__CUDA_ARCH__ < 800)
#else
#define VIA_REGISTERS 0
#endif

/* ---- From global to shared memory ---- */

/* A thread copies a tile in units: vectors of four elements if WIDE is 1 and memory is MN-major, else
 * single elements. In a K-major tile, K_LANES adjacent lanes copy one sector of 32 bytes (less if BK is
 * small), and the next lanes copy from the next row. Requests then touch no sector twice, and their
 * stores to the tile, which is MN-major, fall into different banks. */
#define UNIT(mn_major) (WIDE && (mn_major) ? 4 : 1)
#define UNITS(tile_mn, mn_major) ((tile_mn) * BK / THREADS / UNIT(mn_major)) /* per thread */
#if IN_BYTES == 1 && BK % 32 == 0
#define K_LANES 32
#elif IN_BYTES <= 2 && BK % 16 == 0
#define K_LANES 16
#elif IN_BYTES <= 4 && BK % 8 == 0
#define K_LANES 8
#else
#define K_LANES 4
#endif

/* A pass copies K_ROWS rows of a K-major tile, or one unit per thread of an MN-major tile. */
#define K_ROWS (THREADS / K_LANES)
#define PASS_UNITS(mn_major) ((mn_major) ? 1 : BK / K_LANES)

/* Returns 1 if each pass starts a constant distance after the previous one, for all threads. */
DEVICE int is_regular(uint tile_mn, int mn_major)
{
    return mn_major ? THREADS % (tile_mn / UNIT(1)) == 0 : tile_mn % K_ROWS == 0;
}

/* Return the coordinates of a thread's i-th unit in its tile. */
DEVICE uint unit_mn(uint i, uint thread, uint tile_mn, int mn_major)
{
    const uint unit = i * THREADS + thread;
    if (mn_major)
        return unit % (tile_mn / UNIT(1)) * UNIT(1);
    return is_regular(tile_mn, 0) ? i / PASS_UNITS(0) * K_ROWS + thread / K_LANES : unit / BK;
}

DEVICE uint unit_k(uint i, uint thread, uint tile_mn, int mn_major)
{
    const uint unit = i * THREADS + thread;
    if (mn_major)
        return unit / (tile_mn / UNIT(1));
    return is_regular(tile_mn, 0) ? i % PASS_UNITS(0) * K_LANES + thread % K_LANES : unit % BK;
}

/* Return the distance from this thread's first unit to its i-th. The distance is a constant, except for
 * unusual tile sizes, where it may be negative. */
DEVICE int mn_from_first(uint i, uint tile_mn, int mn_major)
{
    const uint thread = is_regular(tile_mn, mn_major) ? 0 : threadIdx.x;
    return (int)unit_mn(i, thread, tile_mn, mn_major) - (int)unit_mn(0, thread, tile_mn, mn_major);
}

DEVICE int k_from_first(uint i, uint tile_mn, int mn_major)
{
    const uint thread = is_regular(tile_mn, mn_major) ? 0 : threadIdx.x;
    return (int)unit_k(i, thread, tile_mn, mn_major) - (int)unit_k(0, thread, tile_mn, mn_major);
}

/* Returns 1 if a row outside the matrix is replaced by the last row inside. Such a row only affects sums
 * outside C, and loads to registers then need no branch. Asynchronous copies store zeros instead. */
DEVICE int clamps_rows(uint tile_mn, int mn_major)
{
    return VIA_REGISTERS && GUARDED && !mn_major && is_regular(tile_mn, mn_major);
}

/* Loads this thread's units of one operand, tile after tile. */
typedef struct {
    GLOBAL const in_t *from;                     /* the first unit of the next tile */
    index_t            mn_stride, k_stride;      /* in elements */
    index_t            pass_stride, tile_stride; /* between passes and between complete tiles, in bytes */
    int                mn_left;                  /* elements from the first unit to the edge of the matrix */
    int                first_k;                  /* k of the first unit in its tile */
    uint               to;                       /* byte offset of the first unit in the stages */
} loader_t;

/* Returns a loader of the tiles from (mn, 0) on. The first one goes to offset `to` of the stages. */
DEVICE loader_t loader_of(GLOBAL const in_t *memory, view_t view, index_t mn, index_t mn_end, uint tile_mn, uint ld,
                          uint to, int mn_major)
{
    loader_t loader;
    const uint first_mn = unit_mn(0, threadIdx.x, tile_mn, mn_major);
    const uint first_k = unit_k(0, threadIdx.x, tile_mn, mn_major);
    loader.mn_left = (mn_end - mn < tile_mn ? (int)(mn_end - mn) : (int)tile_mn) - (int)first_mn;
    loader.first_k = (int)first_k;
    loader.mn_stride = WIDE && mn_major ? 1 : view.row_stride;
    loader.k_stride = WIDE && !mn_major ? 1 : view.col_stride;
    loader.tile_stride = BK * IN_BYTES * loader.k_stride;
    loader.pass_stride = mn_major ? THREADS / (tile_mn / UNIT(1)) * IN_BYTES * loader.k_stride
                                  : K_ROWS * IN_BYTES * loader.mn_stride;
    const int is_clamped = clamps_rows(tile_mn, mn_major) && loader.mn_left <= 0;
    loader.from = &memory[at(view, is_clamped ? mn_end - 1 : mn + first_mn, first_k)];
    loader.to = (to + first_k * ld + first_mn) * IN_BYTES;
    return loader;
}

/* Takes bytes, not elements, so that the main loop has no multiplication by the element size. */
DEVICE SHARED in_t *stage_address(SHARED in_t *stages, uint bytes)
{
    return (SHARED in_t *)((SHARED char *)stages + bytes);
}

/* Returns the address of the next pass. The asm statement hides from CUDA's compiler that all passes have
 * the same stride: it would multiply the stride, which takes more instructions than adding it. */
DEVICE GLOBAL const in_t *next_pass(GLOBAL const in_t *pass, index_t bytes)
{
#ifdef __CUDA_ARCH__
    asm("" : "+l"(bytes));
#endif
    return (GLOBAL const in_t *)((GLOBAL const char *)pass + bytes);
}

/* Copies one element, or zero if it is not inside: to shared memory, or to a register. */
DEVICE void load_element(copies_t *copies, in_t *staged, SHARED in_t *to, GLOBAL const in_t *from, int inside)
{
#if VIA_REGISTERS
    *staged = inside ? *from : (in_t)0;
#else
    copy_async(copies, to, from, inside);
#endif
}

DEVICE void load_vector(copies_t *copies, in_t *staged, SHARED in_t *to, GLOBAL const in_t *from)
{
#if VIA_REGISTERS
    const in4_t vector = *(GLOBAL const in4_t *)from;
    staged[0] = vector.x;
    staged[1] = vector.y;
    staged[2] = vector.z;
    staged[3] = vector.w;
#else
    copy4_async(copies, to, from);
#endif
}

/* Starts the copies of this thread's units of a tile with k_left steps of k. Units outside the matrix
 * become zeros. */
DEVICE void loader_issue(copies_t *copies, in_t *staged, const loader_t *loader, SHARED in_t *stages, int k_left,
                         uint tile_mn, uint ld, int mn_major)
{
    const int clamps = clamps_rows(tile_mn, mn_major);
    GLOBAL const in_t *pass = loader->from;
#pragma unroll
    for (uint i = 0; i < UNITS(tile_mn, mn_major); i++) {
        const int d_mn = mn_from_first(i, tile_mn, mn_major), dk = k_from_first(i, tile_mn, mn_major);
        const int has_k = !GUARDED || k_left == BK || loader->first_k + dk < k_left;
        const uint unit_of_pass = i % PASS_UNITS(mn_major);
        if (i > 0 && unit_of_pass == 0 && (!clamps || d_mn < loader->mn_left))
            pass = next_pass(pass, loader->pass_stride);
        GLOBAL const in_t *from = is_regular(tile_mn, mn_major)
                                      ? pass + unit_of_pass * K_LANES * loader->k_stride
                                      : loader->from + d_mn * loader->mn_stride + dk * loader->k_stride;
        SHARED in_t *to = stage_address(stages, loader->to) + dk * (int)ld + d_mn;
        if (UNIT(mn_major) == 1)
            load_element(copies, &staged[i], to, from, has_k && (!GUARDED || clamps || d_mn < loader->mn_left));
        else if (!GUARDED || (has_k && d_mn + 3 < loader->mn_left))
            load_vector(copies, &staged[4 * i], to, from);
        else
#pragma unroll
            for (int j = 0; j < 4; j++)
                load_element(copies, &staged[4 * i + j], to + j, from + j, has_k && d_mn + j < loader->mn_left);
    }
}

/* Stores the units of a tile that was loaded to registers. */
DEVICE void loader_store(const in_t *staged, const loader_t *loader, SHARED in_t *stages, uint tile_mn, uint ld,
                         int mn_major)
{
#if VIA_REGISTERS
#pragma unroll
    for (uint i = 0; i < UNITS(tile_mn, mn_major); i++) {
        const int offset = k_from_first(i, tile_mn, mn_major) * (int)ld + mn_from_first(i, tile_mn, mn_major);
        in_t *to = stage_address(stages, loader->to) + offset;
        if (UNIT(mn_major) == 1)
            *to = staged[i];
        else
            *(in4_t *)to = make_in4(staged[4 * i], staged[4 * i + 1], staged[4 * i + 2], staged[4 * i + 3]);
    }
#endif
}

/* Advances to the next tile and to the stage that is `stage_step` bytes further. After the last tile the
 * pointer is outside the matrix and is not dereferenced. */
DEVICE void loader_advance(loader_t *loader, index_t bytes, uint stage_step)
{
    loader->from = (GLOBAL const in_t *)((GLOBAL const char *)loader->from + bytes);
    loader->to += stage_step;
}

/* ---- From shared memory to registers ---- */

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

/* Returns the sum. The asm statement keeps CUDA's compiler from adding integers in another order: it would load
 * the fragments of all steps first, which takes twice the registers. */
DEVICE sum_t in_order(sum_t sum)
{
#if defined(INTEGER_TYPE) && defined(__CUDA_ARCH__)
    asm("" : "+r"(sum));
#endif
    return sum;
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

    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (BN / WN) * WM + lane_row(lane, WM / TM, WN / TN) * 4;
    const uint tile_col = warp % (BN / WN) * WN + lane_col(lane, WM / TM, WN / TN) * 4;

    view_t a_slice = a_view, b_slice = b_view, unused = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &unused, k, launch_args, batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[2][TM], b_fragment[2][TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    in_t a_staged[A_ELEMENTS], b_staged[B_ELEMENTS];
    copies_t copies;
    copies_init(&copies);
    loader_t a_loader = loader_of(a, a_slice, row0, m, BM, LDA, 0, A_MN_MAJOR);
    loader_t b_loader = loader_of(b, transposed_view(b_slice), col0, n, BN, LDB, BK * LDA, B_MN_MAJOR);

    /* The first tile may be partial along k. The complete tiles follow it. */
    const index_t tiles = (slice_k + BK - 1) / BK;
    int k_left = (int)(slice_k - (tiles - 1) * BK);
    for (uint stage = 0; stage < STAGES - 1; stage++) {
        if (stage < tiles) {
            loader_issue(&copies, a_staged, &a_loader, stages, k_left, BM, LDA, A_MN_MAJOR);
            loader_issue(&copies, b_staged, &b_loader, stages, k_left, BN, LDB, B_MN_MAJOR);
            loader_store(a_staged, &a_loader, stages, BM, LDA, A_MN_MAJOR);
            loader_store(b_staged, &b_loader, stages, BN, LDB, B_MN_MAJOR);
        }
        copies_commit(&copies);
        loader_advance(&a_loader, k_left * a_loader.k_stride * IN_BYTES, STAGE * IN_BYTES);
        loader_advance(&b_loader, k_left * b_loader.k_stride * IN_BYTES, STAGE * IN_BYTES);
        k_left = BK;
    }
    copies_wait(&copies, STAGES - 2);
    __syncthreads();

    /* Byte offsets of this thread's elements in the stage to multiply, and the distance to the next
     * stage. The stage to fill precedes it and makes the same step one tile later. */
    const uint next_stage = STAGE * IN_BYTES, wrap_around = (1 - STAGES) * STAGE * IN_BYTES;
    uint a_at = tile_row * IN_BYTES, b_at = (BK * LDA + tile_col) * IN_BYTES, stage_step = wrap_around;
    if (tiles > 0)
        load_step(a_fragment[0], b_fragment[0], stage_address(stages, a_at), stage_address(stages, b_at));
    for (index_t tiles_left = tiles; tiles_left > 0; tiles_left--) {
        const int is_filling = tiles_left > STAGES - 1, is_last = tiles_left == 1;
#pragma unroll
        for (uint step = 0; step < BK; step++) {
            if (step == 0) {
                if (is_filling) {
                    loader_issue(&copies, a_staged, &a_loader, stages, BK, BM, LDA, A_MN_MAJOR);
                    loader_issue(&copies, b_staged, &b_loader, stages, BK, BN, LDB, B_MN_MAJOR);
                }
                copies_commit(&copies); /* an empty group keeps the count for copies_wait correct */
            }
            /* The fragments of the last step are in registers: the next tile can be awaited. */
            if (step == BK - 1) {
                if (is_filling) {
                    loader_store(a_staged, &a_loader, stages, BM, LDA, A_MN_MAJOR);
                    loader_store(b_staged, &b_loader, stages, BN, LDB, B_MN_MAJOR);
                }
                copies_wait(&copies, STAGES - 2);
                __syncthreads();
                loader_advance(&a_loader, a_loader.tile_stride, stage_step);
                loader_advance(&b_loader, b_loader.tile_stride, stage_step);
                stage_step = a_at < (STAGES - 1) * next_stage ? next_stage : wrap_around;
                a_at += stage_step;
                b_at += stage_step;
            }
            if (step < BK - 1 || !is_last)
                load_step(a_fragment[(step + 1) % 2], b_fragment[(step + 1) % 2],
                          stage_address(stages, a_at) + (step + 1) % BK * LDA,
                          stage_address(stages, b_at) + (step + 1) % BK * LDB);
#pragma unroll
            for (uint i = 0; i < TM; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++)
                    sum[i * TN + j] = in_order(sum[i * TN + j] + a_fragment[step % 2][i] * b_fragment[step % 2][j]);
        }
    }

    view_t c_item = c_view;
    select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets); /* not earlier: registers */
    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            epilogue_store4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                            col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
