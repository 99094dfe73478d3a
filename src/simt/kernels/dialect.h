/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.h - the few words that let one kernel file be CUDA C and OpenCL C 1.2.
 *
 * A kernel is written in CUDA's words. Under OpenCL this header gives those words
 * their meaning; under CUDA it only adds ours:
 *
 *   KERNEL(threads)  the head of a kernel and the block size it is written for
 *   DEVICE           the head of a function that kernels call
 *   GLOBAL, SHARED   where a pointer points (CUDA needs no such word)
 *   index_t          sizes and strides, 64 bits on both sides
 *   view_t           where the elements of a matrix stand
 *   in_t, sum_t, out_t   the types of A and B, of sums and scalars, and of C
 *   in4_t, out4_t    four of them, 16 bytes together; four(x, y, z, w) makes one
 *
 * The host passes every kernel the same arguments, in this order:
 *
 *   index_t m, n, k, sum_t alpha, a, view_t, b, view_t, sum_t beta, c, view_t
 */
#ifndef RUNG_DIALECT_H
#define RUNG_DIALECT_H

#ifdef __OPENCL_C_VERSION__

#define KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define DEVICE          static inline
#define GLOBAL          __global
#define SHARED          __local

#define __shared__      __local
#define __restrict__    restrict
#define __align__(n)    __attribute__((aligned(n)))

#define make_float4(x, y, z, w) ((float4)(x, y, z, w))
#define make_int4(x, y, z, w)   ((int4)(x, y, z, w))
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE)
#define threadIdx       ((uint3)(get_local_id(0), get_local_id(1), get_local_id(2)))
#define blockIdx        ((uint3)(get_group_id(0), get_group_id(1), get_group_id(2)))

typedef long index_t;

#else /* CUDA */

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define DEVICE          static __device__ __forceinline__
#define GLOBAL
#define SHARED

typedef unsigned int uint;
typedef long long    index_t;

#endif

/* Whole numbers are summed without a sign, where wrapping around is defined: the
 * result is exact modulo 2^32. */
#ifdef RUNG_I32
typedef int    in_t;
typedef uint   sum_t;
typedef int    out_t;
typedef int4   in4_t;
typedef int4   out4_t;
#define four(x, y, z, w) make_int4(x, y, z, w)
#else
typedef float  in_t;
typedef float  sum_t;
typedef float  out_t;
typedef float4 in4_t;
typedef float4 out4_t;
#define four(x, y, z, w) make_float4(x, y, z, w)
#endif

/* Element (row, col) stands offset + row * row_stride + col * col_stride elements
 * into the memory that is passed beside the view. */
typedef struct {
    index_t offset, row_stride, col_stride;
} view_t;

DEVICE index_t at(view_t view, index_t row, index_t col)
{
    return view.offset + row * view.row_stride + col * view.col_stride;
}

/* The element at (row, col), or zero outside the matrix, so that edges need no
 * branch in the loop that multiplies. */
DEVICE in_t load_or_zero(GLOBAL const in_t *memory, view_t view, index_t row, index_t col,
                         index_t rows, index_t cols)
{
    return row < rows && col < cols ? memory[at(view, row, col)] : (in_t)0;
}

/* C's old value is read only if it counts: it may be NaN, or not there at all. */
DEVICE void store(GLOBAL out_t *c, sum_t alpha, sum_t sum, sum_t beta)
{
    *c = (out_t)(beta == (sum_t)0 ? alpha * sum : alpha * sum + beta * (sum_t)*c);
}

#endif /* RUNG_DIALECT_H */
