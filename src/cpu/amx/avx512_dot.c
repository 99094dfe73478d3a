/* SPDX-License-Identifier: Apache-2.0 */
/* avx512_dot.c - multiplies panels without AMX tiles: by dot products of AVX-512, and F32 by FMA.
 *
 * One row of a packed tile of columns fills a register. One group of a packed row is broadcast. Eight rows times two registers
 * of columns are summed at a time. */
#include "cpu/amx/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { ROWS = 8 };

RUNGI_TARGET_AVX512_DOT static inline __m512i broadcast_group(const char *row)
{
    int32_t group;
    memcpy(&group, row, sizeof group);
    return _mm512_set1_epi32(group);
}

/* Adds the dot products of the groups of x and y to `sum`. */
RUNGI_TARGET_AVX512_DOT static RUNGI_ALWAYS_INLINE __m512i add_dot(bool is_i8, __m512i sum, __m512i x, __m512i y)
{
    return is_i8 ? _mm512_dpbusd_epi32(sum, x, y)
                 : _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sum), (__m512bh)x, (__m512bh)y));
}

/* The INT8 instruction multiplies unsigned by signed bytes. Therefore A has 128 added, and 128 times the column sums of B are
 * subtracted again, which is exact modulo 2^32. */
RUNGI_TARGET_AVX512_DOT static RUNGI_ALWAYS_INLINE void
dot_panel(bool is_i8, int64_t height, int64_t steps, const char *a, const char *b, bool is_first, char *sums)
{
    const __m512i all_128 = _mm512_set1_epi8((char)128);
    for (int64_t i = 0; i < height; i += ROWS, sums += ROWS * RUNGI_AMX_SUMS_ROW_BYTES) {
        __m512i sum[ROWS][2], extra[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                sum[r][c] = is_first ? _mm512_setzero_si512()
                                     : _mm512_load_si512(sums + r * RUNGI_AMX_SUMS_ROW_BYTES + 64 * c);
        for (int64_t step = 0; step < steps; step++) {
            const char *rows = a + step * RUNGI_AMX_PANEL_STEP_BYTES + i * RUNGI_AMX_STEP_BYTES;
            const char *columns = b + step * RUNGI_AMX_PANEL_STEP_BYTES;
            for (int g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++, rows += 4, columns += RUNGI_AMX_STEP_BYTES) {
                __m512i left = _mm512_load_si512(columns), right = _mm512_load_si512(columns + RUNGI_AMX_TILE_BYTES);
                if (is_i8) {
                    extra[0] = add_dot(true, extra[0], all_128, left);
                    extra[1] = add_dot(true, extra[1], all_128, right);
                }
                for (int r = 0; r < ROWS; r++) {
                    __m512i group = broadcast_group(rows + r * RUNGI_AMX_STEP_BYTES);
                    sum[r][0] = add_dot(is_i8, sum[r][0], group, left);
                    sum[r][1] = add_dot(is_i8, sum[r][1], group, right);
                }
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                _mm512_store_si512(sums + r * RUNGI_AMX_SUMS_ROW_BYTES + 64 * c,
                                   is_i8 ? _mm512_sub_epi32(sum[r][c], extra[c]) : sum[r][c]);
    }
}

RUNGI_TARGET_AVX512_DOT void rungi_avx512_dot(bool is_i8, int64_t height, int64_t steps, const char *a, const char *b,
                                              bool is_first, char *sums)
{
    if (is_i8)
        dot_panel(true, height, steps, a, b, is_first, sums);
    else
        dot_panel(false, height, steps, a, b, is_first, sums);
}

/* ---- F32 ------------------------------------------------------------------------------ */

void rungi_f32_panel_pack(const rungi_amx_operand *from, float *to)
{
    const float *first = (const float *)(const void *)from->first;
    for (int64_t p = 0; p < from->k; p++)
        for (int64_t r = 0; r < RUNGI_AMX_PANEL_WIDTH; r++)
            to[p * RUNGI_AMX_PANEL_WIDTH + r] = r < from->outer ? first[r * from->outer_stride + p * from->k_stride]
                                                                : 0;
}

/* `count` rows by 32 columns, which are prefetched for the next block but one. */
RUNGI_TARGET_AVX512 static inline __attribute__((always_inline)) void
fma_rows(int count, int64_t k, const float *rows, const float *columns, bool is_first, float *sums)
{
    enum { AHEAD = (16 << 10) / (int)sizeof(float) };
    __m512 sum[ROWS][2];
    for (int r = 0; r < count; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = is_first ? _mm512_setzero_ps() : _mm512_load_ps(sums + r * RUNGI_AMX_PANEL_WIDTH + 16 * c);
    for (int64_t p = 0; p < k; p++, columns += RUNGI_AMX_PANEL_WIDTH) {
        __m512 left = _mm512_load_ps(columns), right = _mm512_load_ps(columns + 16);
        _mm_prefetch((const char *)(columns + AHEAD), _MM_HINT_T1);
        _mm_prefetch((const char *)(columns + AHEAD + 16), _MM_HINT_T1);
        for (int r = 0; r < count; r++) {
            __m512 one = _mm512_set1_ps(rows[p * RUNGI_AMX_PANEL_WIDTH + r]);
            sum[r][0] = _mm512_fmadd_ps(one, left, sum[r][0]);
            sum[r][1] = _mm512_fmadd_ps(one, right, sum[r][1]);
        }
    }
    for (int r = 0; r < count; r++)
        for (int c = 0; c < 2; c++)
            _mm512_store_ps(sums + r * RUNGI_AMX_PANEL_WIDTH + 16 * c, sum[r][c]);
}

RUNGI_TARGET_AVX512 void rungi_f32_panel_multiply(int64_t height, int64_t k, const float *rows, const float *columns,
                                                  bool is_first, float *sums)
{
    for (int64_t i = 0; i < height; i += ROWS, rows += ROWS, sums += ROWS * RUNGI_AMX_PANEL_WIDTH)
        switch (height - i) {
        case 1: fma_rows(1, k, rows, columns, is_first, sums); break;
        case 2: fma_rows(2, k, rows, columns, is_first, sums); break;
        case 3:
        case 4: fma_rows(4, k, rows, columns, is_first, sums); break;
        default: fma_rows(ROWS, k, rows, columns, is_first, sums);
        }
}
#endif
