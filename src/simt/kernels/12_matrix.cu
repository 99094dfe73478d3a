/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - the matrix engine, supplied with operands at the speed of shared memory.
 *
 * Removes  the idle time of 11_wmma. Operands are read by ldmatrix without bank conflicts,
 *          several tiles are in flight, and the fragments of the next step are read while
 *          the current step is multiplied. A warp holds a WM x WN tile of C in registers.
 * Leaves   the newer instructions of sm_90 (wgmma, which reads shared memory directly) and
 *          sm_100 (tcgen05).
 * Try      rung bench --dtype f16 --kernels 11,12
 *
 * A stage holds KB bytes of k for BM rows of A and BN columns of B, in 16-byte chunks
 * placed by swizzle.h. If the operands allow whole chunks to be copied (WIDE), cp.async
 * copies them, or registers do before sm_80; otherwise elements are copied one by one.
 * Elements outside the matrices are copied as zeros, also past the end of k, so the main
 * loop has no branch. FP32 becomes TF32 or is split into terms (f32_terms.h). FP8 is laid
 * out as I8. F64 is read by ordinary loads of 8 or 16 bytes. matrix_output.h stores the sums
 * to C.
 */
// takes: f16,f16:f32,i8 from sm_75
// takes: bf16,bf16:f32,f32,f32:f16,f32:bf16,f64 from sm_80
// takes: f8e4m3,f8e4m3:bf16,f8e5m2,f8e5m2:bf16 from sm_89
// computes: tf32,tf32x3,bf16x3
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"
#include "async.h"
#include "swizzle.h"
#include "engine.h"
#include "mma.h"
#include "f32_terms.h"

#ifndef BM
#define BM 128 // 64 128 256
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
/* Bytes of k per stage. 64 bytes are 32 elements of F16. */
#ifndef KB
#define KB 64 // 64 128
#endif
#ifndef WM
#define WM 64 // 32 64
#endif
#ifndef WN
#define WN 64 // 32 64
#endif
#ifndef STAGES
#define STAGES 3 // 2 3 4
#endif
/* Rows of blocks that advance across C together, so that they share tiles of B in the cache. */
#ifndef GROUP
#define GROUP 8 // 1 8
#endif
/* 1: emulated copies complete as late as the rules allow, so that a wrong wait is detected. */
#ifndef CHECKED
#define CHECKED 0 // 0 1
#endif
/* Instructions to emulate in software: those of sm_75 or of sm_80. */
#ifndef EMULATED
#define EMULATED 80 // 75 80
#endif
// preset tiny: BM=32,BN=64,KB=64,WM=32,WN=32,STAGES=3,GROUP=2
// preset sm_75: BM=128,BN=128,KB=64,WM=64,WN=64,STAGES=2
// preset sm_75_small: BM=64,BN=64,KB=128,WM=32,WN=32,STAGES=2
// preset small: BM=64,BN=64,KB=128,WM=32,WN=32,STAGES=3
// preset tall: BM=256,BN=128,KB=64,WM=64,WN=64,STAGES=3
// preset wide: BM=128,BN=256,KB=64,WM=64,WN=64,STAGES=3
// preset deep: BM=128,BN=128,KB=64,WM=64,WN=64,STAGES=4
// preset tf32x3: BM=128,BN=128,KB=64,WM=64,WN=32,STAGES=3
// preset bf16x3: BM=128,BN=128,KB=64,WM=64,WN=32,STAGES=3
// preset f64: BM=128,BN=128,KB=64,WM=64,WN=32,STAGES=3

#define BK (KB / IN_BYTES)
#define SUM_BYTES (IN_BYTES == 8 ? 8 : 4)
#define THREADS (BM / WM * (BN / WN) * 32)
#define SHARED_BYTES ((BM + BN) * KB * STAGES)

#if WM < 16 || WN < 16 || WM % 16 != 0 || WN % 16 != 0
#error "WM and WN must be multiples of 16"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if KB != 64 && KB != 128 && KB != 256
#error "KB must be 64, 128 or 256: an even number of steps of 32 bytes"
#endif
#if THREADS > 1024
#error "32 threads per warp must fit a block of 1024"
#endif
#if BM * KB % (16 * THREADS) != 0 || BN * KB % (16 * THREADS) != 0
#error "BM*KB/16 and BN*KB/16 chunks must divide evenly among the threads"
#endif
#if (BM & BM - 1) != 0 || (BN & BN - 1) != 0 || BM < 32 || BN < 32
#error "BM and BN must be powers of two of at least 32"
#endif
#if THREADS * 16 < BM * IN_BYTES || THREADS * 16 < BN * IN_BYTES
#error "the block needs at least one thread per 16-byte chunk of a tile row"
#endif
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif
#if GROUP < 1
#error "GROUP must be at least 1"
#endif
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the maximum per block"
#endif
#if THREADS / 32 * 16 * (WN + 16) * SUM_BYTES > SHARED_BYTES
#error "16 rows of sums per warp must fit the memory of the stages"
#endif
#if WM / 4 + WN / 4 > 64
#error "WM/4 + WN/4 operand registers per lane must be at most 64"
#endif
#if IN_BYTES == 8 && WM * WN > 2048
#error "WM*WN must be at most 2048 for doubles: 64 sums per lane need 128 registers"
#endif
#if EMULATED < 75
#error "EMULATED must be at least 75"
#endif
#if CHECKED && (STAGES - 1) * (BM + BN) * BK / THREADS > 256
#error "with CHECKED=1 a thread may have at most 256 copies in flight"
#endif

#define STEPS (KB / 32)
#define CHUNK (16 / IN_BYTES)
#define A_ROW_BYTES (A_MN_MAJOR ? BM * IN_BYTES : KB)
#define B_ROW_BYTES (B_MN_MAJOR ? BN * IN_BYTES : KB)

/* 1 if the fragments interleave pairs, or groups of four, of rows of A or of columns of B (see
 * mma.h). */
#define A_ROWS_PAIRED ((IN_BYTES == 1 || IN_BYTES == 8) && A_MN_MAJOR)
#define B_COLS_PAIRED ((IN_BYTES == 1 || IN_BYTES == 8) && B_MN_MAJOR)
#define A_ROWS_GROUPED (IN_BYTES == 4 && A_MN_MAJOR && WM % 32 == 0)
#define B_COLS_GROUPED (IN_BYTES == 4 && B_MN_MAJOR && WN % 32 == 0)
#define SUMS_LD (WN + (B_COLS_GROUPED ? GROUP_SUMS_PAD : sums_pad(A_ROWS_PAIRED, B_COLS_PAIRED, SUM_BYTES)))

/* Chunks are copied by cp.async, through registers, or (neither) element by element. */
#define COPY_ASYNC (WIDE && ARCH >= 80)
#define COPY_VIA_REGISTERS (WIDE && ARCH < 80)

/* 1: fragments are loaded one step ahead. Not where that would need too many registers: with
 * scalar fragment loads, with both operands paired or grouped, or with staged chunks and
 * split-K. Nor where elements are copied one by one, which dominates the time anyway. */
#define BOTH_REGROUPED ((IN_BYTES == 1 || IN_BYTES == 4) && A_MN_MAJOR && B_MN_MAJOR)
#define SCALAR_FRAGMENT_LOADS (IN_BYTES == 4 && (A_MN_MAJOR != A_ROWS_GROUPED || B_MN_MAJOR != B_COLS_GROUPED))
#define PREFETCH (WIDE && !BOTH_REGROUPED && !SCALAR_FRAGMENT_LOADS && !(COPY_VIA_REGISTERS && SPLIT))

/* The loads of the next step are interleaved with the multiplications of this one, in
 * STEP_PARTS parts. Neither the engine nor the load/store unit then waits for a burst of the other.
 * The numbers are the best by the model of rung explain. In software every part needs barriers, and
 * the terms of B would be computed for every part. */
#if defined(__OPENCL_C_VERSION__) || SPLITS_F32 || WM % 32 != 0 || (ARCH < 80 && IN_BYTES != 1)
#define STEP_PARTS 1
#elif ARCH < 80
#define STEP_PARTS (WM / 16)
#else
#define STEP_PARTS (WM / 32)
#endif

#include "matrix_output.h"

/* ---- From global to shared memory ---- */

/* This thread's chunks of one operand's next tile. All of them are in one column of chunks. The
 * strides are distances in global memory, in elements. */
typedef struct {
    GLOBAL const in_t *from;
    index_t chunk_stride, tile_stride, element_stride;
    int mn_left; /* rows (K-major) or elements (MN-major) from the first chunk to the edge */
    uint row, chunk;
} source_t;

DEVICE source_t source_of(GLOBAL const in_t *memory, view_t view, index_t mn, index_t mn_end, uint tile_mn,
                          uint row_bytes, int mn_major)
{
    source_t source;
    const uint chunks = row_bytes / 16;
    const index_t stride = mn_major ? view.col_stride : view.row_stride;
    source.row = threadIdx.x / chunks;
    source.chunk = threadIdx.x - source.row * chunks;
    source.element_stride = WIDE ? 1 : mn_major ? view.row_stride : view.col_stride;
    source.chunk_stride = stride * (THREADS / chunks);
    source.tile_stride = mn_major ? stride * BK : source.element_stride * BK;
    source.from = memory + at(view, mn, 0) + source.row * stride + source.chunk * CHUNK * source.element_stride;
    source.mn_left = mn_end - mn < tile_mn ? (int)(mn_end - mn) : (int)tile_mn;
    source.mn_left -= (int)(mn_major ? source.chunk * CHUNK : source.row);
    return source;
}

/* Returns the number of k steps in the next tile, 0 past the end. */
DEVICE int steps_left(index_t k_remaining)
{
    return k_remaining >= BK ? BK : k_remaining > 0 ? (int)k_remaining : 0;
}

/* Returns how many elements of a chunk are inside. No chunk crosses an edge if WIDE is 1. */
DEVICE int chunk_valid_count(int elements_left)
{
#if WIDE == 1
    return elements_left > 0 ? CHUNK : 0;
#else
    return elements_left >= CHUNK ? CHUNK : elements_left > 0 ? elements_left : 0;
#endif
}

/* Returns how many elements of this thread's chunk are inside, in the row `row_offset` below its
 * first, for a tile with k_left steps of k. */
DEVICE int count_inside(const source_t *source, uint row_offset, int k_left, int mn_major)
{
    if (mn_major)
        return (int)(source->row + row_offset) < k_left ? (GUARDED ? chunk_valid_count(source->mn_left) : CHUNK) : 0;
    return GUARDED && source->mn_left <= (int)row_offset ? 0 : chunk_valid_count(k_left - (int)(source->chunk * CHUNK));
}

DEVICE SHARED in_t *chunk_of(SHARED in_t *tile, const source_t *source, uint row_offset, uint row_bytes, int mn_major)
{
    return &tile[chunk_offset(source->row + row_offset, source->chunk, row_bytes, IN_BYTES, mn_major) / IN_BYTES];
}

#define EACH_CHUNK(i, tile_mn) for (uint i = 0; i < (tile_mn) * KB / 16 / THREADS; i++)

/* Returns element i of the chunk at `chunk_start`, zero outside. */
DEVICE in_t element_of(const source_t *source, index_t chunk_start, int i, int inside)
{
    return i < inside ? source->from[chunk_start + i * source->element_stride] : (in_t)0;
}

/* Assembles one 32-bit word of the chunk at `chunk_start` from single elements, or from half of one. */
DEVICE uint gather(const source_t *source, index_t chunk_start, uint word, int inside)
{
#if IN_BYTES == 8
    return double_word(element_of(source, chunk_start, (int)word / 2, inside), word % 2);
#else
    uint bits = 0;
#pragma unroll
    for (int i = 0; i < CHUNK / 4; i++) {
        const in_t element = element_of(source, chunk_start, (int)word * (CHUNK / 4) + i, inside);
#if AS_TF32
        bits = float_bits(element);
#elif IN_BYTES == 2
        bits |= (uint)element << 16 * i;
#else
        bits |= (uint)(element & 0xff) << 8 * i;
#endif
    }
    return bits;
#endif
}

/* Stores a chunk of single elements to shared memory. */
DEVICE void store_gathered(SHARED in_t *to, const source_t *source, index_t chunk_start, int inside)
{
#if IN_BYTES == 8
#pragma unroll 1
    for (int i = 0; i < CHUNK; i++)
        to[i] = element_of(source, chunk_start, i, inside);
#else
#pragma unroll 1
    for (uint word = 0; word < 4; word++)
        ((SHARED uint *)to)[word] = gather(source, chunk_start, word, inside);
#endif
}

/* Starts the copies of this thread's chunks of the next tile. */
DEVICE void tile_copy_begin(copies_t *copies, uint *staged, SHARED in_t *tile, const source_t *source, int k_left,
                            uint tile_mn, uint row_bytes, int mn_major)
{
    const uint step = THREADS / (row_bytes / 16);
#pragma unroll
    EACH_CHUNK(i, tile_mn) {
        const int inside = count_inside(source, i * step, k_left, mn_major);
#if COPY_ASYNC
        copy16_async(copies, chunk_of(tile, source, i * step, row_bytes, mn_major),
                     source->from + i * source->chunk_stride, inside);
#elif COPY_VIA_REGISTERS
        if (inside == CHUNK) {
            const uint4 chunk = *(GLOBAL const uint4 *)(source->from + i * source->chunk_stride);
            staged[4 * i] = chunk.x;
            staged[4 * i + 1] = chunk.y;
            staged[4 * i + 2] = chunk.z;
            staged[4 * i + 3] = chunk.w;
        } else {
#pragma unroll
            for (uint word = 0; word < 4; word++)
                staged[4 * i + word] = gather(source, i * source->chunk_stride, word, inside);
        }
#endif
    }
}

/* Stores the chunks that cp.async does not copy, and advances to the next tile. */
DEVICE void tile_copy_end(const uint *staged, SHARED in_t *tile, source_t *source, int k_left, uint tile_mn,
                          uint row_bytes, int mn_major)
{
    const uint step = THREADS / (row_bytes / 16);
#if COPY_VIA_REGISTERS
#pragma unroll
    EACH_CHUNK(i, tile_mn) {
        SHARED uint *to = (SHARED uint *)chunk_of(tile, source, i * step, row_bytes, mn_major);
        put_four(to, staged[4 * i], staged[4 * i + 1], staged[4 * i + 2], staged[4 * i + 3]);
    }
#elif !COPY_ASYNC
#pragma unroll 1
    EACH_CHUNK(i, tile_mn) {
        const int inside = count_inside(source, i * step, k_left, mn_major);
        store_gathered(chunk_of(tile, source, i * step, row_bytes, mn_major), source, i * source->chunk_stride, inside);
    }
#endif
    source->from += source->tile_stride;
}

/* Loads one of `parts` parts of a warp's fragments of `rows` rows of A, or columns of B, for one step
 * of 32 bytes of k. */
DEVICE void load_fragments(engine_t engine, uint *fragment, SHARED const in_t *tile, uint mn, uint rows, uint step,
                           uint row_bytes, int mn_major, int is_b, int is_grouped, uint part, uint parts)
{
    const uint together = is_grouped ? 32 : 16, count = rows / together;
#pragma unroll
    for (uint i = part * count / parts * together; i < (part + 1) * count / parts * together; i += together)
        if (is_grouped)
            load_fragment_group(engine, &fragment[i / 4], tile, mn + i, step * 32, row_bytes, is_b);
        else
            load_fragment(engine, &fragment[i / 4], tile, mn + i, step * 32, row_bytes, mn_major, is_b);
}

DEVICE void load_step(engine_t engine, uint *a_fragment, uint *b_fragment, SHARED const in_t *stage, uint row, uint col,
                      uint step, uint part, uint parts)
{
    load_fragments(engine, a_fragment, stage, row, WM, step, A_ROW_BYTES, A_MN_MAJOR, 0, A_ROWS_GROUPED, part, parts);
    load_fragments(engine, b_fragment, stage + BM * BK, col, WN, step, B_ROW_BYTES, B_MN_MAJOR, 1, B_COLS_GROUPED, part,
                   parts);
}

KERNEL(THREADS)
rung_12_matrix(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials ENGINE_ARGUMENT)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(in_t, stages, STAGES * BK * (BM + BN));
#else
    __shared__ __align__(128) in_t stages[STAGES * BK * (BM + BN)];
#endif
    const engine_t engine = engine_of(launch_args, THREADS);
    const uint warp = threadIdx.x / 32, lane = engine.lane;
    const uint warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    const index_t tiles = (slice_k + BK - 1) / BK;
    index_t k_remaining = slice_k; /* not yet copied */
    source_t a_source = source_of(a, a_slice, row0, m, BM, A_ROW_BYTES, A_MN_MAJOR);
    source_t b_source = source_of(b, transposed_view(b_slice), col0, n, BN, B_ROW_BYTES, B_MN_MAJOR);

    sum_t sum[WM / 16 * (WN / 8) * 4];
    uint a_fragment[2][WM / 4], b_fragment[2][WN / 4];
    uint a_staged[BM * KB / 4 / THREADS], b_staged[BN * KB / 4 / THREADS];
    copies_t copies;
    copies_init(&copies);
#pragma unroll
    for (uint i = 0; i < WM / 16 * (WN / 8) * 4; i++)
        sum[i] = 0;

    for (uint stage = 0; stage < STAGES - 1; stage++) {
        SHARED in_t *to = &stages[stage * BK * (BM + BN)];
        const int k_left = steps_left(k_remaining);
        tile_copy_begin(&copies, a_staged, to, &a_source, k_left, BM, A_ROW_BYTES, A_MN_MAJOR);
        tile_copy_begin(&copies, b_staged, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_MN_MAJOR);
        copies_commit(&copies);
        tile_copy_end(a_staged, to, &a_source, k_left, BM, A_ROW_BYTES, A_MN_MAJOR);
        tile_copy_end(b_staged, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_MN_MAJOR);
        k_remaining -= BK;
    }
    copies_wait(&copies, STAGES - 2);
    __syncthreads();

    uint cur = 0, next = STAGES - 1; /* the stage to multiply, the stage to fill */
    if (PREFETCH)
        load_step(engine, a_fragment[0], b_fragment[0], stages, warp_row, warp_col, 0, 0, 1);
    for (index_t tile = 0; tile < tiles; tile++, k_remaining -= BK) {
        const int k_left = steps_left(k_remaining);
#pragma unroll
        for (uint step = 0; step < STEPS; step++) {
            SHARED in_t *to = &stages[next * BK * (BM + BN)];
            if (!PREFETCH)
                load_step(engine, a_fragment[0], b_fragment[0], &stages[cur * BK * (BM + BN)], warp_row, warp_col, step,
                          0, 1);
            /* The last step of this tile is in registers: continue with the next tile. */
            if (step == STEPS - 1) {
                tile_copy_end(a_staged, to, &a_source, k_left, BM, A_ROW_BYTES, A_MN_MAJOR);
                tile_copy_end(b_staged, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_MN_MAJOR);
                copies_wait(&copies, STAGES - 2);
                __syncthreads();
                cur = cur + 1 == STAGES ? 0 : cur + 1;
                next = next + 1 == STAGES ? 0 : next + 1;
            }
#pragma unroll
            for (uint part = 0; part < STEP_PARTS; part++) {
                const uint first = part * (WM / 16) / STEP_PARTS;
                if (PREFETCH)
                    load_step(engine, a_fragment[(step + 1) % 2], b_fragment[(step + 1) % 2],
                              &stages[cur * BK * (BM + BN)], warp_row, warp_col, (step + 1) % STEPS, part, STEP_PARTS);
                if (step == 0 && part == 0) {
                    tile_copy_begin(&copies, a_staged, to, &a_source, k_left, BM, A_ROW_BYTES, A_MN_MAJOR);
                    tile_copy_begin(&copies, b_staged, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_MN_MAJOR);
                    copies_commit(&copies);
                }
                mma_all(engine, &sum[first * (WN / 8) * 4], &a_fragment[step % 2 * PREFETCH][first * 4],
                        b_fragment[step % 2 * PREFETCH], WM / 16 / STEP_PARTS, WN / 8);
            }
        }
    }
    copies_wait(&copies, 0); /* the last copies are zeros, but must not overwrite the sums */
    __syncthreads();

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    const int is_aligned = can_store_vectors(&output);
    SHARED sum_t *sums = (SHARED sum_t *)stages + warp * 16 * SUMS_LD;
#pragma unroll
    for (uint i = 0; i < WM / 16; i++) {
#pragma unroll
        for (uint j = 0; j < WN / 8; j += SUMS_TILES)
            store_sums_shared(sums, &sum[(i * (WN / 8) + j) * 4], lane, j);
        warp_barrier(); /* the memory of `sums` is this warp's own */
        epilogue_store_rows(&output, sums, row0 + warp_row, col0 + warp_col, i, lane, is_aligned);
        warp_barrier();
    }
}
