/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize.h - converts blocks of a narrow B to F32 with their scales and zero points, while B is packed. The values are
 * those of rung_dequantize(). */
#pragma once

#include "core/quantization.h"
#include "cpu/cpu_kernel.h"

/* Returns whether the job's B consists of narrow elements that are dequantized. */
static inline bool rungi_cpu_dequantizes(const rungi_cpu_job *job)
{
    return job->b_type != job->in && rungi_type_is_narrow(job->b_type);
}

/* Stores element (p + i, j + l) of B in to[i * to_row_stride + l], for `rows` x `cols` elements. */
void rungi_cpu_dequantize(const rungi_cpu_job *job, int64_t p, int64_t j, int64_t rows, int64_t cols, float *to,
                          int64_t to_row_stride);

enum { RUNGI_DEQUANTIZE_LINE = 64 };

/* Stores elements p ... p + count - 1 of column j, which are contiguous in B. `count` is at most RUNGI_DEQUANTIZE_LINE. */
typedef void rungi_cpu_dequantize_column_function(const rungi_cpu_job *job, int64_t p, int64_t j, int64_t count,
                                                  float *values);

/* Returns the version of this function for the processor. */
rungi_cpu_dequantize_column_function *rungi_cpu_dequantize_column_select(rungi_isa isa);

/* The versions for instruction sets (cpu_dequantize_body.h). */
typedef struct rungi_cpu_dequantize_functions {
    rungi_cpu_dequantize_column_function *column;
    /* Stores rows p ... p + rows - 1 of the columns j ... j + cols - 1, of which there are at most RUNGI_DEQUANTIZE_LINE. */
    void (*rows)(const rungi_cpu_job *job, int64_t p, int64_t j, int64_t rows, int64_t cols, float *to,
                 int64_t to_row_stride);
} rungi_cpu_dequantize_functions;

extern const rungi_cpu_dequantize_functions rungi_cpu_dequantize_portable;
#if defined(__x86_64__)
extern const rungi_cpu_dequantize_functions rungi_cpu_dequantize_avx2, rungi_cpu_dequantize_avx512;
#endif
