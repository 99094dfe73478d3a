/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_source.h - what the tokens of a file tell about a kernel: constants that are sizes, and arrays that it writes. */
#pragma once

#include "cuda_source/cuda_outline.h"

/* Returns the number that a file defines for a name outside of functions: `const int N = 1024;` or `#define N 1024`. *line
 * is its line. Returns 0 if the file defines no such number. */
long long lab_gemm_find_constant(const lab_cuda_outline *outline, rungi_string_view name, int *line);

/* How a kernel uses a constant. */
typedef enum lab_constant_use {
    LAB_CONSTANT_OTHER, /* not at all, or as a tile: multiplied by blockIdx, or the size of an array in shared memory */
    LAB_CONSTANT_BOUND, /* indices are compared with it: a size if other constants are strides, too */
    LAB_CONSTANT_STRIDE /* and multiplied by it: a size */
} lab_constant_use;

lab_constant_use lab_gemm_constant_use(const lab_cuda_outline *outline, const lab_cuda_function *kernel,
                                       rungi_string_view name);

/* Returns whether the kernel stores to elements of an array, or uses it in atomic operations: C[i] = x, C[i] += x,
 * atomicAdd(&C[i], x), atomicAdd(C + i, x). */
bool lab_gemm_writes_array(const lab_cuda_outline *outline, const lab_cuda_function *kernel, rungi_string_view array);
