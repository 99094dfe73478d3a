/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack_avx512.c - transposes blocks in AVX-512 registers, widens 16-bit floating point, and dequantizes. */
#include "cpu/microkernels/cpu_pack.h"

#include "base/checked_arithmetic.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/microkernels/transpose_avx512.h"

/* Transposes the block at (i, j) of the source, whose columns are contiguous: 16 x 16 elements of 4 bytes or 8 x 8 elements of
 * 8 bytes, fewer at the edges. */
static RUNGI_ALWAYS_INLINE void transpose_block(int64_t size, const rungi_cpu_pack_args *pack, int64_t i, int64_t j)
{
    const int64_t side = 64 / size, rows = rungi_min(side, pack->rows - i), cols = rungi_min(side, pack->cols - j);
    const char *from = (const char *)pack->from + (i + j * pack->col_stride) * size;
    char *to = (char *)pack->to + (i * pack->to_row_stride + j) * size;
    __mmask64 row_mask = rungi_first_bytes_mask(rows * size), col_mask = rungi_first_bytes_mask(cols * size);
    __m512i r[16];
    for (int64_t l = 0; l < side; l++)
        r[l] = l < cols ? _mm512_maskz_loadu_epi8(row_mask, from + l * pack->col_stride * size)
                        : _mm512_setzero_si512();
    if (size == 4)
        rungi_transpose_16x16(r);
    else
        rungi_transpose_8x8(r);
    for (int64_t l = 0; l < rows; l++)
        _mm512_mask_storeu_epi8(to + l * pack->to_row_stride * size, col_mask, r[l]);
}

static void transpose(int64_t size, const rungi_cpu_pack_args *pack)
{
    int64_t side = 64 / size;
    for (int64_t i = 0; i < pack->rows; i += side)
        for (int64_t j = 0; j < pack->cols; j += side)
            if (size == 4)
                transpose_block(4, pack, i, j);
            else
                transpose_block(8, pack, i, j);
}

/* Widens `count` contiguous F16 or BF16 elements. */
static void widen_row(rung_type in, const uint16_t *from, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i += 16) {
        __mmask16 some = (__mmask16)(count - i < 16 ? (1u << (count - i)) - 1 : 0xffff);
        __m256i halves = _mm256_maskz_loadu_epi16(some, from + i);
        __m512 floats = in == RUNG_F16 ? _mm512_cvtph_ps(halves)
                                       : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
        _mm512_mask_storeu_ps(to + i, some, floats);
    }
}

/* Dequantizes half of a block: elements 0 ... 15 or 16 ... 31. */
static RUNGI_ALWAYS_INLINE __m512 dequantize_half(rung_type in, const void *block, int half)
{
    const rungi_q8_0_block *q8 = block;
    const rungi_q4_0_block *q4 = block;
    __m512i integers;
    if (in == RUNG_Q8_0) {
        integers = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(q8->elements + 16 * half)));
    } else {
        integers = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)q4->pairs));
        integers = half ? _mm512_srli_epi32(integers, 4) : _mm512_and_si512(integers, _mm512_set1_epi32(15));
        integers = _mm512_sub_epi32(integers, _mm512_set1_epi32(8));
    }
    uint16_t scale = in == RUNG_Q8_0 ? q8->scale : q4->scale;
    return _mm512_mul_ps(_mm512_cvtepi32_ps(integers), _mm512_set1_ps(_cvtsh_ss(scale)));
}

/* Dequantizes the blocks of up to 16 columns from (i, j) on, and transposes them. */
static RUNGI_ALWAYS_INLINE void dequantize_columns(rung_type in, const rungi_cpu_pack_args *pack, int64_t i, int64_t j)
{
    int64_t cols = rungi_min(16, pack->cols - j);
    const char *from = (const char *)pack->from + rungi_type_bytes(in, i + j * pack->col_stride);
    int64_t step = rungi_type_bytes(in, pack->col_stride);
    __mmask64 mask = rungi_first_bytes_mask(cols * 4);
    for (int half = 0; half < 2; half++) {
        float *to = (float *)pack->to + (i + 16 * half) * pack->to_row_stride + j;
        __m512i r[16];
        for (int64_t l = 0; l < 16; l++)
            r[l] = l < cols ? _mm512_castps_si512(dequantize_half(in, from + l * step, half)) : _mm512_setzero_si512();
        rungi_transpose_16x16(r);
        for (int64_t l = 0; l < 16; l++)
            _mm512_mask_storeu_epi8(to + l * pack->to_row_stride, mask, r[l]);
    }
}

static void dequantize(const rungi_cpu_pack_args *pack)
{
    for (int64_t j = 0; j < pack->cols; j += 16)
        for (int64_t i = 0; i < pack->rows; i += RUNGI_GGML_BLOCK_ELEMENTS)
            if (pack->in == RUNG_Q8_0)
                dequantize_columns(RUNG_Q8_0, pack, i, j);
            else
                dequantize_columns(RUNG_Q4_0, pack, i, j);
}

bool rungi_cpu_try_pack_avx512(const rungi_cpu_pack_args *pack)
{
    bool is_transposed = rungi_is_accumulator_type(pack->in) && pack->row_stride == 1;
    bool is_widened = (pack->in == RUNG_F16 || pack->in == RUNG_BF16) && pack->col_stride == 1;
    if (rungi_type_has_scales(pack->in)) {
        dequantize(pack);
        return true;
    }
    if (is_transposed)
        transpose(rung_type_size(pack->in), pack);
    for (int64_t i = 0; is_widened && i < pack->rows; i++)
        widen_row(pack->in, (const uint16_t *)pack->from + i * pack->row_stride, pack->cols,
                  (float *)pack->to + i * pack->to_row_stride);
    return is_transposed || is_widened;
}
