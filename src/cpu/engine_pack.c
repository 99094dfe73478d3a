/* SPDX-License-Identifier: Apache-2.0 */
/* engine_pack.c - operands as an engine reads them; see engine.h.
 *
 * A row of A, or a column of B, whose elements are neighbours along k is in order for a panel of
 * rows; a step of k whose elements are neighbours across it is in order for a panel of columns, once
 * its groups are interleaved. Where an operand stands the other way, 16 x 16 groups are turned in
 * registers; where it has no unit stride at all, its elements are gathered first. */
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

typedef __m512i tile[RUNGI_GROUPS];

static inline int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

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

/* The upper half of each number, to the nearest, even on a tie: BF16 for all but what is not finite
 * or rounds past the largest, which nobody packs to multiply by (see 12_matrix). */
RUNGI_ON_AVX512 static inline __m512i upper(__m512i bits)
{
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
}

/* x as three parts, each in the lower half of its lane: x = part[0] + part[1] + part[2]. */
RUNGI_ON_AVX512 static inline void split(__m512 x, __m512i *part)
{
    for (int i = 0; i < RUNGI_PARTS; i++) {
        part[i] = upper(_mm512_castps_si512(x));
        x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(part[i], 16)));
    }
}

typedef struct range_of {
    __m512i most, least;
} range_of;

RUNGI_ON_AVX512 static inline void widen(range_of *range, __m512 x)
{
    __m512i size = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    range->most = _mm512_max_epu32(range->most, size);
    range->least = _mm512_min_epu32(range->least, _mm512_sub_epi32(size, _mm512_set1_epi32(1)));
}

RUNGI_ON_AVX512 static inline range_of no_range(void)
{
    return (range_of){_mm512_setzero_si512(), _mm512_set1_epi32(-1)};
}

RUNGI_ON_AVX512 static inline rungi_range range_told(range_of range)
{
    return (rungi_range){_mm512_reduce_max_epu32(range.most), _mm512_reduce_min_epu32(range.least)};
}

/* ---- One tile, from however its elements stand --------------------------------------------------- */

static inline __mmask64 first_of(int64_t count)
{
    return count >= 64 ? ~(__mmask64)0 : count <= 0 ? 0 : ((__mmask64)1 << count) - 1;
}

/* Rows of groups, of elements that are neighbours along k. */
RUNGI_ON_AVX512 static void take_deep(rungi_packing packing, const rungi_stretch *from, tile *parts,
                                      range_of *range)
{
    int64_t size = size_of(packing);
    for (int64_t r = 0; r < RUNGI_GROUPS; r++) {
        const char *row = from->first + r * from->item_stride * size;
        int64_t depth = r < from->items ? from->depth : 0;
        if (packing != RUNGI_PACK_PARTS) {
            parts[0][r] = _mm512_maskz_loadu_epi8(first_of(depth * size), row);
            continue;
        }
        __m512i low[RUNGI_PARTS], high[RUNGI_PARTS];
        __m512 x = _mm512_maskz_loadu_ps((__mmask16)first_of(smaller(depth, 16)), row);
        __m512 y = _mm512_maskz_loadu_ps((__mmask16)first_of(smaller(depth - 16, 16)), row + 64);
        widen(range, x);
        widen(range, y);
        split(x, low);
        split(y, high);
        for (int i = 0; i < RUNGI_PARTS; i++)
            parts[i][r] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(low[i])),
                                             _mm512_cvtepi32_epi16(high[i]), 1);
    }
}

/* Columns of groups, of elements that are neighbours across k. */
RUNGI_ON_AVX512 static void take_wide(rungi_packing packing, const rungi_stretch *from, tile *parts,
                                      range_of *range)
{
    int64_t size = size_of(packing), line = from->depth_stride * size;
    __mmask16 mask = (__mmask16)first_of(smaller(from->items, 16));
    for (int64_t g = 0; g < RUNGI_GROUPS; g++) {
        int64_t count = step_of(packing) / RUNGI_GROUPS, done = g * count;
        const char *at = from->first + done * line;
        if (packing == RUNGI_PACK_PARTS) {
            __m512i even[RUNGI_PARTS], odd[RUNGI_PARTS];
            __m512 x = done < from->depth ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
            __m512 y = done + 1 < from->depth ? _mm512_maskz_loadu_ps(mask, at + line) : _mm512_setzero_ps();
            widen(range, x);
            widen(range, y);
            split(x, even);
            split(y, odd);
            for (int i = 0; i < RUNGI_PARTS; i++)
                parts[i][g] = _mm512_or_si512(even[i], _mm512_slli_epi32(odd[i], 16));
            continue;
        }
        parts[0][g] = _mm512_setzero_si512();
        for (int64_t e = 0; e < count && done + e < from->depth; e++, at += line) {
            __m512i one = packing == RUNGI_PACK_BF16
                              ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at))
                              : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, at));
            parts[0][g] = _mm512_or_si512(parts[0][g], _mm512_sll_epi32(one, _mm_cvtsi32_si128((int)(8 * size * e))));
        }
    }
}

/* A tile's elements, one behind the other along k. */
static void gather(rungi_packing packing, const rungi_stretch *from, char *room, rungi_stretch *gathered)
{
    int64_t size = size_of(packing), step = step_of(packing), items = smaller(from->items, RUNGI_GROUPS);
    for (int64_t r = 0; r < items; r++)
        for (int64_t p = 0; p < from->depth; p++)
            memcpy(room + (r * step + p) * size,
                   from->first + (r * from->item_stride + p * from->depth_stride) * size, (size_t)size);
    *gathered = (rungi_stretch){room, step, 1, items, from->depth};
}

/* Up to 16 items and a step of depth, as rows or as columns. */
RUNGI_ON_AVX512 static void pack_tile(rungi_packing packing, const rungi_stretch *from, bool by_rows, char *to,
                                      range_of *range)
{
    tile parts[RUNGI_PARTS];
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
    range_of found = no_range();
    for (int64_t p = 0; p < from->depth; p += step, to += bytes)
        for (int64_t r = 0; r < RUNGI_PANEL; r += RUNGI_GROUPS) {
            rungi_stretch part = *from;
            part.items = at_least_zero(from->items - r);
            part.depth = smaller(from->depth - p, step);
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
            __mmask32 mask = (__mmask32)first_of(smaller(from->items - j, RUNGI_PANEL));
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

RUNGI_ON_AVX512 void rungi_pack_rows(rungi_packing packing, const rungi_stretch *from, char *to, rungi_range *range)
{
    if (packing != RUNGI_PACK_PARTS && from->depth_stride == 1)
        copy_rows(size_of(packing), from, to);
    else
        pack_panel(packing, from, true, to, range);
}

RUNGI_ON_AVX512 void rungi_pack_columns(rungi_packing packing, const rungi_stretch *from, char *to,
                                        rungi_range *ranges)
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
        panel.items = smaller(from->items - j, RUNGI_PANEL);
        panel.first = from->first + j * from->item_stride * size_of(packing);
        pack_panel(packing, &panel, false, to, ranges ? ranges++ : NULL);
    }
}
#endif
