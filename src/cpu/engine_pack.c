/* SPDX-License-Identifier: Apache-2.0 */
/* engine_pack.c - operands as an engine reads them; see engine.h.
 *
 * A row of A, or a column of B, whose elements are neighbours along k is in order for a panel of
 * rows; a step of k whose elements are neighbours across it is in order for a panel of columns, once
 * its groups are interleaved. Where an operand stands the other way, 16 x 16 groups are turned in
 * registers; where it has no unit stride at all, its elements are gathered first. */
#include "core/checked.h"
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

typedef __m512i tile_t[RUNGI_GROUPS];

static inline int64_t at_least_zero(int64_t x)
{
    return x > 0 ? x : 0;
}

static int64_t size_of(rungi_packing packing)
{
    return packing == RUNGI_PACK_PARTS ? 4 : packing == RUNGI_PACK_BF16 ? 2 : 1;
}

/* Elements along k that a step holds. */
static int64_t step_of(rungi_packing packing)
{
    return packing == RUNGI_PACK_I8 ? 64 : 32;
}

/* ---- Turning ------------------------------------------------------------------------------------ */

/* 16 x 16 groups: pairs, fours, eights and sixteens of rows in turn. */
RUNGI_ON_AVX512 static inline void turn(__m512i *r)
{
    __m512i t[RUNGI_GROUPS];
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

/* ---- Three parts -------------------------------------------------------------------------------- */

/* x as the sum of three numbers whose lower halves are 0, the upper ones being BF16: each is what is left, to the
 * nearest, and away from 0 on a tie. What is not finite or rounds past the largest comes to nothing useful; it
 * is not multiplied in parts (see 12_matrix). */
RUNGI_ON_AVX512 static inline void split(__m512 x, __m512i *part)
{
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32((int)0xffff0000);
    part[0] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(part[0]));
    part[1] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
    part[2] = _mm512_castps_si512(_mm512_sub_ps(x, _mm512_castsi512_ps(part[1])));
}

/* What a rungi_range tells, while it is being found. */
typedef struct range_of {
    __m512i most, least, rest;
} range_of_t;

RUNGI_ON_AVX512 static inline range_of_t no_range(void)
{
    return (range_of_t){_mm512_setzero_si512(), _mm512_set1_epi32(-1), _mm512_setzero_si512()};
}

/* Both halves of each lane. */
RUNGI_ON_AVX512 static inline rungi_range range_told(range_of_t range)
{
    const __m512i lower = _mm512_set1_epi32(0xffff);
    __m512i most = _mm512_max_epu32(_mm512_srli_epi32(range.most, 16), _mm512_and_si512(range.most, lower));
    __m512i least = _mm512_min_epu32(_mm512_srli_epi32(range.least, 16), _mm512_and_si512(range.least, lower));
    return (rungi_range){_mm512_reduce_max_epu32(most), _mm512_reduce_min_epu32(least),
                         (uint32_t)_mm512_reduce_or_epi32(range.rest) & 0xffff};
}

/* Groups of x and y, one of each, in parts. */
RUNGI_ON_AVX512 static inline void pair(__m512 x, __m512 y, __m512i *groups, range_of_t *range)
{
    __m512i low[RUNGI_PARTS], high[RUNGI_PARTS];
    split(x, low);
    split(y, high);
    for (int i = 0; i < RUNGI_PARTS; i++)
        groups[i] = _mm512_or_si512(_mm512_srli_epi32(low[i], 16), high[i]);
    __m512i size = _mm512_and_si512(groups[0], _mm512_set1_epi32(0x7fff7fff));
    range->most = _mm512_max_epu16(range->most, size);
    range->least = _mm512_min_epu16(range->least, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
    range->rest = _mm512_ternarylogic_epi32(range->rest, low[2], high[2], 0xfe); /* all that any of them has */
}

/* ---- One tile, from however its elements stand --------------------------------------------------- */

static inline __mmask64 first_of(int64_t count)
{
    return count >= 64 ? ~(__mmask64)0 : count <= 0 ? 0 : ((__mmask64)1 << count) - 1;
}

/* Rows of groups, of elements that are neighbours along k. */
RUNGI_ON_AVX512 static void take_deep(rungi_packing packing, const rungi_stretch *from, tile_t *parts,
                                      range_of_t *range)
{
    int64_t size = size_of(packing);
    for (int64_t r = 0; r < RUNGI_GROUPS; r++) {
        const char *row = from->first + r * from->item_stride * size;
        int64_t depth = r < from->items ? from->depth : 0;
        if (packing != RUNGI_PACK_PARTS) {
            parts[0][r] = _mm512_maskz_loadu_epi8(first_of(depth * size), row);
            continue;
        }
        __m512i groups[RUNGI_PARTS];
        __m512 x = _mm512_maskz_loadu_ps((__mmask16)first_of(rungi_smaller(depth, 16)), row);
        __m512 y = _mm512_maskz_loadu_ps((__mmask16)first_of(rungi_smaller(depth - 16, 16)), row + 64);
        pair(x, y, groups, range);
        for (int i = 0; i < RUNGI_PARTS; i++)
            parts[i][r] = groups[i];
    }
}

/* Columns of groups, of elements that are neighbours across k. */
RUNGI_ON_AVX512 static void take_wide(rungi_packing packing, const rungi_stretch *from, tile_t *parts,
                                      range_of_t *range)
{
    int64_t size = size_of(packing), line = from->depth_stride * size;
    __mmask16 mask = (__mmask16)first_of(rungi_smaller(from->items, 16));
    for (int64_t g = 0; g < RUNGI_GROUPS; g++) {
        int64_t count = step_of(packing) / RUNGI_GROUPS, done = g * count;
        const char *at = from->first + done * line;
        if (packing == RUNGI_PACK_PARTS) {
            __m512i groups[RUNGI_PARTS];
            at = from->first + g * line;
            __m512 x = g < from->depth ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
            __m512 y = g + 16 < from->depth ? _mm512_maskz_loadu_ps(mask, at + 16 * line) : _mm512_setzero_ps();
            pair(x, y, groups, range);
            for (int i = 0; i < RUNGI_PARTS; i++)
                parts[i][g] = groups[i];
            continue;
        }
        parts[0][g] = _mm512_setzero_si512();
        for (int64_t e = 0; e < count && done + e < from->depth; e++, at += line) {
            __m512i one = packing == RUNGI_PACK_BF16 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at))
                                                     : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, at));
            parts[0][g] = _mm512_or_si512(parts[0][g], _mm512_sll_epi32(one, _mm_cvtsi32_si128((int)(8 * size * e))));
        }
    }
}

/* A tile's elements, one behind the other along k. */
static void gather(rungi_packing packing, const rungi_stretch *from, char *room, rungi_stretch *gathered)
{
    int64_t size = size_of(packing), step = step_of(packing), items = rungi_smaller(from->items, RUNGI_GROUPS);
    for (int64_t r = 0; r < items; r++)
        for (int64_t p = 0; p < from->depth; p++)
            memcpy(room + (r * step + p) * size, from->first + (r * from->item_stride + p * from->depth_stride) * size,
                   (size_t)size);
    *gathered = (rungi_stretch){room, step, 1, items, from->depth};
}

/* Up to 16 items and a step of depth, as rows or as columns. */
RUNGI_ON_AVX512 static void pack_tile(rungi_packing packing, const rungi_stretch *from, bool by_rows, char *to,
                                      range_of_t *range)
{
    tile_t parts[RUNGI_PARTS];
    char room[RUNGI_GROUPS * 32 * 4];
    rungi_stretch gathered;
    bool is_wide = from->item_stride == 1 && from->depth_stride != 1;
    if (from->depth_stride != 1 && from->item_stride != 1) {
        gather(packing, from, room, &gathered);
        from = &gathered;
    }
    if (is_wide)
        take_wide(packing, from, parts, range);
    else
        take_deep(packing, from, parts, range);
    for (int i = 0; i < (packing == RUNGI_PACK_PARTS ? RUNGI_PARTS : 1); i++) {
        if (by_rows == is_wide)
            turn(parts[i]);
        for (int r = 0; r < RUNGI_GROUPS; r++)
            _mm512_store_si512(to + i * RUNGI_PANEL_BYTES + r * RUNGI_STEP_BYTES, parts[i][r]);
    }
}

/* One panel of any operand, tile by tile. */
RUNGI_ON_AVX512 static void pack_panel(rungi_packing packing, const rungi_stretch *from, bool by_rows, char *to,
                                       rungi_range *range)
{
    int64_t size = size_of(packing), step = step_of(packing);
    int64_t bytes = packing == RUNGI_PACK_PARTS ? RUNGI_PARTS * RUNGI_PANEL_BYTES : RUNGI_PANEL_BYTES;
    range_of_t found = no_range();
    for (int64_t p = 0; p < from->depth; p += step, to += bytes)
        for (int64_t r = 0; r < RUNGI_PANEL; r += RUNGI_GROUPS) {
            rungi_stretch part = *from;
            part.items = at_least_zero(from->items - r);
            part.depth = rungi_smaller(from->depth - p, step);
            part.first += (part.items ? r * from->item_stride + p * from->depth_stride : 0) * size;
            pack_tile(packing, &part, by_rows, to + r * RUNGI_STEP_BYTES, &found);
        }
    if (range)
        *range = range_told(found);
}

/* ---- The usual cases ------------------------------------------------------------------------------- */

/* Rows that are neighbours along k: copied, 64 bytes at a time. */
RUNGI_ON_AVX512 static void copy_rows(int64_t size, const rungi_stretch *from, char *to)
{
    int64_t bytes = from->depth * size, whole = bytes / RUNGI_STEP_BYTES * RUNGI_STEP_BYTES;
    __mmask64 mask = first_of(bytes - whole);
    for (int64_t r = 0; r < RUNGI_PANEL; r++, to += RUNGI_STEP_BYTES) {
        const char *row = from->first + r * from->item_stride * size;
        int64_t p = 0;
        if (r < from->items) {
            for (; p < whole; p += RUNGI_STEP_BYTES)
                _mm512_store_si512(to + p * RUNGI_PANEL, _mm512_loadu_si512(row + p));
            if (mask)
                _mm512_store_si512(to + p * RUNGI_PANEL, _mm512_maskz_loadu_epi8(mask, row + p));
        } else {
            for (; p < bytes; p += RUNGI_STEP_BYTES)
                _mm512_store_si512(to + p * RUNGI_PANEL, _mm512_setzero_si512());
        }
    }
}

/* Two steps of k, 32 columns: a group of each column, in two tiles. */
RUNGI_ON_AVX512 static inline void weave_bf16(__m512i x, __m512i y, char *to)
{
    const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i low = _mm512_unpacklo_epi16(x, y), high = _mm512_unpackhi_epi16(x, y);
    _mm512_store_si512(to, _mm512_permutex2var_epi64(low, left, high));
    _mm512_store_si512(to + RUNGI_TILE_BYTES, _mm512_permutex2var_epi64(low, right, high));
}

/* Four steps of k, 64 columns: a group of each, in the two tiles of two panels. */
RUNGI_ON_AVX512 static inline void weave_i8(const __m512i *x, char *to, char *to2)
{
    __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]);
    __m512i c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
    __m512i piece[4] = {_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d),
                        _mm512_unpackhi_epi16(b, d)};
    for (int i = 0; i < 4; i++, to += 16, to2 += 16) {
        _mm_store_si128((__m128i *)(void *)to, _mm512_castsi512_si128(piece[i]));
        _mm_store_si128((__m128i *)(void *)(to + RUNGI_TILE_BYTES), _mm512_extracti32x4_epi32(piece[i], 1));
        _mm_store_si128((__m128i *)(void *)to2, _mm512_extracti32x4_epi32(piece[i], 2));
        _mm_store_si128((__m128i *)(void *)(to2 + RUNGI_TILE_BYTES), _mm512_extracti32x4_epi32(piece[i], 3));
    }
}

/* Columns that are neighbours across k, step by step and so nearly in the order in which they stand in
 * memory. Rows past the last are zeros. */
RUNGI_ON_AVX512 static void weave_columns_bf16(const rungi_stretch *from, char *to, int64_t panel_bytes)
{
    int64_t line = from->depth_stride * 2;
    for (int64_t p = 0; p < from->depth; p += 32, to += RUNGI_PANEL_BYTES)
        for (int64_t j = 0; j < from->items; j += RUNGI_PANEL) {
            const char *x = from->first + p * line + j * 2;
            char *at = to + j / RUNGI_PANEL * panel_bytes;
            __mmask32 mask = (__mmask32)first_of(rungi_smaller(from->items - j, RUNGI_PANEL));
            for (int64_t left = from->depth - p, g = 0; g < RUNGI_GROUPS; g++, left -= 2, x += 2 * line)
                weave_bf16(left > 0 ? _mm512_maskz_loadu_epi16(mask, x) : _mm512_setzero_si512(),
                           left > 1 ? _mm512_maskz_loadu_epi16(mask, x + line) : _mm512_setzero_si512(),
                           at + g * RUNGI_STEP_BYTES);
        }
}

RUNGI_ON_AVX512 static void weave_columns_i8(const rungi_stretch *from, char *to, int64_t panel_bytes)
{
    int64_t line = from->depth_stride;
    for (int64_t p = 0; p < from->depth; p += 64, to += RUNGI_PANEL_BYTES)
        for (int64_t j = 0; j < from->items; j += 2 * RUNGI_PANEL) {
            const char *row = from->first + p * line + j;
            char *at = to + j / RUNGI_PANEL * panel_bytes;
            __mmask64 mask = first_of(from->items - j);
            for (int64_t left = from->depth - p, g = 0; g < RUNGI_GROUPS; g++, left -= 4, row += 4 * line) {
                __m512i x[4];
                for (int64_t e = 0; e < 4; e++)
                    x[e] = e < left ? _mm512_maskz_loadu_epi8(mask, row + e * line) : _mm512_setzero_si512();
                weave_i8(x, at + g * RUNGI_STEP_BYTES, at + panel_bytes + g * RUNGI_STEP_BYTES);
            }
        }
}

RUNGI_ON_AVX512 static inline void pack_pair(__m512 x, __m512 y, char *to, range_of_t *range)
{
    __m512i groups[RUNGI_PARTS];
    pair(x, y, groups, range);
    for (int i = 0; i < RUNGI_PARTS; i++)
        _mm512_store_si512(to + i * RUNGI_PANEL_BYTES, groups[i]);
}

/* Rows of F32 that are neighbours along k. */
RUNGI_ON_AVX512 static void split_rows(const rungi_stretch *from, char *to, rungi_range *range)
{
    range_of_t found = no_range();
    for (int64_t r = 0; r < RUNGI_PANEL; r++) {
        const char *row = from->first + r * from->item_stride * 4;
        int64_t depth = r < from->items ? from->depth : 0, p = 0;
        char *at = to + r * RUNGI_STEP_BYTES;
        for (; p + 32 <= depth; p += 32, at += RUNGI_PARTS * RUNGI_PANEL_BYTES)
            pack_pair(_mm512_loadu_ps(row + p * 4), _mm512_loadu_ps(row + p * 4 + 64), at, &found);
        for (; p < from->depth; p += 32, at += RUNGI_PARTS * RUNGI_PANEL_BYTES)
            pack_pair(_mm512_maskz_loadu_ps((__mmask16)first_of(rungi_smaller(depth - p, 16)), row + p * 4),
                      _mm512_maskz_loadu_ps((__mmask16)first_of(rungi_smaller(depth - p - 16, 16)), row + p * 4 + 64),
                      at, &found);
    }
    *range = range_told(found);
}

/* Half a panel's step of columns of F32 that are neighbours across k. */
RUNGI_ON_AVX512 static inline void split_half(const char *first, int64_t line, int64_t depth, __mmask16 mask, char *to,
                                              range_of_t *range)
{
    for (int64_t g = 0; g < RUNGI_GROUPS; g++, first += line, to += RUNGI_STEP_BYTES)
        pack_pair(g < depth ? _mm512_maskz_loadu_ps(mask, first) : _mm512_setzero_ps(),
                  g + 16 < depth ? _mm512_maskz_loadu_ps(mask, first + 16 * line) : _mm512_setzero_ps(), to, range);
}

/* A panel of them. */
RUNGI_ON_AVX512 static void split_columns(const rungi_stretch *from, char *to, rungi_range *range)
{
    int64_t line = from->depth_stride * 4;
    range_of_t found = no_range();
    for (int64_t p = 0; p < from->depth; p += 32, to += RUNGI_PARTS * RUNGI_PANEL_BYTES)
        for (int64_t j = 0; j < RUNGI_PANEL; j += 16) {
            const char *first = from->first + p * line + j * 4;
            char *at = to + j / 16 * RUNGI_TILE_BYTES;
            __mmask16 mask = (__mmask16)first_of(rungi_smaller(from->items - j, 16));
            if (p + 32 <= from->depth)
                split_half(first, line, 32, mask, at, &found);
            else
                split_half(first, line, from->depth - p, mask, at, &found);
        }
    *range = range_told(found);
}

RUNGI_ON_AVX512 void rungi_pack_rows(rungi_packing packing, const rungi_stretch *from, char *to, rungi_range *range)
{
    if (packing != RUNGI_PACK_PARTS && from->depth_stride == 1)
        copy_rows(size_of(packing), from, to);
    else if (packing == RUNGI_PACK_PARTS && from->depth_stride == 1)
        split_rows(from, to, range);
    else
        pack_panel(packing, from, true, to, range);
}

RUNGI_ON_AVX512 void rungi_pack_columns(rungi_packing packing, const rungi_stretch *from, char *to, rungi_range *ranges)
{
    int64_t steps = (from->depth + step_of(packing) - 1) / step_of(packing);
    int64_t bytes = steps * RUNGI_PANEL_BYTES * (packing == RUNGI_PACK_PARTS ? RUNGI_PARTS : 1);
    rungi_stretch panel = *from;
    if (from->item_stride == 1 && packing == RUNGI_PACK_BF16) {
        weave_columns_bf16(from, to, bytes);
        return;
    }
    if (from->item_stride == 1 && packing == RUNGI_PACK_I8) {
        weave_columns_i8(from, to, bytes);
        return;
    }
    for (int64_t j = 0; j < from->items; j += RUNGI_PANEL, to += bytes) {
        panel.items = rungi_smaller(from->items - j, RUNGI_PANEL);
        panel.first = from->first + j * from->item_stride * size_of(packing);
        if (packing == RUNGI_PACK_PARTS && from->item_stride == 1)
            split_columns(&panel, to, ranges++);
        else
            pack_panel(packing, &panel, false, to, ranges ? ranges++ : NULL);
    }
}
#endif
