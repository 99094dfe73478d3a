/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_elements.h - converts the elements of matrix fragments, which are packed in 32-bit words, for execute_mma.c and
 * execute_mma_forms.c. Elements keep their order: that of the words, and in a word from the lowest bits up. */
#pragma once

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

/* Converts `count` halves; count is a multiple of 16. */
static inline void widen_f16(const uint16_t *halves, int count, float *to)
{
#if defined(__AVX512F__)
    for (int i = 0; i < count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(halves + i))));
#elif defined(__F16C__)
    for (int i = 0; i < count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + i))));
#else
    for (int i = 0; i < count; i++)
        to[i] = f16_to_f32(halves[i]);
#endif
}

/* Converts the elements of `count` words, a multiple of 16, to single precision. Elements of 4 and 6 bits are in bytes. */
static inline void unpack_floats(const uint32_t *words, int count, ptx_type_t type, float *to)
{
    const uint16_t *halves = (const uint16_t *)(const void *)words;
    const uint8_t *bytes = (const uint8_t *)(const void *)words;
    switch (type) {
    case PTX_F16: widen_f16(halves, 2 * count, to); break;
    case PTX_BF16:
        for (int i = 0; i < 2 * count; i++)
            to[i] = bf16_to_f32(halves[i]);
        break;
    case PTX_TF32:
        for (int i = 0; i < count; i++)
            to[i] = f32_of_bits(words[i] & ~0x1fffu);
        break;
    case PTX_E4M3:
        for (int i = 0; i < 4 * count; i++)
            to[i] = e4m3_to_f32(bytes[i]);
        break;
    case PTX_E2M1: /* in the middle of a byte */
        for (int i = 0; i < 4 * count; i++)
            to[i] = e2m1_to_f32(bytes[i] >> 2 & 15u);
        break;
    case PTX_E2M3: /* in the lower bits of a byte */
        for (int i = 0; i < 4 * count; i++)
            to[i] = e2m3_to_f32(bytes[i]);
        break;
    case PTX_E3M2:
        for (int i = 0; i < 4 * count; i++)
            to[i] = e3m2_to_f32(bytes[i]);
        break;
    default:
        for (int i = 0; i < 4 * count; i++)
            to[i] = e5m2_to_f32(bytes[i]);
        break;
    }
}

/* Element e of a word, as an integer. */
static inline int32_t integer_element(uint32_t word, int e, ptx_type_t type)
{
    switch (type) {
    case PTX_S8: return (int8_t)(word >> 8 * e);
    case PTX_U8: return (uint8_t)(word >> 8 * e);
    case PTX_S4: return (int32_t)(word >> 4 * e << 28) >> 28;
    default: return (int32_t)(word >> 4 * e & 15);
    }
}

/* Converts the elements of `count` words to 32-bit integers. */
static inline void unpack_integers(const uint32_t *words, int count, ptx_type_t type, int32_t *to)
{
    int per_word = type == PTX_S8 || type == PTX_U8 ? 4 : 8;
    for (int i = 0; i < count * per_word; i++)
        to[i] = integer_element(words[i / per_word], i % per_word, type);
}
