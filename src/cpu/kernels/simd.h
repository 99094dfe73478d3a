/* SPDX-License-Identifier: Apache-2.0 */
/* simd.h - vectors of the instruction set that a kernel's file is compiled for.
 *
 * A file that includes this header is compiled once per type and instruction set. Vectors are those of GCC and clang,
 * which support + and *. Instruction sets differ in the vector size and in how partial vectors are loaded. */
#pragma once

#include "cpu/kernels/typed_kernel.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define MR 14 /* MR * 2 vectors of sums: 28 of 32 registers; two more hold B */
#include <immintrin.h>
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define MR 6 /* 12 of 16 registers */
#include <immintrin.h>
#else
#define VECTOR_BYTES 16
#define MR 6
#endif
enum { LANES = VECTOR_BYTES / sizeof(sum_t), NR = 2 * LANES };

typedef sum_t vec_t __attribute__((vector_size(VECTOR_BYTES)));
typedef in_t raw_t __attribute__((vector_size(LANES * sizeof(in_t)))); /* LANES elements before widening */

static inline vec_t widen_vector(raw_t raw)
{
#if defined(IN_F16) && defined(__AVX512F__)
    return (vec_t)_mm512_cvtph_ps((__m256i)raw);
#elif defined(IN_F16) && defined(__AVX2__)
    return (vec_t)_mm256_cvtph_ps((__m128i)raw);
#elif defined(IN_F16)
    vec_t wide;
    for (int i = 0; i < LANES; i++)
        wide[i] = widen(raw[i]);
    return wide;
#elif defined(IN_BF16)
    typedef uint32_t bits_t __attribute__((vector_size(VECTOR_BYTES)));
    return (vec_t)(__builtin_convertvector(raw, bits_t) << 16);
#elif defined(IN_I8) && defined(__AVX512F__)
    return (vec_t)_mm512_cvtepi8_epi32((__m128i)raw);
#elif defined(IN_I8) && defined(__AVX2__)
    return (vec_t)_mm256_cvtepi8_epi32(_mm_set_epi64x(0, (int64_t)raw));
#elif defined(IN_I8)
    typedef int32_t signed_t __attribute__((vector_size(VECTOR_BYTES)));
    return (vec_t) __builtin_convertvector(raw, signed_t);
#else
    return (vec_t)raw;
#endif
}

/* Widens one element of A. */
static inline sum_t widen_scalar(in_t x)
{
#if defined(IN_F16) && defined(__F16C__)
    return _cvtsh_ss(x);
#elif defined(IN_BF16)
    return rungi_f32_from_bits((uint32_t)x << 16);
#else
    return widen(x);
#endif
}

/* Loads LANES contiguous elements. */
static inline vec_t load(const in_t *from)
{
    raw_t raw;
    memcpy(&raw, from, sizeof raw);
    return widen_vector(raw);
}

/* Loads the first `count` elements, at most LANES; the other lanes are zero. Reads nothing behind them. Uses masked loads
 * if the instruction set has them for this element size. */
static inline raw_t load_partial_raw(const in_t *from, int64_t count)
{
#if defined(__AVX512F__)
    const uint32_t mask = (1u << count) - 1;
#if defined(IN_F64)
    return (raw_t)_mm512_maskz_loadu_pd((__mmask8)mask, from);
#elif defined(IN_F32) || defined(IN_I32)
    return (raw_t)_mm512_maskz_loadu_epi32((__mmask16)mask, from);
#elif defined(IN_I8)
    return (raw_t)_mm_maskz_loadu_epi8((__mmask16)mask, from);
#else
    return (raw_t)_mm256_maskz_loadu_epi16((__mmask16)mask, from);
#endif
#elif defined(__AVX2__) && defined(IN_F64)
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    return (raw_t)_mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lanes));
#elif defined(__AVX2__) && (defined(IN_F32) || defined(IN_I32))
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
    return (raw_t)_mm256_maskload_epi32((const void *)from, mask);
#else
    raw_t raw = {0};
    memcpy(&raw, from, (size_t)count * sizeof(in_t));
    return raw;
#endif
}

static inline vec_t load_partial(const in_t *from, int64_t count)
{
    return widen_vector(load_partial_raw(from, count));
}

/* Loads `count` elements, at most LANES, `stride` elements apart; the other lanes are zero. */
static inline vec_t load_strided(const in_t *from, int64_t stride, int64_t count)
{
    raw_t raw = {0};
    for (int64_t i = 0; i < count; i++)
        raw[i] = from[i * stride];
    return widen_vector(raw);
}

static inline vec_t load_sums(const sum_t *from)
{
    vec_t sums;
    memcpy(&sums, from, sizeof sums);
    return sums;
}

static inline void store_sums(sum_t *to, vec_t sums)
{
    memcpy(to, &sums, sizeof sums);
}
