/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_avx2.c - micro-kernels for AVX2: 6 rows of two vectors, 12 of 16 registers. */
#include "cpu/microkernels/microkernel.h"

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define LARGE_ROW_COUNTS(X) X(4) X(5) X(6)
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))

/* A lane of a mask is active if it is negative. FIRST32 and FIRST64 are masks of the first `count` lanes. */
static const int32_t mask_source32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t mask_source64[8] = {-1, -1, -1, -1};
#define FIRST32(count) _mm256_loadu_si256((const void *)(mask_source32 + 8 - (count)))
#define FIRST64(count) _mm256_loadu_si256((const void *)(mask_source64 + 4 - (count)))

/* ---- F32 ---------------------------------------------------------------------------------- */

#define ACC float
#define VECTOR __m256
#define LANES 8
#define MASK __m256i
#define MASK_OF(count) FIRST32(count)
#define LOAD(address) _mm256_loadu_ps(address)
#define LOAD_MASKED(address, mask) _mm256_maskload_ps(address, mask)
#define STORE(address, value) _mm256_storeu_ps(address, value)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_ps(address, mask, value)
#define STORE_STREAMING(address, value) _mm256_stream_ps(address, value)
#define BROADCAST(address) _mm256_broadcast_ss(address)
#define SPLAT(value) _mm256_set1_ps(value)
#define SCALAR(value) (float)(value)
#define ZERO() _mm256_setzero_ps()
#define TIMES(x, y) _mm256_mul_ps(x, y)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) sum = _mm256_fmadd_ps(x, y, sum)
#define PANEL_FUNCTION f32_panel
#define BODY_FUNCTION f32
#define TABLE rungi_microkernels_avx2_f32
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define ACC double
#define VECTOR __m256d
#define LANES 4
#define MASK __m256i
#define MASK_OF(count) FIRST64(count)
#define LOAD(address) _mm256_loadu_pd(address)
#define LOAD_MASKED(address, mask) _mm256_maskload_pd(address, mask)
#define STORE(address, value) _mm256_storeu_pd(address, value)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_pd(address, mask, value)
#define STORE_STREAMING(address, value) _mm256_stream_pd(address, value)
#define BROADCAST(address) _mm256_broadcast_sd(address)
#define SPLAT(value) _mm256_set1_pd(value)
#define SCALAR(value) (double)(value)
#define ZERO() _mm256_setzero_pd()
#define TIMES(x, y) _mm256_mul_pd(x, y)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) sum = _mm256_fmadd_pd(x, y, sum)
#define PANEL_FUNCTION f64_panel
#define BODY_FUNCTION f64
#define TABLE rungi_microkernels_avx2_f64
#include "cpu/microkernels/microkernel_instances.h"

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define ACC uint32_t
#define VECTOR __m256i
#define LANES 8
#define MASK __m256i
#define MASK_OF(count) FIRST32(count)
#define LOAD(address) _mm256_loadu_si256((const void *)(address))
#define LOAD_MASKED(address, mask) _mm256_maskload_epi32((const void *)(address), mask)
#define STORE(address, value) _mm256_storeu_si256((void *)(address), value)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_epi32((void *)(address), mask, value)
#define STORE_STREAMING(address, value) _mm256_stream_si256((void *)(address), value)
#define BROADCAST(address) _mm256_set1_epi32((int)*(address))
#define SPLAT(value) _mm256_set1_epi32((int)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() _mm256_setzero_si256()
#define TIMES(x, y) _mm256_mullo_epi32(x, y)
#define PLUS_TIMES(x, y, z) _mm256_add_epi32(_mm256_mullo_epi32(x, y), z)
#define ACCUMULATE(sum, x, y) sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(x, y))
#define PANEL_FUNCTION i32_panel
#define BODY_FUNCTION i32
#define TABLE rungi_microkernels_avx2_i32
#include "cpu/microkernels/microkernel_instances.h"
