/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - the processor's matrix engine: AMX tiles, or dot products of vectors.
 *
 * Removes  the multiply as a vector's work: one instruction multiplies 16 x 16 numbers of C by 64 bytes
 *          of k, and 32 x 32 of C stay in tiles along a slice of k.
 * Leaves   what stands between the memory and the tiles.
 * Watch    rung bench --device cpu --dtype bf16 --kernels 10,12
 *
 * C is cut into blocks of MC x NC, k into slices of KC bytes. A slice of B is packed once a block; of A
 * only the 32 rows that are next, which stay in the first cache while panels of B come from the second
 * one after the other. Sums that wait for the next slice are kept in the second cache, tile by tile. A
 * block of 32 x 32 is stored by the first step of the next one: each of its tiles is stored and taken
 * over in turn, so that the engine never waits for the last of its sums.
 *
 * F32 (compute bf16x3) is multiplied as three numbers of BF16 each; where that would be wrong, by FMA:
 * see docs/decisions/0025. Whichever way, an element is summed in an order that k alone decides.
 */
// takes: bf16,bf16:f32,i8,f32,f32:bf16,f32:f16
// computes: bf16x3
#include "cpu/engine.h"
#include "cpu/kernels/kernels.h"

/* Bytes of k, as packed, that the first cache holds of a panel, and the second of a block's panels of B. */
#ifndef KC
#define KC 512 // 256 512 1024
#endif
#ifndef KD
#define KD 2048 // 1024 2048 4096
#endif
#ifndef MC
#define MC 512 // 256 512 1024
#endif
#ifndef NC
#define NC 512 // 256 512 1024
#endif
// preset tiny: KC=192,KD=384,MC=64,NC=64

#define BM 32
#define BN 32
#define BK 32

#if KC < 192 || KC % 64 != 0 || KC > 65536
#error "KC must be a multiple of 64, from 192 to 65536"
#endif
#if KD < KC || KD % KC != 0 || KD > 65536
#error "KD must be a multiple of KC, up to 65536"
#endif
#if MC < 32 || MC % 32 != 0 || NC < 32 || NC % 32 != 0
#error "MC and NC must be multiples of 32"
#endif
#if MC > 65536 || NC > 65536 || MC * NC > 16777216
#error "MC * NC must not be more than 16777216"
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

/* The order in which the file lists them. */
enum { KC_GIVEN, KD_GIVEN, MC_GIVEN, NC_GIVEN };

typedef enum path { TILES_BF16, TILES_I8, TILES_PARTS, DOT_BF16, DOT_I8 } path;

enum {
    SUMS_ROW = RUNGI_PANEL * 4,          /* bytes */
    SUMS_BYTES = RUNGI_PANEL * SUMS_ROW, /* of a block of 32 x 32 */
    KEPT_MOST = 32                       /* slices of B that are kept for the next block of rows */
};

/* ---- Sizes ------------------------------------------------------------------------------------------ */

/* How a job is cut, and where in its scratch things stand. */
typedef struct layout {
    rungi_packing packing;
    int64_t size;    /* bytes of an element */
    int64_t step;    /* elements along k */
    int64_t unit;    /* bytes of a panel's step */
    int64_t depth;   /* elements of k in a slice */
    int64_t slices;  /* of k */
    int64_t stretch; /* how many of them are packed at a time */
    int64_t kept;    /* how many stay packed for the next block of rows */
    int64_t mc, nc;
    int64_t panels;  /* of nc */
    int64_t slice_bytes;
    int64_t a, b, sums, block, ranges, worn, room, bytes;
} layout;

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* The next place, at a multiple of 4096. */
static int64_t take(int64_t *bytes, int64_t more)
{
    int64_t place = *bytes;
    *bytes += round_up(more, 4096);
    return place;
}

static layout lay_out(const rungi_cpu_job *job, path path)
{
    layout l = {.packing = path == TILES_PARTS                       ? RUNGI_PACK_PARTS
                           : path == TILES_I8 || path == DOT_I8      ? RUNGI_PACK_I8
                                                                     : RUNGI_PACK_BF16};
    int64_t parts = l.packing == RUNGI_PACK_PARTS ? RUNGI_PARTS : 1;
    l.size = l.packing == RUNGI_PACK_PARTS ? 4 : l.packing == RUNGI_PACK_BF16 ? 2 : 1;
    l.step = l.packing == RUNGI_PACK_I8 ? 64 : 32;
    l.unit = RUNGI_PANEL_BYTES * parts;
    l.depth = smaller(job->parameters[KC_GIVEN] / (RUNGI_STEP_BYTES * parts) * l.step, round_up(job->k, l.step));
    l.depth = l.depth > 0 ? l.depth : l.step;
    l.slices = (job->k + l.depth - 1) / l.depth;
    l.mc = smaller(job->parameters[MC_GIVEN], round_up(job->m, RUNGI_PANEL));
    l.nc = smaller(job->parameters[NC_GIVEN], round_up(job->n, RUNGI_PANEL));
    l.panels = l.nc / RUNGI_PANEL;
    l.stretch = smaller(job->parameters[KD_GIVEN] / job->parameters[KC_GIVEN], l.slices);
    l.kept = job->m > l.mc ? smaller(l.slices, KEPT_MOST) : 0;
    l.slice_bytes = l.panels * l.depth / l.step * l.unit;
    int64_t blocks = l.mc / RUNGI_PANEL * l.panels;
    l.a = take(&l.bytes, l.depth / l.step * l.unit);
    l.b = take(&l.bytes, (l.kept + l.stretch) * l.slice_bytes);
    l.sums = take(&l.bytes, l.slices > 1 ? blocks * SUMS_BYTES : 0);
    l.block = take(&l.bytes, 2 * SUMS_BYTES);
    if (l.packing == RUNGI_PACK_PARTS) {
        l.ranges = take(&l.bytes, (l.kept + l.stretch) * l.panels * (int64_t)sizeof(rungi_range));
        l.worn = take(&l.bytes, blocks);
        l.room = take(&l.bytes, l.depth * RUNGI_FMA_ROOM);
    }
    return l;
}

/* ---- What is under way --------------------------------------------------------------------------------- */

/* A block of C. */
typedef struct block {
    int64_t i, j, rows, cols;
} block;

/* Where the four tiles of sums go: two from `top`, 64 bytes apart, two from `bottom`. */
typedef struct place {
    char   *top, *bottom;
    int64_t stride;
} place;

/* One run of a thread. */
typedef struct engine {
    const rungi_cpu_job *job;
    layout  l;
    bool    is_plain;    /* sums are stored as they are */
    place   held;        /* where the sums in the tiles belong */
    bool    is_finished; /* and whether that is C itself, or a slice is still to come */
    block   block[2];    /* else the blocks of C that they are */
} engine;

/* A panel of A's rows: the bytes from a row, from 16 rows and from a step to the next. */
typedef struct rows {
    const char *first;
    int64_t     row, tile, step;
} rows;

/* 32 rows of a block of C by a slice of k. */
typedef struct strip {
    int64_t     i, j;        /* where in C */
    int64_t     number;      /* of the strip in its block */
    int64_t     height, width;
    int64_t     p, depth, steps;
    bool        is_first, is_last;
    rows        a;
    const char *b;
    const rungi_range *ranges; /* of the panels of B */
} strip;

static char *sums_at(const engine *e, const strip *s, int64_t panel)
{
    if (e->l.slices > 1)
        return e->job->scratch + e->l.sums + (s->number * e->l.panels + panel) * SUMS_BYTES;
    return e->job->scratch + e->l.block + panel % 2 * SUMS_BYTES;
}

static block block_of(const strip *s, int64_t panel)
{
    return (block){s->i, s->j + panel * RUNGI_PANEL, s->height, smaller(RUNGI_PANEL, s->width - panel * RUNGI_PANEL)};
}

/* ---- Tiles ---------------------------------------------------------------------------------------------- */

/* Tiles 0 to 3 are sums, 4 to 7 operands. A tile of A has as many rows as there are, 16 at most. */
RUNGI_ON_AMX static void configure(int64_t height)
{
    struct {
        uint8_t  palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t  rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.bytes[i] = RUNGI_STEP_BYTES;
        config.rows[i] = i < 5 ? (uint8_t)smaller(height, 16) : 16;
    }
    _tile_loadconfig(&config);
}

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define MULTIPLY(sum, a, b)                                                                       \
    do {                                                                                          \
        if (is_i8)                                                                                \
            _tile_dpbssd(sum, a, b);                                                              \
        else                                                                                      \
            _tile_dpbf16ps(sum, a, b);                                                            \
    } while (0)

/* Stores a tile of the block before, and begins the one that is next. */
#define EXCHANGE(sum, old, new)                                                                   \
    do {                                                                                          \
        _tile_stored(sum, old, held->stride);                                                     \
        if (is_first)                                                                             \
            _tile_zero(sum);                                                                      \
        else                                                                                      \
            _tile_loadd(sum, new, SUMS_ROW);                                                      \
    } while (0)

/* The first step of 32 x 32 of C. */
RUNGI_ON_AMX static ALWAYS_INLINE void square_begin(bool is_i8, bool is_first, const rows *a, const char *b,
                                                    const place *held, const place *next)
{
    _tile_loadd(6, b, RUNGI_STEP_BYTES);
    _tile_loadd(4, a->first, a->row);
    _tile_loadd(7, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    _tile_loadd(5, a->first + a->tile, a->row);
    EXCHANGE(0, held->top, next->top);
    MULTIPLY(0, 4, 6);
    EXCHANGE(1, held->top + 64, next->top + 64);
    MULTIPLY(1, 4, 7);
    EXCHANGE(2, held->bottom, next->bottom);
    MULTIPLY(2, 5, 6);
    EXCHANGE(3, held->bottom + 64, next->bottom + 64);
    MULTIPLY(3, 5, 7);
}

RUNGI_ON_AMX static ALWAYS_INLINE void square_go_on(bool is_i8, int64_t steps, const rows *a, const char *b)
{
    const char *row = a->first;
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_PANEL_BYTES;
        _tile_loadd(6, b, RUNGI_STEP_BYTES);
        _tile_loadd(4, row, a->row);
        MULTIPLY(0, 4, 6);
        _tile_loadd(7, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        MULTIPLY(1, 4, 7);
        _tile_loadd(5, row + a->tile, a->row);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
}

/* The same of 16 x 64, two panels of B. */
RUNGI_ON_AMX static ALWAYS_INLINE void flat_begin(bool is_i8, bool is_first, const rows *a, const char *b,
                                                  const char *b2, const place *held, const place *next)
{
    _tile_loadd(4, a->first, a->row);
    _tile_loadd(5, b, RUNGI_STEP_BYTES);
    _tile_loadd(6, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    _tile_loadd(7, b2, RUNGI_STEP_BYTES);
    EXCHANGE(0, held->top, next->top);
    MULTIPLY(0, 4, 5);
    EXCHANGE(1, held->top + 64, next->top + 64);
    MULTIPLY(1, 4, 6);
    _tile_loadd(5, b2 + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
    EXCHANGE(2, held->bottom, next->bottom);
    MULTIPLY(2, 4, 7);
    EXCHANGE(3, held->bottom + 64, next->bottom + 64);
    MULTIPLY(3, 4, 5);
}

RUNGI_ON_AMX static ALWAYS_INLINE void flat_go_on(bool is_i8, int64_t steps, const rows *a, const char *b,
                                                  const char *b2)
{
    const char *row = a->first;
    for (int64_t step = 1; step < steps; step++) {
        row += a->step;
        b += RUNGI_PANEL_BYTES;
        b2 += RUNGI_PANEL_BYTES;
        _tile_loadd(4, row, a->row);
        _tile_loadd(5, b, RUNGI_STEP_BYTES);
        MULTIPLY(0, 4, 5);
        _tile_loadd(6, b + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        MULTIPLY(1, 4, 6);
        _tile_loadd(7, b2, RUNGI_STEP_BYTES);
        MULTIPLY(2, 4, 7);
        _tile_loadd(5, b2 + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);
        MULTIPLY(3, 4, 5);
    }
}

/* Two tiles of a part of A, or of B, by two of the other. */
#define LOAD_A(part)                                                                              \
    do {                                                                                          \
        _tile_loadd(4, row + (part)*RUNGI_PANEL_BYTES, RUNGI_STEP_BYTES);                         \
        _tile_loadd(5, row + (part)*RUNGI_PANEL_BYTES + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);      \
    } while (0)
#define LOAD_B(part)                                                                              \
    do {                                                                                          \
        _tile_loadd(6, b + (part)*RUNGI_PANEL_BYTES, RUNGI_STEP_BYTES);                           \
        _tile_loadd(7, b + (part)*RUNGI_PANEL_BYTES + RUNGI_TILE_BYTES, RUNGI_STEP_BYTES);        \
    } while (0)
#define MULTIPLY_ALL()                                                                            \
    do {                                                                                          \
        _tile_dpbf16ps(0, 4, 6);                                                                  \
        _tile_dpbf16ps(1, 4, 7);                                                                  \
        _tile_dpbf16ps(2, 5, 6);                                                                  \
        _tile_dpbf16ps(3, 5, 7);                                                                  \
    } while (0)

/* 32 x 32 of C in parts: of nine products the six largest, the smallest of them first. */
RUNGI_ON_AMX static ALWAYS_INLINE void parts_begin(bool is_first, const char *row, const char *b, const place *held,
                                                   const place *next)
{
    LOAD_A(0);
    LOAD_B(2);
    EXCHANGE(0, held->top, next->top);
    _tile_dpbf16ps(0, 4, 6);
    EXCHANGE(1, held->top + 64, next->top + 64);
    _tile_dpbf16ps(1, 4, 7);
    EXCHANGE(2, held->bottom, next->bottom);
    _tile_dpbf16ps(2, 5, 6);
    EXCHANGE(3, held->bottom + 64, next->bottom + 64);
    _tile_dpbf16ps(3, 5, 7);
}

RUNGI_ON_AMX static ALWAYS_INLINE void parts_go_on(int64_t steps, const char *row, const char *b)
{
    for (int64_t step = 0; step < steps; step++) {
        if (step > 0) {
            LOAD_A(0);
            LOAD_B(2);
            MULTIPLY_ALL();
        }
        LOAD_B(1);
        MULTIPLY_ALL();
        LOAD_A(1);
        MULTIPLY_ALL();
        LOAD_B(0);
        MULTIPLY_ALL();
        LOAD_A(2);
        MULTIPLY_ALL();
        LOAD_A(0);
        MULTIPLY_ALL();
        row += RUNGI_PARTS * RUNGI_PANEL_BYTES;
        b += RUNGI_PARTS * RUNGI_PANEL_BYTES;
    }
}

/* ---- From block to block --------------------------------------------------------------------------------- */

/* The block that was held is in memory now: the last word on its sums, if they are all there. */
static void finish_held(engine *e)
{
    if (e->is_finished)
        return;
    for (int x = 0; x < 2; x++)
        if (e->block[x].cols > 0)
            rungi_engine_finish(e->job, e->block[x].i, e->block[x].j, e->block[x].rows, e->block[x].cols,
                                x == 0 ? e->held.top : e->held.bottom);
}

/* Where a block's sums go from the tiles: to C itself, if nothing becomes of them, or to where they
 * were. The second block is that of a flat one, 64 columns wide; else there is none. */
static void hold(engine *e, const strip *s, block first, block second, const place *sums)
{
    const rungi_cpu_job *job = e->job;
    bool is_flat = second.cols > 0;
    e->held = *sums;
    e->is_finished = !s->is_last;
    e->block[0] = first;
    e->block[1] = second;
    if (!s->is_last || !e->is_plain || first.cols < RUNGI_PANEL || (is_flat && second.cols < RUNGI_PANEL) ||
        (is_flat ? first.rows != smaller(job->m, 16) : first.rows < RUNGI_PANEL))
        return;
    char *c = (char *)job->c.first + (first.i * job->c.row_stride + first.j) * 4;
    e->held = (place){c, is_flat ? c + SUMS_ROW : c + 16 * job->c.row_stride * 4, job->c.row_stride * 4};
    e->is_finished = true;
}

RUNGI_ON_AMX static void let_go(engine *e)
{
    _tile_stored(0, e->held.top, e->held.stride);
    _tile_stored(1, e->held.top + 64, e->held.stride);
    _tile_stored(2, e->held.bottom, e->held.stride);
    _tile_stored(3, e->held.bottom + 64, e->held.stride);
    finish_held(e);
}

/* The second half of what a square has, or the panel beside. */
static place place_of(char *top, char *bottom)
{
    return (place){top, bottom, SUMS_ROW};
}

RUNGI_ON_AMX static ALWAYS_INLINE void strip_of_squares(engine *e, const strip *s, bool is_i8)
{
    int64_t panel_bytes = s->steps * RUNGI_PANEL_BYTES;
    const char *b = s->b;
    for (int64_t panel = 0; panel * RUNGI_PANEL < s->width; panel++, b += panel_bytes) {
        char *sums = sums_at(e, s, panel);
        place next = place_of(sums, sums + 16 * SUMS_ROW), held = e->held;
        if (s->is_first)
            square_begin(is_i8, true, &s->a, b, &held, &next);
        else
            square_begin(is_i8, false, &s->a, b, &held, &next);
        finish_held(e);
        square_go_on(is_i8, s->steps, &s->a, b);
        hold(e, s, block_of(s, panel), (block){0, 0, 0, 0}, &next);
    }
}

/* An odd panel is multiplied twice, for want of another; one of the two is kept. */
RUNGI_ON_AMX static ALWAYS_INLINE void strip_of_flats(engine *e, const strip *s, bool is_i8)
{
    int64_t panel_bytes = s->steps * RUNGI_PANEL_BYTES;
    for (int64_t panel = 0; panel * RUNGI_PANEL < s->width; panel += 2) {
        bool is_alone = (panel + 1) * RUNGI_PANEL >= s->width;
        const char *b = s->b + panel * panel_bytes, *b2 = is_alone ? b : b + panel_bytes;
        char *sums = sums_at(e, s, panel);
        place next = place_of(sums, is_alone ? e->job->scratch + e->l.block + SUMS_BYTES : sums_at(e, s, panel + 1));
        place held = e->held;
        if (s->is_first)
            flat_begin(is_i8, true, &s->a, b, b2, &held, &next);
        else
            flat_begin(is_i8, false, &s->a, b, b2, &held, &next);
        finish_held(e);
        flat_go_on(is_i8, s->steps, &s->a, b, b2);
        hold(e, s, block_of(s, panel), is_alone ? (block){0, 0, 0, 0} : block_of(s, panel + 1), &next);
    }
}

RUNGI_ON_AMX static void strip_bf16(engine *e, const strip *s)
{
    if (s->height <= 16)
        strip_of_flats(e, s, false);
    else
        strip_of_squares(e, s, false);
}

RUNGI_ON_AMX static void strip_i8(engine *e, const strip *s)
{
    if (s->height <= 16)
        strip_of_flats(e, s, true);
    else
        strip_of_squares(e, s, true);
}

/* ---- Without tiles ----------------------------------------------------------------------------------------- */

static void strip_by_dots(engine *e, const strip *s, bool is_i8)
{
    for (int64_t panel = 0; panel * RUNGI_PANEL < s->width; panel++) {
        const char *b = s->b + panel * s->steps * RUNGI_PANEL_BYTES;
        char *sums = sums_at(e, s, panel);
        block block = block_of(s, panel);
        if (is_i8)
            rungi_dot_i8(s->steps, s->a.first, b, s->is_first, (int32_t *)(void *)sums);
        else
            rungi_dot_bf16(s->steps, s->a.first, b, s->is_first, (float *)(void *)sums);
        if (s->is_last)
            rungi_engine_finish(e->job, block.i, block.j, block.rows, block.cols, sums);
    }
}

/* ---- In parts ------------------------------------------------------------------------------------------------ */

/* Whether no product of parts can vanish or overflow: docs/decisions/0025 says why these numbers. */
static bool suits_parts(rungi_range a, rungi_range b, int64_t k)
{
    enum { BIAS = 127, MOST = 126, LEAST = -103, LEAST_OF_BOTH = -80, MOST_OF_BOTH = 120 };
    int32_t a_most = (int32_t)(a.most >> 23) - BIAS, b_most = (int32_t)(b.most >> 23) - BIAS;
    int32_t a_least = (int32_t)((a.least + 1) >> 23) - BIAS, b_least = (int32_t)((b.least + 1) >> 23) - BIAS;
    int32_t of_k = 64 - __builtin_clzll((unsigned long long)k);
    if (a.most == 0 || b.most == 0) /* nothing but zeros on one side */
        return a_most <= MOST && b_most <= MOST;
    return a_most <= MOST && b_most <= MOST && a_most + b_most + of_k <= MOST_OF_BOTH && a_least >= LEAST &&
           b_least >= LEAST && a_least + b_least >= LEAST_OF_BOTH;
}

static rungi_stretch rows_of(const engine *e, int64_t i, int64_t rows, int64_t p, int64_t depth)
{
    const rungi_cpu_input *a = &e->job->a;
    return (rungi_stretch){(const char *)a->first + (i * a->row_stride + p * a->col_stride) * e->l.size, a->row_stride,
                           a->col_stride, rows, depth};
}

static rungi_stretch columns_of(const engine *e, int64_t j, int64_t cols, int64_t p, int64_t depth)
{
    const rungi_cpu_input *b = &e->job->b;
    return (rungi_stretch){(const char *)b->first + (p * b->row_stride + j * b->col_stride) * e->l.size, b->col_stride,
                           b->row_stride, cols, depth};
}

/* A block that was once summed by FMA goes on so: its sums may be smaller than a tile takes. */
static void sum_by_fma(engine *e, const strip *s, int64_t panel, char *sums)
{
    block block = block_of(s, panel);
    rungi_stretch a = rows_of(e, block.i, block.rows, s->p, s->depth);
    rungi_stretch b = columns_of(e, block.j, block.cols, s->p, s->depth);
    rungi_fma_block(&a, &b, s->is_first, (float *)(void *)sums, e->job->scratch + e->l.room);
    if (s->is_last)
        rungi_engine_finish(e->job, block.i, block.j, block.rows, block.cols, sums);
}

RUNGI_ON_AMX static void strip_of_parts(engine *e, const strip *s, rungi_range range)
{
    int64_t panel_bytes = s->steps * RUNGI_PARTS * RUNGI_PANEL_BYTES;
    char *worn = e->job->scratch + e->l.worn + s->number * e->l.panels;
    for (int64_t panel = 0; panel * RUNGI_PANEL < s->width; panel++) {
        const char *b = s->b + panel * panel_bytes;
        char *sums = sums_at(e, s, panel);
        place next = place_of(sums, sums + 16 * SUMS_ROW), held = e->held;
        worn[panel] = (!s->is_first && worn[panel]) || !suits_parts(range, s->ranges[panel], e->job->k);
        if (worn[panel]) {
            if (held.top == sums) { /* the tiles still have what is to be added to */
                let_go(e);
                e->held = place_of(e->job->scratch + e->l.block, e->job->scratch + e->l.block);
                e->is_finished = true;
            }
            sum_by_fma(e, s, panel, sums);
            continue;
        }
        if (s->is_first)
            parts_begin(true, s->a.first, b, &held, &next);
        else
            parts_begin(false, s->a.first, b, &held, &next);
        finish_held(e);
        parts_go_on(s->steps, s->a.first, b);
        hold(e, s, block_of(s, panel), (block){0, 0, 0, 0}, &next);
    }
}

/* ---- The loops ------------------------------------------------------------------------------------------------- */

/* Rows of A that a tile may be loaded from as they stand: whole ones, at a distance that does not put
 * all of them into the same few places of the first cache. */
static bool is_in_place(const engine *e, const strip *s, path path)
{
    int64_t row = e->job->a.row_stride * e->l.size;
    return path <= TILES_I8 && e->job->a.col_stride == 1 && s->height == RUNGI_PANEL && s->depth % e->l.step == 0 &&
           row % 2048 != 0;
}

static void multiply_strip(engine *e, strip *s, path path)
{
    char *packed = e->job->scratch + e->l.a;
    rungi_stretch from = rows_of(e, s->i, s->height, s->p, s->depth);
    rungi_range range = {0, 0};
    if (is_in_place(e, s, path)) {
        int64_t row = e->job->a.row_stride * e->l.size;
        s->a = (rows){from.first, row, 16 * row, RUNGI_STEP_BYTES};
    } else {
        s->a = (rows){packed, RUNGI_STEP_BYTES, RUNGI_TILE_BYTES, RUNGI_PANEL_BYTES};
        rungi_pack_rows(e->l.packing, &from, packed, path == TILES_PARTS ? &range : NULL);
    }
    switch (path) {
    case TILES_BF16: strip_bf16(e, s); break;
    case TILES_I8: strip_i8(e, s); break;
    case TILES_PARTS: strip_of_parts(e, s, range); break;
    case DOT_BF16: strip_by_dots(e, s, false); break;
    case DOT_I8:
        for (int64_t byte = 0; byte < s->steps * RUNGI_PANEL_BYTES; byte++)
            packed[byte] = (char)(packed[byte] ^ 0x80);
        strip_by_dots(e, s, true);
        break;
    }
}

/* Where a slice of B is packed: the first ones stay, the others share the places behind them. */
static int64_t slot_of(const engine *e, int64_t slice)
{
    return slice < e->l.kept ? slice : e->l.kept + slice % e->l.stretch;
}

static void pack_slice(engine *e, int64_t j, int64_t width, int64_t slice, path path)
{
    int64_t p = slice * e->l.depth, slot = slot_of(e, slice);
    rungi_stretch from = columns_of(e, j, width, p, smaller(e->l.depth, e->job->k - p));
    rungi_range *ranges = (rungi_range *)(void *)(e->job->scratch + e->l.ranges) + slot * e->l.panels;
    rungi_pack_columns(e->l.packing, &from, e->job->scratch + e->l.b + slot * e->l.slice_bytes,
                       path == TILES_PARTS ? ranges : NULL);
}

/* 32 rows of a block by one slice. */
static strip strip_of(const engine *e, int64_t slice)
{
    int64_t p = slice * e->l.depth, depth = smaller(e->l.depth, e->job->k - p), slot = slot_of(e, slice);
    return (strip){.p = p, .depth = depth, .steps = (depth + e->l.step - 1) / e->l.step,
                   .is_first = slice == 0, .is_last = slice + 1 == e->l.slices,
                   .b = e->job->scratch + e->l.b + slot * e->l.slice_bytes,
                   .ranges = (rungi_range *)(void *)(e->job->scratch + e->l.ranges) + slot * e->l.panels};
}

/* The mc x nc block of C at (i, j), by all of k. */
static void multiply_block(engine *e, int64_t i, int64_t j, path path)
{
    int64_t height = smaller(e->l.mc, e->job->m - i), width = smaller(e->l.nc, e->job->n - j);
    for (int64_t first = 0; first < e->l.slices; first += e->l.stretch) {
        int64_t end = smaller(first + e->l.stretch, e->l.slices);
        for (int64_t slice = first; slice < end; slice++)
            if (i == 0 || slice >= e->l.kept)
                pack_slice(e, j, width, slice, path);
        for (int64_t x = 0; x < height; x += RUNGI_PANEL)
            for (int64_t slice = first; slice < end; slice++) {
                strip s = strip_of(e, slice);
                s.i = i + x;
                s.j = j;
                s.number = e->l.slices > e->l.stretch ? x / RUNGI_PANEL : 0;
                s.height = smaller(RUNGI_PANEL, height - x);
                s.width = width;
                multiply_strip(e, &s, path);
            }
    }
}

/* C without A B: k is 0. */
static void finish_zeros(const rungi_cpu_job *job)
{
    memset(job->scratch, 0, SUMS_BYTES);
    for (int64_t i = 0; i < job->m; i += RUNGI_PANEL)
        for (int64_t j = 0; j < job->n; j += RUNGI_PANEL)
            rungi_engine_finish(job, i, j, smaller(RUNGI_PANEL, job->m - i), smaller(RUNGI_PANEL, job->n - j),
                                job->scratch);
}

static bool is_plain(const rungi_cpu_job *job)
{
    return (job->out == RUNG_F32 || job->out == RUNG_I32) && job->alpha == 1 && job->beta == 0 && !job->bias.first &&
           !job->residual.first && job->activation == RUNG_NONE && job->c.col_stride == 1;
}

static void multiply(const rungi_cpu_job *job, engine *e)
{
    for (int64_t j = 0; j < job->n; j += e->l.nc)
        for (int64_t i = 0; i < job->m; i += e->l.mc)
            multiply_block(e, i, j, (path)job->form->path);
}

RUNGI_ON_AMX static void multiply_on_tiles(const rungi_cpu_job *job, engine *e)
{
    configure(job->form->path == TILES_PARTS ? 16 : job->m);
    multiply(job, e);
    let_go(e);
    _tile_release();
}

static void run(const rungi_cpu_job *job)
{
    engine e = {.job = job, .is_plain = is_plain(job), .is_finished = true};
    if (job->k == 0) {
        finish_zeros(job);
        return;
    }
    e.l = lay_out(job, (path)job->form->path);
    e.held = place_of(job->scratch + e.l.block, job->scratch + e.l.block); /* nothing yet: stored nowhere */
    if (job->form->path <= TILES_PARTS)
        multiply_on_tiles(job, &e);
    else
        multiply(job, &e);
}

/* ---- What it takes --------------------------------------------------------------------------------------------- */

static rung_status take_path(rung_type in, const rungi_cpu_features *has, path *path)
{
    bool may_use_tiles = has->isa >= RUNGI_ISA_AMX;
    if (may_use_tiles && !rungi_cpu_ask_for_tiles())
        return rungi_fail(RUNG_UNSUPPORTED, "12_matrix: the system does not let this process use AMX; if it has signal "
                          "handlers on stacks of their own (sigaltstack), give those 16 KiB or more");
    if (in == RUNG_F32 && !may_use_tiles)
        return rungi_fail(RUNG_UNSUPPORTED, "12_matrix multiplies f32 by AMX, which is not here");
    if (in == RUNG_BF16 && !has->has_bf16)
        return rungi_fail(RUNG_UNSUPPORTED, "12_matrix multiplies bf16 by AMX or AVX512_BF16, which are not here");
    if (in == RUNG_I8 && !has->has_vnni)
        return rungi_fail(RUNG_UNSUPPORTED, "12_matrix multiplies i8 by AMX or AVX512_VNNI, which are not here");
    *path = in == RUNG_F32    ? TILES_PARTS
            : in == RUNG_BF16 ? may_use_tiles ? TILES_BF16 : DOT_BF16
                              : may_use_tiles ? TILES_I8 : DOT_I8;
    return RUNG_OK;
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    path path = TILES_BF16;
    (void)compute;
    rung_status status = take_path(job->in, job->features, &path);
    if (status != RUNG_OK)
        return status;
    layout l = lay_out(job, path);
    form->path = path;
    form->grain_m = RUNGI_PANEL;
    form->grain_n = RUNGI_PANEL;
    form->scratch = l.bytes;
    return RUNG_OK;
}
#else
static void run(const rungi_cpu_job *job)
{
    (void)job;
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    (void)job;
    (void)compute;
    (void)form;
    return rungi_fail(RUNG_UNSUPPORTED, "12_matrix is for x86-64 processors");
}
#endif

const rungi_cpu_kernel rungi_cpu_12_matrix = {.run = run, .settle = settle, .is_threaded = true};
