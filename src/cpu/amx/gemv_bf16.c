/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_bf16.c - BF16 matrix times vector: C has one row or one column. The matrix is read once, in place: packing would not pay.
 *
 * 32 BF16 elements become two F32 registers: odd elements with the lower half cleared, even elements shifted. FMA sums them. */
#include "base/checked_arithmetic.h"
#include "cpu/amx/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { BF16_LANES = 32, ROWS = 8, COLUMNS_PER_PASS = 8 };

typedef struct even_odd {
    __m512 even, odd;
} even_odd_t;

RUNGI_TARGET_AVX512 static inline even_odd_t split_even_odd(__m512i x)
{
    return (even_odd_t){_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                        _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)))};
}

RUNGI_TARGET_AVX512 static inline __mmask32 mask_of_first_elements(int64_t count)
{
    return count >= BF16_LANES ? ~(__mmask32)0 : ((__mmask32)1 << count) - 1;
}

/* ---- Contiguous across k: add rows times a factor ------------------------------------------------ */

/* Adds `rows` rows times their factors to the sums, which hold even elements before odd ones. */
RUNGI_TARGET_AVX512 static inline void accumulate_rows(int64_t rows, const uint16_t *first, int64_t stride,
                                                       const float *by, int64_t items, float *sums)
{
    for (int64_t j = 0; j < items; j += BF16_LANES) {
        __mmask32 mask = mask_of_first_elements(items - j);
        __m512 even = _mm512_load_ps(sums + j), odd = _mm512_load_ps(sums + j + BF16_LANES / 2);
        for (int64_t r = 0; r < rows; r++) {
            const uint16_t *at = first + r * stride + j;
            even_odd_t x = split_even_odd(_mm512_maskz_loadu_epi16(mask, at));
            even = _mm512_fmadd_ps(x.even, _mm512_set1_ps(by[r]), even);
            odd = _mm512_fmadd_ps(x.odd, _mm512_set1_ps(by[r]), odd);
        }
        _mm512_store_ps(sums + j, even);
        _mm512_store_ps(sums + j + BF16_LANES / 2, odd);
    }
}

/* Interleaves the even and odd sums. */
RUNGI_TARGET_AVX512 static void interleave_sums(int64_t items, const float *from, float *to)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (int64_t j = 0; j < items; j += BF16_LANES) {
        __m512 even = _mm512_load_ps(from + j), odd = _mm512_load_ps(from + j + BF16_LANES / 2);
        __mmask32 mask = mask_of_first_elements(items - j);
        _mm512_mask_storeu_ps(to + j, (__mmask16)mask, _mm512_permutex2var_ps(even, low, odd));
        _mm512_mask_storeu_ps(to + j + BF16_LANES / 2, (__mmask16)(mask >> 16),
                              _mm512_permutex2var_ps(even, high, odd));
    }
}

RUNGI_TARGET_AVX512 static void gemv_contiguous_outputs(const rungi_amx_operand *matrix, const uint16_t *vector,
                                                        int64_t stride, float *sums)
{
    float split_sums[RUNGI_GEMV_CHUNK_ELEMENTS] __attribute__((aligned(64)));
    const uint16_t *first = (const uint16_t *)(const void *)matrix->first;
    for (int64_t x = 0; x < matrix->outer; x += BF16_LANES) {
        _mm512_store_ps(split_sums + x, _mm512_setzero_ps());
        _mm512_store_ps(split_sums + x + BF16_LANES / 2, _mm512_setzero_ps());
    }
    for (int64_t p = 0; p < matrix->k; p += ROWS) {
        float by[ROWS];
        int64_t rows = rungi_min(matrix->k - p, ROWS);
        for (int64_t r = 0; r < rows; r++)
            by[r] = rung_bf16_to_f32(vector[(p + r) * stride]);
        if (rows == ROWS)
            accumulate_rows(ROWS, first + p * matrix->k_stride, matrix->k_stride, by, matrix->outer, split_sums);
        else
            accumulate_rows(rows, first + p * matrix->k_stride, matrix->k_stride, by, matrix->outer, split_sums);
    }
    interleave_sums(matrix->outer, split_sums, sums);
}

/* ---- Contiguous along k: dot products ------------------------------------------------------------- */

RUNGI_TARGET_AVX512 static inline void gemv_dot_products(int64_t count, const rungi_amx_operand *matrix, int64_t item,
                                                         const uint16_t *vector, float *sums)
{
    const uint16_t *first = (const uint16_t *)(const void *)matrix->first + item * matrix->outer_stride;
    __m512 even[COLUMNS_PER_PASS], odd[COLUMNS_PER_PASS];
    for (int64_t x = 0; x < count; x++)
        even[x] = odd[x] = _mm512_setzero_ps();
    for (int64_t p = 0; p < matrix->k; p += BF16_LANES) {
        __mmask32 mask = mask_of_first_elements(matrix->k - p);
        even_odd_t by = split_even_odd(_mm512_maskz_loadu_epi16(mask, vector + p));
        for (int64_t x = 0; x < count; x++) {
            const uint16_t *at = first + x * matrix->outer_stride + p;
            even_odd_t one = split_even_odd(_mm512_maskz_loadu_epi16(mask, at));
            even[x] = _mm512_fmadd_ps(one.even, by.even, even[x]);
            odd[x] = _mm512_fmadd_ps(one.odd, by.odd, odd[x]);
        }
    }
    for (int64_t x = 0; x < count; x++)
        sums[item + x] = _mm512_reduce_add_ps(_mm512_add_ps(even[x], odd[x]));
}

/* ---- The whole job -------------------------------------------------------------------------------- */

RUNGI_TARGET_AVX512 static void gemv_chunk(const rungi_amx_operand *matrix, const uint16_t *vector, int64_t stride,
                                           float *sums)
{
    int64_t item = 0;
    if (matrix->k_stride != 1 || stride != 1) {
        gemv_contiguous_outputs(matrix, vector, stride, sums);
        return;
    }
    for (; item + COLUMNS_PER_PASS <= matrix->outer; item += COLUMNS_PER_PASS)
        gemv_dot_products(COLUMNS_PER_PASS, matrix, item, vector, sums);
    for (; item < matrix->outer; item++)
        gemv_dot_products(1, matrix, item, vector, sums);
}

bool rungi_gemv_bf16_is_supported(const rungi_cpu_job *job)
{
    if (job->in != RUNG_BF16 || (job->m != 1 && job->n != 1))
        return false;
    return job->m == 1 ? job->b.col_stride == 1 || (job->b.row_stride == 1 && job->a.col_stride == 1)
                       : job->a.row_stride == 1 || (job->a.col_stride == 1 && job->b.row_stride == 1);
}

/* Applies the epilogue to up to 32 sums and stores them as a row or a column of C. */
static void store_chunk(const rungi_cpu_job *job, bool is_row, int64_t first, int64_t count, const float *sums,
                        float *block)
{
    rungi_cpu_c_block block_of_c = is_row ? (rungi_cpu_c_block){0, first, 1, count}
                                          : (rungi_cpu_c_block){first, 0, count, 1};
    for (int64_t x = 0; x < count; x++)
        block[is_row ? x : x * RUNGI_AMX_PANEL_WIDTH] = sums[x];
    rungi_cpu_epilogue_apply_avx512(job, &block_of_c, block, RUNGI_AMX_PANEL_WIDTH);
}

void rungi_gemv_bf16_run(const rungi_cpu_job *job, bool is_row)
{
    float *sums = (float *)(void *)job->scratch, *block = sums + RUNGI_GEMV_CHUNK_ELEMENTS;
    const uint16_t *matrix = is_row ? job->b.first : job->a.first, *vector = is_row ? job->a.first : job->b.first;
    int64_t outer_stride = is_row ? job->b.col_stride : job->a.row_stride;
    int64_t k_stride = is_row ? job->b.row_stride : job->a.col_stride;
    for (int64_t first = 0, all = is_row ? job->n : job->m; first < all; first += RUNGI_GEMV_CHUNK_ELEMENTS) {
        int64_t items = rungi_min(all - first, RUNGI_GEMV_CHUNK_ELEMENTS);
        rungi_amx_operand from = {(const char *)(matrix + first * outer_stride), outer_stride, k_stride, items, job->k};
        gemv_chunk(&from, vector, is_row ? job->a.col_stride : job->b.row_stride, sums);
        for (int64_t x = 0; x < items; x += RUNGI_AMX_PANEL_WIDTH)
            store_chunk(job, is_row, first + x, rungi_min(items - x, RUNGI_AMX_PANEL_WIDTH), sums + x, block);
    }
}
#endif
