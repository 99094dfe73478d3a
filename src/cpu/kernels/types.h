/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the type that a kernel's file is compiled for.
 *
 * A file that includes this is compiled once for each type of A and B, and its words are
 * those of the SIMT kernels: an element is stored as in_t and multiplied as widen(x), into
 * sums of sum_t. The build says which type it is (cmake/cpu_kernels.cmake); without it, F32. */
#ifndef RUNGI_CPU_TYPES_H
#define RUNGI_CPU_TYPES_H

#include "core/checked.h"
#include "core/convert.h"
#include "cpu/kernels/kernels.h"

#ifndef PART
#define PART F32_PORTABLE
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

/* Whole numbers are summed without a sign, where wrapping around is defined: modulo 2^32. */
#if defined(IN_I8) || defined(IN_I32)
#define SUMS_ARE_WHOLE
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

/* Where element (i, j) of a view stands. */
static inline int64_t at(rungi_cpu_input view, int64_t i, int64_t j)
{
    return i * view.row_stride + j * view.col_stride;
}

/* The part of a job that makes rows i and on and columns j and on of C, of its steps of k those
 * from p on: m x n x k of them, or as many as there are. */
static inline rungi_cpu_job block_of(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t p, int64_t m, int64_t n,
                                     int64_t k)
{
    rungi_cpu_job block = *job;
    block.m = rungi_smaller(m, job->m - i);
    block.n = rungi_smaller(n, job->n - j);
    block.k = rungi_smaller(k, job->k - p);
    block.a.first = (const in_t *)job->a.first + at(job->a, i, p);
    block.b.first = (const in_t *)job->b.first + at(job->b, p, j);
    return block;
}

/* The kernel NN_name as it was compiled here. */
#define RUNGI_JOIN(name, part) rungi_cpu_##name##_##part
#define RUNGI_PART(name, part) RUNGI_JOIN(name, part)
#define TYPED_KERNEL(name) const rungi_cpu_kernel RUNGI_PART(name, PART)

#endif /* RUNGI_CPU_TYPES_H */
