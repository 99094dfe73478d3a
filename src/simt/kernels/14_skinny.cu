/* SPDX-License-Identifier: Apache-2.0 */
/* 14_skinny - few rows of C: the large operand is read once, straight into registers.
 *
 * Removes  the empty rows of the tiles of 12_matrix. If C has 16 rows or fewer, most of a tile
 *          is outside of C, and the blocks are too few to keep the memory busy. Here a block
 *          has as many rows as C, few columns, and all of its threads split k.
 * Leaves   the time in which DRAM delivers B.
 * Try      rung explain 14 --m 1, and rung explain 12 --m 1
 *
 * The host exchanges the operands if C has fewer columns than rows, so B is always the large
 * operand. An element of B is needed by one thread only. It is loaded from global memory into
 * a register, 16 bytes at a time, and multiplied by the BM rows of A, which the threads of a
 * block share. The threads of a block form a grid of PARTS parts of the columns times
 * K_PARTS parts of k. Adjacent threads load adjacent memory:
 *
 *   B is MN-major   a thread loads VECTOR columns of four adjacent k
 *   B is K-major    a thread loads VECTOR adjacent k of TN columns
 *   general path    a thread loads TN single elements of one k
 *
 * At the end, the sums of all parts of k are added in shared memory.
 */
#define ONE_BLOCK // else some types spill registers
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"

#ifndef BM
#define BM 1 // 1 2 4 8 16
#endif
#ifndef BN
#define BN 32 // 16 32 64
#endif
#ifndef BK
#define BK 512 // 256 512 1024
#endif
#ifndef TN
#define TN 4 // 2 4
#endif
#ifndef WARPS
#define WARPS 8 // 4 8
#endif
#ifndef UNROLL
#define UNROLL 1 // 1 2 4
#endif
// short: rows
// preset tiny: BM=4,BN=16,BK=32,TN=2,WARPS=1
// preset rows2: BM=2
// preset rows4: BM=4
// preset rows8: BM=8,BK=256
// preset rows16: BM=16,BK=256

#if BM < 1 || BM > 16 || (BM & (BM - 1)) != 0
#error "BM must be 1, 2, 4, 8 or 16"
#endif
#if BN < 16 || BN > 256 || BN % 16 != 0 || (BN & (BN - 1)) != 0
#error "BN must be a power of two from 16 to 256"
#endif
#if BK < 16 || BK > 4096 || BK % 16 != 0
#error "BK must be a multiple of 16, up to 4096"
#endif
#if TN < 1 || TN > 16 || (TN & (TN - 1)) != 0
#error "TN must be 1, 2, 4, 8 or 16"
#endif
#if WARPS < 1 || WARPS > 32 || (WARPS & (WARPS - 1)) != 0
#error "WARPS must be a power of two up to 32"
#endif
#if UNROLL < 1 || UNROLL > 8
#error "UNROLL must be 1 to 8"
#endif

/* A pragma with a parameter: not every compiler replaces macros in #pragma. */
#define PRAGMA(text) _Pragma(#text)
#define UNROLL_BY(count) PRAGMA(unroll count)

#define THREADS (32 * WARPS)
#define GROUP 16 // rows of tiles per group of blocks, see tile.h
#define SUM_BYTES (IN_BYTES == 8 ? 8 : 4)
#define CHUNK (16 / IN_BYTES)                              // elements of 16 bytes
#define VECTOR (64 / BM < CHUNK ? 64 / BM : CHUNK)         // more would need too many registers
#define STORE_ROWS (BM < 8 ? BM : 8)                       // rows of A that a warp loads if A is MN-major
#define LDA (BK + 128 / STORE_ROWS / IN_BYTES)             // no bank conflicts when these rows are stored

#if BN / TN > THREADS || BN / VECTOR > THREADS
#error "BN/TN parts of the columns must fit the threads"
#endif
#if BM * LDA * IN_BYTES > 47 * 1024 || 16 * (THREADS + BN) * SUM_BYTES > 47 * 1024
#error "A's rows and the sums of a block must fit 47 KiB of shared memory"
#endif

#define BY_COLUMNS (WIDE && B_MN_MAJOR)
#define COLS (BY_COLUMNS ? VECTOR : TN)                    // columns of a thread
#define STEP (!WIDE ? 1 : B_MN_MAJOR ? 4 : VECTOR)         // adjacent k of a thread
#define PARTS (BN / COLS)                                  // threads that share a k
#define K_PARTS (THREADS / PARTS)                          // threads that share a column
#define SUM_ROWS (16 / COLS < 1 ? 1 : 16 / COLS < BM ? 16 / COLS : BM) // rows of sums in shared memory
#define LDS (THREADS + (BY_COLUMNS ? 128 / SUM_BYTES / COLS : WIDE ? 0 : PARTS)) // no bank conflicts
#define A_WORDS (BM * LDA * IN_BYTES / 4)
#define SUM_WORDS (SUM_ROWS * COLS * LDS * SUM_BYTES / 4)

/* Loads `bytes` bytes, a multiple of four, as words of 32 bits. */
DEVICE void load_words_global(uint *words, GLOBAL const in_t *from, uint bytes)
{
    if (bytes == 16) {
        const uint4 four = *(GLOBAL const uint4 *)from;
        words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
    } else if (bytes == 8) {
        const uint2 two = *(GLOBAL const uint2 *)from;
        words[0] = two.x, words[1] = two.y;
    } else {
        words[0] = *(GLOBAL const uint *)from;
    }
}

DEVICE void load_words_shared(uint *words, SHARED const in_t *from, uint bytes)
{
    if (bytes == 8) {
        const uint2 two = *(SHARED const uint2 *)from;
        words[0] = two.x, words[1] = two.y;
    } else if (bytes == 4) {
        words[0] = *(SHARED const uint *)from;
    } else {
#pragma unroll
        for (uint i = 0; i < bytes / 16; i++) {
            const uint4 four = ((SHARED const uint4 *)from)[i];
            words[4 * i] = four.x, words[4 * i + 1] = four.y, words[4 * i + 2] = four.z, words[4 * i + 3] = four.w;
        }
    }
}

/* Returns element i of the words, widened. */
DEVICE sum_t word_element(const uint *words, uint i)
{
#if defined(IN_F64) && defined(__OPENCL_C_VERSION__)
    return as_double((ulong)words[2 * i + 1] << 32 | words[2 * i]);
#elif defined(IN_F64)
    return __hiloint2double((int)words[2 * i + 1], (int)words[2 * i]);
#elif defined(IN_I32)
    return words[i];
#elif IN_BYTES == 4
    return bits_float(words[i]);
#elif IN_BYTES == 2
    return widen((ushort)(words[i / 2] >> i % 2 * 16));
#else
    return widen((in_t)(words[i / 4] >> i % 4 * 8));
#endif
}

/* Loads and widens `count` adjacent elements of B, `stride` apart in `values`; zeros if they are outside. */
DEVICE void load_vector(sum_t *values, uint stride, GLOBAL const in_t *from, uint count, int is_inside)
{
    uint words[4] = {0, 0, 0, 0};
    if (is_inside)
        load_words_global(words, from, count * IN_BYTES);
#pragma unroll
    for (uint i = 0; i < count; i++)
        values[i * stride] = word_element(words, i);
}

/* Loads the elements of B of a thread into values[STEP][COLS]: `from` is the first one, and k and n elements
 * are left until the edges. On the wide path, no vector crosses an edge. */
DEVICE void load_b(sum_t *values, GLOBAL const in_t *from, view_t b, uint k, uint n)
{
    if (BY_COLUMNS) {
#pragma unroll
        for (uint i = 0; i < STEP; i++)
            load_vector(&values[i * COLS], 1, from + i * b.row_stride, COLS, i < k);
    } else if (WIDE) {
#pragma unroll
        for (uint j = 0; j < COLS; j++)
            load_vector(&values[j], COLS, from + j * PARTS * b.col_stride, STEP, j * PARTS < n);
    } else {
#pragma unroll
        for (uint j = 0; j < COLS; j++)
            values[j] = j * PARTS < n ? widen(from[j * PARTS * b.col_stride]) : (sum_t)0;
    }
}

/* Adds the products of BM rows of A, at `a` in shared memory, and of the thread's elements of B. */
DEVICE void multiply_rows(sum_t *sum, SHARED const in_t *a, const sum_t *b)
{
#pragma unroll
    for (uint i = 0; i < BM; i++) {
        sum_t row[STEP];
        if (WIDE) {
            uint words[8];
            load_words_shared(words, &a[i * LDA], STEP * IN_BYTES);
#pragma unroll
            for (uint step = 0; step < STEP; step++)
                row[step] = word_element(words, step);
        } else {
            row[0] = widen(a[i * LDA]);
        }
#pragma unroll
        for (uint step = 0; step < STEP; step++)
#pragma unroll
            for (uint j = 0; j < COLS; j++)
                sum[i * COLS + j] += row[step] * b[step * COLS + j];
    }
}

/* Loads BM x BK elements of A, zero outside of rows x k. Adjacent threads load adjacent elements. */
DEVICE void load_a(SHARED in_t *tile, GLOBAL const in_t *a, view_t view, uint rows, uint k)
{
    const int is_mn_major = view.row_stride < view.col_stride;
#pragma unroll 2
    for (uint i = 0; i < BM * BK; i += THREADS) {
        const uint element = i + threadIdx.x;
        const uint row = is_mn_major ? element % STORE_ROWS + element / (STORE_ROWS * BK) * STORE_ROWS : element / BK;
        const uint dk = is_mn_major ? element / STORE_ROWS % BK : element % BK;
        if (BM * BK % THREADS == 0 || element < BM * BK)
            tile[row * LDA + dk] = row < rows && dk < k ? a[row * view.row_stride + dk * view.col_stride] : (in_t)0;
    }
}

/* Returns the number of elements left until the edge, at most `most`. */
DEVICE uint left_until(index_t edge, index_t at, uint most)
{
    return at >= edge ? 0 : edge - at < most ? (uint)(edge - at) : most;
}

/* Returns the first k and the first column of a thread within its block. */
DEVICE uint first_k(int is_mn_major)
{
    return STEP * (is_mn_major ? threadIdx.x / PARTS : threadIdx.x % K_PARTS);
}

DEVICE uint first_col(int is_mn_major)
{
    return (BY_COLUMNS ? COLS : 1) * (is_mn_major ? threadIdx.x % PARTS : threadIdx.x / K_PARTS);
}

/* Adds the sums of all parts of k for column `col` of the block. `sums` has one row per thread's column. Threads
 * start with different parts if adjacent parts belong to one column, to avoid bank conflicts. */
DEVICE sum_t add_parts(SHARED const sum_t *sums, uint col, int is_mn_major)
{
    const uint j = BY_COLUMNS ? col % COLS : col / PARTS, part = BY_COLUMNS ? col / COLS : col % PARTS;
    const uint first = is_mn_major ? 0 : threadIdx.x % 32 / (K_PARTS < 32 ? 32 / K_PARTS : 1);
    sum_t sum = 0;
#pragma unroll 8
    for (uint i = 0; i < K_PARTS; i++) {
        const uint k_part = (i + first) % K_PARTS;
        sum += sums[j * LDS + (is_mn_major ? k_part * PARTS + part : part * K_PARTS + k_part)];
    }
    return sum;
}

KERNEL(THREADS)
rung_14_skinny(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials)
{
    __shared__ __align__(32) uint words[A_WORDS > SUM_WORDS ? A_WORDS : SUM_WORDS];
    SHARED in_t *a_tile = (SHARED in_t *)words;
    SHARED sum_t *sums = (SHARED sum_t *)words;

    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;

    view_t a_slice = a_view, b_slice = b_view, unused = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &unused, k, launch_args, batch_offsets);
    const int is_mn_major = WIDE ? B_MN_MAJOR : b_slice.col_stride < b_slice.row_stride;
    const uint own_k = first_k(is_mn_major), own_col = first_col(is_mn_major);
    const uint rows = left_until(m, row0, BM), cols = left_until(n, col0, BN);
    GLOBAL const in_t *next_a = &a[at(a_slice, row0, 0)];
    GLOBAL const in_t *next_b = &b[at(b_slice, own_k, col0 + own_col)];

    sum_t sum[BM * COLS];
#pragma unroll
    for (uint i = 0; i < BM * COLS; i++)
        sum[i] = 0;

    for (index_t left = slice_k; left > 0; left -= BK) {
        const uint k_left = left < BK ? (uint)left : BK;
        GLOBAL const in_t *from = next_b;
        load_a(a_tile, next_a, a_slice, rows, k_left);
        __syncthreads();
        if (!GUARDED || (cols == BN && k_left == BK)) {
            UNROLL_BY(UNROLL)
            for (uint dk = 0; dk < BK; dk += STEP * K_PARTS) {
                sum_t b_values[STEP * COLS];
                if (BK % (STEP * K_PARTS) != 0 && dk + own_k >= BK)
                    break;
                load_b(b_values, from, b_slice, STEP, BN);
                multiply_rows(sum, &a_tile[dk + own_k], b_values);
                from += STEP * K_PARTS * b_slice.row_stride;
            }
        } else {
#pragma unroll 1
            for (uint dk = own_k; dk < k_left && own_col < cols; dk += STEP * K_PARTS) {
                sum_t b_values[STEP * COLS];
                load_b(b_values, from, b_slice, k_left - dk, cols - own_col);
                multiply_rows(sum, &a_tile[dk], b_values);
                from += STEP * K_PARTS * b_slice.row_stride;
            }
        }
        next_a += BK * a_slice.col_stride;
        next_b += BK * b_slice.row_stride;
        __syncthreads();
    }

    view_t c_item = c_view;
    select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets); /* not earlier: registers */
    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
#pragma unroll
    for (uint row = 0; row < BM; row += SUM_ROWS) {
#pragma unroll
        for (uint i = 0; i < SUM_ROWS * COLS; i++)
            sums[i * LDS + threadIdx.x] = sum[row * COLS + i];
        __syncthreads();
        for (uint i = threadIdx.x; i < SUM_ROWS * BN; i += THREADS) {
            const uint own_row = i / BN, col = i % BN;
            const sum_t total = add_parts(&sums[own_row * COLS * LDS], col, is_mn_major);
            if (row + own_row < rows && col < cols)
                epilogue_store(&output, row0 + row + own_row, col0 + col, total);
        }
        __syncthreads();
    }
}
