/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_integer_tiles.h - multiplies A, rounded to 8-bit integers, by a quantized B in AMX tiles of integers. For
 * 15_quantized. */
#pragma once

#include "cpu/cpu_kernel.h"

#if defined(__x86_64__)
/* Returns the number of rows of A that are packed at a time, at most `rows`. */
int64_t rungi_integer_tiles_rows(const rungi_cpu_job *job, int64_t rows);

/* Computes the scratch bytes for that many rows. Returns false if the number overflows. */
bool rungi_integer_tiles_scratch_bytes(int64_t rows, int64_t k, int64_t *bytes);

/* Computes the whole job, whose k is not 0. */
void rungi_integer_tiles_run(const rungi_cpu_job *job, int64_t rows);
#endif
