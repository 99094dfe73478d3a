/* SPDX-License-Identifier: Apache-2.0 */
/* amx_tiles.h - multiplies blocks of C in AMX tiles. See amx.h for the packed layouts.
 *
 * Tiles 0 to 3 are 16 x 16 sums: of 32 x 32 or of 16 x 64 elements of C. Tiles 4 to 7 are operands. The first step of a block
 * also stores the sums of the previous block: each tile is stored and then reused, so that the engine never waits for the
 * last sums of a block. */
#pragma once

#include "cpu/amx/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define RUNGI_AMX_INLINE RUNGI_TARGET_AMX static inline __attribute__((always_inline))

/* Rows of A, packed or in place: strides in bytes from row to row, from 16 rows to the next 16, and from step to step. */
typedef struct rungi_amx_row_strides {
    const char *first;
    int64_t row, tile, step;
} rungi_amx_row_strides;

/* Where four tiles of sums are stored: two at `top`, 64 bytes apart, and two at `bottom`. */
typedef struct rungi_amx_store_target {
    char *top, *bottom;
    int64_t stride;
} rungi_amx_store_target;

typedef struct rungi_amx_tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} rungi_amx_tile_config;

/* Configures the tiles. If C has fewer than 16 rows, so have the tiles of sums and of A. */
RUNGI_TARGET_AMX static inline void rungi_amx_tiles_configure(int64_t height)
{
    static const rungi_amx_tile_config whole = {
        .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    rungi_amx_tile_config config = whole;
    if (height >= 16) {
        _tile_loadconfig(&whole);
        return;
    }
    for (int i = 0; i < 5; i++)
        config.rows[i] = (uint8_t)height;
    __asm__ volatile("" : : "r"(&config) : "memory"); /* GCC does not know that the instruction reads all of it */
    _tile_loadconfig(&config);
}

/* Memory that is read later: rows of pairs of cache lines. Tile loops prefetch some pairs per step, into L2. */
typedef struct rungi_amx_ahead {
    const char *next;
    int64_t pairs_left, rows_left; /* of this row, and rows; nothing is left if rows_left is 0 */
    int64_t row_pairs, skip;       /* pairs per row, and the bytes from the end of a row to the next one */
} rungi_amx_ahead;

RUNGI_AMX_INLINE void rungi_amx_prefetch_ahead(rungi_amx_ahead *ahead)
{
    if (ahead->rows_left == 0)
        return;
    _mm_prefetch(ahead->next, _MM_HINT_T1);
    _mm_prefetch(ahead->next + 64, _MM_HINT_T1);
    ahead->next += 128;
    if (--ahead->pairs_left == 0) {
        ahead->next += ahead->skip;
        ahead->pairs_left = ahead->row_pairs;
        ahead->rows_left--;
    }
}

/* Rows of A that are copied into a packed panel while another panel is multiplied: `rows` rows per panel of B, one cache line
 * of each row per step. */
typedef struct rungi_amx_copy {
    const char *from;
    char *to;
    int64_t stride, rows, steps; /* bytes from row to row; no row is copied if steps is 0 */
} rungi_amx_copy;

RUNGI_AMX_INLINE void rungi_amx_copy_line(const rungi_amx_copy *copy, int64_t step)
{
    if (step >= copy->steps)
        return; /* without steps, the addresses may be NULL */
    const char *from = copy->from + step * RUNGI_AMX_STEP_BYTES;
    char *to = copy->to + step * RUNGI_AMX_PANEL_STEP_BYTES;
    for (int64_t r = 0; r < copy->rows; r++, from += copy->stride, to += RUNGI_AMX_STEP_BYTES)
        _mm512_store_si512(to, _mm512_loadu_si512(from));
}

#define RUNGI_AMX_MULTIPLY(sum, a, b)  \
    do {                               \
        if (is_i8)                     \
            _tile_dpbssd(sum, a, b);   \
        else                           \
            _tile_dpbf16ps(sum, a, b); \
    } while (0)

/* Loads a tile of the operand that is used only once while it is in L1, if is_streamed: it then does not replace the other
 * operand there. */
#define RUNGI_AMX_LOAD(is_streamed, tile, from, stride) \
    do {                                                \
        if (is_streamed)                                \
            _tile_stream_loadd(tile, from, stride);     \
        else                                            \
            _tile_loadd(tile, from, stride);            \
    } while (0)

/* Stores a tile of the previous block and starts the sums of the next one. */
#define RUNGI_AMX_SWAP_SUMS(sum, old, new)                   \
    do {                                                     \
        _tile_stored(sum, old, previous->stride);            \
        if (is_first)                                        \
            _tile_zero(sum);                                 \
        else                                                 \
            _tile_loadd(sum, new, RUNGI_AMX_SUMS_ROW_BYTES); \
    } while (0)

/* ---- 32 x 32 ---------------------------------------------------------------------------------------- */

RUNGI_AMX_INLINE void rungi_amx_32x32_begin(bool is_i8, bool is_first, bool is_b_streamed,
                                            const rungi_amx_row_strides *a, const char *b,
                                            const rungi_amx_store_target *previous, const char *sums)
{
    const char *bottom = sums + 16 * RUNGI_AMX_SUMS_ROW_BYTES;
    RUNGI_AMX_LOAD(is_b_streamed, 6, b, RUNGI_AMX_STEP_BYTES);
    RUNGI_AMX_LOAD(!is_b_streamed, 4, a->first, a->row);
    RUNGI_AMX_LOAD(is_b_streamed, 7, b + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
    RUNGI_AMX_LOAD(!is_b_streamed, 5, a->first + a->tile, a->row);
    RUNGI_AMX_SWAP_SUMS(0, previous->top, sums);
    RUNGI_AMX_MULTIPLY(0, 4, 6);
    RUNGI_AMX_SWAP_SUMS(1, previous->top + 64, sums + 64);
    RUNGI_AMX_MULTIPLY(1, 4, 7);
    RUNGI_AMX_SWAP_SUMS(2, previous->bottom, bottom);
    RUNGI_AMX_MULTIPLY(2, 5, 6);
    RUNGI_AMX_SWAP_SUMS(3, previous->bottom + 64, bottom + 64);
    RUNGI_AMX_MULTIPLY(3, 5, 7);
}

/* Prefetches four rows of the next block of C, whose lines are written when its sums are stored. */
RUNGI_AMX_INLINE void rungi_amx_c_prefetch(const char *c, int64_t stride)
{
    for (int64_t r = 0; r < 4; r++) {
        _mm_prefetch(c + r * stride, _MM_HINT_T1);
        _mm_prefetch(c + r * stride + 64, _MM_HINT_T1);
    }
}

/* Prefetches into L2 as much of B as one step of a panel reads, 4 KiB ahead of that step. */
RUNGI_AMX_INLINE void rungi_amx_b_prefetch(const char *b)
{
    enum { AHEAD = 4 << 10 };
    for (int64_t byte = 0; byte < RUNGI_AMX_PANEL_STEP_BYTES; byte += RUNGI_AMX_STEP_BYTES)
        _mm_prefetch(b + AHEAD + byte, _MM_HINT_T1);
}

/* Adds the steps after the first. If is_b_in_memory, B is prefetched; if `c` is not NULL, the next block of C is. */
RUNGI_AMX_INLINE void rungi_amx_32x32_continue(bool is_i8, bool is_b_streamed, bool is_b_in_memory, int64_t steps,
                                               const rungi_amx_row_strides *a, const char *b, const char *c,
                                               int64_t stride, rungi_amx_ahead *ahead, const rungi_amx_copy *copy)
{
    const char *row = a->first;
    const rungi_amx_copy copied = *copy;
    if (is_b_in_memory)
        rungi_amx_b_prefetch(b);
    rungi_amx_copy_line(&copied, 0);
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_AMX_PANEL_STEP_BYTES;
        if (is_b_in_memory)
            rungi_amx_b_prefetch(b);
        RUNGI_AMX_LOAD(is_b_streamed, 6, b, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_LOAD(!is_b_streamed, 4, row, a->row);
        RUNGI_AMX_MULTIPLY(0, 4, 6);
        RUNGI_AMX_LOAD(is_b_streamed, 7, b + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_MULTIPLY(1, 4, 7);
        if (c) {
            rungi_amx_c_prefetch(c, stride);
            c += 4 * stride;
        }
        rungi_amx_prefetch_ahead(&ahead[0]);
        rungi_amx_prefetch_ahead(&ahead[1]);
        rungi_amx_copy_line(&copied, step);
        RUNGI_AMX_LOAD(!is_b_streamed, 5, row + a->tile, a->row);
        RUNGI_AMX_MULTIPLY(2, 5, 6);
        RUNGI_AMX_MULTIPLY(3, 5, 7);
    }
}

/* ---- 16 x 64: two panels of B ---------------------------------------------------------------------------- */

RUNGI_AMX_INLINE void rungi_amx_16x64_begin(bool is_i8, bool is_first, const rungi_amx_row_strides *a, const char *b,
                                            const char *b2, const rungi_amx_store_target *previous, const char *top,
                                            const char *bottom)
{
    _tile_loadd(4, a->first, a->row);
    _tile_loadd(5, b, RUNGI_AMX_STEP_BYTES);
    _tile_loadd(6, b + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
    _tile_loadd(7, b2, RUNGI_AMX_STEP_BYTES);
    RUNGI_AMX_SWAP_SUMS(0, previous->top, top);
    RUNGI_AMX_MULTIPLY(0, 4, 5);
    RUNGI_AMX_SWAP_SUMS(1, previous->top + 64, top + 64);
    RUNGI_AMX_MULTIPLY(1, 4, 6);
    _tile_loadd(5, b2 + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
    RUNGI_AMX_SWAP_SUMS(2, previous->bottom, bottom);
    RUNGI_AMX_MULTIPLY(2, 4, 7);
    RUNGI_AMX_SWAP_SUMS(3, previous->bottom + 64, bottom + 64);
    RUNGI_AMX_MULTIPLY(3, 4, 5);
}

RUNGI_AMX_INLINE void rungi_amx_16x64_continue(bool is_i8, bool is_b_in_memory, int64_t steps,
                                               const rungi_amx_row_strides *a, const char *b, const char *b2)
{
    const char *row = a->first;
    if (is_b_in_memory) {
        rungi_amx_b_prefetch(b);
        rungi_amx_b_prefetch(b2);
    }
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_AMX_PANEL_STEP_BYTES;
        b2 += RUNGI_AMX_PANEL_STEP_BYTES;
        if (is_b_in_memory) {
            rungi_amx_b_prefetch(b);
            rungi_amx_b_prefetch(b2);
        }
        _tile_loadd(4, row, a->row);
        _tile_loadd(5, b, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_MULTIPLY(0, 4, 5);
        _tile_loadd(6, b + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_MULTIPLY(1, 4, 6);
        _tile_loadd(7, b2, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_MULTIPLY(2, 4, 7);
        _tile_loadd(5, b2 + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES);
        RUNGI_AMX_MULTIPLY(3, 4, 5);
    }
}

/* ---- 32 x 32 as three BF16 terms: the six largest of nine products, smallest first -------------------------- */

#define RUNGI_AMX_LOAD_PAIR(is_streamed, first, second, from)                                     \
    do {                                                                                          \
        RUNGI_AMX_LOAD(is_streamed, first, from, RUNGI_AMX_STEP_BYTES);                           \
        RUNGI_AMX_LOAD(is_streamed, second, (from) + RUNGI_AMX_TILE_BYTES, RUNGI_AMX_STEP_BYTES); \
    } while (0)
#define RUNGI_AMX_LOAD_A(term) RUNGI_AMX_LOAD_PAIR(false, 4, 5, a + (term)*RUNGI_AMX_PANEL_STEP_BYTES)
#define RUNGI_AMX_LOAD_B(term) RUNGI_AMX_LOAD_PAIR(true, 6, 7, b + (term)*RUNGI_AMX_PANEL_STEP_BYTES)
#define RUNGI_AMX_MULTIPLY_ALL() \
    do {                         \
        _tile_dpbf16ps(0, 4, 6); \
        _tile_dpbf16ps(1, 4, 7); \
        _tile_dpbf16ps(2, 5, 6); \
        _tile_dpbf16ps(3, 5, 7); \
    } while (0)

/* Adds all products but the one of the first term of A and the third of B of the first step, with which the caller begins. */
RUNGI_AMX_INLINE void rungi_amx_bf16x3_continue(bool is_b_in_memory, int64_t steps, const char *a, const char *b,
                                                rungi_amx_ahead *ahead)
{
    for (int64_t step = 0; step < steps; step++) {
        if (step > 0) {
            RUNGI_AMX_LOAD_A(0);
            RUNGI_AMX_LOAD_B(2);
            RUNGI_AMX_MULTIPLY_ALL();
        }
        RUNGI_AMX_LOAD_B(1);
        RUNGI_AMX_MULTIPLY_ALL();
        if (is_b_in_memory)
            rungi_amx_b_prefetch(b);
        RUNGI_AMX_LOAD_A(1);
        RUNGI_AMX_MULTIPLY_ALL();
        rungi_amx_prefetch_ahead(&ahead[0]);
        rungi_amx_prefetch_ahead(&ahead[1]);
        if (is_b_in_memory)
            rungi_amx_b_prefetch(b + RUNGI_AMX_PANEL_STEP_BYTES);
        RUNGI_AMX_LOAD_B(0);
        RUNGI_AMX_MULTIPLY_ALL();
        if (is_b_in_memory)
            rungi_amx_b_prefetch(b + 2 * RUNGI_AMX_PANEL_STEP_BYTES);
        rungi_amx_prefetch_ahead(&ahead[1]);
        RUNGI_AMX_LOAD_A(2);
        RUNGI_AMX_MULTIPLY_ALL();
        rungi_amx_prefetch_ahead(&ahead[0]);
        rungi_amx_prefetch_ahead(&ahead[1]);
        RUNGI_AMX_LOAD_A(0);
        RUNGI_AMX_MULTIPLY_ALL();
        a += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES;
        b += RUNGI_BF16X3_TERMS * RUNGI_AMX_PANEL_STEP_BYTES;
    }
}

/* ---- Storing the last block ----------------------------------------------------------------------------------------- */

RUNGI_AMX_INLINE void rungi_amx_tiles_store(const rungi_amx_store_target *previous)
{
    _tile_stored(0, previous->top, previous->stride);
    _tile_stored(1, previous->top + 64, previous->stride);
    _tile_stored(2, previous->bottom, previous->stride);
    _tile_stored(3, previous->bottom + 64, previous->stride);
}
#endif
