/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.h - makes one kernel file valid CUDA C and valid OpenCL C 1.2.
 *
 * Kernels use CUDA's keywords. Under OpenCL this header defines those keywords; under
 * both it defines:
 *
 *   KERNEL(threads)  begins a kernel for blocks of `threads` threads
 *   DEVICE           begins a function that kernels call
 *   GLOBAL, SHARED   address space of a pointer (empty in CUDA)
 *   LARGE_SHARED(type, name, count)   declares all of a block's shared memory. Needed for
 *                    more than 48 KiB, the limit of CUDA for a declared array. The file
 *                    states the number of bytes by #define SHARED_BYTES
 *   index_t          64-bit integer for sizes and strides
 *   view_t, at()     strides of a matrix, and the offset of an element
 *   in_t, sum_t, out_t   element type of A and B; type of sums, alpha and beta; element
 *                        type of C
 *   widen(x)         converts in_t to sum_t; all products are of widened values
 *   store(...)       stores alpha * sum + beta * C
 *
 * The host selects the types by macros such as -DIN_F16 -DOUT_F32; the default is float.
 * Every kernel gets the same arguments, in this order:
 *
 *   index_t m, n, k, sum_t alpha, a, view_t, b, view_t, sum_t beta, c, view_t
 *
 * blockIdx.x selects a tile of C, and blockIdx.y an item of the batch. at() adds the
 * offset of the item.
 */
#ifndef RUNG_DIALECT_H
#define RUNG_DIALECT_H

#ifdef __OPENCL_C_VERSION__

#if defined(IN_F64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define DEVICE          static inline __attribute__((always_inline)) /* as CUDA's __forceinline__ */
#define GLOBAL          __global
#define SHARED          __local

#define __shared__      __local
#define __restrict__    restrict
#define __align__(n)    __attribute__((aligned(n)))

#define LARGE_SHARED(type, name, count) __local __align__(32) type name[count]

#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE)
#define threadIdx       ((uint3)(get_local_id(0), get_local_id(1), get_local_id(2)))
#define blockIdx        ((uint3)(get_group_id(0), get_group_id(1), get_group_id(2)))
#define erff(x)         erf(x)
#define fabsf(x)        fabs(x)
#define fast_exp(x)     exp(x) /* 3 units in the last place */

#define make_in4(x, y, z, w)  ((in4_t)(x, y, z, w))
#define store4(to, x, y, z, w) vstore4((out4_t)(x, y, z, w), 0, (GLOBAL out_t *)(to))

typedef long index_t;

/* Converts bit by bit and without a branch, so that the loop vectorizes. vload_half and
 * vstore_half would take about a hundred instructions on devices without FP16. */
DEVICE float float_of_f16(ushort bits)
{
    const uint sign = (uint)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    const uint normal = (rest << 13) + (rest < 0x7c00 ? 112u << 23 : 224u << 23);
    const uint denormal = as_uint((float)(int)rest * 0x1p-24f);
    return as_float(sign | (rest < 0x400 ? denormal : normal));
}

/* Rounds to nearest, ties to even. For denormals, adding 0.5 rounds to a multiple of 2^-24 and
 * leaves the multiple in the low bits of the sum. */
DEVICE ushort f16_of_float(float value)
{
    const uint bits = as_uint(value), rest = bits & 0x7fffffff;
    const uint normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
    const uint denormal = as_uint(as_float(rest) + 0.5f) - as_uint(0.5f);
    const uint infinite = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
    return (ushort)(bits >> 16 & 0x8000 |
                    (rest >= 0x477ff000 ? infinite : rest < 0x38800000 ? denormal : normal));
}

#define float_bits(value) as_uint(value)
#define bits_float(bits)  as_float(bits)

#else /* CUDA */

/* In these cases the compiler would spill registers to fit one more block into a multiprocessor. A
 * minimum of one block prevents that. 14_skinny defines ONE_BLOCK. COMPUTE: see engine.h. */
#if defined(ONE_BLOCK) || defined(COMPUTE)
#define MIN_BLOCKS 1
#elif (defined(IN_F64) || defined(SPLIT)) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define MIN_BLOCKS 1
#endif
#ifdef MIN_BLOCKS
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
#else
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#endif
#define DEVICE          static __device__ __forceinline__
#define GLOBAL
#define SHARED
#define LARGE_SHARED(type, name, count)                            \
    extern __shared__ __align__(32) unsigned char rung_shared[];   \
    type *const name = (type *)rung_shared

#define make_in4(x, y, z, w)  (in4_t{x, y, z, w})
#define store4(to, x, y, z, w) (*(to) = out4_t{x, y, z, w})

#define fast_exp(x) __expf(x) /* 2 + 1.16 |x| units in the last place */

typedef unsigned int   uint;
typedef unsigned short ushort;
typedef long long      index_t;

DEVICE float float_of_f16(ushort bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE ushort f16_of_float(float value)
{
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

#define float_bits(value) __float_as_uint(value)
#define bits_float(bits)  __uint_as_float(bits)

/* The alignment of CUDA's double4 differs between versions of CUDA. */
#if defined(IN_F64)
typedef struct __align__(16) {
    double x, y, z, w;
} rung_double4;
#define double4 rung_double4
#endif

#endif

DEVICE float float_of_bf16(ushort bits)
{
    return bits_float((uint)bits << 16);
}

/* Rounds to nearest, ties to even. A NaN must not be rounded to an infinity. */
DEVICE ushort bf16_of_float(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    ushort rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
#else
    const uint bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (ushort)(bits >> 16 | 0x40u);
    return (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

#if defined(IN_F8E4M3)
/* E4M3 has the fields of an F16 with a smaller bias, no infinity, and one NaN per sign. */
DEVICE float float_of_f8e4m3(uint bits)
{
    const uint sign = (bits & 0x80) << 24, rest = bits & 0x7f;
    const uint denormal = float_bits((float)(int)rest * 0x1p-9f);
    const uint normal = rest == 0x7f ? 0x7fc00000u : (rest << 20) + (120u << 23);
    return bits_float(sign | (rest < 8 ? denormal : normal));
}
#endif

/* ---- Element types, vectors of four elements, and sizes in bytes ---------------- */

#if defined(IN_F64)
typedef double sum_t;
typedef double in_t;
typedef double4 in4_t;
#define IN_BYTES 8
#define widen(x) (x)
#elif defined(IN_F16)
typedef float   sum_t;
typedef ushort  in_t;
typedef ushort4 in4_t;
#define IN_BYTES 2
#define widen(x) float_of_f16(x)
#elif defined(IN_BF16)
typedef float   sum_t;
typedef ushort  in_t;
typedef ushort4 in4_t;
#define IN_BYTES 2
#define widen(x) float_of_bf16(x)
#elif defined(IN_F8E4M3)
typedef float         sum_t;
typedef unsigned char in_t;
typedef uchar4        in4_t;
#define IN_BYTES 1
#define widen(x) float_of_f8e4m3(x)
#elif defined(IN_F8E5M2)
typedef float         sum_t;
typedef unsigned char in_t;
typedef uchar4        in4_t;
#define IN_BYTES 1
#define widen(x) float_of_f16((ushort)((x) << 8)) /* the upper byte of an F16 */
#elif defined(IN_I8)
/* Integers are summed as unsigned numbers, for which overflow is defined: the result is
 * exact modulo 2^32. */
#define INTEGER_TYPE
typedef uint        sum_t;
typedef signed char in_t;
typedef char4       in4_t;
#define IN_BYTES 1
#define widen(x) ((sum_t)(int)(x))
#elif defined(IN_I32)
#define INTEGER_TYPE
typedef uint sum_t;
typedef int  in_t;
typedef int4 in4_t;
#define IN_BYTES 4
#define widen(x) ((sum_t)(x))
#else
typedef float  sum_t;
typedef float  in_t;
typedef float4 in4_t;
#define IN_BYTES 4
#define widen(x) (x)
#endif

#if defined(OUT_F64)
typedef double  out_t;
typedef double4 out4_t;
#define OUT_BYTES 8
#define widen_out(x) (x)
#define narrow(x)    (x)
#elif defined(OUT_F16)
typedef ushort  out_t;
typedef ushort4 out4_t;
#define OUT_BYTES 2
#define widen_out(x) float_of_f16(x)
#define narrow(x)    f16_of_float(x)
#elif defined(OUT_BF16)
typedef ushort  out_t;
typedef ushort4 out4_t;
#define OUT_BYTES 2
#define widen_out(x) float_of_bf16(x)
#define narrow(x)    bf16_of_float(x)
#elif defined(OUT_I32)
typedef int  out_t;
typedef int4 out4_t;
#define OUT_BYTES 4
#define widen_out(x) ((sum_t)(x))
#define narrow(x)    ((out_t)(x))
#else
typedef float  out_t;
typedef float4 out4_t;
#define OUT_BYTES 4
#define widen_out(x) ((sum_t)(x))
#define narrow(x)    ((out_t)(x))
#endif

/* ---- Views ---------------------------------------------------------------------- */

/* The index of element (row, col) of a batch item, in the memory passed with the view, is
 * offset + item * batch_stride + row * row_stride + col * col_stride. */
typedef struct {
    index_t offset, row_stride, col_stride, batch_stride;
} view_t;

/* Returns the index of element (row, col) of the item that this block computes. */
DEVICE index_t at(view_t view, index_t row, index_t col)
{
    return view.offset + (index_t)blockIdx.y * view.batch_stride + row * view.row_stride +
           col * view.col_stride;
}

/* Returns the view with rows and columns exchanged: B as (n, k), as A is (m, k). */
DEVICE view_t transposed_view(view_t view)
{
    view_t transposed;
    transposed.offset = view.offset;
    transposed.row_stride = view.col_stride;
    transposed.col_stride = view.row_stride;
    transposed.batch_stride = view.batch_stride;
    return transposed;
}

/* Returns the element at (row, col), or zero outside the matrix. With zeros, the main loop
 * needs no branch at the edges. */
DEVICE in_t load_or_zero(GLOBAL const in_t *memory, view_t view, index_t row, index_t col,
                         index_t rows, index_t cols)
{
    return row < rows && col < cols ? memory[at(view, row, col)] : (in_t)0;
}

/* Stores alpha * sum + beta * C. Does not read C if beta is 0: C may be NaN or unwritten. */
DEVICE void store(GLOBAL out_t *c, sum_t alpha, sum_t sum, sum_t beta)
{
    *c = narrow(beta == (sum_t)0 ? alpha * sum : alpha * sum + beta * widen_out(*c));
}

#endif /* RUNG_DIALECT_H */
