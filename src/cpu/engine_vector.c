/* SPDX-License-Identifier: Apache-2.0 */
/* engine_vector.c - BF16 where C has but one row or column: a matrix is read once, as it stands, and nothing is
 * worth packing. See engine.h.
 *
 * 32 numbers of BF16 are two registers of F32: the odd ones with what is below them cleared, the even ones
 * shifted. They are summed by FMA in F32. */
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { WIDE = 32, ROWS = 8, ITEMS = 8 };

typedef struct halves {
    __m512 even, odd;
} halves_t;

RUNGI_ON_AVX512 static inline halves_t halves_of(__m512i x)
{
    return (halves_t){_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                      _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)))};
}

RUNGI_ON_AVX512 static inline __mmask32 first_of(int64_t count)
{
    return count >= WIDE ? ~(__mmask32)0 : ((__mmask32)1 << count) - 1;
}

/* ---- Neighbours across k: rows, each by its number ----------------------------------------------------- */

/* Adds so many rows of items to sums, whose even ones stand before the odd ones. */
RUNGI_ON_AVX512 static inline void add_rows(int64_t rows, const uint16_t *first, int64_t stride, const float *by,
                                            int64_t items, float *sums)
{
    for (int64_t j = 0; j < items; j += WIDE) {
        __mmask32 mask = first_of(items - j);
        __m512 even = _mm512_load_ps(sums + j), odd = _mm512_load_ps(sums + j + WIDE / 2);
        for (int64_t r = 0; r < rows; r++) {
            const uint16_t *at = first + r * stride + j;
            halves_t x = halves_of(_mm512_maskz_loadu_epi16(mask, at));
            even = _mm512_fmadd_ps(x.even, _mm512_set1_ps(by[r]), even);
            odd = _mm512_fmadd_ps(x.odd, _mm512_set1_ps(by[r]), odd);
        }
        _mm512_store_ps(sums + j, even);
        _mm512_store_ps(sums + j + WIDE / 2, odd);
    }
}

/* Even and odd ones in turn. */
RUNGI_ON_AVX512 static void weave_sums(int64_t items, const float *from, float *to)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (int64_t j = 0; j < items; j += WIDE) {
        __m512 even = _mm512_load_ps(from + j), odd = _mm512_load_ps(from + j + WIDE / 2);
        __mmask32 mask = first_of(items - j);
        _mm512_mask_storeu_ps(to + j, (__mmask16)mask, _mm512_permutex2var_ps(even, low, odd));
        _mm512_mask_storeu_ps(to + j + WIDE / 2, (__mmask16)(mask >> 16), _mm512_permutex2var_ps(even, high, odd));
    }
}

RUNGI_ON_AVX512 static void sum_rows(const rungi_stretch *matrix, const uint16_t *vector, int64_t stride, float *sums)
{
    float room[RUNGI_VECTOR_ITEMS] __attribute__((aligned(64)));
    const uint16_t *first = (const uint16_t *)(const void *)matrix->first;
    for (int64_t x = 0; x < matrix->items; x += WIDE) {
        _mm512_store_ps(room + x, _mm512_setzero_ps());
        _mm512_store_ps(room + x + WIDE / 2, _mm512_setzero_ps());
    }
    for (int64_t p = 0; p < matrix->depth; p += ROWS) {
        float by[ROWS];
        int64_t rows = matrix->depth - p < ROWS ? matrix->depth - p : ROWS;
        for (int64_t r = 0; r < rows; r++)
            by[r] = rung_bf16_to_f32(vector[(p + r) * stride]);
        if (rows == ROWS)
            add_rows(ROWS, first + p * matrix->depth_stride, matrix->depth_stride, by, matrix->items, room);
        else
            add_rows(rows, first + p * matrix->depth_stride, matrix->depth_stride, by, matrix->items, room);
    }
    weave_sums(matrix->items, room, sums);
}

/* ---- Neighbours along k: columns, each by the vector ------------------------------------------------------ */

RUNGI_ON_AVX512 static inline void sum_columns_at_once(int64_t count, const rungi_stretch *matrix, int64_t item,
                                                       const uint16_t *vector, float *sums)
{
    const uint16_t *first = (const uint16_t *)(const void *)matrix->first + item * matrix->item_stride;
    __m512 even[ITEMS], odd[ITEMS];
    for (int64_t x = 0; x < count; x++)
        even[x] = odd[x] = _mm512_setzero_ps();
    for (int64_t p = 0; p < matrix->depth; p += WIDE) {
        __mmask32 mask = first_of(matrix->depth - p);
        halves_t by = halves_of(_mm512_maskz_loadu_epi16(mask, vector + p));
        for (int64_t x = 0; x < count; x++) {
            const uint16_t *at = first + x * matrix->item_stride + p;
            halves_t one = halves_of(_mm512_maskz_loadu_epi16(mask, at));
            even[x] = _mm512_fmadd_ps(one.even, by.even, even[x]);
            odd[x] = _mm512_fmadd_ps(one.odd, by.odd, odd[x]);
        }
    }
    for (int64_t x = 0; x < count; x++)
        sums[item + x] = _mm512_reduce_add_ps(_mm512_add_ps(even[x], odd[x]));
}

/* ---- The whole -------------------------------------------------------------------------------------------------- */

RUNGI_ON_AVX512 static void sum_items(const rungi_stretch *matrix, const uint16_t *vector, int64_t stride, float *sums)
{
    int64_t item = 0;
    if (matrix->depth_stride != 1 || stride != 1) {
        sum_rows(matrix, vector, stride, sums);
        return;
    }
    for (; item + ITEMS <= matrix->items; item += ITEMS)
        sum_columns_at_once(ITEMS, matrix, item, vector, sums);
    for (; item < matrix->items; item++)
        sum_columns_at_once(1, matrix, item, vector, sums);
}

bool rungi_vector_takes(const rungi_cpu_job *job)
{
    if (job->in != RUNG_BF16 || (job->m != 1 && job->n != 1))
        return false;
    return job->m == 1 ? job->b.col_stride == 1 || (job->b.row_stride == 1 && job->a.col_stride == 1)
                       : job->a.row_stride == 1 || (job->a.col_stride == 1 && job->b.row_stride == 1);
}

/* The last word on 32 sums, which stand in a row of a block or in a column of it. */
static void finish_items(const rungi_cpu_job *job, bool is_row, int64_t first, int64_t count, const float *sums,
                         float *block)
{
    rungi_block place = is_row ? (rungi_block){0, first, 1, count} : (rungi_block){first, 0, count, 1};
    for (int64_t x = 0; x < count; x++)
        block[is_row ? x : x * RUNGI_PANEL] = sums[x];
    rungi_finish_avx512(job, &place, block, RUNGI_PANEL);
}

void rungi_vector_multiply(const rungi_cpu_job *job, bool is_row)
{
    float *sums = (float *)(void *)job->scratch, *block = sums + RUNGI_VECTOR_ITEMS;
    const uint16_t *matrix = is_row ? job->b.first : job->a.first, *vector = is_row ? job->a.first : job->b.first;
    int64_t item_stride = is_row ? job->b.col_stride : job->a.row_stride;
    int64_t depth_stride = is_row ? job->b.row_stride : job->a.col_stride;
    for (int64_t first = 0, all = is_row ? job->n : job->m; first < all; first += RUNGI_VECTOR_ITEMS) {
        int64_t items = all - first < RUNGI_VECTOR_ITEMS ? all - first : RUNGI_VECTOR_ITEMS;
        rungi_stretch from = {(const char *)(matrix + first * item_stride), item_stride, depth_stride, items, job->k};
        sum_items(&from, vector, is_row ? job->a.col_stride : job->b.row_stride, sums);
        for (int64_t x = 0; x < items; x += RUNGI_PANEL)
            finish_items(job, is_row, first + x, items - x < RUNGI_PANEL ? items - x : RUNGI_PANEL, sums + x, block);
    }
}
#endif
