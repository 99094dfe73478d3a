/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_packed.h - a quantized B whose columns are interleaved, so that vectors are loaded without rearranging bytes. For
 * 15_quantized.
 *
 * A panel is 16 columns. It begins with their scales, 16 F16 numbers per block of 32 elements. The elements follow: per block
 * 4 vectors (Q4_0) or 8 (Q8_0) of 64 bytes, in which lane c has four bytes of column c. Byte i of vector q has element 4 q + i;
 * of Q4_0 in the lower half, with element 16 + 4 q + i in the upper half. Elements are unsigned: 8 or 128 was added. Columns
 * behind the last one are zeros. The bytes are as many as before, but for the padding. */
#pragma once

#include "cpu/quantized/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { RUNGI_QUANTIZED_PANEL = 16 };

/* Computes the bytes of a packed B. Returns false if they overflow. */
bool rungi_quantized_packed_bytes(rung_type b_type, int64_t n, int64_t k, int64_t *bytes);

/* Packs the job's B. */
void rungi_quantized_pack(const rungi_cpu_job *job, char *packed);

/* Multiplies rows of A by the panel that begins at column `col` of the whole B. Row r is rows_of_a[g * group_rows + r]; its 16
 * sums are at sums[r * sums_stride]. */
void rungi_quantized_packed_dot(const rungi_cpu_job *job, int64_t col, int64_t rows,
                                const rungi_quantized_group *rows_of_a, int64_t group_rows, float *sums,
                                int64_t sums_stride);

/* One block of 16 rows of A or columns of B, as an operand of a tile instruction for integers, and their scales. */
typedef struct rungi_quantized_vectors {
    int8_t elements[RUNGI_QUANTIZED_PANEL * RUNGI_QUANTIZED_BLOCK];
    float scales[RUNGI_QUANTIZED_PANEL];
} rungi_quantized_vectors;

/* Restores the signed elements of 16 columns from column `col` on. They keep their places: vectors of four elements per column. */
void rungi_quantized_unpack_vectors(const rungi_cpu_job *job, int64_t col, int64_t block, int64_t blocks,
                                    rungi_quantized_vectors *to);

/* The same, but the elements keep the 8 or 128 that was added to them. */
void rungi_quantized_unpack_unsigned(const rungi_cpu_job *job, int64_t col, int64_t block, int64_t blocks,
                                     rungi_quantized_vectors *to);

/* Restores up to 2 (Q8_0) or 4 (Q4_0) blocks of the 16 columns from column `col` on. Vector c gets the elements of column c as
 * they were before packing, block after block; scales[16 * b + c] is the scale of block b. */
RUNGI_TARGET_AVX512_DOT void rungi_quantized_unpack_blocks(const rungi_cpu_job *job, int64_t col, int64_t block,
                                                           int64_t blocks, __m512i columns[16], float *scales);
#endif
