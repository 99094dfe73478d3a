/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_avx512.c - micro-kernels for AVX-512: 14 rows of two vectors, 28 of 32 registers; two more hold B and one A. */
#include "cpu/microkernels/microkernel.h"

#include <immintrin.h>

#define ISA avx512
#define VECTOR_BYTES 64
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define LARGE_ROW_COUNTS(X) X(9) X(10) X(11) X(12) X(13) X(14)

/* Otherwise the compiler keeps the addresses of all rows of C during the loop, and has no registers for them. */
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))

/* ACCUMULATE is assembly for the same reason: compilers choose forms of the instruction that need another register, and spill
 * sums in the loop. */

/* ---- F32 ---------------------------------------------------------------------------------- */

#define TYPE f32
#define ACC float
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_ps(mask, address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_ps(address, mask, value)
#define STORE_STREAMING(address, value) _mm512_stream_ps(address, value)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define TYPE f64
#define ACC double
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_pd((__mmask8)(mask), address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_pd(address, (__mmask8)(mask), value)
#define STORE_STREAMING(address, value) _mm512_stream_pd(address, value)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231pd %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#include "cpu/microkernels/microkernel_instances.h"

#undef ROW_COUNTS
#undef LARGE_ROW_COUNTS
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define LARGE_ROW_COUNTS(X) X(4) X(5) X(6)

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define TYPE i32
#define ACC uint32_t
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_epi32(mask, address)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_epi32(address, mask, (__m512i)(value))
#define STORE_STREAMING(address, value) _mm512_stream_si512((void *)(address), (__m512i)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#include "cpu/microkernels/microkernel_instances.h"
