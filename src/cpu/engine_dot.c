/* SPDX-License-Identifier: Apache-2.0 */
/* engine_dot.c - a block of C without tiles: by the dot products of AVX-512, and of F32 by FMA. See
 * engine.h.
 *
 * A row of a packed tile of columns is one register, a group of a packed row is one number to
 * repeat. Eight rows by two registers of columns are summed at a time. */
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { ROWS = 8 };

RUNGI_ON_DOT static inline __m512i group_of(const char *row)
{
    int32_t group;
    memcpy(&group, row, sizeof group);
    return _mm512_set1_epi32(group);
}

RUNGI_ON_DOT void rungi_dot_bf16(int64_t height, int64_t steps, const char *a, const char *b, bool is_first,
                                 float *sums)
{
    for (int64_t i = 0; i < height; i += ROWS) {
        __m512 sum[ROWS][2];
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                sum[r][c] = is_first ? _mm512_setzero_ps() : _mm512_load_ps(sums + (i + r) * RUNGI_PANEL + 16 * c);
        for (int64_t step = 0; step < steps; step++) {
            const char *rows = a + step * RUNGI_PANEL_BYTES + i * RUNGI_STEP_BYTES;
            const char *columns = b + step * RUNGI_PANEL_BYTES;
            for (int g = 0; g < RUNGI_GROUPS; g++, rows += 4, columns += RUNGI_STEP_BYTES) {
                __m512bh left = (__m512bh)_mm512_load_si512(columns);
                __m512bh right = (__m512bh)_mm512_load_si512(columns + RUNGI_TILE_BYTES);
                for (int r = 0; r < ROWS; r++) {
                    __m512bh group = (__m512bh)group_of(rows + r * RUNGI_STEP_BYTES);
                    sum[r][0] = _mm512_dpbf16_ps(sum[r][0], group, left);
                    sum[r][1] = _mm512_dpbf16_ps(sum[r][1], group, right);
                }
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                _mm512_store_ps(sums + (i + r) * RUNGI_PANEL + 16 * c, sum[r][c]);
    }
}

/* The instruction multiplies bytes without a sign by bytes with one. So 128 is added to A's, and 128
 * times the sum of each column of B is taken off again; modulo 2^32 that is exact. */
RUNGI_ON_DOT void rungi_dot_i8(int64_t height, int64_t steps, const char *a, const char *b, bool is_first,
                               int32_t *sums)
{
    const __m512i all_128 = _mm512_set1_epi8((char)128);
    for (int64_t i = 0; i < height; i += ROWS) {
        __m512i sum[ROWS][2], extra[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                sum[r][c] = is_first ? _mm512_setzero_si512()
                                     : _mm512_load_si512(sums + (i + r) * RUNGI_PANEL + 16 * c);
        for (int64_t step = 0; step < steps; step++) {
            const char *rows = a + step * RUNGI_PANEL_BYTES + i * RUNGI_STEP_BYTES;
            const char *columns = b + step * RUNGI_PANEL_BYTES;
            for (int g = 0; g < RUNGI_GROUPS; g++, rows += 4, columns += RUNGI_STEP_BYTES) {
                __m512i left = _mm512_load_si512(columns), right = _mm512_load_si512(columns + RUNGI_TILE_BYTES);
                extra[0] = _mm512_dpbusd_epi32(extra[0], all_128, left);
                extra[1] = _mm512_dpbusd_epi32(extra[1], all_128, right);
                for (int r = 0; r < ROWS; r++) {
                    __m512i group = group_of(rows + r * RUNGI_STEP_BYTES);
                    sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], group, left);
                    sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], group, right);
                }
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                _mm512_store_si512(sums + (i + r) * RUNGI_PANEL + 16 * c, _mm512_sub_epi32(sum[r][c], extra[c]));
    }
}

/* ---- F32 as it stands ------------------------------------------------------------------------------ */

void rungi_lay_floats(const rungi_stretch *from, float *to)
{
    const float *first = (const float *)(const void *)from->first;
    for (int64_t p = 0; p < from->depth; p++)
        for (int64_t r = 0; r < RUNGI_PANEL; r++)
            to[p * RUNGI_PANEL + r] = r < from->items ? first[r * from->item_stride + p * from->depth_stride] : 0;
}

/* `count` rows by 32 columns, which are prefetched for the next block but one. */
RUNGI_ON_AVX512 static inline __attribute__((always_inline)) void
fma_rows(int count, int64_t depth, const float *rows, const float *columns, bool is_first, float *sums)
{
    enum { AHEAD = (16 << 10) / (int)sizeof(float) };
    __m512 sum[ROWS][2];
    for (int r = 0; r < count; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = is_first ? _mm512_setzero_ps() : _mm512_load_ps(sums + r * RUNGI_PANEL + 16 * c);
    for (int64_t p = 0; p < depth; p++, columns += RUNGI_PANEL) {
        __m512 left = _mm512_load_ps(columns), right = _mm512_load_ps(columns + 16);
        _mm_prefetch((const char *)(columns + AHEAD), _MM_HINT_T1);
        _mm_prefetch((const char *)(columns + AHEAD + 16), _MM_HINT_T1);
        for (int r = 0; r < count; r++) {
            __m512 one = _mm512_set1_ps(rows[p * RUNGI_PANEL + r]);
            sum[r][0] = _mm512_fmadd_ps(one, left, sum[r][0]);
            sum[r][1] = _mm512_fmadd_ps(one, right, sum[r][1]);
        }
    }
    for (int r = 0; r < count; r++)
        for (int c = 0; c < 2; c++)
            _mm512_store_ps(sums + r * RUNGI_PANEL + 16 * c, sum[r][c]);
}

RUNGI_ON_AVX512 void rungi_fma_block(int64_t height, int64_t depth, const float *rows, const float *columns,
                                     bool is_first, float *sums)
{
    for (int64_t i = 0; i < height; i += ROWS, rows += ROWS, sums += ROWS * RUNGI_PANEL)
        switch (height - i) {
        case 1: fma_rows(1, depth, rows, columns, is_first, sums); break;
        case 2: fma_rows(2, depth, rows, columns, is_first, sums); break;
        case 3:
        case 4: fma_rows(4, depth, rows, columns, is_first, sums); break;
        default: fma_rows(ROWS, depth, rows, columns, is_first, sums);
        }
}
#endif
