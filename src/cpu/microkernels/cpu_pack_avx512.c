/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack_avx512.c - transposes blocks in AVX-512 registers, and widens 16-bit floating point. */
#include "cpu/microkernels/cpu_pack.h"

#include "base/checked_arithmetic.h"
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

bool rungi_cpu_try_pack_avx512(const rungi_cpu_pack_args *pack)
{
    bool is_transposed = rungi_is_accumulator_type(pack->in) && pack->row_stride == 1;
    bool is_widened = (pack->in == RUNG_F16 || pack->in == RUNG_BF16) && pack->col_stride == 1;
    if (is_transposed)
        transpose(rung_type_size(pack->in), pack);
    for (int64_t i = 0; is_widened && i < pack->rows; i++)
        widen_row(pack->in, (const uint16_t *)pack->from + i * pack->row_stride, pack->cols,
                  (float *)pack->to + i * pack->to_row_stride);
    return is_transposed || is_widened;
}
