/* SPDX-License-Identifier: Apache-2.0 */
/* amx_pack.c - packs operands for matrix instructions, and stores sums. See amx.h.
 *
 * Operands that are contiguous along k are copied into panels of rows. Operands that are contiguous across k are interleaved
 * into panels of columns. In the opposite cases 16 x 16 groups are transposed in registers. Operands without a unit stride
 * are gathered first. */
#include "base/checked_arithmetic.h"
#include "cpu/amx/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

typedef __m512i amx_tile_t[RUNGI_AMX_GROUPS_PER_STEP];

/* ---- Transposing ------------------------------------------------------------------------------------ */

/* Transposes 16 x 16 groups: combines pairs, then 4, 8 and 16 rows. */
RUNGI_TARGET_AVX512 static inline void transpose_16x16(__m512i *r)
{
    __m512i t[RUNGI_AMX_GROUPS_PER_STEP];
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
    for (int i = 0; i < 16; i += 8)
        for (int j = 0; j < 4; j++) {
            t[i + j] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0x88);
            t[i + j + 4] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0xdd);
        }
    for (int j = 0; j < 8; j++) {
        r[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
        r[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
    }
}

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

/* Groups of x and y, one of each, in terms. */
RUNGI_TARGET_AVX512 static inline void pack_pair_groups(__m512 x, __m512 y, __m512i *groups, range_vectors_t *range)
{
    __m512i low[RUNGI_BF16X3_TERMS], high[RUNGI_BF16X3_TERMS];
    split_bf16x3(x, low);
    split_bf16x3(y, high);
    for (int i = 0; i < RUNGI_BF16X3_TERMS; i++)
        groups[i] = _mm512_or_si512(_mm512_srli_epi32(low[i], 16), high[i]);
    __m512i size = _mm512_and_si512(groups[0], _mm512_set1_epi32(0x7fff7fff));
    range->max = _mm512_max_epu16(range->max, size);
    range->min_less_one = _mm512_min_epu16(range->min_less_one, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
    range->lost_bits = _mm512_ternarylogic_epi32(range->lost_bits, low[2], high[2], 0xfe); /* bitwise or of the three */
}

/* ---- One tile, from any storage order ------------------------------------------------------------- */

static inline __mmask64 mask_of_first(int64_t count)
{
    return count >= 64 ? ~(__mmask64)0 : count <= 0 ? 0 : ((__mmask64)1 << count) - 1;
}

/* Rows of groups, of elements that are neighbours along k. */
RUNGI_TARGET_AVX512 static void load_along_k(rungi_amx_packing packing, const rungi_amx_operand *from,
                                             amx_tile_t *terms, range_vectors_t *range)
{
    int64_t size = rungi_amx_element_bytes(packing);
    for (int64_t r = 0; r < RUNGI_AMX_GROUPS_PER_STEP; r++) {
        const char *row = from->first + r * from->outer_stride * size;
        int64_t depth = r < from->outer ? from->k : 0;
        if (packing != RUNGI_AMX_PACKING_BF16X3) {
            terms[0][r] = _mm512_maskz_loadu_epi8(mask_of_first(depth * size), row);
            continue;
        }
        __m512i groups[RUNGI_BF16X3_TERMS];
        __m512 x = _mm512_maskz_loadu_ps((__mmask16)mask_of_first(rungi_min(depth, 16)), row);
        __m512 y = _mm512_maskz_loadu_ps((__mmask16)mask_of_first(rungi_min(depth - 16, 16)), row + 64);
        pack_pair_groups(x, y, groups, range);
        for (int i = 0; i < RUNGI_BF16X3_TERMS; i++)
            terms[i][r] = groups[i];
    }
}

/* Columns of groups, of elements that are neighbours across k. */
RUNGI_TARGET_AVX512 static void load_across_k(rungi_amx_packing packing, const rungi_amx_operand *from,
                                              amx_tile_t *terms, range_vectors_t *range)
{
    int64_t size = rungi_amx_element_bytes(packing), row_bytes = from->k_stride * size;
    __mmask16 mask = (__mmask16)mask_of_first(rungi_min(from->outer, 16));
    for (int64_t g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++) {
        int64_t count = rungi_amx_step_elements(packing) / RUNGI_AMX_GROUPS_PER_STEP, done = g * count;
        const char *at = from->first + done * row_bytes;
        if (packing == RUNGI_AMX_PACKING_BF16X3) {
            __m512i groups[RUNGI_BF16X3_TERMS];
            at = from->first + g * row_bytes;
            __m512 x = g < from->k ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
            __m512 y = g + 16 < from->k ? _mm512_maskz_loadu_ps(mask, at + 16 * row_bytes) : _mm512_setzero_ps();
            pack_pair_groups(x, y, groups, range);
            for (int i = 0; i < RUNGI_BF16X3_TERMS; i++)
                terms[i][g] = groups[i];
            continue;
        }
        terms[0][g] = _mm512_setzero_si512();
        for (int64_t e = 0; e < count && done + e < from->k; e++, at += row_bytes) {
            __m512i one = packing == RUNGI_AMX_PACKING_BF16 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at))
                                                            : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, at));
            terms[0][g] = _mm512_or_si512(terms[0][g], _mm512_sll_epi32(one, _mm_cvtsi32_si128((int)(8 * size * e))));
        }
    }
}

/* A tile's elements, one behind the other along k. */
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

/* Up to 16 items and a step of depth, as rows or as columns. */
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
            transpose_16x16(terms[i]);
        for (int r = 0; r < RUNGI_AMX_GROUPS_PER_STEP; r++)
            _mm512_store_si512(to + i * RUNGI_AMX_PANEL_STEP_BYTES + r * RUNGI_AMX_STEP_BYTES, terms[i][r]);
    }
}

/* One panel of any operand, tile by tile. */
RUNGI_TARGET_AVX512 static void pack_panel(rungi_amx_packing packing, const rungi_amx_operand *from, bool by_rows,
                                           char *to, rungi_bf16x3_range *range)
{
    int64_t size = rungi_amx_element_bytes(packing), step = rungi_amx_step_elements(packing);
    int64_t bytes = packing == RUNGI_AMX_PACKING_BF16X3 ? RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES
                                                        : RUNGI_AMX_PANEL_STEP_BYTES;
    range_vectors_t found = empty_range();
    for (int64_t p = 0; p < from->k; p += step, to += bytes)
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

/* Rows that are neighbours along k: copied, 64 bytes at a time. */
RUNGI_TARGET_AVX512 static void copy_contiguous_rows(int64_t size, const rungi_amx_operand *from, char *to)
{
    int64_t bytes = from->k * size, whole = bytes / RUNGI_AMX_STEP_BYTES * RUNGI_AMX_STEP_BYTES;
    __mmask64 mask = mask_of_first(bytes - whole);
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

/* Two steps of k, 32 columns: a group of each column, in two tiles. */
RUNGI_TARGET_AVX512 static inline void interleave_bf16(__m512i x, __m512i y, char *to)
{
    const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i low = _mm512_unpacklo_epi16(x, y), high = _mm512_unpackhi_epi16(x, y);
    _mm512_store_si512(to, _mm512_permutex2var_epi64(low, left, high));
    _mm512_store_si512(to + RUNGI_AMX_TILE_BYTES, _mm512_permutex2var_epi64(low, right, high));
}

/* Four steps of k, 64 columns: a group of each, in the two tiles of two panels. */
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
            __mmask32 mask = (__mmask32)mask_of_first(rungi_min(from->outer - j, RUNGI_AMX_PANEL_WIDTH));
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
            __mmask64 mask = mask_of_first(from->outer - j);
            for (int64_t left = from->k - p, g = 0; g < RUNGI_AMX_GROUPS_PER_STEP;
                 g++, left -= 4, row += 4 * row_bytes) {
                __m512i x[4];
                for (int64_t e = 0; e < 4; e++)
                    x[e] = e < left ? _mm512_maskz_loadu_epi8(mask, row + e * row_bytes) : _mm512_setzero_si512();
                interleave_i8(x, at + g * RUNGI_AMX_STEP_BYTES, at + panel_bytes + g * RUNGI_AMX_STEP_BYTES);
            }
        }
}

RUNGI_TARGET_AVX512 static inline void store_pair_groups(__m512 x, __m512 y, char *to, range_vectors_t *range)
{
    __m512i groups[RUNGI_BF16X3_TERMS];
    pack_pair_groups(x, y, groups, range);
    for (int i = 0; i < RUNGI_BF16X3_TERMS; i++)
        _mm512_store_si512(to + i * RUNGI_AMX_PANEL_STEP_BYTES, groups[i]);
}

/* Rows of F32 that are neighbours along k. */
RUNGI_TARGET_AVX512 static void split_rows_bf16x3(const rungi_amx_operand *from, char *to, rungi_bf16x3_range *range)
{
    range_vectors_t found = empty_range();
    for (int64_t r = 0; r < RUNGI_AMX_PANEL_WIDTH; r++) {
        const char *row = from->first + r * from->outer_stride * 4;
        int64_t depth = r < from->outer ? from->k : 0, p = 0;
        char *at = to + r * RUNGI_AMX_STEP_BYTES;
        for (; p + 32 <= depth; p += 32, at += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES)
            store_pair_groups(_mm512_loadu_ps(row + p * 4), _mm512_loadu_ps(row + p * 4 + 64), at, &found);
        for (; p < from->k; p += 32, at += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES)
            store_pair_groups(
                _mm512_maskz_loadu_ps((__mmask16)mask_of_first(rungi_min(depth - p, 16)), row + p * 4),
                _mm512_maskz_loadu_ps((__mmask16)mask_of_first(rungi_min(depth - p - 16, 16)), row + p * 4 + 64), at,
                &found);
    }
    *range = reduce_range(found);
}

/* Half a panel's step of columns of F32 that are neighbours across k. */
RUNGI_TARGET_AVX512 static inline void split_half_panel_bf16x3(const char *first, int64_t row_bytes, int64_t depth,
                                                               __mmask16 mask, char *to, range_vectors_t *range)
{
    for (int64_t g = 0; g < RUNGI_AMX_GROUPS_PER_STEP; g++, first += row_bytes, to += RUNGI_AMX_STEP_BYTES)
        store_pair_groups(g < depth ? _mm512_maskz_loadu_ps(mask, first) : _mm512_setzero_ps(),
                          g + 16 < depth ? _mm512_maskz_loadu_ps(mask, first + 16 * row_bytes) : _mm512_setzero_ps(),
                          to, range);
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
            __mmask16 mask = (__mmask16)mask_of_first(rungi_min(from->outer - j, 16));
            if (p + 32 <= from->k)
                split_half_panel_bf16x3(first, row_bytes, 32, mask, at, &found);
            else
                split_half_panel_bf16x3(first, row_bytes, from->k - p, mask, at, &found);
        }
    *range = reduce_range(found);
}

RUNGI_TARGET_AVX512 void rungi_amx_rows_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to,
                                             rungi_bf16x3_range *range)
{
    if (packing != RUNGI_AMX_PACKING_BF16X3 && from->k_stride == 1)
        copy_contiguous_rows(rungi_amx_element_bytes(packing), from, to);
    else if (packing == RUNGI_AMX_PACKING_BF16X3 && from->k_stride == 1)
        split_rows_bf16x3(from, to, range);
    else
        pack_panel(packing, from, true, to, range);
}

RUNGI_TARGET_AVX512 void rungi_amx_columns_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to,
                                                rungi_bf16x3_range *ranges)
{
    int64_t steps = (from->k + rungi_amx_step_elements(packing) - 1) / rungi_amx_step_elements(packing);
    int64_t bytes = steps * RUNGI_AMX_PANEL_STEP_BYTES * (packing == RUNGI_AMX_PACKING_BF16X3 ? RUNGI_BF16X3_TERMS : 1);
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
