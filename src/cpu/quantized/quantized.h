/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.h - rows of A, rounded to 8-bit integers with a scale per block, and their products with a quantized B. For
 * 15_quantized.
 *
 * A block is 32 elements along k that share a scale. A group is four blocks. In a group, the lanes 4 b ... 4 b + 3 of a vector
 * of 16 lanes belong to block b: `low` has the first 16 elements of each block, `high` the other 16, four bytes per lane.
 *
 * The instruction for dot products multiplies unsigned by signed bytes. The elements of B are therefore increased by 8 (Q4_0)
 * or 128 (Q8_0). This increases a sum by 8 or 128 times the sum of A's elements. Sums begin with `correction`, which is minus
 * this number. */
#pragma once

#include <stdbool.h>

#include "cpu/cpu_kernel.h"
#include "cpu/targets.h"

#if defined(__x86_64__)
enum {
    RUNGI_QUANTIZED_BLOCK = 32,
    RUNGI_QUANTIZED_GROUP_BLOCKS = 4,
    RUNGI_QUANTIZED_GROUP = RUNGI_QUANTIZED_BLOCK * RUNGI_QUANTIZED_GROUP_BLOCKS,
    RUNGI_QUANTIZED_MAX_ROWS = 8 /* rows that rungi_quantized_dot() multiplies at a time */
};

/* One group of one row of A. */
typedef struct rungi_quantized_group {
    int32_t correction[16]; /* in the first lane of each block */
    int8_t low[64], high[64];
    float scale[16]; /* of the lane's block */
} rungi_quantized_group;

/* Reads `count` elements of row i of the job's A, from element p on, as F32. */
void rungi_quantized_read_row(const rungi_cpu_job *job, int64_t i, int64_t p, int64_t count, float *values);

/* Returns whether the processor has one of the instruction sets for dot products: AVX-512 VNNI, or AVX2 and F16C. */
bool rungi_quantized_has_dots(const rungi_cpu_features *features);

/* Quantizes `rows` rows of the job's A, from row i on. Group g of row r becomes to[g * rows + r]. Elements behind the end of k
 * become zeros. A block that holds an infinity or a NaN gets a NaN as its scale. */
void rungi_quantized_rows(const rungi_cpu_job *job, int64_t i, int64_t rows, rungi_quantized_group *to);

/* Multiplies `rows` rows by two columns of B, of which blocks follow each other in memory. Row r is rows_of_a[g * group_rows + r];
 * the sums are at sums[r * sums_stride] and the element after it. */
void rungi_quantized_dot(rung_type b_type, int64_t rows, int64_t blocks, const rungi_quantized_group *rows_of_a,
                         int64_t group_rows, const char *const columns[2], float *sums, int64_t sums_stride);

/* The same with AVX2. */
void rungi_quantized_dot_avx2(rung_type b_type, int64_t rows, int64_t blocks, const rungi_quantized_group *rows_of_a,
                              int64_t group_rows, const char *const columns[2], float *sums, int64_t sums_stride);
#endif
