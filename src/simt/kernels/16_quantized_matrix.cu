/* SPDX-License-Identifier: Apache-2.0 */
/* 16_quantized_matrix - a quantized B on the matrix engine.
 *
 * Removes  the multiply-adds of 15_quantized: A and B become BF16 on their way from registers to
 *          shared memory, and mma.sync multiplies them. Half the bytes of a tile also pass through
 *          shared memory.
 * Leaves   the conversion of B, which every row of tiles repeats, and the rounding to BF16: the
 *          kernel computes in bf16x1, and in more precise modes 15_quantized runs.
 * Try      rung verify --kernels 16 --dtype 'f32*q4_0' --compute bf16x1
 *
 * The unit of a load is a chunk: eight adjacent elements of A or B, which become the 16 bytes of
 * one lane of ldmatrix. A thread loads its chunks of the next tile into registers, as they are
 * stored, while the current tile is multiplied. Tiles are placed by swizzle.h in one of two
 * buffers, so there is one barrier per tile. On the general path elements are loaded one by one,
 * when they are needed. quantized.h has the formats of B.
 *
 * BF16 has the range of F32, so no scale overflows. The rounding is exact for FP8, FP4 and MX
 * formats and for integers without scales.
 */
// takes: *q8_0,*q4_0,*i8,*u8,*i4,*u4,*f8e4m3,*f8e5m2,*f4e2m1,f32*f16,f32*bf16 from sm_80
// computes: bf16x1
#define ONE_BLOCK // else some types spill registers

/* The host says what A is: F32, or a type of 16 bits. The tiles have the type in_t, which is BF16. */
#if defined(IN_F16)
#define A_IS_F16 1
#undef IN_F16
#elif defined(IN_BF16)
#define A_IS_BF16 1
#undef IN_BF16
#endif
#define IN_BF16
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"
#include "quantized.h"
#include "swizzle.h"
#include "engine.h"

#ifndef BM
#define BM 128 // 16 32 64 128
#endif
#ifndef BN
#define BN 128 // 64 128
#endif
#ifndef BK
#define BK 32 // 32 64 128
#endif
#ifndef WM
#define WM 64 // 16 32 64
#endif
#ifndef WN
#define WN 32 // 16 32 64
#endif
// preset tiny: BM=16,BN=32,BK=32,WM=16,WN=16
// preset rows16: BM=16,BN=64,BK=64,WM=16,WN=16
// preset small: BM=64,BN=64,BK=64,WM=32,WN=32

#define THREADS (BM / WM * (BN / WN) * 32)
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
#define SUM_BYTES 4
#define SHARED_BYTES (2 * (BM + BN) * BK * 2)

#if WM < 16 || WN < 16 || WM % 16 != 0 || WN % 16 != 0
#error "WM and WN must be multiples of 16"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if BK < 32 || (BK & BK - 1) != 0 || (BM & BM - 1) != 0 || (BN & BN - 1) != 0
#error "BM, BN and BK must be powers of two, and BK at least 32, the length of a block of Q8_0"
#endif
#if THREADS > 1024
#error "32 threads per warp must fit a block of 1024"
#endif
#if BM * BK % (8 * THREADS) != 0 || BN * BK % (8 * THREADS) != 0
#error "BM*BK/8 and BN*BK/8 chunks must divide evenly among the threads"
#endif
#if SHARED_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif
#if THREADS / 32 * 16 * (WN + 8) * SUM_BYTES > SHARED_BYTES
#error "16 rows of sums per warp must fit the memory of the tiles"
#endif
#if WM / 4 + WN / 4 > 64
#error "WM/4 + WN/4 operand registers per lane must be at most 64"
#endif

#define EMULATED 80 /* the architecture of the instructions where they are emulated */
#include "mma.h"

#define A_ROWS_PAIRED  0 /* 16-bit elements need no other order of rows and columns, see mma.h */
#define B_COLS_PAIRED  0
#define A_ROWS_GROUPED 0
#define B_COLS_GROUPED 0
#define SUMS_LD (WN + sums_pad(A_ROWS_PAIRED, B_COLS_PAIRED, SUM_BYTES))
#include "matrix_output.h"

#define STEPS       (BK / 16) /* multiplications along k per tile */
#define A_CHUNKS    (BM * BK / 8 / THREADS)
#define B_CHUNKS    (BN * BK / 8 / THREADS)
#define A_ROW_BYTES ((A_MN_MAJOR ? BM : BK) * 2)
#define B_ROW_BYTES ((B_MN_MAJOR ? BN : BK) * 2)

/* Elements of A in registers, and their values. */
#if defined(A_IS_F16)
typedef ushort  a_t;
typedef ushort4 a4_t;
#define value_of_a(x) float_of_f16(x)
#elif defined(A_IS_BF16)
typedef ushort  a_t;
typedef ushort4 a4_t;
#define value_of_a(x) float_of_bf16(x)
#else
typedef float  a_t;
typedef float4 a4_t;
#define value_of_a(x) (x)
#endif

/* Chunks in registers; none on the general path. */
#define A_STAGED (WIDE ? A_CHUNKS * 8 : 1)
#define B_STAGED (B_UNITS ? B_CHUNKS : 1)
#if WIDE
#define UNROLL_A _Pragma("unroll")
#else
#define UNROLL_A _Pragma("unroll 1")
#endif
#if B_UNITS
#define UNROLL_B _Pragma("unroll")
#else
#define UNROLL_B _Pragma("unroll 1")
#endif

/* ---- Chunks ---- */

/* Return the coordinates of a chunk in its tile. Chunks are numbered along their own direction first, so
 * that adjacent lanes load adjacent memory, and store to different banks. */
DEVICE uint chunk_mn(uint chunk, uint tile_mn, int mn_major)
{
    return mn_major ? chunk % (tile_mn / 8) * 8 : chunk / (BK / 8);
}

DEVICE uint chunk_k(uint chunk, uint tile_mn, int mn_major)
{
    return mn_major ? chunk / (tile_mn / 8) : chunk % (BK / 8) * 8;
}

/* Returns two floats, rounded to BF16, in one word. */
DEVICE uint bf16_pair(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return bf16_of_float(low) | (uint)bf16_of_float(high) << 16;
#endif
}

/* Stores a chunk at (mn, k) of a tile. */
DEVICE void store_chunk(SHARED in_t *tile, uint mn, uint k, uint row_bytes, int mn_major, const float *values)
{
    const uint row = mn_major ? k : mn, chunk = (mn_major ? mn : k) / 8;
    SHARED uint *to = (SHARED uint *)&tile[chunk_offset(row, chunk, row_bytes, 2, mn_major) / 2];
    put_four(to, bf16_pair(values[0], values[1]), bf16_pair(values[2], values[3]), bf16_pair(values[4], values[5]),
             bf16_pair(values[6], values[7]));
}

/* ---- A ---- */

/* Loads four elements of A at (row, k), zero outside. */
DEVICE void load_four_of_a(a_t *values, GLOBAL const a_t *a, view_t view, index_t row, index_t k, index_t rows,
                           index_t k_end)
{
    const index_t d_row = A_MN_MAJOR ? 1 : 0, dk = A_MN_MAJOR ? 0 : 1;
    if (WIDE && k < k_end && (!GUARDED || (row + 3 * d_row < rows && k + 3 * dk < k_end))) {
        const a4_t vector = *(GLOBAL const a4_t *)&a[at(view, row, k)];
        values[0] = vector.x;
        values[1] = vector.y;
        values[2] = vector.z;
        values[3] = vector.w;
        return;
    }
#pragma unroll
    for (uint i = 0; i < 4; i++)
        values[i] = row + i * d_row < rows && k + i * dk < k_end ? a[at(view, row + i * d_row, k + i * dk)] : (a_t)0;
}

/* Loads the chunk of A at (row, k). */
DEVICE void load_chunk_of_a(a_t *values, GLOBAL const a_t *a, view_t view, index_t row, index_t k, index_t rows,
                            index_t k_end)
{
    load_four_of_a(values, a, view, row, k, rows, k_end);
    load_four_of_a(values + 4, a, view, row + (A_MN_MAJOR ? 4 : 0), k + (A_MN_MAJOR ? 0 : 4), rows, k_end);
}

/* Loads this thread's chunks of the tile of A at (row, k), where k may be past the end. */
DEVICE void load_a(a_t *staged, GLOBAL const a_t *a, view_t view, index_t row, index_t k, index_t rows, index_t k_end)
{
#if WIDE
#pragma unroll
    for (uint i = 0; i < A_CHUNKS; i++) {
        const uint chunk = i * THREADS + threadIdx.x;
        load_chunk_of_a(&staged[8 * i], a, view, row + chunk_mn(chunk, BM, A_MN_MAJOR),
                        k + chunk_k(chunk, BM, A_MN_MAJOR), rows, k_end);
    }
#endif
}

/* Rounds these chunks to BF16 and stores them to the tile in shared memory. */
DEVICE void store_a(SHARED in_t *tile, const a_t *staged, GLOBAL const a_t *a, view_t view, index_t row, index_t k,
                    index_t rows, index_t k_end)
{
    UNROLL_A
    for (uint i = 0; i < A_CHUNKS; i++) {
        const uint chunk = i * THREADS + threadIdx.x, mn = chunk_mn(chunk, BM, A_MN_MAJOR);
        const uint dk = chunk_k(chunk, BM, A_MN_MAJOR);
        a_t own[8];
        float values[8];
        if (!WIDE)
            load_chunk_of_a(own, a, view, row + mn, k + dk, rows, k_end);
#pragma unroll
        for (uint j = 0; j < 8; j++)
            values[j] = value_of_a(WIDE ? staged[WIDE ? 8 * i + j : 0] : own[j]);
        store_chunk(tile, mn, dk, A_ROW_BYTES, A_MN_MAJOR, values);
    }
}

/* ---- B ---- */

/* Returns 1 if (k, col) of a tile with k_left steps of k and cols_left columns is inside B. */
DEVICE int is_inside(uint k, uint col, index_t k_left, index_t cols_left)
{
    return k_left > 0 && (!GUARDED || (k < k_left && col < cols_left));
}

/* Loads this thread's chunks of the tile of B at (k, col), where k may be past the end. */
DEVICE void load_b(unit_t *staged, const quantized_t *b, index_t k, index_t col, index_t k_left, index_t cols_left)
{
#if B_UNITS
#pragma unroll
    for (uint i = 0; i < B_CHUNKS; i++) {
        const uint chunk = i * THREADS + threadIdx.x, own_col = chunk_mn(chunk, BN, B_MN_MAJOR);
        const uint dk = chunk_k(chunk, BN, B_MN_MAJOR);
        load_unit(&staged[i], b, k + dk, col + own_col, is_inside(dk, own_col, k_left, cols_left));
    }
#endif
}

/* Returns element i of a chunk of B. On the general path, loads it first. */
DEVICE float value_of_b(unit_t *unit, const quantized_t *b, index_t k, index_t col, uint i, uint dk, uint own_col,
                        index_t k_left, index_t cols_left)
{
#if B_UNITS
    return unit_value(unit, b, k + dk, col + own_col, i, is_inside(dk, own_col, k_left, cols_left));
#else
    const uint own_k = dk + (B_MN_MAJOR ? 0 : i), element_col = own_col + (B_MN_MAJOR ? i : 0);
    const int inside = is_inside(own_k, element_col, k_left, cols_left);
    load_unit(unit, b, k + own_k, col + element_col, inside);
    return unit_value(unit, b, k + own_k, col + element_col, 0, inside);
#endif
}

/* Dequantizes these chunks, rounds them to BF16 and stores them to the tile in shared memory. */
DEVICE void store_b(SHARED in_t *tile, unit_t *staged, const quantized_t *b, index_t k, index_t col, index_t k_left,
                    index_t cols_left)
{
    UNROLL_B
    for (uint i = 0; i < B_CHUNKS; i++) {
        const uint chunk = i * THREADS + threadIdx.x, own_col = chunk_mn(chunk, BN, B_MN_MAJOR);
        const uint dk = chunk_k(chunk, BN, B_MN_MAJOR);
        float values[8];
#pragma unroll
        for (uint j = 0; j < 8; j++)
            values[j] = value_of_b(&staged[B_UNITS ? i : 0], b, k, col, j, dk, own_col, k_left, cols_left);
        store_chunk(tile, own_col, dk, B_ROW_BYTES, B_MN_MAJOR, values);
    }
}

/* ---- The kernel ---- */

/* Loads a warp's fragments of one step of k. */
DEVICE void load_step(engine_t engine, uint *a_fragment, uint *b_fragment, SHARED const in_t *tiles, uint row, uint col,
                      uint step)
{
#pragma unroll
    for (uint i = 0; i < WM; i += 16)
        load_fragment(engine, &a_fragment[i / 4], tiles, row + i, step * 32, A_ROW_BYTES, A_MN_MAJOR, 0);
#pragma unroll
    for (uint i = 0; i < WN; i += 16)
        load_fragment(engine, &b_fragment[i / 4], tiles + BM * BK, col + i, step * 32, B_ROW_BYTES, B_MN_MAJOR, 1);
}

KERNEL(THREADS)
rung_16_quantized_matrix(index_t m, index_t n, index_t k,
                         sum_t alpha, GLOBAL const a_t *__restrict__ a, view_t a_view,
                         GLOBAL const byte_t *__restrict__ b, view_t b_view,
                         sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                         launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
                         GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                         GLOBAL sum_t *__restrict__ partials QUANTIZED_ARGUMENTS ENGINE_ARGUMENT)
{
    __shared__ __align__(128) in_t tiles[2 * BK * (BM + BN)];

    const engine_t engine = engine_of(launch_args, THREADS);
    const uint warp = threadIdx.x / 32, lane = engine.lane;
    const uint warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    const quantized_t quantized = quantized_of(b, b_slice, scales, zero_points, quantization, launch_args,
                                               batch_offsets);
    sum_t sum[WM / 16 * (WN / 8) * 4];
    uint a_fragment[2][WM / 4], b_fragment[2][WN / 4];
    a_t a_staged[A_STAGED];
    unit_t b_staged[B_STAGED];
#pragma unroll
    for (uint i = 0; i < WM / 16 * (WN / 8) * 4; i++)
        sum[i] = 0;

    load_a(a_staged, a, a_slice, row0, 0, m, slice_k);
    load_b(b_staged, &quantized, 0, col0, slice_k, n - col0);
    store_a(tiles, a_staged, a, a_slice, row0, 0, m, slice_k);
    store_b(tiles + BM * BK, b_staged, &quantized, 0, col0, slice_k, n - col0);
    load_a(a_staged, a, a_slice, row0, BK, m, slice_k); /* zeros past the end */
    load_b(b_staged, &quantized, BK, col0, slice_k - BK, n - col0);
    __syncthreads();

    uint cur = 0; /* the buffer to multiply; the other one is filled */
    for (index_t k0 = 0; k0 < slice_k; k0 += BK, cur = 1 - cur) {
        SHARED in_t *from = &tiles[cur * BK * (BM + BN)], *to = &tiles[(1 - cur) * BK * (BM + BN)];
        const index_t next = k0 + BK;
        load_step(engine, a_fragment[0], b_fragment[0], from, warp_row, warp_col, 0);
        store_a(to, a_staged, a, a_slice, row0, next, m, slice_k);
        store_b(to + BM * BK, b_staged, &quantized, next, col0, slice_k - next, n - col0);
        load_a(a_staged, a, a_slice, row0, next + BK, m, slice_k);
        load_b(b_staged, &quantized, next + BK, col0, slice_k - next - BK, n - col0);
#pragma unroll
        for (uint step = 0; step < STEPS; step++) {
            if (step + 1 < STEPS)
                load_step(engine, a_fragment[(step + 1) % 2], b_fragment[(step + 1) % 2], from, warp_row, warp_col,
                          step + 1);
            mma_all(engine, sum, a_fragment[step % 2], b_fragment[step % 2], WM / 16, WN / 8);
        }
        __syncthreads();
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    const int is_aligned = can_store_vectors(&output);
    SHARED sum_t *sums = (SHARED sum_t *)tiles + warp * 16 * SUMS_LD;
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
