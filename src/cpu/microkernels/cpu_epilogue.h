/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_epilogue.h - turns a block of sums into C: alpha, beta, bias, activation, multiplier and residual. For kernels that keep sums
 * outside C, because the type of C is narrower, its columns are strided, or an epilogue follows. */
#pragma once

#include "cpu/cpu_kernel.h"

/* Returns whether an addend, bias, activation, multiplier or residual follows alpha * A * B + beta * C. */
bool rungi_cpu_has_epilogue(const rungi_cpu_job *job);

/* The rows x cols block of C that begins at (i, j). */
typedef struct rungi_cpu_c_block {
    int64_t i, j, rows, cols;
} rungi_cpu_c_block;

/* Computes the rows x cols block of C that begins at (i, j) from sums of A * B, which have the accumulator type and rows
 * sums_stride elements apart. If `sums` is NULL, C already holds alpha * A * B + beta * C. */
void rungi_cpu_epilogue_apply(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, int64_t cols,
                              const void *sums, int64_t sums_stride);

/* The same with AVX-512, for F32 and I32 sums, which must not be NULL. */
void rungi_cpu_epilogue_apply_avx512(const rungi_cpu_job *job, const rungi_cpu_c_block *block, const void *sums,
                                     int64_t sums_stride);
