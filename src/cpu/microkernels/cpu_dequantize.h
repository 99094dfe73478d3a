/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize.h - converts blocks of a narrow matrix to F32 with their scales and zero points, while it is packed. The values
 * are those of rung_dequantize(). */
#pragma once

#include "core/quantization.h"
#include "cpu/cpu_kernel.h"

/* Returns whether the job's B consists of narrow elements that are dequantized. */
static inline bool rungi_cpu_dequantizes(const rungi_cpu_job *job)
{
    return job->narrow_b.type != RUNG_TYPE_NONE;
}

/* Returns whether the job's A consists of narrow elements. B does, too, then. */
static inline bool rungi_cpu_dequantizes_a(const rungi_cpu_job *job)
{
    return job->narrow_a.type != RUNG_TYPE_NONE;
}

/* Stores element (p + i, j + l) in to[i * to_row_stride + l], for `rows` x `cols` elements. */
void rungi_cpu_dequantize(rungi_isa isa, const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows,
                          int64_t cols, float *to, int64_t to_row_stride);

enum { RUNGI_DEQUANTIZE_LINE = 64 };

/* The same, but stores element (p + i, j + l) in to[l * to_col_stride + i]. */
void rungi_cpu_dequantize_transposed(rungi_isa isa, const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows,
                                     int64_t cols, float *to, int64_t to_col_stride);

/* Stores elements p ... p + count - 1 of column j. `count` is at most RUNGI_DEQUANTIZE_LINE. */
typedef void rungi_cpu_dequantize_column_function(const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t count,
                                                  float *values);

/* Returns the version of this function for the processor. */
rungi_cpu_dequantize_column_function *rungi_cpu_dequantize_column_select(rungi_isa isa);

/* The versions for instruction sets (cpu_dequantize_body.h). */
typedef struct rungi_cpu_dequantize_functions {
    rungi_cpu_dequantize_column_function *column;
    /* Stores rows p ... p + rows - 1 of the columns j ... j + cols - 1, of which there are at most RUNGI_DEQUANTIZE_LINE. */
    void (*rows)(const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows, int64_t cols, float *to,
                 int64_t to_row_stride);
} rungi_cpu_dequantize_functions;

extern const rungi_cpu_dequantize_functions rungi_cpu_dequantize_portable;
#if defined(__x86_64__)
extern const rungi_cpu_dequantize_functions rungi_cpu_dequantize_avx2, rungi_cpu_dequantize_avx512;
#endif
