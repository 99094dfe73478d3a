/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_avx512.h - transposes square blocks of 4- and 8-byte elements in AVX-512 registers. */
#pragma once

#include "cpu/targets.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>

/* Returns the mask of the first `count` of 64 bytes. */
static inline __mmask64 rungi_first_bytes_mask(int64_t count)
{
    return count >= 64 ? ~(__mmask64)0 : count <= 0 ? 0 : ((__mmask64)1 << count) - 1;
}

/* Exchanges quarters of registers: the last two steps of a transposition. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void rungi_transpose_quarters(int count, __m512i *r)
{
    __m512i t[16];
    for (int i = 0; i < count; i += count / 2)
        for (int j = i; j < i + count / 4; j++) {
            t[j] = _mm512_shuffle_i32x4(r[j], r[j + count / 4], 0x88);
            t[j + count / 4] = _mm512_shuffle_i32x4(r[j], r[j + count / 4], 0xdd);
        }
    for (int j = 0; j < count / 2; j++) {
        r[j] = _mm512_shuffle_i32x4(t[j], t[j + count / 2], 0x88);
        r[j + count / 2] = _mm512_shuffle_i32x4(t[j], t[j + count / 2], 0xdd);
    }
}

/* Transposes 16 x 16 elements of 4 bytes. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void rungi_transpose_16x16(__m512i *r)
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    rungi_transpose_quarters(16, r);
}

/* Transposes 8 x 8 elements of 8 bytes. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void rungi_transpose_8x8(__m512i *r)
{
    for (int i = 0; i < 8; i += 2) {
        __m512i even = _mm512_unpacklo_epi64(r[i], r[i + 1]);
        r[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
        r[i] = even;
    }
    rungi_transpose_quarters(8, r);
}
#endif
