/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_tiles.h - multiplies A, rounded to BF16, by a quantized B in AMX tiles. For 15_quantized. */
#pragma once

#include "cpu/cpu_kernel.h"

#if defined(__x86_64__)
/* Rows of A, columns of B whose sums are kept, and elements along k: of the packed A, and of a panel of B. */
typedef struct rungi_quantized_tiles_blocks {
    int64_t rows, cols, chunk, slice;
} rungi_quantized_tiles_blocks;

/* Chooses the block sizes of a whole problem. The length of k decides how an element is summed, so a part of the problem uses
 * the sizes of the whole. */
rungi_quantized_tiles_blocks rungi_quantized_tiles_blocks_choose(const rungi_cpu_job *job);

int64_t rungi_quantized_tiles_scratch_bytes(const rungi_quantized_tiles_blocks *sizes);

/* Computes the whole job, whose k is not 0. */
void rungi_quantized_tiles_run(const rungi_cpu_job *job, const rungi_quantized_tiles_blocks *sizes);
#endif
