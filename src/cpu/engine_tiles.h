/* SPDX-License-Identifier: Apache-2.0 */
/* engine_tiles.h - blocks of C in the tiles of AMX; see engine.h for how operands are packed.
 *
 * Tiles 0 to 3 are sums, of 16 x 16 each: those of 32 x 32 of C, or of 16 x 64. Tiles 4 to 7 are operands.
 * A block is begun by its first step, which stores the sums of the block before: each tile is stored
 * and taken over in turn, so that the engine never waits for the last of its sums. */
#ifndef RUNGI_CPU_ENGINE_TILES_H
#define RUNGI_CPU_ENGINE_TILES_H

#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define RUNGI_TILE_INLINE RUNGI_ON_AMX static inline __attribute__((always_inline))

/* Rows of A, packed or as they stand: the bytes from a row, from 16 rows, and from a step to the next. */
typedef struct rungi_rows {
    const char *first;
    int64_t row, tile, step;
} rungi_rows;

/* Where four tiles of sums belong: two at `top`, 64 bytes apart, two at `bottom`. */
typedef struct rungi_place {
    char *top, *bottom;
    int64_t stride;
} rungi_place;

typedef struct rungi_tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} rungi_tile_config;

/* Where C has less than 16 rows, tiles of sums and of A have no more. */
RUNGI_ON_AMX static void rungi_tiles_configure(int64_t height)
{
    static const rungi_tile_config whole = {
        .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    rungi_tile_config config = whole;
    if (height >= 16) {
        _tile_loadconfig(&whole);
        return;
    }
    for (int i = 0; i < 5; i++)
        config.rows[i] = (uint8_t)height;
    __asm__ volatile("" : : "r"(&config) : "memory"); /* all of it is read, which GCC is not told */
    _tile_loadconfig(&config);
}

#define RUNGI_MULTIPLY(sum, a, b)      \
    do {                               \
        if (is_i8)                     \
            _tile_dpbssd(sum, a, b);   \
        else                           \
            _tile_dpbf16ps(sum, a, b); \
    } while (0)

/* Stores a tile of the block before, and begins the one that is next. */
#define RUNGI_EXCHANGE(sum, old, new)              \
    do {                                           \
        _tile_stored(sum, old, held->stride);      \
        if (is_first)                              \
            _tile_zero(sum);                       \
        else                                       \
            _tile_loadd(sum, new, RUNGI_SUMS_ROW); \
    } while (0)

/* ---- 32 x 32 ---------------------------------------------------------------------------------------- */

RUNGI_TILE_INLINE void rungi_square_begin(bool is_i8, bool is_first, const rungi_rows *a, const char *b,
                                          const rungi_place *held, const char *top, const char *bottom)
{
    _tile_loadd(6, b, RUNGI_STEP_BYTES);
    _tile_loadd(4, a->first, a->row);
    _tile_loadd(7, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    _tile_loadd(5, a->first + a->tile, a->row);
    RUNGI_EXCHANGE(0, held->top, top);
    RUNGI_MULTIPLY(0, 4, 6);
    RUNGI_EXCHANGE(1, held->top + 64, top + 64);
    RUNGI_MULTIPLY(1, 4, 7);
    RUNGI_EXCHANGE(2, held->bottom, bottom);
    RUNGI_MULTIPLY(2, 5, 6);
    RUNGI_EXCHANGE(3, held->bottom + 64, bottom + 64);
    RUNGI_MULTIPLY(3, 5, 7);
}

/* Four rows of the block of C that is next: their lines are wanted when its sums are stored. */
RUNGI_TILE_INLINE void rungi_rows_fetch(const char *c, int64_t stride)
{
    for (int64_t r = 0; r < 4; r++) {
        _mm_prefetch(c + r * stride, _MM_HINT_T1);
        _mm_prefetch(c + r * stride + 64, _MM_HINT_T1);
    }
}

/* Prefetches into the second cache as much of B as one step of a panel reads, 4 KiB ahead of that step. */
RUNGI_TILE_INLINE void rungi_step_fetch(const char *b)
{
    enum { AHEAD = 4 << 10 };
    for (int64_t byte = 0; byte < RUNGI_PANEL_BYTES; byte += RUNGI_STEP_BYTES)
        _mm_prefetch(b + AHEAD + byte, _MM_HINT_T1);
}

/* The steps after the first. `is_far`: B comes from memory and is prefetched. */
RUNGI_TILE_INLINE void rungi_square_go_on(bool is_i8, bool is_far, int64_t steps, const rungi_rows *a, const char *b,
                                          const char *c, int64_t stride)
{
    const char *row = a->first;
    if (is_far)
        rungi_step_fetch(b);
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_PANEL_BYTES;
        if (is_far)
            rungi_step_fetch(b);
        _tile_loadd(6, b, RUNGI_STEP_BYTES);
        _tile_loadd(4, row, a->row);
        RUNGI_MULTIPLY(0, 4, 6);
        _tile_loadd(7, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        RUNGI_MULTIPLY(1, 4, 7);
        if (c) {
            rungi_rows_fetch(c, stride);
            c += 4 * stride;
        }
        _tile_loadd(5, row + a->tile, a->row);
        RUNGI_MULTIPLY(2, 5, 6);
        RUNGI_MULTIPLY(3, 5, 7);
    }
}

/* ---- 16 x 64: two panels of B ---------------------------------------------------------------------------- */

RUNGI_TILE_INLINE void rungi_flat_begin(bool is_i8, bool is_first, const rungi_rows *a, const char *b, const char *b2,
                                        const rungi_place *held, const char *top, const char *bottom)
{
    _tile_loadd(4, a->first, a->row);
    _tile_loadd(5, b, RUNGI_STEP_BYTES);
    _tile_loadd(6, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    _tile_loadd(7, b2, RUNGI_STEP_BYTES);
    RUNGI_EXCHANGE(0, held->top, top);
    RUNGI_MULTIPLY(0, 4, 5);
    RUNGI_EXCHANGE(1, held->top + 64, top + 64);
    RUNGI_MULTIPLY(1, 4, 6);
    _tile_loadd(5, b2 + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    RUNGI_EXCHANGE(2, held->bottom, bottom);
    RUNGI_MULTIPLY(2, 4, 7);
    RUNGI_EXCHANGE(3, held->bottom + 64, bottom + 64);
    RUNGI_MULTIPLY(3, 4, 5);
}

RUNGI_TILE_INLINE void rungi_flat_go_on(bool is_i8, bool is_far, int64_t steps, const rungi_rows *a, const char *b,
                                        const char *b2)
{
    const char *row = a->first;
    if (is_far) {
        rungi_step_fetch(b);
        rungi_step_fetch(b2);
    }
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_PANEL_BYTES;
        b2 += RUNGI_PANEL_BYTES;
        if (is_far) {
            rungi_step_fetch(b);
            rungi_step_fetch(b2);
        }
        _tile_loadd(4, row, a->row);
        _tile_loadd(5, b, RUNGI_STEP_BYTES);
        RUNGI_MULTIPLY(0, 4, 5);
        _tile_loadd(6, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        RUNGI_MULTIPLY(1, 4, 6);
        _tile_loadd(7, b2, RUNGI_STEP_BYTES);
        RUNGI_MULTIPLY(2, 4, 7);
        _tile_loadd(5, b2 + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        RUNGI_MULTIPLY(3, 4, 5);
    }
}

/* ---- 32 x 32 in parts: of nine products the six largest, the smallest of them first -------------------------- */

#define RUNGI_LOAD_A(part)                                                                 \
    do {                                                                                   \
        _tile_loadd(4, a + (part)*RUNGI_PANEL_BYTES, RUNGI_STEP_BYTES);                    \
        _tile_loadd(5, a + (part)*RUNGI_PANEL_BYTES + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES); \
    } while (0)
#define RUNGI_LOAD_B(part)                                                                 \
    do {                                                                                   \
        _tile_loadd(6, b + (part)*RUNGI_PANEL_BYTES, RUNGI_STEP_BYTES);                    \
        _tile_loadd(7, b + (part)*RUNGI_PANEL_BYTES + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES); \
    } while (0)
#define RUNGI_MULTIPLY_ALL()     \
    do {                         \
        _tile_dpbf16ps(0, 4, 6); \
        _tile_dpbf16ps(1, 4, 7); \
        _tile_dpbf16ps(2, 5, 6); \
        _tile_dpbf16ps(3, 5, 7); \
    } while (0)

RUNGI_TILE_INLINE void rungi_parts_begin(bool is_first, const char *a, const char *b, const rungi_place *held,
                                         const char *top, const char *bottom)
{
    RUNGI_LOAD_A(0);
    RUNGI_LOAD_B(2);
    RUNGI_EXCHANGE(0, held->top, top);
    _tile_dpbf16ps(0, 4, 6);
    RUNGI_EXCHANGE(1, held->top + 64, top + 64);
    _tile_dpbf16ps(1, 4, 7);
    RUNGI_EXCHANGE(2, held->bottom, bottom);
    _tile_dpbf16ps(2, 5, 6);
    RUNGI_EXCHANGE(3, held->bottom + 64, bottom + 64);
    _tile_dpbf16ps(3, 5, 7);
}

/* The products behind the first, and the steps behind theirs. */
RUNGI_TILE_INLINE void rungi_parts_go_on(bool is_far, int64_t steps, const char *a, const char *b)
{
    for (int64_t step = 0; step < steps; step++) {
        if (step > 0) {
            RUNGI_LOAD_A(0);
            RUNGI_LOAD_B(2);
            RUNGI_MULTIPLY_ALL();
        }
        RUNGI_LOAD_B(1);
        RUNGI_MULTIPLY_ALL();
        if (is_far)
            rungi_step_fetch(b);
        RUNGI_LOAD_A(1);
        RUNGI_MULTIPLY_ALL();
        if (is_far)
            rungi_step_fetch(b + RUNGI_PANEL_BYTES);
        RUNGI_LOAD_B(0);
        RUNGI_MULTIPLY_ALL();
        if (is_far)
            rungi_step_fetch(b + 2 * RUNGI_PANEL_BYTES);
        RUNGI_LOAD_A(2);
        RUNGI_MULTIPLY_ALL();
        RUNGI_LOAD_A(0);
        RUNGI_MULTIPLY_ALL();
        a += RUNGI_PARTS * RUNGI_PANEL_BYTES;
        b += RUNGI_PARTS * RUNGI_PANEL_BYTES;
    }
}

/* ---- The last block ----------------------------------------------------------------------------------------- */

RUNGI_TILE_INLINE void rungi_tiles_store(const rungi_place *held)
{
    _tile_stored(0, held->top, held->stride);
    _tile_stored(1, held->top + 64, held->stride);
    _tile_stored(2, held->bottom, held->stride);
    _tile_stored(3, held->bottom + 64, held->stride);
}
#endif

#endif /* RUNGI_CPU_ENGINE_TILES_H */
