/* SPDX-License-Identifier: Apache-2.0 */
/* finish_block.h - what becomes of a block of sums before it is C, for kernels that keep their sums
 * beside C: because C's type is narrower or its columns stand apart, or because a bias, an
 * activation or a residual follows. */
#ifndef RUNGI_CPU_FINISH_BLOCK_H
#define RUNGI_CPU_FINISH_BLOCK_H

#include "cpu/cpu.h"

/* Whether anything follows alpha * A * B + beta * C. */
bool rungi_cpu_has_epilogue(const rungi_cpu_job *job);

/* A block of C that begins at (i, j). */
typedef struct rungi_block {
    int64_t i, j, rows, cols;
} rungi_block;

/* The rows x cols block of C that begins at (i, j), from sums of A * B, of the product's type of
 * sums; or, where `sums` is NULL, from C itself, which has alpha and beta in it already. */
void rungi_cpu_finish(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, int64_t cols, const void *sums,
                      int64_t sums_row);

/* The same by AVX-512, for sums of four bytes. */
void rungi_finish_avx512(const rungi_cpu_job *job, const rungi_block *block, const void *sums, int64_t sums_row);

#endif /* RUNGI_CPU_FINISH_BLOCK_H */
