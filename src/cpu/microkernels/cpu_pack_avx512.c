/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack_avx512.c - transposes blocks in AVX-512 registers, and widens 16-bit floating point. */
#include "cpu/microkernels/cpu_pack.h"

#include "base/checked_arithmetic.h"

#include <immintrin.h>

/* ---- 4 bytes, 16 x 16 ----------------------------------------------------------------------- */

/* Exchanges single elements, then pairs, then groups of four. */
static void transpose_registers32(__m512 r[16])
{
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        __m512d x0 = _mm512_castps_pd(t[i]), x1 = _mm512_castps_pd(t[i + 1]);
        __m512d x2 = _mm512_castps_pd(t[i + 2]), x3 = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(x0, x2));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x0, x2));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(x1, x3));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(x1, x3));
    }
    for (int c = 0; c < 4; c++) {
        __m512 low0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88),
               low1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
        __m512 high0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd),
               high1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
        t[c] = _mm512_shuffle_f32x4(low0, low1, 0x88);
        t[c + 8] = _mm512_shuffle_f32x4(low0, low1, 0xdd);
        t[c + 4] = _mm512_shuffle_f32x4(high0, high1, 0x88);
        t[c + 12] = _mm512_shuffle_f32x4(high0, high1, 0xdd);
    }
    for (int i = 0; i < 16; i++)
        r[i] = t[i];
}

/* Transposes the rows x cols block at (i, j) of the source, whose columns are contiguous. */
static void transpose_block32(const rungi_cpu_pack_args *pack, int64_t i, int64_t j, int rows, int cols)
{
    const float *from = (const float *)pack->from + i + j * pack->col_stride;
    float *to = (float *)pack->to + i * pack->to_row_stride + j;
    __mmask16 row_mask = (__mmask16)((1u << rows) - 1), col_mask = (__mmask16)((1u << cols) - 1);
    __m512 r[16];
    for (int l = 0; l < 16; l++)
        r[l] = l < cols ? _mm512_maskz_loadu_ps(row_mask, from + l * pack->col_stride) : _mm512_setzero_ps();
    transpose_registers32(r);
    for (int l = 0; l < rows; l++)
        _mm512_mask_storeu_ps(to + l * pack->to_row_stride, col_mask, r[l]);
}

/* ---- 8 bytes, 8 x 8 ------------------------------------------------------------------------- */

static void transpose_registers64(__m512d r[8])
{
    __m512d t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    for (int c = 0; c < 2; c++) {
        __m512d low0 = _mm512_shuffle_f64x2(t[c], t[2 + c], 0x88),
                low1 = _mm512_shuffle_f64x2(t[4 + c], t[6 + c], 0x88);
        __m512d high0 = _mm512_shuffle_f64x2(t[c], t[2 + c], 0xdd),
                high1 = _mm512_shuffle_f64x2(t[4 + c], t[6 + c], 0xdd);
        r[c] = _mm512_shuffle_f64x2(low0, low1, 0x88);
        r[c + 4] = _mm512_shuffle_f64x2(low0, low1, 0xdd);
        r[c + 2] = _mm512_shuffle_f64x2(high0, high1, 0x88);
        r[c + 6] = _mm512_shuffle_f64x2(high0, high1, 0xdd);
    }
}

static void transpose_block64(const rungi_cpu_pack_args *pack, int64_t i, int64_t j, int rows, int cols)
{
    const double *from = (const double *)pack->from + i + j * pack->col_stride;
    double *to = (double *)pack->to + i * pack->to_row_stride + j;
    __mmask8 row_mask = (__mmask8)((1u << rows) - 1), col_mask = (__mmask8)((1u << cols) - 1);
    __m512d r[8];
    for (int l = 0; l < 8; l++)
        r[l] = l < cols ? _mm512_maskz_loadu_pd(row_mask, from + l * pack->col_stride) : _mm512_setzero_pd();
    transpose_registers64(r);
    for (int l = 0; l < rows; l++)
        _mm512_mask_storeu_pd(to + l * pack->to_row_stride, col_mask, r[l]);
}

void rungi_cpu_transpose_avx512(int64_t size, const rungi_cpu_pack_args *pack)
{
    int64_t side = 64 / size;
    for (int64_t i = 0; i < pack->rows; i += side)
        for (int64_t j = 0; j < pack->cols; j += side) {
            int rows = (int)rungi_min(side, pack->rows - i), cols = (int)rungi_min(side, pack->cols - j);
            if (size == 4)
                transpose_block32(pack, i, j, rows, cols);
            else
                transpose_block64(pack, i, j, rows, cols);
        }
}

/* ---- 16 bits ---------------------------------------------------------------------------------- */

void rungi_cpu_widen_avx512(rung_type in, const uint16_t *from, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i += 16) {
        __mmask16 some = (__mmask16)(count - i < 16 ? (1u << (count - i)) - 1 : 0xffff);
        __m256i halves = _mm256_maskz_loadu_epi16(some, from + i);
        __m512 floats = in == RUNG_F16 ? _mm512_cvtph_ps(halves)
                                       : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
        _mm512_mask_storeu_ps(to + i, some, floats);
    }
}
