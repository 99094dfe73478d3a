/* SPDX-License-Identifier: Apache-2.0 */
/* tile_avx2.c - tiles of C in AVX2 registers: 6 rows of two vectors, 12 of the 16 registers. */
#include "cpu/tile.h"

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define MANY_ROWS(X) X(4) X(5) X(6)
#define KEEP_APART(pointer) __asm__("" : "+r"(pointer))

/* A mask's lane counts if it is negative: the first `count` lanes. */
static const int32_t lanes32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t lanes64[8] = {-1, -1, -1, -1};
#define FIRST32(count) _mm256_loadu_si256((const void *)(lanes32 + 8 - (count)))
#define FIRST64(count) _mm256_loadu_si256((const void *)(lanes64 + 4 - (count)))

/* ---- F32 ---------------------------------------------------------------------------------- */

#define SUM float
#define VECTOR __m256
#define LANES 8
#define MASK __m256i
#define MASK_OF(count) FIRST32(count)
#define LOAD(place) _mm256_loadu_ps(place)
#define LOAD_SOME(place, mask) _mm256_maskload_ps(place, mask)
#define STORE(place, value) _mm256_storeu_ps(place, value)
#define STORE_SOME(place, mask, value) _mm256_maskstore_ps(place, mask, value)
#define STREAM(place, value) _mm256_stream_ps(place, value)
#define ALL(place) _mm256_broadcast_ss(place)
#define EACH(value) _mm256_set1_ps(value)
#define SCALAR(value) (float)(value)
#define ZERO() _mm256_setzero_ps()
#define TIMES(x, y) _mm256_mul_ps(x, y)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) sum = _mm256_fmadd_ps(x, y, sum)
#define PANEL f32_panel
#define BODY f32
#define TABLE rungi_tiles_avx2_f32
#include "cpu/tile_list.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define SUM double
#define VECTOR __m256d
#define LANES 4
#define MASK __m256i
#define MASK_OF(count) FIRST64(count)
#define LOAD(place) _mm256_loadu_pd(place)
#define LOAD_SOME(place, mask) _mm256_maskload_pd(place, mask)
#define STORE(place, value) _mm256_storeu_pd(place, value)
#define STORE_SOME(place, mask, value) _mm256_maskstore_pd(place, mask, value)
#define STREAM(place, value) _mm256_stream_pd(place, value)
#define ALL(place) _mm256_broadcast_sd(place)
#define EACH(value) _mm256_set1_pd(value)
#define SCALAR(value) (double)(value)
#define ZERO() _mm256_setzero_pd()
#define TIMES(x, y) _mm256_mul_pd(x, y)
#define PLUS_TIMES(x, y, z) _mm256_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) sum = _mm256_fmadd_pd(x, y, sum)
#define PANEL f64_panel
#define BODY f64
#define TABLE rungi_tiles_avx2_f64
#include "cpu/tile_list.h"

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define SUM uint32_t
#define VECTOR __m256i
#define LANES 8
#define MASK __m256i
#define MASK_OF(count) FIRST32(count)
#define LOAD(place) _mm256_loadu_si256((const void *)(place))
#define LOAD_SOME(place, mask) _mm256_maskload_epi32((const void *)(place), mask)
#define STORE(place, value) _mm256_storeu_si256((void *)(place), value)
#define STORE_SOME(place, mask, value) _mm256_maskstore_epi32((void *)(place), mask, value)
#define STREAM(place, value) _mm256_stream_si256((void *)(place), value)
#define ALL(place) _mm256_set1_epi32((int)*(place))
#define EACH(value) _mm256_set1_epi32((int)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() _mm256_setzero_si256()
#define TIMES(x, y) _mm256_mullo_epi32(x, y)
#define PLUS_TIMES(x, y, z) _mm256_add_epi32(_mm256_mullo_epi32(x, y), z)
#define ACCUMULATE(sum, x, y) sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(x, y))
#define PANEL i32_panel
#define BODY i32
#define TABLE rungi_tiles_avx2_i32
#include "cpu/tile_list.h"
