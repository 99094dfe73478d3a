/* SPDX-License-Identifier: Apache-2.0 */
/* 15_quantized - B stays quantized until it is in shared memory.
 *
 * Removes  most of the memory traffic of 10_pipeline where B is a matrix of weights: B is read as
 *          it is stored, with 4 to 16 bits per element, and becomes F32 on its way from registers
 *          to shared memory.
 * Leaves   the multiply-adds in F32. With few rows of C most of the time is spent on reading B,
 *          with many rows on arithmetic, which a matrix engine does faster.
 * Try      rung verify --kernels 15 --dtype 'f32*q4_0'
 *
 * A thread loads units of eight adjacent elements of B into registers, as they are stored, while
 * the previous tile is multiplied. Units along k belong to one block of Q8_0, Q4_0 and most other
 * formats, so one scale is loaded per unit. On the general path a unit is a single element, which
 * is loaded when it is needed, and B may have any strides. quantized.h has the formats.
 *
 * The host does not exchange the operands for a column-major C, since only B may be quantized. It
 * chooses one of the presets rows4, rows8 and rows16 if C has so few rows.
 */
// takes: *q8_0,*q4_0,*i8,*u8,*i4,*u4,*f8e4m3,*f8e5m2,*f4e2m1,f32*f16,f32*bf16
#define ONE_BLOCK // else some types spill registers
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"
#include "quantized.h"

#ifndef BM
#define BM 64 // 4 8 16 32 64 128
#endif
#ifndef BN
#define BN 64 // 32 64 128
#endif
#ifndef BK
#define BK 32 // 32 64
#endif
#ifndef TM
#define TM 4 // 2 4 8
#endif
#ifndef TN
#define TN 8 // 4 8
#endif
// preset tiny: BM=8,BN=16,BK=32,TM=4,TN=4
// preset rows4: BM=4,BN=128,BK=32,TM=2,TN=4
// preset rows8: BM=8,BN=64,BK=32,TM=2,TN=4
// preset rows16: BM=16,BN=64,BK=32,TM=4,TN=4
// preset small: BM=32,BN=32,BK=32,TM=4,TN=4
// preset large: BM=128,BN=128,BK=32,TM=8,TN=8

#if TM != 2 && (TM < 4 || TM % 4 != 0)
#error "TM must be 2 or a multiple of four"
#endif
#if TN < 4 || TN % 4 != 0
#error "TN must be a multiple of four"
#endif
#if BM < TM || BN < TN || BM % TM != 0 || BN % TN != 0 || BM % 4 != 0
#error "TM and 4 must divide BM and TN must divide BN"
#endif
#if BK < 32 || BK % 32 != 0
#error "BK must be a multiple of 32, the length of a block of Q8_0"
#endif

#define THREADS (BM / TM * (BN / TN))
#define ROWS_TOGETHER (TM < 4 ? TM : 4) // adjacent rows of a thread
#define GROUP 8 // rows of tiles per group of blocks, see tile.h
#define LDA (BM + 4)
#define SHARED_BYTES (BK * LDA * IN_BYTES + BK * (BN + 1) * 4)

#if THREADS > 1024
#error "BM/TM*BN/TN threads must fit a block of 1024"
#endif
#if BN % 8 != 0 || BN * BK % (8 * THREADS) != 0
#error "BN*BK/8 units of B must divide evenly among the threads"
#endif
#if SHARED_BYTES > 48 * 1024
#error "the tiles must fit 48 KiB of shared memory"
#endif

#define UNITS        (BN * BK / UNIT / THREADS) /* per thread and tile */
#define STAGED_UNITS (B_UNITS ? UNITS : 1)      /* of them in registers; one on the general path */
#if B_UNITS
#define UNROLL_UNITS _Pragma("unroll")
#else
#define UNROLL_UNITS _Pragma("unroll 1")
#endif

/* The start of a row of B's tile. Units along k are stored to eight rows. Adjacent lanes store units
 * that are eight rows apart: the eight floats between groups of rows let them use different banks. */
#define B_ROW(k) ((k) * BN + (k) / 8 * 8)

/* Return the coordinates of a unit in a tile of B. Units are numbered along their own direction first;
 * along k, four lanes load adjacent units, and the next lanes those of the next column. */
DEVICE uint unit_k(uint unit)
{
#if B_MN_MAJOR
    return unit / (BN / UNIT);
#else
    return (unit % 4 + unit / (4 * BN) * 4) * UNIT;
#endif
}

DEVICE uint unit_col(uint unit)
{
#if B_MN_MAJOR
    return unit % (BN / UNIT) * UNIT;
#else
    return unit / 4 % BN;
#endif
}

/* Returns 1 if a unit of a tile with k_left steps of k and cols_left columns is inside B. */
DEVICE int is_inside(uint unit, index_t k_left, index_t cols_left)
{
    return !GUARDED || (unit_k(unit) < k_left && unit_col(unit) < cols_left);
}

/* Loads this thread's units of the tile of B at (k, col), where k may be past the end. */
DEVICE void load_units(unit_t *units, const quantized_t *b, index_t k, index_t col, index_t k_left, index_t cols_left)
{
#if B_UNITS
#pragma unroll
    for (uint i = 0; i < UNITS; i++) {
        const uint unit = i * THREADS + threadIdx.x;
        load_unit(&units[i], b, k + unit_k(unit), col + unit_col(unit),
                  k_left > 0 && is_inside(unit, k_left, cols_left));
    }
#endif
}

/* Dequantizes these units and stores them to the tile in shared memory. */
DEVICE void store_units(SHARED float *tile, unit_t *units, const quantized_t *b, index_t k, index_t col, index_t k_left,
                        index_t cols_left)
{
    UNROLL_UNITS
    for (uint i = 0; i < UNITS; i++) {
        const uint unit = i * THREADS + threadIdx.x, dk = unit_k(unit), own_col = unit_col(unit);
        const int inside = is_inside(unit, k_left, cols_left);
        unit_t *own = &units[B_UNITS ? i : 0];
        if (!B_UNITS)
            load_unit(own, b, k + dk, col + own_col, inside);
#pragma unroll
        for (uint j = 0; j < UNIT; j++)
            tile[B_MN_MAJOR ? B_ROW(dk) + own_col + j : B_ROW(dk + j) + own_col] =
                unit_value(own, b, k + dk, col + own_col, j, inside);
    }
}

/* Loads the tile of A at (row, k). */
DEVICE void load_a(SHARED in_t *tile, GLOBAL const in_t *a, view_t view, index_t row, index_t k, index_t rows,
                   index_t k_end)
{
    for (uint vector = threadIdx.x; vector < BM * BK / 4; vector += THREADS) {
        const uint d_row = vector_mn(vector, BM, BK, A_MN_MAJOR), dk = vector_k(vector, BM, BK, A_MN_MAJOR);
        store4_shared(tile, LDA, d_row, dk, A_MN_MAJOR,
                      load4_global(a, view, row + d_row, k + dk, rows, k_end, A_MN_MAJOR));
    }
}

/* Loads the elements of A in adjacent rows. */
DEVICE void load_rows(sum_t *fragment, SHARED const in_t *from)
{
#if ROWS_TOGETHER == 4
    load4_shared(fragment, from, LDA);
#else
#pragma unroll
    for (uint i = 0; i < ROWS_TOGETHER; i++)
        fragment[i] = widen(from[i]);
#endif
}

KERNEL(THREADS)
rung_15_quantized(index_t m, index_t n, index_t k,
                  sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                  GLOBAL const byte_t *__restrict__ b, view_t b_view,
                  sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                  launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
                  GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                  GLOBAL sum_t *__restrict__ partials QUANTIZED_ARGUMENTS)
{
    __shared__ __align__(16) in_t a_tile[BK * LDA];
    __shared__ __align__(16) float b_tile[BK * (BN + 1)];

    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;
    const uint tile_row = threadIdx.x / (BN / TN) * ROWS_TOGETHER, tile_col = threadIdx.x % (BN / TN) * 4;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    const quantized_t quantized = quantized_of(b, b_slice, scales, zero_points, quantization, launch_args,
                                               batch_offsets);
    sum_t sum[TM * TN];
    sum_t a_fragment[TM], b_fragment[TN];
    unit_t units[STAGED_UNITS];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    load_units(units, &quantized, 0, col0, slice_k, n - col0);
    for (index_t k0 = 0; k0 < slice_k; k0 += BK) {
        store_units(b_tile, units, &quantized, k0, col0, slice_k - k0, n - col0);
        load_a(a_tile, a, a_slice, row0, k0, m, slice_k);
        __syncthreads();
        load_units(units, &quantized, k0 + BK, col0, slice_k - k0 - BK, n - col0); /* zeros past the end */

#pragma unroll 8
        for (uint step = 0; step < BK; step++) {
#pragma unroll
            for (uint i = 0; i < TM; i += ROWS_TOGETHER)
                load_rows(&a_fragment[i], &a_tile[step * LDA + tile_row + i * (BM / TM)]);
#pragma unroll
            for (uint j = 0; j < TN; j += 4) {
                const float4 vector = *(SHARED const float4 *)&b_tile[B_ROW(step) + tile_col + j * (BN / TN)];
                b_fragment[j] = vector.x;
                b_fragment[j + 1] = vector.y;
                b_fragment[j + 2] = vector.z;
                b_fragment[j + 3] = vector.w;
            }
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
            epilogue_store4(&output,
                            row0 + tile_row + i / ROWS_TOGETHER * ROWS_TOGETHER * (BM / TM) + i % ROWS_TOGETHER,
                            col0 + tile_col + j * (BN / TN), &sum[i * TN + j]);
}
