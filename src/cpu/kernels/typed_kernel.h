/* SPDX-License-Identifier: Apache-2.0 */
/* typed_kernel.h - the element type that a kernel's file is compiled for.
 *
 * A file that includes this header is compiled once per type of A and B and uses the words of the SIMT kernels: elements
 * are stored as in_t, widened by widen() and summed as sum_t. The build selects the type (cmake/cpu_kernels.cmake). The
 * default is F32. */
#pragma once

#include "base/checked_arithmetic.h"
#include "base/float16.h"
#include "cpu/kernels/cpu_kernels.h"

#ifndef VARIANT
#define VARIANT F32_PORTABLE
#define IN_F32
#endif

#if defined(IN_F32)
typedef float in_t;
typedef float sum_t;
#elif defined(IN_F64)
typedef double in_t;
typedef double sum_t;
#elif defined(IN_F16) || defined(IN_BF16)
typedef uint16_t in_t;
typedef float sum_t;
#elif defined(IN_I8)
typedef int8_t in_t;
typedef uint32_t sum_t;
#elif defined(IN_I32)
typedef int32_t in_t;
typedef uint32_t sum_t;
#endif

/* Integers are summed as unsigned numbers, whose overflow wraps around: modulo 2^32. */
#if defined(IN_I8) || defined(IN_I32)
#define SUMS_ARE_INTEGERS
#endif

static inline sum_t widen(in_t x)
{
#if defined(IN_F16)
    return rungi_f16_to_f32(x);
#elif defined(IN_BF16)
    return rungi_bf16_to_f32(x);
#else
    return (sum_t)x;
#endif
}

/* Returns the offset of element (i, j) of a view, in elements. */
static inline int64_t element_offset(rungi_cpu_input view, int64_t i, int64_t j)
{
    return i * view.row_stride + j * view.col_stride;
}

/* Returns the part of a job that begins at row i, column j and step p: m x n x k, or less at the edges. The pointer to C
 * does not change. */
static inline rungi_cpu_job block_of(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t p, int64_t m, int64_t n,
                                     int64_t k)
{
    rungi_cpu_job block = *job;
    block.m = rungi_min(m, job->m - i);
    block.n = rungi_min(n, job->n - j);
    block.k = rungi_min(k, job->k - p);
    block.a.first = (const in_t *)job->a.first + element_offset(job->a, i, p);
    block.b.first = (const in_t *)job->b.first + element_offset(job->b, p, j);
    return block;
}

/* Defines the variant of kernel NN_name that is compiled here. */
#define RUNGI_VARIANT_JOIN(name, variant) rungi_cpu_##name##_##variant
#define RUNGI_VARIANT_SYMBOL(name, variant) RUNGI_VARIANT_JOIN(name, variant)
#define TYPED_KERNEL(name) const rungi_cpu_kernel RUNGI_VARIANT_SYMBOL(name, VARIANT)
