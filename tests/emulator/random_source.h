/* SPDX-License-Identifier: Apache-2.0 */
/* random_source.h - writes random kernels as C that nvcc and the host's compiler both accept. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Threads per block, words of input per thread, words of output per thread, words of shared memory per block. */
enum { RANDOM_BLOCK = 64, RANDOM_INPUTS = 16, RANDOM_OUTPUTS = 40, RANDOM_SHARED = 64 };

/* Writes `count` kernels k0, k1, ... that depend on the seed alone. With nvcc, k0 is a kernel with the parameters in and
 * out. With the host's compiler, k0 is a function (in, out, blocks) that runs all threads one after the other. */
void random_source_write(FILE *file, uint64_t seed, int count);
