/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_panels.h - multiplies many rows of A, rounded to 8-bit integers, by a quantized B with the dot products of AVX-512
 * VNNI. For 15_quantized on processors without AMX. */
#pragma once

#include "cpu/cpu_kernel.h"

#if defined(__x86_64__)
enum { RUNGI_QUANTIZED_PANELS_COLUMNS = 64 }; /* columns whose sums are kept before they become C */

/* Returns how many rows of A are quantized at a time, at most about `rows`. */
int64_t rungi_quantized_panels_rows(const rungi_cpu_job *job, int64_t rows);

/* Computes the scratch bytes for that many rows. Returns false if the number overflows. */
bool rungi_quantized_panels_scratch_bytes(int64_t rows, int64_t k, int64_t *bytes);

/* Computes the whole job, whose k is not 0. */
void rungi_quantized_panels_run(const rungi_cpu_job *job, int64_t rows);
#endif
