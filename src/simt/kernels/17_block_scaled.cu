/* SPDX-License-Identifier: Apache-2.0 */
/* 17_block_scaled - two quantized matrices on the matrix engine, without conversion.
 *
 * Removes  the conversion of 16_quantized_matrix: FP8 and FP4 reach the engine as they are stored.
 *          On sm_120 the engine also multiplies by the scales of MXFP8, MXFP4 and NVFP4.
 * Leaves   one multiply-add per sum and scale where the engine has no scales, and loads of single
 *          elements where 16 bytes do not lie along k.
 * Try      rung explain 17 --arch sm_120
 *
 * A tile has BK steps of k. Its products are added in registers of their own, are multiplied by the
 * scales and are then added to the sums, because an engine truncates sums of FP8. Tiles lie along k in
 * shared memory, as swizzle.h places them, in one of two buffers. Chunks of 16 bytes are copied there by
 * cp.async, the next tile during the multiplication of the current one.
 */
// takes: float*float from sm_89
// computes: bf16x1
#define ONE_BLOCK // two sets of sums need the registers

/* The host says what A is. in_t is a byte of A or B in shared memory. */
#undef IN_F8E4M3
#undef IN_F8E5M2
#define IN_F8E4M3
#ifndef B_TYPE
#define B_TYPE TYPE_F8E4M3
#endif
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"
#include "quantized.h"
#include "swizzle.h"
#include "engine.h"
#include "async.h"

#ifndef BM
#define BM 128 // 16 32 64 128
#endif
#ifndef BN
#define BN 128 // 32 64 128
#endif
#ifndef BK
#define BK 128 // 128 256
#endif
#ifndef WM
#define WM 64 // 16 32 64
#endif
#ifndef WN
#define WN 32 // 16 32 64
#endif
// preset tiny: BM=16,BN=32,BK=128,WM=16,WN=16
// preset rows16: BM=16,BN=64,BK=128,WM=16,WN=16
// preset small: BM=64,BN=64,BK=128,WM=32,WN=32

#define THREADS (BM / WM * (BN / WN) * 32)
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
#define SUM_BYTES 4
#define SHARED_BYTES (2 * (BM + BN) * (BK + BK / 8)) // two buffers of elements of one byte, and a word of scales per 32

#if WM < 16 || WN < 16 || WM % 16 != 0 || WN % 16 != 0
#error "WM and WN must be multiples of 16"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if BK < 128 || (BK & BK - 1) != 0 || (BM & BM - 1) != 0 || (BN & BN - 1) != 0
#error "BM, BN and BK must be powers of two, and BK at least 128"
#endif
#if THREADS > 1024
#error "32 threads per warp must fit a block of 1024"
#endif
#if THREADS / 32 * 16 * (WN + 8) * SUM_BYTES > (BM + BN) * BK
#error "16 rows of sums per warp must fit the memory of a tile"
#endif
#if WM * WN > 2048
#error "WM*WN/16 registers of sums per lane must be at most 128"
#endif

#define EMULATED 89 /* only CUDA has the instructions */
#include "mma.h"
#include "scaled_mma.h"

#define A_ROWS_PAIRED  0 /* tiles lie along k, so rows and columns have their own order, see mma.h */
#define B_COLS_PAIRED  0
#define A_ROWS_GROUPED 0
#define B_COLS_GROUPED 0
#define SUMS_LD (WN + sums_pad(A_ROWS_PAIRED, B_COLS_PAIRED, SUM_BYTES))
#include "matrix_output.h"

#define ROW_BYTES      (BK * SLOT_BITS / 8)
#define ROW_CHUNKS     (ROW_BYTES / CHUNK_BYTES)
#define CHUNK_ELEMENTS (CHUNK_BYTES * 8 / SLOT_BITS)
#define STEPS          (ROW_BYTES / 32) /* multiplications along k per tile */
#define TILE_BYTES     ((BM + BN) * ROW_BYTES)
#define SUMS           (WM / 16 * (WN / 8) * 4)

/* Words of scales per row of A or column of B and tile: of four bytes for the engine, else one F32 per step of k, or one
 * for all steps. */
#if ENGINE_SCALES
#define SCALE_WORDS (BK / GRAIN / 4)
#elif A_BLOCK_COLS % BK == 0 && BLOCK_ROWS % BK == 0
#define SCALE_WORDS 1
#else
#define SCALE_WORDS STEPS
#endif
#define SCALE_STEP (BK / SCALE_WORDS) /* steps of k per word */
#define SCALE_ROWS ((BM + BN + THREADS - 1) / THREADS)

/* ---- Operands ---- */

/* A, or B as (n, k), of this block's item and slice of k, from the first row or column of its tile. */
typedef struct {
    GLOBAL const byte_t *codes, *scales;
    view_t  view, scales_view;
    index_t mn_start, mn_end; /* of this block, and the end of the launch */
    index_t k_end;            /* of the slice */
    index_t first_mn, first_k; /* of the launch and of the slice, in the whole matrix: they select the scales */
} operand_t;

DEVICE operand_t operand_of(GLOBAL const byte_t *codes, view_t view, GLOBAL const byte_t *scales,
                            quantization_args_t arguments, view_t scales_view, index_t mn_start, index_t mn_end,
                            index_t k_end, launch_args_t launch_args)
{
    operand_t operand;
    operand.codes = codes + arguments.b_start;
    operand.scales = scales + arguments.scales_start;
    operand.view = view;
    operand.scales_view = scales_view;
    operand.mn_start = mn_start;
    operand.mn_end = mn_end;
    operand.k_end = k_end;
    operand.first_mn = arguments.first_col;
    operand.first_k = (index_t)blockIdx.z * launch_args.k_per_slice;
    return operand;
}

/* Moves a view of scales to this block's item. The offsets of the items are in array `array` of batch_offsets. */
DEVICE view_t item_scales(quantization_args_t arguments, launch_args_t launch_args,
                          GLOBAL const index_t *batch_offsets, index_t array)
{
    view_t view = arguments.scales;
    if (arguments.flags & 1)
        view.offset += batch_offsets[launch_args.batch_offsets_start + launch_args.first_item + blockIdx.y +
                                     array * launch_args.batch];
    return view;
}

/* ---- Elements ---- */

/* Returns the code of element (mn, k) as the engine takes it, zero outside. */
DEVICE uint slot_of(const operand_t *operand, index_t mn, index_t k, int type)
{
    if (k >= operand->k_end)
        return 0;
    return code_at(operand->codes, at(operand->view, mn, k), type) << (type == TYPE_F4E2M1 && SLOT_BITS == 8 ? 2 : 0);
}

/* Stores the chunk at (mn, k), element by element. */
DEVICE void store_elements(SHARED uint *to, const operand_t *operand, index_t mn, index_t k, int type)
{
#pragma unroll 1
    for (uint i = 0; i < 4; i++) {
        uint word = 0;
        if (mn < operand->mn_end)
#pragma unroll
            for (uint j = 0; j < 32 / SLOT_BITS; j++)
                word |= slot_of(operand, mn, k + i * (32 / SLOT_BITS) + j, type) << j * SLOT_BITS;
        to[i] = word;
    }
}

/* Returns the four elements of FP4 in the lower half of a word, each in bits 2 to 5 of a byte. */
DEVICE uint spread_fp4(uint codes)
{
    const uint bytes = (codes & 0xff) | (codes & 0xff00) << 8;
    return (bytes & 0x000f000f) << 2 | (bytes & 0x00f000f0) << 6;
}

/* Stores 16 elements of FP4, which are adjacent in memory, in a byte each. */
DEVICE void store_spread(SHARED uint *to, const operand_t *operand, index_t mn, index_t k)
{
    uint2 codes = make_uint2(0, 0);
    if (mn < operand->mn_end)
        codes = *(GLOBAL const uint2 *)(operand->codes + at(operand->view, mn, k) / 2);
    put_four(to, spread_fp4(codes.x), spread_fp4(codes.x >> 16), spread_fp4(codes.y), spread_fp4(codes.y >> 16));
}

/* Copies the chunk at (mn, k), which lies along k in memory. What is outside becomes zero. */
DEVICE void copy_chunk(copies_t *copies, SHARED in_t *to, const operand_t *operand, index_t mn, index_t k)
{
    const index_t left = mn < operand->mn_end ? (operand->k_end - k) * SLOT_BITS / 8 : 0;
    const int inside = left >= CHUNK_BYTES ? CHUNK_BYTES : left > 0 ? (int)left : 0;
    copy16_async(copies, to, operand->codes + (inside ? at(operand->view, mn, k) * SLOT_BITS / 8 : 0), inside);
}

/* Loads the tile at k of A or B. Adjacent threads load adjacent memory. `type`, `units` and `mn_major` are constants. */
DEVICE void load_codes_tile(copies_t *copies, SHARED in_t *tile, const operand_t *operand, index_t k, uint tile_mn,
                            int type, int units, int mn_major)
{
    const uint bits = type == TYPE_F4E2M1 ? 4 : 8;
#pragma unroll 1
    for (uint i = threadIdx.x; i < tile_mn * ROW_CHUNKS; i += THREADS) {
        const uint row = mn_major ? i % tile_mn : i / ROW_CHUNKS, chunk = mn_major ? i / tile_mn : i % ROW_CHUNKS;
        const index_t mn = operand->mn_start + row, chunk_k = k + chunk * CHUNK_ELEMENTS;
        SHARED in_t *to = &tile[chunk_offset(row, chunk, ROW_BYTES, 1, 0)];
        if (units && bits == SLOT_BITS)
            copy_chunk(copies, to, operand, mn, chunk_k);
        else if (units && chunk_k + CHUNK_ELEMENTS <= operand->k_end)
            store_spread((SHARED uint *)to, operand, mn, chunk_k);
        else
            store_elements((SHARED uint *)to, operand, mn, chunk_k, type);
    }
}

/* ---- Scales ---- */

/* Returns the code, or the bits of the F32, of the scale for (mn, k): 1 without scales, 0 outside. */
DEVICE uint scale_bits(const operand_t *operand, index_t mn, index_t k, int scale_type, index_t block_mn, index_t block_k)
{
    if (mn >= operand->mn_end || k >= operand->k_end)
        return 0;
    if (scale_type == TYPE_NONE)
        return float_bits(1.0f);
    const index_t row = block_mn > 0 ? (operand->first_mn + mn) / (block_mn > 0 ? block_mn : 1) : 0;
    const index_t col = block_k > 0 ? (operand->first_k + k) / (block_k > 0 ? block_k : 1) : 0;
    const index_t number = at(operand->scales_view, row, col);
#if ENGINE_SCALES
    return operand->scales[number];
#else
    return float_bits(number_at(operand->scales, number, scale_type));
#endif
}

/* Returns the word of scales for row or column mn from step k on. */
DEVICE uint scale_word(const operand_t *operand, index_t mn, index_t k, int scale_type, index_t block_mn,
                       index_t block_k)
{
#if ENGINE_SCALES
    uint word = 0;
#pragma unroll
    for (uint i = 0; i < 4; i++)
        word |= scale_bits(operand, mn, k + i * GRAIN, scale_type, block_mn, block_k) << 8 * i;
    return word;
#else
    return scale_bits(operand, mn, k, scale_type, block_mn, block_k);
#endif
}

/* Loads this thread's scales of the tiles at k. Rows of A come first, then columns of B. */
DEVICE void load_scales(uint *staged, const operand_t *a, const operand_t *b, index_t k)
{
#pragma unroll
    for (uint i = 0; i < SCALE_ROWS; i++) {
        const uint row = i * THREADS + threadIdx.x;
#pragma unroll
        for (uint word = 0; word < SCALE_WORDS; word++) {
            const index_t word_k = k + word * SCALE_STEP;
            if (row < BM)
                staged[i * SCALE_WORDS + word] = scale_word(a, a->mn_start + row, word_k, A_SCALE_TYPE, A_BLOCK_ROWS,
                                                            A_BLOCK_COLS);
            else if (row < BM + BN)
                staged[i * SCALE_WORDS + word] = scale_word(b, b->mn_start + (row - BM), word_k, SCALE_TYPE, BLOCK_COLS,
                                                            BLOCK_ROWS);
        }
    }
}

DEVICE void store_scales(SHARED uint *scales, const uint *staged)
{
#pragma unroll
    for (uint i = 0; i < SCALE_ROWS; i++) {
        const uint row = i * THREADS + threadIdx.x;
#pragma unroll
        for (uint word = 0; word < SCALE_WORDS; word++)
            if (row < BM + BN)
                scales[word * (BM + BN) + row] = staged[i * SCALE_WORDS + word];
    }
}

/* ---- Products ---- */

/* Loads a warp's fragments of one step of k. */
DEVICE void load_step(engine_t engine, uint *a_fragment, uint *b_fragment, SHARED const in_t *tiles, uint row, uint col,
                      uint step)
{
#pragma unroll
    for (uint i = 0; i < WM; i += 16)
        ldmatrix(engine, &a_fragment[i / 4], tiles, row + i, step * 32, ROW_BYTES, 0, 0);
#pragma unroll
    for (uint i = 0; i < WN; i += 16)
        ldmatrix(engine, &b_fragment[i / 4], tiles + BM * ROW_BYTES, col + i, step * 32, ROW_BYTES, 0, 1);
}

#if ENGINE_SCALES

#if GRAIN == 16
/* Negates the elements of FP4 whose scale is negative, because the engine ignores the sign of a scale. A word has 8 elements
 * of a row: half of a block. */
DEVICE void negate_fragments(uint *fragment, uint registers, SHARED const uint *scales, uint lane, int is_b)
{
#pragma unroll
    for (uint i = 0; i < registers; i++) {
        const uint half_mn = is_b ? i % 4 / 2 : i % 2, half_k = is_b ? i % 2 : i % 4 / 2;
        const uint word = scales[i / 4 * 16 + half_mn * 8 + lane / 4];
        fragment[i] ^= (word >> (half_k * 2 + lane % 4 / 2) * 8 + 7 & 1) * 0x88888888u;
    }
}
#endif

/* Adds the products of one tile to the sums. */
DEVICE void multiply_tile(engine_t engine, sum_t *sum, SHARED const in_t *tiles, SHARED const uint *scales, uint row,
                          uint col)
{
    const uint lane = engine.lane;
    sum_t partial[SUMS];
#pragma unroll
    for (uint i = 0; i < SUMS; i++)
        partial[i] = 0;
#pragma unroll
    for (uint step = 0; step < STEPS; step++) {
        const uint first = step * STEP_SCALES; /* scale of the tile */
        SHARED const uint *a_scales = &scales[first / 4 * (BM + BN) + row];
        SHARED const uint *b_scales = &scales[first / 4 * (BM + BN) + BM + col];
        uint a_fragment[WM / 4], b_fragment[WN / 4], a_word[WM / 16], b_word[WN / 8], bits = 0;
        load_step(engine, a_fragment, b_fragment, tiles, row, col, step);
#pragma unroll
        for (uint i = 0; i < WM / 16; i++)
            bits |= a_word[i] = a_scales[i * 16 + lane % 2 * 8 + lane / 4];
#pragma unroll
        for (uint j = 0; j < WN / 8; j++)
            bits |= b_word[j] = b_scales[j * 8 + lane / 4];
#if GRAIN == 16
        if (__any_sync(0xffffffffu, (bits & 0x80808080u) != 0)) {
            negate_fragments(a_fragment, WM / 4, a_scales, lane, 0);
            negate_fragments(b_fragment, WN / 4, b_scales, lane, 1);
        }
#endif
#pragma unroll
        for (uint i = 0; i < WM / 16; i++)
#pragma unroll
            for (uint j = 0; j < WN / 8; j++)
                mma_scaled(&partial[(i * (WN / 8) + j) * 4], &a_fragment[4 * i], &b_fragment[2 * j], a_word[i], b_word[j],
                           first % 4);
    }
#pragma unroll
    for (uint i = 0; i < SUMS; i++)
        sum[i] += partial[i];
}

#else

/* Loads a warp's scales of one step or tile: of the two rows of each 16 x 8 tile in which this lane has sums, and of the two
 * columns. */
DEVICE void load_warp_scales(float *a_scale, float *b_scale, SHARED const uint *scales, uint row, uint col, uint lane)
{
#pragma unroll
    for (uint i = 0; i < WM / 8; i++)
        a_scale[i] = bits_float(scales[row + i * 8 + lane / 4]);
#pragma unroll
    for (uint j = 0; j < WN / 4; j++)
        b_scale[j] = bits_float(scales[BM + col + j / 2 * 8 + lane % 4 * 2 + j % 2]);
}

/* Adds the products of a 16 x 8 tile, multiplied by their scales, to the sums: columns 2 q and 2 q + 1 of row g, then of row
 * g + 8. The scales are not multiplied by each other, so that their product cannot overflow. */
DEVICE void add_scaled(sum_t *sum, const sum_t *partial, const float *a_scale, const float *b_scale)
{
#pragma unroll
    for (uint i = 0; i < 4; i++)
        sum[i] += partial[i] * a_scale[i / 2] * b_scale[i % 2];
}

#if SCALE_WORDS == 1

/* Adds the products of one tile to the sums. */
DEVICE void multiply_tile(engine_t engine, sum_t *sum, SHARED const in_t *tiles, SHARED const uint *scales, uint row,
                          uint col)
{
    sum_t partial[SUMS];
    float a_scale[WM / 8], b_scale[WN / 4];
#pragma unroll
    for (uint i = 0; i < SUMS; i++)
        partial[i] = 0;
#pragma unroll
    for (uint step = 0; step < STEPS; step++) {
        uint a_fragment[WM / 4], b_fragment[WN / 4];
        load_step(engine, a_fragment, b_fragment, tiles, row, col, step);
#pragma unroll
        for (uint i = 0; i < SUMS / 4; i++)
            mma_pair(&partial[4 * i], &a_fragment[i / (WN / 8) * 4], &b_fragment[i % (WN / 8) * 2]);
    }
    load_warp_scales(a_scale, b_scale, scales, row, col, engine.lane);
#pragma unroll
    for (uint i = 0; i < SUMS / 4; i++)
        add_scaled(&sum[4 * i], &partial[4 * i], &a_scale[i / (WN / 8) * 2], &b_scale[i % (WN / 8) * 2]);
}

#else

/* Adds the products of one tile to the sums. Each step has its own scales. */
DEVICE void multiply_tile(engine_t engine, sum_t *sum, SHARED const in_t *tiles, SHARED const uint *scales, uint row,
                          uint col)
{
#pragma unroll 1
    for (uint step = 0; step < STEPS; step++) {
        uint a_fragment[WM / 4], b_fragment[WN / 4];
        float a_scale[WM / 8], b_scale[WN / 4];
        load_step(engine, a_fragment, b_fragment, tiles, row, col, step);
        load_warp_scales(a_scale, b_scale, scales + step * (BM + BN), row, col, engine.lane);
#pragma unroll
        for (uint i = 0; i < SUMS / 4; i++) {
            sum_t partial[4] = {0, 0, 0, 0};
            mma_pair(partial, &a_fragment[i / (WN / 8) * 4], &b_fragment[i % (WN / 8) * 2]);
            add_scaled(&sum[4 * i], partial, &a_scale[i / (WN / 8) * 2], &b_scale[i % (WN / 8) * 2]);
        }
    }
}

#endif

#endif

/* ---- The kernel ---- */

KERNEL(THREADS)
rung_17_block_scaled(index_t m, index_t n, index_t k,
                     sum_t alpha, GLOBAL const byte_t *__restrict__ a, view_t a_view,
                     GLOBAL const byte_t *__restrict__ b, view_t b_view,
                     sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                     launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
                     GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                     GLOBAL sum_t *__restrict__ partials QUANTIZED_ARGUMENTS,
                     GLOBAL const byte_t *__restrict__ a_scales, quantization_args_t a_quantization)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(in_t, shared, SHARED_BYTES);
#else
    __shared__ __align__(128) in_t shared[SHARED_BYTES];
#endif
    SHARED uint *const shared_scales = (SHARED uint *)(shared + 2 * (BM + BN) * BK);

    const engine_t engine = engine_of(launch_args, THREADS);
    const uint warp = threadIdx.x / 32, lane = engine.lane;
    const uint warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    const view_t a_scales_view = item_scales(a_quantization, launch_args, batch_offsets, 6);
    const view_t b_scales_view = transposed_view(item_scales(quantization, launch_args, batch_offsets, 4));
    const operand_t a_operand = operand_of(a, a_slice, a_scales, a_quantization, a_scales_view, row0, m, slice_k,
                                           launch_args);
    const operand_t b_operand = operand_of(b, transposed_view(b_slice), scales, quantization, b_scales_view, col0, n,
                                           slice_k, launch_args);
    sum_t sum[SUMS];
    uint staged[SCALE_ROWS * SCALE_WORDS];
    copies_t copies;
    copies_init(&copies);
#pragma unroll
    for (uint i = 0; i < SUMS; i++)
        sum[i] = 0;

    load_codes_tile(&copies, shared, &a_operand, 0, BM, A_TYPE, A_UNITS, A_MN_MAJOR);
    load_codes_tile(&copies, shared + BM * ROW_BYTES, &b_operand, 0, BN, B_TYPE, B_UNITS, B_MN_MAJOR);
    copies_commit(&copies);
    load_scales(staged, &a_operand, &b_operand, 0);
    store_scales(shared_scales, staged);

    uint cur = 0; /* the buffer to multiply; the other one is filled */
    for (index_t k0 = 0; k0 < slice_k; k0 += BK, cur = 1 - cur) {
        SHARED in_t *from = shared + cur * TILE_BYTES, *to = shared + (1 - cur) * TILE_BYTES;
        const index_t next = k0 + BK;
        copies_wait(&copies, 0);
        __syncthreads();
        if (next < slice_k) {
            load_codes_tile(&copies, to, &a_operand, next, BM, A_TYPE, A_UNITS, A_MN_MAJOR);
            load_codes_tile(&copies, to + BM * ROW_BYTES, &b_operand, next, BN, B_TYPE, B_UNITS, B_MN_MAJOR);
            copies_commit(&copies);
            load_scales(staged, &a_operand, &b_operand, next);
        }
        multiply_tile(engine, sum, from, shared_scales + cur * SCALE_WORDS * (BM + BN), warp_row, warp_col);
        if (next < slice_k)
            store_scales(shared_scales + (1 - cur) * SCALE_WORDS * (BM + BN), staged);
    }
    copies_wait(&copies, 0); /* of an empty k */
    __syncthreads();

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    const int is_aligned = can_store_vectors(&output);
    SHARED sum_t *sums = (SHARED sum_t *)shared + warp * 16 * SUMS_LD;
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
