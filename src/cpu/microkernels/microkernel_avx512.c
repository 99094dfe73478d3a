/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_avx512.c - micro-kernels for AVX-512: 14 rows of two vectors, 28 of 32 registers; two more hold B and one A. */
#include "cpu/microkernels/microkernel.h"

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define LARGE_ROW_COUNTS(X) X(9) X(10) X(11) X(12) X(13) X(14)

/* Otherwise the compiler keeps the addresses of all rows of C during the loop, and has no registers for them. */
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))

/* ACCUMULATE is assembly for the same reason: compilers choose forms of the instruction that need another register, and spill
 * sums in the loop. */

/* ---- F32 ---------------------------------------------------------------------------------- */

#define ACC float
#define VECTOR __m512
#define LANES 16
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(address) _mm512_loadu_ps(address)
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_ps(mask, address)
#define STORE(address, value) _mm512_storeu_ps(address, value)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_ps(address, mask, value)
#define STORE_STREAMING(address, value) _mm512_stream_ps(address, value)
#define BROADCAST(address) _mm512_set1_ps(*(address))
#define SPLAT(value) _mm512_set1_ps(value)
#define SCALAR(value) (float)(value)
#define ZERO() _mm512_setzero_ps()
#define TIMES(x, y) _mm512_mul_ps(x, y)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#define PANEL_FUNCTION f32_panel
#define BODY_FUNCTION f32
#define TABLE rungi_microkernels_avx512_f32
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define ACC double
#define VECTOR __m512d
#define LANES 8
#define MASK __mmask8
#define MASK_OF(count) ((__mmask8)((1u << (count)) - 1))
#define LOAD(address) _mm512_loadu_pd(address)
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_pd(mask, address)
#define STORE(address, value) _mm512_storeu_pd(address, value)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_pd(address, mask, value)
#define STORE_STREAMING(address, value) _mm512_stream_pd(address, value)
#define BROADCAST(address) _mm512_set1_pd(*(address))
#define SPLAT(value) _mm512_set1_pd(value)
#define SCALAR(value) (double)(value)
#define ZERO() _mm512_setzero_pd()
#define TIMES(x, y) _mm512_mul_pd(x, y)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231pd %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#define PANEL_FUNCTION f64_panel
#define BODY_FUNCTION f64
#define TABLE rungi_microkernels_avx512_f64
#include "cpu/microkernels/microkernel_instances.h"

#undef ROW_COUNTS
#undef LARGE_ROW_COUNTS
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define LARGE_ROW_COUNTS(X) X(4) X(5) X(6)

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define ACC uint32_t
#define VECTOR __m512i
#define LANES 16
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(address) _mm512_loadu_si512(address)
#define LOAD_MASKED(address, mask) _mm512_maskz_loadu_epi32(mask, address)
#define STORE(address, value) _mm512_storeu_si512(address, value)
#define STORE_MASKED(address, mask, value) _mm512_mask_storeu_epi32(address, mask, value)
#define STORE_STREAMING(address, value) _mm512_stream_si512((void *)(address), value)
#define BROADCAST(address) _mm512_set1_epi32((int)*(address))
#define SPLAT(value) _mm512_set1_epi32((int)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() _mm512_setzero_si512()
#define TIMES(x, y) _mm512_mullo_epi32(x, y)
#define PLUS_TIMES(x, y, z) _mm512_add_epi32(_mm512_mullo_epi32(x, y), z)
#define ACCUMULATE(sum, x, y) sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(x, y))
#define PANEL_FUNCTION i32_panel
#define BODY_FUNCTION i32
#define TABLE rungi_microkernels_avx512_i32
#include "cpu/microkernels/microkernel_instances.h"
