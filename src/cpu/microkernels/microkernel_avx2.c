/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_avx2.c - micro-kernels for AVX2: 6 rows of two vectors, 12 of 16 registers. */
#include "cpu/microkernels/microkernel.h"

#include <immintrin.h>

#define ISA avx2
#define VECTOR_BYTES 32
#define PACKED_VECTORS 2
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define PACKED_ROWS(X) IN_PLACE_ROWS(X)
#define PACKING_ROWS(X) X(4) X(5) X(6)
#define PACKED_A_ROWS(X)
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))

/* A lane of a mask is active if it is negative. The mask of the first `count` lanes is loaded from this table. */
static const int64_t mask_source[2 * VECTOR_BYTES / 8] = {-1, -1, -1, -1};
#define MASK __m256i
#define MASK_OF(count) \
    _mm256_loadu_si256((const void *)((const char *)mask_source + VECTOR_BYTES - (count) * (int64_t)sizeof(ACC)))

/* ACCUMULATE is assembly: see microkernel_avx512.c. */

/* ---- F32 ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) float sum_lanes_f32(__m256 vector)
{
    __m128 quarters = _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps(vector, 1));
    __m128 pairs = _mm_add_ps(quarters, _mm_movehl_ps(quarters, quarters));
    return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
}

static inline __attribute__((always_inline)) double sum_lanes_f64(__m256d vector)
{
    __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(vector), _mm256_extractf128_pd(vector, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
}

#define TYPE f32
#define SUM_LANES(vector) sum_lanes_f32(vector)
#define ACC float
#define LOAD_MASKED(address, mask) _mm256_maskload_ps(address, mask)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_ps(address, mask, value)
#define STORE_STREAMING(address, value) _mm256_stream_ps(address, value)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231ps %1, %2, %0" : "+x"(sum) : "x"(x), "x"(y))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define TYPE f64
#define SUM_LANES(vector) sum_lanes_f64(vector)
#define ACC double
#define LOAD_MASKED(address, mask) _mm256_maskload_pd(address, mask)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_pd(address, mask, value)
#define STORE_STREAMING(address, value) _mm256_stream_pd(address, value)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231pd %1, %2, %0" : "+x"(sum) : "x"(x), "x"(y))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define TYPE i32
#define ACC uint32_t
#define LOAD_MASKED(address, mask) _mm256_maskload_epi32((const void *)(address), mask)
#define STORE_MASKED(address, mask, value) _mm256_maskstore_epi32((void *)(address), mask, (__m256i)(value))
#define STORE_STREAMING(address, value) _mm256_stream_si256((void *)(address), (__m256i)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#include "cpu/microkernels/microkernel_instances.h"
