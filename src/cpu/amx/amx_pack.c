/* SPDX-License-Identifier: Apache-2.0 */
/* amx_pack.c - packs operands for matrix instructions, and stores sums. See amx.h.
 *
 * Operands that are contiguous along k are copied into panels of rows. Operands that are contiguous across k are interleaved
 * into panels of columns. In the opposite cases 16 x 16 groups are transposed in registers. Operands without a unit stride
 * are gathered first. */
#include "cpu/amx/amx.h"

#include <string.h>

#include "base/checked_arithmetic.h"
#include "cpu/microkernels/transpose_avx512.h"

#if defined(__x86_64__)

typedef __m512i amx_tile_t[RUNGI_AMX_GROUPS_PER_STEP];

/* ---- Three BF16 terms -------------------------------------------------------------------------------- */

/* Splits x into three terms whose lower 16 bits are 0: each is the remainder rounded to BF16, ties away from zero. Infinities, NaNs
 * and values that round past the largest BF16 give useless terms; 12_matrix multiplies them by FMA. */
RUNGI_TARGET_AVX512 static inline void split_bf16x3(__m512 x, __m512i *term)
{
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32((int)0xffff0000);
    term[0] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(term[0]));
    term[1] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
    term[2] = _mm512_castps_si512(_mm512_sub_ps(x, _mm512_castsi512_ps(term[1])));
}

/* A rungi_bf16x3_range per lane while it is computed. */
typedef struct range_vectors {
    __m512i max, min_less_one, lost_bits;
} range_vectors_t;

RUNGI_TARGET_AVX512 static inline range_vectors_t empty_range(void)
{
    return (range_vectors_t){_mm512_setzero_si512(), _mm512_set1_epi32(-1), _mm512_setzero_si512()};
}

/* Combines both BF16 halves of each lane, and all lanes. */
RUNGI_TARGET_AVX512 static inline rungi_bf16x3_range reduce_range(range_vectors_t range)
{
    const __m512i lower = _mm512_set1_epi32(0xffff);
    __m512i most = _mm512_max_epu32(_mm512_srli_epi32(range.max, 16), _mm512_and_si512(range.max, lower));
    __m512i least = _mm512_min_epu32(_mm512_srli_epi32(range.min_less_one, 16),
                                     _mm512_and_si512(range.min_less_one, lower));
    return (rungi_bf16x3_range){_mm512_reduce_max_epu32(most), _mm512_reduce_min_epu32(least),
                                (uint32_t)_mm512_reduce_or_epi32(range.lost_bits) & 0xffff};
}

/* docs/internals/decisions/0025 derives the bounds. */
bool rungi_bf16x3_is_safe(const rungi_bf16x3_range *a, const rungi_bf16x3_range *b, int64_t k)
{
    enum { BIAS = 127, MOST = 126, LEAST = -102, LEAST_OF_BOTH = -78, MOST_OF_BOTH = 120 };
    int32_t a_most = (int32_t)(a->max >> 7) - BIAS, b_most = (int32_t)(b->max >> 7) - BIAS;
    int32_t a_least = (int32_t)((a->min_less_one + 1) >> 7) - BIAS,
            b_least = (int32_t)((b->min_less_one + 1) >> 7) - BIAS;
    int32_t of_k = 64 - __builtin_clzll((unsigned long long)k);
    if (a->lost_bits || b->lost_bits || a_most > MOST || b_most > MOST)
        return false;
    if (a->max == 0 || b->max == 0) /* nothing but zeros on one side */
        return true;
    return a_most + b_most + of_k <= MOST_OF_BOTH && a_least >= LEAST && b_least >= LEAST &&
           a_least + b_least >= LEAST_OF_BOTH;
}

/* Stores groups of one element of x and one of y, `term_bytes` from term to term, and updates the range. */
RUNGI_TARGET_AVX512 static inline void pack_pair_groups(__m512 x, __m512 y, char *to, int64_t term_bytes,
                                                        range_vectors_t *range)
{
    __m512i low[RUNGI_BF16X3_TERMS], high[RUNGI_BF16X3_TERMS], groups[RUNGI_BF16X3_TERMS];
    split_bf16x3(x, low);
    split_bf16x3(y, high);
    for (int i = 0; i < RUNGI_BF16X3_TERMS; i++) {
        groups[i] = _mm512_or_si512(_mm512_srli_epi32(low[i], 16), high[i]);
        _mm512_store_si512(to + i * term_bytes, groups[i]);
    }
    __m512i size = _mm512_and_si512(groups[0], _mm512_set1_epi32(0x7fff7fff));
    range->max = _mm512_max_epu16(range->max, size);
    range->min_less_one = _mm512_min_epu16(range->min_less_one, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
    range->lost_bits = _mm512_ternarylogic_epi32(range->lost_bits, low[2], high[2], 0xfe); /* bitwise or of the three */
}

/* ---- One tile, from any storage order ------------------------------------------------------------- */

/* Loads the first `count` of 16 elements; the others are zero. */
RUNGI_TARGET_AVX512 static inline __m512 load_first_f32(int64_t count, const char *from)
{
    return _mm512_maskz_loadu_ps((__mmask16)rungi_first_bytes_mask(rungi_min(count, 16)), from);
}

/* Loads rows of groups, of elements that are contiguous along k. */
RUNGI_TARGET_AVX512 static void load_along_k(rungi_amx_packing packing, const rungi_amx_operand *from,
                                             amx_tile_t *terms, range_vectors_t *range)
{
    int64_t size = rungi_amx_element_bytes(packing);
    for (int64_t r = 0; r < RUNGI_AMX_GROUPS_PER_STEP; r++) {
        const char *row = from->first + r * from->outer_stride * size;
        int64_t depth = r < from->outer ? from->k : 0;
        if (packing == RUNGI_AMX_PACKING_BF16X3)
            pack_pair_groups(load_first_f32(depth, row), load_first_f32(depth - 16, row + 64), (char *)&terms[0][r],
                             sizeof *terms, range);
        else
            terms[0][r] = _mm512_maskz_loadu_epi8(rungi_first_bytes_mask(depth * size), row);
    }
}

/* Splits up to 16 columns of F32 that are contiguous across k, for one step of k. */
RUNGI_TARGET_AVX512 static inline void split_across_k(const char *first, int64_t row_bytes, int64_t depth,
                                                      __mmask16 mask, char *to, int64_t term_bytes,
                                                      range_vectors_t *range)
{
    for (int64_t g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++, first += row_bytes, to += RUNGI_AMX_STEP_BYTES)
        pack_pair_groups(g < depth ? _mm512_maskz_loadu_ps(mask, first) : _mm512_setzero_ps(),
                         g + 16 < depth ? _mm512_maskz_loadu_ps(mask, first + 16 * row_bytes) : _mm512_setzero_ps(), to,
                         term_bytes, range);
}

/* Loads columns of groups, of elements that are contiguous across k. */
RUNGI_TARGET_AVX512 static void load_across_k(rungi_amx_packing packing, const rungi_amx_operand *from,
                                              amx_tile_t *terms, range_vectors_t *range)
{
    int64_t size = rungi_amx_element_bytes(packing), row_bytes = from->k_stride * size;
    __mmask16 mask = (__mmask16)rungi_first_bytes_mask(rungi_min(from->outer, 16));
    if (packing == RUNGI_AMX_PACKING_BF16X3) {
        split_across_k(from->first, row_bytes, from->k, mask, (char *)terms, sizeof *terms, range);
        return;
    }
    for (int64_t g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++) {
        int64_t count = rungi_amx_step_elements(packing) / RUNGI_AMX_GROUPS_PER_STEP, done = g * count;
        const char *at = from->first + done * row_bytes;
        terms[0][g] = _mm512_setzero_si512();
        for (int64_t e = 0; e < count && done + e < from->k; e++, at += row_bytes) {
            __m512i one = packing == RUNGI_AMX_PACKING_BF16 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at))
                                                            : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, at));
            terms[0][g] = _mm512_or_si512(terms[0][g], _mm512_sll_epi32(one, _mm_cvtsi32_si128((int)(8 * size * e))));
        }
    }
}

/* Copies the elements of a tile to `gathered_bytes`, contiguous along k. */
static void gather_strided(rungi_amx_packing packing, const rungi_amx_operand *from, char *gathered_bytes,
                           rungi_amx_operand *gathered)
{
    int64_t size = rungi_amx_element_bytes(packing), step = rungi_amx_step_elements(packing),
            items = rungi_min(from->outer, RUNGI_AMX_GROUPS_PER_STEP);
    for (int64_t r = 0; r < items; r++)
        for (int64_t p = 0; p < from->k; p++)
            memcpy(gathered_bytes + (r * step + p) * size,
                   from->first + (r * from->outer_stride + p * from->k_stride) * size, (size_t)size);
    *gathered = (rungi_amx_operand){gathered_bytes, step, 1, items, from->k};
}

/* Packs up to 16 rows of A or columns of B and one step of k, as rows or as columns. */
RUNGI_TARGET_AVX512 static void pack_tile(rungi_amx_packing packing, const rungi_amx_operand *from, bool by_rows,
                                          char *to, range_vectors_t *range)
{
    amx_tile_t terms[RUNGI_BF16X3_TERMS];
    char gathered_bytes[RUNGI_AMX_GROUPS_PER_STEP * 32 * 4];
    rungi_amx_operand gathered;
    bool is_across_k = from->outer_stride == 1 && from->k_stride != 1;
    if (from->k_stride != 1 && from->outer_stride != 1) {
        gather_strided(packing, from, gathered_bytes, &gathered);
        from = &gathered;
    }
    if (is_across_k)
        load_across_k(packing, from, terms, range);
    else
        load_along_k(packing, from, terms, range);
    for (int i = 0; i < (packing == RUNGI_AMX_PACKING_BF16X3 ? RUNGI_BF16X3_TERMS : 1); i++) {
        if (by_rows == is_across_k)
            rungi_transpose_16x16(terms[i]);
        for (int r = 0; r < RUNGI_AMX_GROUPS_PER_STEP; r++)
            _mm512_store_si512(to + i * RUNGI_AMX_PANEL_STEP_BYTES + r * RUNGI_AMX_STEP_BYTES, terms[i][r]);
    }
}

/* Packs one panel of any operand, tile by tile. */
RUNGI_TARGET_AVX512 static void pack_panel(rungi_amx_packing packing, const rungi_amx_operand *from, bool by_rows,
                                           char *to, rungi_bf16x3_range *range)
{
    int64_t size = rungi_amx_element_bytes(packing), step = rungi_amx_step_elements(packing);
    range_vectors_t found = empty_range();
    for (int64_t p = 0; p < from->k; p += step, to += rungi_amx_step_bytes(packing))
        for (int64_t r = 0; r < RUNGI_AMX_PANEL_WIDTH; r += RUNGI_AMX_GROUPS_PER_STEP) {
            rungi_amx_operand source = *from;
            source.outer = rungi_max(from->outer - r, 0);
            source.k = rungi_min(from->k - p, step);
            source.first += (source.outer ? r * from->outer_stride + p * from->k_stride : 0) * size;
            pack_tile(packing, &source, by_rows, to + r * RUNGI_AMX_STEP_BYTES, &found);
        }
    if (range)
        *range = reduce_range(found);
}

/* ---- Fast paths ------------------------------------------------------------------------------- */

/* Copies rows that are contiguous along k, 64 bytes at a time. */
RUNGI_TARGET_AVX512 static void copy_contiguous_rows(int64_t size, const rungi_amx_operand *from, char *to)
{
    int64_t bytes = from->k * size, whole = bytes / RUNGI_AMX_STEP_BYTES * RUNGI_AMX_STEP_BYTES;
    __mmask64 mask = rungi_first_bytes_mask(bytes - whole);
    for (int64_t r = 0; r < RUNGI_AMX_PANEL_WIDTH; r++, to += RUNGI_AMX_STEP_BYTES) {
        const char *row = from->first + r * from->outer_stride * size;
        int64_t p = 0;
        if (r < from->outer) {
            for (; p < whole; p += RUNGI_AMX_STEP_BYTES)
                _mm512_store_si512(to + p * RUNGI_AMX_PANEL_WIDTH, _mm512_loadu_si512(row + p));
            if (mask)
                _mm512_store_si512(to + p * RUNGI_AMX_PANEL_WIDTH, _mm512_maskz_loadu_epi8(mask, row + p));
        } else {
            for (; p < bytes; p += RUNGI_AMX_STEP_BYTES)
                _mm512_store_si512(to + p * RUNGI_AMX_PANEL_WIDTH, _mm512_setzero_si512());
        }
    }
}

/* Interleaves two steps of k of 32 columns: one group per column, in two tiles. */
RUNGI_TARGET_AVX512 static inline void interleave_bf16(__m512i x, __m512i y, char *to)
{
    const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i low = _mm512_unpacklo_epi16(x, y), high = _mm512_unpackhi_epi16(x, y);
    _mm512_store_si512(to, _mm512_permutex2var_epi64(low, left, high));
    _mm512_store_si512(to + RUNGI_AMX_TILE_BYTES, _mm512_permutex2var_epi64(low, right, high));
}

/* Interleaves four steps of k of 64 columns: one group per column, in the two tiles of two panels. */
RUNGI_TARGET_AVX512 static inline void interleave_i8(const __m512i *x, char *to, char *to2)
{
    __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]);
    __m512i c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
    __m512i quarter[4] = {_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d),
                          _mm512_unpackhi_epi16(b, d)};
    for (int i = 0; i < 4; i++, to += 16, to2 += 16) {
        _mm_store_si128((__m128i *)(void *)to, _mm512_castsi512_si128(quarter[i]));
        _mm_store_si128((__m128i *)(void *)(to + RUNGI_AMX_TILE_BYTES), _mm512_extracti32x4_epi32(quarter[i], 1));
        _mm_store_si128((__m128i *)(void *)to2, _mm512_extracti32x4_epi32(quarter[i], 2));
        _mm_store_si128((__m128i *)(void *)(to2 + RUNGI_AMX_TILE_BYTES), _mm512_extracti32x4_epi32(quarter[i], 3));
    }
}

/* Interleaves columns that are adjacent along k, one step at a time, which is nearly the order of the memory. Rows
 * past the last one become zero. */
RUNGI_TARGET_AVX512 static void interleave_columns_bf16(const rungi_amx_operand *from, char *to, int64_t panel_bytes)
{
    int64_t row_bytes = from->k_stride * 2;
    for (int64_t p = 0; p < from->k; p += 32, to += RUNGI_AMX_PANEL_STEP_BYTES)
        for (int64_t j = 0; j < from->outer; j += RUNGI_AMX_PANEL_WIDTH) {
            const char *x = from->first + p * row_bytes + j * 2;
            char *at = to + j / RUNGI_AMX_PANEL_WIDTH * panel_bytes;
            __mmask32 mask = (__mmask32)rungi_first_bytes_mask(rungi_min(from->outer - j, RUNGI_AMX_PANEL_WIDTH));
            for (int64_t left = from->k - p, g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++, left -= 2, x += 2 * row_bytes)
                interleave_bf16(left > 0 ? _mm512_maskz_loadu_epi16(mask, x) : _mm512_setzero_si512(),
                                left > 1 ? _mm512_maskz_loadu_epi16(mask, x + row_bytes) : _mm512_setzero_si512(),
                                at + g * RUNGI_AMX_STEP_BYTES);
        }
}

RUNGI_TARGET_AVX512 static void interleave_columns_i8(const rungi_amx_operand *from, char *to, int64_t panel_bytes)
{
    int64_t row_bytes = from->k_stride;
    for (int64_t p = 0; p < from->k; p += 64, to += RUNGI_AMX_PANEL_STEP_BYTES)
        for (int64_t j = 0; j < from->outer; j += 2 * RUNGI_AMX_PANEL_WIDTH) {
            const char *row = from->first + p * row_bytes + j;
            char *at = to + j / RUNGI_AMX_PANEL_WIDTH * panel_bytes;
            __mmask64 mask = rungi_first_bytes_mask(from->outer - j);
            for (int64_t left = from->k - p, g = 0; g < RUNGI_AMX_GROUPS_PER_STEP;
                 g++, left -= 4, row += 4 * row_bytes) {
                __m512i x[4];
                for (int64_t e = 0; e < 4; e++)
                    x[e] = e < left ? _mm512_maskz_loadu_epi8(mask, row + e * row_bytes) : _mm512_setzero_si512();
                interleave_i8(x, at + g * RUNGI_AMX_STEP_BYTES, at + panel_bytes + g * RUNGI_AMX_STEP_BYTES);
            }
        }
}

/* Packs a panel of F32 rows that are contiguous along k. */
RUNGI_TARGET_AVX512 static void split_rows_bf16x3(const rungi_amx_operand *from, char *to, rungi_bf16x3_range *range)
{
    range_vectors_t found = empty_range();
    for (int64_t r = 0; r < RUNGI_AMX_PANEL_WIDTH; r++) {
        const char *row = from->first + r * from->outer_stride * 4;
        int64_t depth = r < from->outer ? from->k : 0, p = 0;
        char *at = to + r * RUNGI_AMX_STEP_BYTES;
        for (; p + 32 <= depth; p += 32, at += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES)
            pack_pair_groups(_mm512_loadu_ps(row + p * 4), _mm512_loadu_ps(row + p * 4 + 64), at,
                             RUNGI_AMX_PANEL_STEP_BYTES, &found);
        for (; p < from->k; p += 32, at += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES)
            pack_pair_groups(load_first_f32(depth - p, row + p * 4), load_first_f32(depth - p - 16, row + p * 4 + 64),
                             at, RUNGI_AMX_PANEL_STEP_BYTES, &found);
    }
    *range = reduce_range(found);
}

/* Packs a panel of F32 columns that are contiguous across k. */
RUNGI_TARGET_AVX512 static void split_columns_bf16x3(const rungi_amx_operand *from, char *to, rungi_bf16x3_range *range)
{
    int64_t row_bytes = from->k_stride * 4;
    range_vectors_t found = empty_range();
    for (int64_t p = 0; p < from->k; p += 32, to += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES)
        for (int64_t j = 0; j < RUNGI_AMX_PANEL_WIDTH; j += 16) {
            const char *first = from->first + p * row_bytes + j * 4;
            char *at = to + j / 16 * RUNGI_AMX_TILE_BYTES;
            __mmask16 mask = (__mmask16)rungi_first_bytes_mask(rungi_min(from->outer - j, 16));
            if (p + 32 <= from->k)
                split_across_k(first, row_bytes, 32, mask, at, RUNGI_AMX_PANEL_STEP_BYTES, &found);
            else
                split_across_k(first, row_bytes, from->k - p, mask, at, RUNGI_AMX_PANEL_STEP_BYTES, &found);
        }
    *range = reduce_range(found);
}

RUNGI_TARGET_AVX512 void rungi_amx_rows_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to,
                                             rungi_bf16x3_range *range)
{
    if (from->k_stride != 1)
        pack_panel(packing, from, true, to, range);
    else if (packing == RUNGI_AMX_PACKING_BF16X3)
        split_rows_bf16x3(from, to, range);
    else
        copy_contiguous_rows(rungi_amx_element_bytes(packing), from, to);
}

RUNGI_TARGET_AVX512 void rungi_amx_columns_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to,
                                                rungi_bf16x3_range *ranges)
{
    int64_t bytes = rungi_ceil_divide(from->k, rungi_amx_step_elements(packing)) * rungi_amx_step_bytes(packing);
    rungi_amx_operand panel = *from;
    if (from->outer_stride == 1 && packing == RUNGI_AMX_PACKING_BF16) {
        interleave_columns_bf16(from, to, bytes);
        return;
    }
    if (from->outer_stride == 1 && packing == RUNGI_AMX_PACKING_I8) {
        interleave_columns_i8(from, to, bytes);
        return;
    }
    for (int64_t j = 0; j < from->outer; j += RUNGI_AMX_PANEL_WIDTH, to += bytes) {
        panel.outer = rungi_min(from->outer - j, RUNGI_AMX_PANEL_WIDTH);
        panel.first = from->first + j * from->outer_stride * rungi_amx_element_bytes(packing);
        if (packing == RUNGI_AMX_PACKING_BF16X3 && from->outer_stride == 1)
            split_columns_bf16x3(&panel, to, ranges++);
        else
            pack_panel(packing, &panel, false, to, ranges ? ranges++ : NULL);
    }
}

/* ---- Sums ----------------------------------------------------------------------------------------- */

RUNGI_TARGET_AVX512 void rungi_amx_sums_store(const rungi_cpu_job *job, const rungi_cpu_c_block *block,
                                              const char *sums, bool is_streamed)
{
    char *row = (char *)job->c.first + (block->i * job->c.row_stride + block->j) * 4;
    int64_t left = block->cols < 16 ? block->cols : 16, right = block->cols - left;
    __mmask16 left_mask = (__mmask16)((1u << left) - 1), right_mask = (__mmask16)((1u << right) - 1);
    for (int64_t r = 0; r < block->rows; r++, row += job->c.row_stride * 4, sums += RUNGI_AMX_SUMS_ROW_BYTES) {
        __m512i x = _mm512_load_si512(sums), y = _mm512_load_si512(sums + 64);
        if (is_streamed) {
            _mm512_stream_si512((__m512i *)(void *)row, x);
            _mm512_stream_si512((__m512i *)(void *)(row + 64), y);
        } else {
            _mm512_mask_storeu_epi32(row, left_mask, x);
            _mm512_mask_storeu_epi32(row + 64, right_mask, y);
        }
    }
}
#endif
