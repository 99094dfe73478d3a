/* SPDX-License-Identifier: Apache-2.0 */
/* simd.h - vectors of sums, of the instruction set that a kernel's file is compiled for.
 *
 * A file that includes this is compiled once for each type and instruction set. Vectors are
 * GCC's and clang's own, which add and multiply like numbers; what differs between
 * instruction sets is how wide they are and how one is loaded of which not all is there. */
#ifndef RUNGI_CPU_SIMD_H
#define RUNGI_CPU_SIMD_H

#include "cpu/kernels/types.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define MR 14 /* with NR: 28 registers of 32 for sums, and two for B */
#include <immintrin.h>
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define MR 6 /* 12 of 16 */
#include <immintrin.h>
#else
#define VECTOR_BYTES 16
#define MR 6
#endif
enum { LANES = VECTOR_BYTES / sizeof(sum_t), NR = 2 * LANES };

typedef sum_t vec_t __attribute__((vector_size(VECTOR_BYTES)));
typedef in_t raw_t __attribute__((vector_size(LANES * sizeof(in_t)))); /* as many, as they are stored */

static inline vec_t widen_all(raw_t raw)
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

/* One of A's. */
static inline sum_t widen_one(in_t x)
{
#if defined(IN_F16) && defined(__F16C__)
    return _cvtsh_ss(x);
#elif defined(IN_BF16)
    return rungi_float_of((uint32_t)x << 16);
#else
    return widen(x);
#endif
}

/* LANES elements, side by side. */
static inline vec_t load(const in_t *from)
{
    raw_t raw;
    memcpy(&raw, from, sizeof raw);
    return widen_all(raw);
}

/* The first count of them, at most LANES, and zeros: nothing behind them is read. By masks where
 * there are any for elements of this size. */
static inline raw_t load_raw(const in_t *from, int64_t count)
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
#elif defined(__AVX2__) && defined(IN_F32)
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (raw_t)_mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes));
#elif defined(__AVX2__) && defined(IN_I32)
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (raw_t)_mm256_maskload_epi32(from, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes));
#else
    raw_t raw = {0};
    memcpy(&raw, from, (size_t)count * sizeof(in_t));
    return raw;
#endif
}

static inline vec_t load_some(const in_t *from, int64_t count)
{
    return widen_all(load_raw(from, count));
}

/* The same of elements that do not lie side by side. */
static inline vec_t load_spread(const in_t *from, int64_t stride, int64_t count)
{
    raw_t raw = {0};
    for (int64_t i = 0; i < count; i++)
        raw[i] = from[i * stride];
    return widen_all(raw);
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

#endif /* RUNGI_CPU_SIMD_H */
