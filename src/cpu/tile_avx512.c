/* SPDX-License-Identifier: Apache-2.0 */
/* tile_avx512.c - tiles of C in AVX-512 registers: 14 rows of two vectors, 28 of the 32
 * registers, which leaves two for B and one for A. */
#include "cpu/tile.h"

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define MANY_ROWS(X) X(9) X(10) X(11) X(12) X(13) X(14)

/* The compiler would keep the addresses of C's rows over the loop, and has no registers for them. */
#define KEEP_APART(pointer) __asm__("" : "+r"(pointer))

/* ACCUMULATE is written in assembler for the same reason: left to themselves, compilers choose
 * forms of the instruction that want another register, and store sums away in the loop. */

/* ---- F32 ---------------------------------------------------------------------------------- */

#define SUM float
#define VECTOR __m512
#define LANES 16
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(place) _mm512_loadu_ps(place)
#define LOAD_SOME(place, mask) _mm512_maskz_loadu_ps(mask, place)
#define STORE(place, value) _mm512_storeu_ps(place, value)
#define STORE_SOME(place, mask, value) _mm512_mask_storeu_ps(place, mask, value)
#define STREAM(place, value) _mm512_stream_ps(place, value)
#define ALL(place) _mm512_set1_ps(*(place))
#define EACH(value) _mm512_set1_ps(value)
#define SCALAR(value) (float)(value)
#define ZERO() _mm512_setzero_ps()
#define TIMES(x, y) _mm512_mul_ps(x, y)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_ps(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231ps %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#define PANEL f32_panel
#define BODY f32
#define TABLE rungi_tiles_avx512_f32
#include "cpu/tile_list.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define SUM double
#define VECTOR __m512d
#define LANES 8
#define MASK __mmask8
#define MASK_OF(count) ((__mmask8)((1u << (count)) - 1))
#define LOAD(place) _mm512_loadu_pd(place)
#define LOAD_SOME(place, mask) _mm512_maskz_loadu_pd(mask, place)
#define STORE(place, value) _mm512_storeu_pd(place, value)
#define STORE_SOME(place, mask, value) _mm512_mask_storeu_pd(place, mask, value)
#define STREAM(place, value) _mm512_stream_pd(place, value)
#define ALL(place) _mm512_set1_pd(*(place))
#define EACH(value) _mm512_set1_pd(value)
#define SCALAR(value) (double)(value)
#define ZERO() _mm512_setzero_pd()
#define TIMES(x, y) _mm512_mul_pd(x, y)
#define PLUS_TIMES(x, y, z) _mm512_fmadd_pd(x, y, z)
#define ACCUMULATE(sum, x, y) __asm__("vfmadd231pd %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y))
#define PANEL f64_panel
#define BODY f64
#define TABLE rungi_tiles_avx512_f64
#include "cpu/tile_list.h"

#undef ROWS
#undef MANY_ROWS
#define ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define MANY_ROWS(X) X(4) X(5) X(6)

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define SUM uint32_t
#define VECTOR __m512i
#define LANES 16
#define MASK __mmask16
#define MASK_OF(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(place) _mm512_loadu_si512(place)
#define LOAD_SOME(place, mask) _mm512_maskz_loadu_epi32(mask, place)
#define STORE(place, value) _mm512_storeu_si512(place, value)
#define STORE_SOME(place, mask, value) _mm512_mask_storeu_epi32(place, mask, value)
#define STREAM(place, value) _mm512_stream_si512((void *)(place), value)
#define ALL(place) _mm512_set1_epi32((int)*(place))
#define EACH(value) _mm512_set1_epi32((int)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() _mm512_setzero_si512()
#define TIMES(x, y) _mm512_mullo_epi32(x, y)
#define PLUS_TIMES(x, y, z) _mm512_add_epi32(_mm512_mullo_epi32(x, y), z)
#define ACCUMULATE(sum, x, y) sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(x, y))
#define PANEL i32_panel
#define BODY i32
#define TABLE rungi_tiles_avx512_i32
#include "cpu/tile_list.h"
