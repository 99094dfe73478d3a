/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_bf16.h - BF16 matrix times vector: C has one row or one column. */
#ifndef RUNGI_CPU_GEMV_BF16_H
#define RUNGI_CPU_GEMV_BF16_H

#include "cpu/amx/amx.h"

#if defined(__x86_64__)
enum {
    RUNGI_GEMV_CHUNK_ELEMENTS = 4096,
    RUNGI_GEMV_SCRATCH_BYTES = 4 * RUNGI_GEMV_CHUNK_ELEMENTS + RUNGI_AMX_SUMS_BYTES
};

/* Returns whether the strides allow contiguous loads of the matrix. */
bool rungi_gemv_bf16_is_supported(const rungi_cpu_job *job);

/* Computes the whole job. C is a row (m is 1) or a column. */
void rungi_gemv_bf16_run(const rungi_cpu_job *job, bool is_row);
#endif

#endif /* RUNGI_CPU_GEMV_BF16_H */
