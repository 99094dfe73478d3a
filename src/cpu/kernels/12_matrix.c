/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - the processor's matrix engine: AMX tiles, or dot products of vectors.
 *
 * Removes  the multiply as a vector's work: one instruction multiplies 16 x 16 numbers of C by 64 bytes
 *          of k, and 32 x 32 of C stay in tiles along a slice of k.
 * Leaves   what stands between the memory and the tiles: the second cache gives 64 bytes a cycle at
 *          best, and the engine takes 48 of them.
 * Watch    rung bench --device cpu --dtype bf16 --kernels 10,12
 *
 * C is cut into blocks of MC x NC, k into slices of KC bytes. Slices of B are packed, KD bytes of k at a
 * time, and wait in the second cache; of A only the 32 rows that are next are packed, a strip, and stay in
 * the first cache while panels of B come by. Sums that wait for another slice are kept in the second.
 * A small problem, all of which is in the second cache, goes the other way: a panel of B stays in the first
 * cache, and A comes by.
 *
 * F32 (compute bf16x3) is multiplied as three numbers of BF16 each; where that would be wrong, by FMA:
 * see docs/decisions/0025. Whichever way, an element is summed in an order that k alone decides.
 */
// takes: bf16,bf16:f32,i8,f32,f32:bf16,f32:f16
// computes: bf16x3
#include "cpu/engine_layout.h"
#include "cpu/engine_tiles.h"
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
/* KiB of A, and of B, up to which a problem is small; rows of C up to which it is thin; and MiB of C from which on it
 * goes past the caches. */
#ifndef SMALL
#define SMALL 256 // 0 128 256 512
#endif
#ifndef THIN
#define THIN 128 // 0 64 128 256
#endif
#ifndef STREAM
#define STREAM 32 // 0 16 32 64
#endif
// preset tiny: KC=192,KD=384,MC=64,NC=64,SMALL=0,THIN=0,STREAM=0

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

#if SMALL > 65536 || THIN > 65536 || STREAM > 65536
#error "SMALL, THIN and STREAM must not be more than 65536"
#endif

#if defined(__x86_64__)
#include <string.h>

/* The order in which the file lists them. */
enum { KC_GIVEN, KD_GIVEN, MC_GIVEN, NC_GIVEN, SMALL_GIVEN, THIN_GIVEN, STREAM_GIVEN };

typedef enum path { TILES_BF16, TILES_I8, TILES_PARTS, DOT_BF16, DOT_I8, FEW_ROWS, ONE_ROW, ONE_COLUMN } path_t;

/* How a problem goes through the caches: all of it is in the second; C has so few rows that all depends on how B
 * comes from the memory; or neither. */
typedef enum regime { IS_SMALL, IS_THIN, IS_LARGE, REGIMES } regime_t;

enum {
    PANEL = RUNGI_PANEL,
    SUMS_BYTES = RUNGI_SUMS_BYTES,
    FEW = 16, /* rows of C up to which a packed F32 is read as it is: its parts are half as many bytes again */
    IN_PLACE_WIDTH = 256 /* columns of C up to which rows of A are not copied */
};

/* ---- Sizes ------------------------------------------------------------------------------------------ */

/* Where C is thin, short stretches of long rows of B; where all is small, a panel of B at a time. In parts all are
 * alike, since slices decide what is summed how. A packed B has slices of KC for every m, and is read again for each
 * block of rows: blocks are narrower where C is thin, and twice as high where it is large. */
static rungi_layout lay_out(const rungi_cpu_job *job, path_t path, regime_t regime, bool has_packed_b,
                            int64_t most_kept)
{
    const int64_t *given = job->parameters, kept_bytes = job->features->blocks.kept_b;
    rungi_packing packing = path == TILES_PARTS || path == FEW_ROWS ? RUNGI_PACK_PARTS
                            : path == TILES_I8 || path == DOT_I8    ? RUNGI_PACK_I8
                                                                    : RUNGI_PACK_BF16;
    rungi_cuts cuts = {given[KC_GIVEN], given[KD_GIVEN], given[MC_GIVEN], given[NC_GIVEN],
                       false,           kept_bytes,      most_kept,       has_packed_b};
    if (regime == IS_THIN) {
        cuts.kc = cuts.kd = has_packed_b ? given[KC_GIVEN] : given[KC_GIVEN] / 2;
        cuts.nc = has_packed_b ? given[NC_GIVEN] : 4 * given[NC_GIVEN];
    }
    if (regime == IS_LARGE && has_packed_b)
        cuts.mc = 2 * given[MC_GIVEN];
    if (path == FEW_ROWS)
        cuts.nc = 4 * given[NC_GIVEN];
    if (regime == IS_SMALL) {
        cuts.kd = given[KC_GIVEN];
        cuts.mc = job->m;
        cuts.nc = path == TILES_I8 ? 2 * PANEL : PANEL;
        cuts.is_whole_a = true;
    }
    return rungi_lay_out(job->m, job->n, job->k, packing, &cuts);
}

/* A packed B is one slice of k after the other, and each slice one panel after the other, of an even number: INT8 is
 * packed in pairs of panels. KC alone decides how long the slices are, so that any m finds the same layout. */
static int64_t packed_panels(int64_t n)
{
    return 2 * rungi_divide_up(n, 2 * PANEL);
}

/* F32 is packed twice: unchanged, for few rows and for values outside the range of BF16 parts, and then as parts. The
 * ranges of all panels follow, slice by slice. */
enum { FLOATS_UNIT = 32 * RUNGI_FLOATS_BYTES };

static int64_t floats_unit(const rungi_layout *l)
{
    return l->packing == RUNGI_PACK_PARTS ? FLOATS_UNIT : 0;
}

/* Where the panel of column j is, in the slice that begins at p and has so many steps of `unit` bytes. */
static int64_t packed_place(int64_t unit, const rungi_layout *l, int64_t whole_n, int64_t p, int64_t steps, int64_t j)
{
    return (p / l->step * packed_panels(whole_n) + j / PANEL * steps) * unit;
}

/* The same in what engines read, behind the numbers as they are. */
static int64_t engine_place(const rungi_layout *l, const rungi_cpu_job *job, int64_t whole_n, int64_t p, int64_t steps,
                            int64_t j)
{
    return packed_panels(whole_n) * rungi_divide_up(job->k, l->step) * floats_unit(l) +
           packed_place(l->unit, l, whole_n, p, steps, j);
}

static int64_t ranges_place(const rungi_layout *l, const rungi_cpu_job *job, int64_t whole_n, int64_t slice, int64_t j)
{
    return packed_panels(whole_n) * rungi_divide_up(job->k, l->step) * (floats_unit(l) + l->unit) +
           (slice * packed_panels(whole_n) + j / PANEL) * (int64_t)sizeof(rungi_range);
}

/* ---- What is under way --------------------------------------------------------------------------------- */

/* One run of a thread. */
typedef struct engine {
    const rungi_cpu_job *job;
    rungi_layout l;
    path_t path;
    regime_t regime;
    bool is_plain;        /* sums are stored as they are, */
    bool is_streamed;     /* past the caches */
    rungi_place held;     /* where the sums in the tiles belong, */
    bool is_settled;      /* and whether nothing more becomes of them there */
    rungi_block block[2]; /* else the blocks of C that they are */
} engine_t;

/* A slice of k. */
typedef struct k_slice {
    int64_t number, p, depth, steps;
    bool is_first, is_last;
} k_slice_t;

/* 32 rows of a block of C, or the last few of them. */
typedef struct strip {
    int64_t i, j, height, width;
    int64_t number; /* where its sums are kept */
    bool is_far;    /* the first of its block to read a packed B, which may come from memory */
} strip_t;

static k_slice_t slice_of(const engine_t *e, int64_t number)
{
    int64_t p = number * e->l.depth, depth = rungi_smaller(e->l.depth, e->job->k - p);
    return (k_slice_t){
        number, p, depth, rungi_round_up(depth, e->l.step) / e->l.step, number == 0, number + 1 == e->l.slices};
}

static rungi_block block_of(const strip_t *s, int64_t panel)
{
    return (rungi_block){s->i, s->j + panel * PANEL, s->height, rungi_smaller(PANEL, s->width - panel * PANEL)};
}

static char *sums_at(const engine_t *e, const strip_t *s, int64_t panel)
{
    if (e->l.slices > 1)
        return e->job->scratch + e->l.sums + (s->number * e->l.panels + panel) * SUMS_BYTES;
    return e->job->scratch + e->l.block + panel % 2 * SUMS_BYTES;
}

static rungi_stretch rows_of(const engine_t *e, int64_t i, int64_t rows, const k_slice_t *slice)
{
    const rungi_cpu_input *a = &e->job->a;
    return (rungi_stretch){(const char *)a->first + (i * a->row_stride + slice->p * a->col_stride) * e->l.size,
                           a->row_stride, a->col_stride, rows, slice->depth};
}

static rungi_stretch columns_of(const engine_t *e, int64_t j, int64_t cols, const k_slice_t *slice)
{
    const rungi_cpu_input *b = &e->job->b;
    return (rungi_stretch){(const char *)b->first + (slice->p * b->row_stride + j * b->col_stride) * e->l.size,
                           b->col_stride, b->row_stride, cols, slice->depth};
}

static char *scratch_slice_at(const engine_t *e, const k_slice_t *slice)
{
    return e->job->scratch + e->l.b + slice->number % e->l.kept * e->l.slice_bytes;
}

/* The panels of a slice from column j on, where a block of C begins. */
static const char *slice_at(const engine_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_slice_at(e, slice);
    return job->packed + engine_place(&e->l, job, job->form->whole_n, slice->p, slice->steps, job->first_col + j);
}

/* The panel of a packed F32 as it is, from column j on. */
static const float *floats_at(const engine_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    return (const float *)(const void *)(job->packed + packed_place(FLOATS_UNIT, &e->l, job->form->whole_n, slice->p,
                                                                    slice->steps, job->first_col + j));
}

static rungi_range *scratch_ranges_at(const engine_t *e, const k_slice_t *slice)
{
    return (rungi_range *)(void *)(e->job->scratch + e->l.ranges) + slice->number % e->l.kept * e->l.panels;
}

static const rungi_range *ranges_at(const engine_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_ranges_at(e, slice);
    return (const rungi_range *)(const void *)(job->packed + ranges_place(&e->l, job, job->form->whole_n, slice->number,
                                                                          job->first_col + j));
}

/* ---- From block to block --------------------------------------------------------------------------------- */

/* The last word on a block, whose sums are in memory. */
static void finish(const engine_t *e, const rungi_block *block, const char *sums)
{
    bool is_whole = block->rows == PANEL && block->cols == PANEL;
    if (e->is_plain)
        rungi_engine_store(e->job, block, sums, e->is_streamed && is_whole);
    else
        rungi_finish_avx512(e->job, block, sums, PANEL);
}

/* The tiles were stored, some time ago: what a tile has stored is slow to be read again at once. */
static void finish_held(engine_t *e)
{
    if (e->is_settled)
        return;
    finish(e, &e->block[0], e->held.top);
    if (e->block[1].cols > 0)
        finish(e, &e->block[1], e->held.bottom);
}

static rungi_place no_place(const engine_t *e)
{
    char *nowhere = e->job->scratch + e->l.block;
    return (rungi_place){nowhere, nowhere, RUNGI_SUMS_ROW};
}

/* What is in the tiles belongs here: to where its sums are kept, or to C itself if nothing becomes of them. The
 * second block is of 16 x 64 alone. Written field by field, to be read so: a struct that is copied as a whole just
 * after its fields were written waits until they are in the cache, and before them all that tiles have stored. */
RUNGI_TILE_INLINE void hold(engine_t *e, bool is_last, rungi_block first, rungi_block second, char *top, char *bottom)
{
    const rungi_cpu_job *job = e->job;
    bool is_flat = second.cols > 0;
    int64_t row = job->c.row_stride * 4;
    e->is_settled = !is_last;
    e->held.top = top;
    e->held.bottom = bottom;
    e->held.stride = RUNGI_SUMS_ROW;
    e->block[0].i = first.i;
    e->block[0].j = first.j;
    e->block[0].rows = first.rows;
    e->block[0].cols = first.cols;
    e->block[1].i = second.i;
    e->block[1].j = second.j;
    e->block[1].rows = second.rows;
    e->block[1].cols = second.cols;
    if (!is_last || !e->is_plain || e->is_streamed || first.cols < PANEL || (is_flat && second.cols < PANEL) ||
        (is_flat ? first.rows != rungi_smaller(job->m, 16) : first.rows < PANEL))
        return;
    e->held.top = (char *)job->c.first + first.i * row + first.j * 4;
    e->held.bottom = e->held.top + (is_flat ? RUNGI_SUMS_ROW : 16 * row);
    e->held.stride = row;
    e->is_settled = true;
}

RUNGI_TILE_INLINE void let_go(engine_t *e)
{
    rungi_tiles_store(&e->held);
    finish_held(e);
    e->held = no_place(e);
    e->is_settled = true;
}

/* 32 x 32 of C by a slice. */
RUNGI_TILE_INLINE void multiply_square(engine_t *e, bool is_i8, bool is_far, const k_slice_t *slice,
                                       const rungi_rows *a, const char *b, char *sums, rungi_block block)
{
    char *bottom = sums + 16 * RUNGI_SUMS_ROW;
    if (slice->is_first)
        rungi_square_begin(is_i8, true, a, b, &e->held, sums, bottom);
    else
        rungi_square_begin(is_i8, false, a, b, &e->held, sums, bottom);
    bool is_wanted = slice->is_last && e->is_plain && !e->is_streamed && e->regime == IS_LARGE;
    const char *c = (const char *)e->job->c.first + (block.i * e->job->c.row_stride + block.j + PANEL) * 4;
    if (is_far)
        rungi_square_go_on(is_i8, true, slice->steps, a, b, is_wanted ? c : NULL, e->job->c.row_stride * 4);
    else
        rungi_square_go_on(is_i8, false, slice->steps, a, b, is_wanted ? c : NULL, e->job->c.row_stride * 4);
    finish_held(e);
    hold(e, slice->is_last, block, (rungi_block){0, 0, 0, 0}, sums, bottom);
}

/* 16 x 64. An odd panel is multiplied twice, for want of another, and stored twice to the same place. */
RUNGI_TILE_INLINE void multiply_flat(engine_t *e, bool is_i8, const k_slice_t *slice, const strip_t *s, int64_t panel,
                                     const rungi_rows *a, const char *b)
{
    bool is_alone = (panel + 1) * PANEL >= s->width;
    const char *b2 = is_alone ? b : b + slice->steps * RUNGI_PANEL_BYTES;
    char *top = sums_at(e, s, panel), *bottom = is_alone ? top : sums_at(e, s, panel + 1);
    if (slice->is_first)
        rungi_flat_begin(is_i8, true, a, b, b2, &e->held, top, bottom);
    else
        rungi_flat_begin(is_i8, false, a, b, b2, &e->held, top, bottom);
    if (s->is_far)
        rungi_flat_go_on(is_i8, true, slice->steps, a, b, b2);
    else
        rungi_flat_go_on(is_i8, false, slice->steps, a, b, b2);
    finish_held(e);
    rungi_block none = {0, 0, 0, 0};
    hold(e, slice->is_last, block_of(s, panel), is_alone ? none : block_of(s, panel + 1), top, bottom);
}

/* ---- Strips ------------------------------------------------------------------------------------------------ */

RUNGI_TILE_INLINE void strip_of_tiles(engine_t *e, bool is_i8, const k_slice_t *slice, const strip_t *s,
                                      const rungi_rows *a)
{
    const char *b = slice_at(e, slice, s->j);
    int64_t panel_bytes = slice->steps * RUNGI_PANEL_BYTES, together = s->height <= 16 ? 2 : 1;
    for (int64_t panel = 0; panel * PANEL < s->width; panel += together, b += together * panel_bytes)
        if (together == 2)
            multiply_flat(e, is_i8, slice, s, panel, a, b);
        else
            multiply_square(e, is_i8, s->is_far, slice, a, b, sums_at(e, s, panel), block_of(s, panel));
}

RUNGI_ON_AMX static void strip_of_bf16(engine_t *e, const k_slice_t *slice, const strip_t *s, const rungi_rows *a)
{
    strip_of_tiles(e, false, slice, s, a);
}

RUNGI_ON_AMX static void strip_of_i8(engine_t *e, const k_slice_t *slice, const strip_t *s, const rungi_rows *a)
{
    strip_of_tiles(e, true, slice, s, a);
}

/* Without tiles. */
static void strip_of_dots(engine_t *e, bool is_i8, const k_slice_t *slice, const strip_t *s, const rungi_rows *a)
{
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        const char *b = slice_at(e, slice, s->j) + panel * slice->steps * RUNGI_PANEL_BYTES;
        char *sums = sums_at(e, s, panel);
        rungi_block block = block_of(s, panel);
        if (is_i8)
            rungi_dot_i8(s->height, slice->steps, a->first, b, slice->is_first, (int32_t *)(void *)sums);
        else
            rungi_dot_bf16(s->height, slice->steps, a->first, b, slice->is_first, (float *)(void *)sums);
        if (slice->is_last)
            finish(e, &block, sums);
    }
}

/* Whether no product of parts can vanish or overflow: docs/decisions/0025 says why these numbers. */
static bool suits_parts(const rungi_range *a, const rungi_range *b, int64_t k)
{
    enum { BIAS = 127, MOST = 126, LEAST = -102, LEAST_OF_BOTH = -78, MOST_OF_BOTH = 120 };
    int32_t a_most = (int32_t)(a->most >> 7) - BIAS, b_most = (int32_t)(b->most >> 7) - BIAS;
    int32_t a_least = (int32_t)((a->least + 1) >> 7) - BIAS, b_least = (int32_t)((b->least + 1) >> 7) - BIAS;
    int32_t of_k = 64 - __builtin_clzll((unsigned long long)k);
    if (a->rest || b->rest || a_most > MOST || b_most > MOST)
        return false;
    if (a->most == 0 || b->most == 0) /* nothing but zeros on one side */
        return true;
    return a_most + b_most + of_k <= MOST_OF_BOTH && a_least >= LEAST && b_least >= LEAST &&
           a_least + b_least >= LEAST_OF_BOTH;
}

static void sum_by_fma(engine_t *e, const k_slice_t *slice, const rungi_block *block, char *sums)
{
    rungi_stretch a = rows_of(e, block->i, block->rows, slice);
    float *rows = (float *)(void *)(e->job->scratch + e->l.room), *laid = rows + slice->depth * PANEL;
    const float *columns = e->job->packed ? floats_at(e, slice, block->j) : laid;
    rungi_lay_floats(&a, rows);
    if (!e->job->packed) {
        rungi_stretch b = columns_of(e, block->j, block->cols, slice);
        rungi_lay_floats(&b, laid);
    }
    rungi_fma_block(PANEL, slice->depth, rows, columns, slice->is_first, (float *)(void *)sums);
    if (slice->is_last)
        finish(e, block, sums);
}

/* A block that was once summed by FMA goes on so, since its sums may be smaller than a tile takes. */
RUNGI_ON_AMX static void strip_of_parts(engine_t *e, const k_slice_t *slice, const strip_t *s, const rungi_rows *a,
                                        const rungi_range *range)
{
    char *worn = e->job->scratch + e->l.worn + s->number * e->l.panels;
    const char *b = slice_at(e, slice, s->j);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++, b += slice->steps * e->l.unit) {
        char *sums = sums_at(e, s, panel), *bottom = sums + 16 * RUNGI_SUMS_ROW;
        rungi_block block = block_of(s, panel);
        worn[panel] = (char)((!slice->is_first && worn[panel]) ||
                             !suits_parts(range, ranges_at(e, slice, s->j) + panel, e->job->k));
        if (worn[panel]) {
            if (e->held.top == sums) /* the tiles still have what is to be added to */
                let_go(e);
            sum_by_fma(e, slice, &block, sums);
            continue;
        }
        if (slice->is_first)
            rungi_parts_begin(true, a->first, b, &e->held, sums, bottom);
        else
            rungi_parts_begin(false, a->first, b, &e->held, sums, bottom);
        rungi_parts_go_on(s->is_far, slice->steps, a->first, b);
        finish_held(e);
        hold(e, slice->is_last, block, (rungi_block){0, 0, 0, 0}, sums, bottom);
    }
}

/* F32 as it is, for which parts do not pay: the rows are laid out once for all panels. */
static void strip_of_floats(engine_t *e, const k_slice_t *slice, const strip_t *s)
{
    rungi_stretch from = rows_of(e, s->i, s->height, slice);
    float *rows = (float *)(void *)(e->job->scratch + e->l.room);
    rungi_lay_floats(&from, rows);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        char *sums = sums_at(e, s, panel);
        rungi_block block = block_of(s, panel);
        rungi_fma_block(s->height, slice->depth, rows, floats_at(e, slice, block.j), slice->is_first,
                        (float *)(void *)sums);
        if (slice->is_last)
            finish(e, &block, sums);
    }
}

/* ---- Rows of A ----------------------------------------------------------------------------------------------- */

/* Rows that a tile may be loaded from as they stand: whole lines of the cache, at a distance that does not put
 * all of them into the same few places of it; and not often enough to pay for a copy. */
static bool is_in_place(const engine_t *e, const strip_t *s, const k_slice_t *slice)
{
    int64_t row = e->job->a.row_stride * e->l.size;
    return e->path <= TILES_I8 && e->job->a.col_stride == 1 && s->height == PANEL && slice->depth % e->l.step == 0 &&
           (uintptr_t)e->job->a.first % 64 == 0 && row % 64 == 0 && row % 2048 != 0 && s->width <= IN_PLACE_WIDTH;
}

static rungi_rows as_they_stand(const engine_t *e, const strip_t *s, const k_slice_t *slice)
{
    int64_t row = e->job->a.row_stride * e->l.size;
    return (rungi_rows){rows_of(e, s->i, s->height, slice).first, row, 16 * row, RUNGI_STEP_BYTES};
}

static rungi_rows packed(const char *first)
{
    return (rungi_rows){first, RUNGI_STEP_BYTES, RUNGI_TILE_BYTES, RUNGI_PANEL_BYTES};
}

static rungi_rows take_rows(const engine_t *e, const strip_t *s, const k_slice_t *slice, rungi_range *range)
{
    char *to = e->job->scratch + e->l.a;
    rungi_stretch from = rows_of(e, s->i, s->height, slice);
    if (is_in_place(e, s, slice))
        return as_they_stand(e, s, slice);
    rungi_pack_rows(e->l.packing, &from, to, e->path == TILES_PARTS ? range : NULL);
    for (int64_t byte = 0; e->path == DOT_I8 && byte < slice->steps * RUNGI_PANEL_BYTES; byte++)
        to[byte] = (char)(to[byte] ^ 0x80);
    return packed(to);
}

/* ---- Columns of B -------------------------------------------------------------------------------------------- */

static void pack_slice(const engine_t *e, const k_slice_t *slice, int64_t j, int64_t cols)
{
    rungi_stretch from = columns_of(e, j, cols, slice);
    rungi_pack_columns(e->l.packing, &from, scratch_slice_at(e, slice),
                       e->path == TILES_PARTS ? scratch_ranges_at(e, slice) : NULL);
}

/* ---- Small problems -------------------------------------------------------------------------------------------- */

/* All of A, packed or as it stands, comes by a panel of B, or by two. */
static rungi_rows rows_at(const engine_t *e, const strip_t *s, const k_slice_t *slice)
{
    if (is_in_place(e, s, slice))
        return as_they_stand(e, s, slice);
    return packed(e->job->scratch + e->l.a + (s->i / PANEL * e->l.slices + slice->number) * e->l.panel_bytes);
}

static strip_t strip_at(const engine_t *e, int64_t i, int64_t j)
{
    return (strip_t){i,         j,    rungi_smaller(PANEL, e->job->m - i), rungi_smaller(e->l.nc, e->job->n - j),
                     i / PANEL, false};
}

static void pack_all_rows(const engine_t *e)
{
    for (int64_t i = 0; i < e->job->m; i += PANEL)
        for (int64_t number = 0; number < e->l.slices; number++) {
            strip_t s = strip_at(e, i, 0);
            k_slice_t slice = slice_of(e, number);
            rungi_stretch from = rows_of(e, i, s.height, &slice);
            rungi_rows to = rows_at(e, &s, &slice);
            if (to.step == RUNGI_PANEL_BYTES)
                rungi_pack_rows(e->l.packing, &from, (char *)(uintptr_t)to.first, NULL);
        }
}

RUNGI_TILE_INLINE void multiply_small(engine_t *e, bool is_i8)
{
    pack_all_rows(e);
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t number = 0; number < e->l.slices; number++) {
            k_slice_t slice = slice_of(e, number);
            int64_t cols = rungi_smaller(e->l.nc, e->job->n - j);
            const char *b = slice_at(e, &slice, j);
            if (!e->job->packed)
                pack_slice(e, &slice, j, cols);
            for (int64_t panel = 0; panel * PANEL < cols; panel++)
                for (int64_t i = 0; i < e->job->m; i += PANEL) {
                    strip_t s = strip_at(e, i, j);
                    rungi_rows a = rows_at(e, &s, &slice);
                    multiply_square(e, is_i8, false, &slice, &a, b + panel * slice.steps * RUNGI_PANEL_BYTES,
                                    sums_at(e, &s, panel), block_of(&s, panel));
                }
        }
}

RUNGI_ON_AMX static void multiply_small_bf16(engine_t *e)
{
    multiply_small(e, false);
}

RUNGI_ON_AMX static void multiply_small_i8(engine_t *e)
{
    multiply_small(e, true);
}

/* ---- Large ones -------------------------------------------------------------------------------------------------- */

static void multiply_strip(engine_t *e, const k_slice_t *slice, const strip_t *s)
{
    rungi_range range = {0, 0, 0};
    if (e->path == FEW_ROWS) {
        strip_of_floats(e, slice, s);
        return;
    }
    rungi_rows a = take_rows(e, s, slice, &range);
    switch (e->path) {
    case TILES_BF16: strip_of_bf16(e, slice, s, &a); break;
    case TILES_I8: strip_of_i8(e, slice, s, &a); break;
    case TILES_PARTS: strip_of_parts(e, slice, s, &a, &range); break;
    case DOT_BF16: strip_of_dots(e, false, slice, s, &a); break;
    case DOT_I8: strip_of_dots(e, true, slice, s, &a); break;
    case FEW_ROWS: /* see above */
    case ONE_ROW:
    case ONE_COLUMN: break; /* have no strips */
    }
}

/* A block of C by the slices from `first` to `end`, which are packed. */
static void multiply_stretch(engine_t *e, int64_t i, int64_t j, int64_t first, int64_t end)
{
    int64_t height = rungi_smaller(e->l.mc, e->job->m - i), width = rungi_smaller(e->l.nc, e->job->n - j);
    for (int64_t x = 0; x < height; x += PANEL) {
        strip_t s = {i + x,
                     j,
                     rungi_smaller(PANEL, height - x),
                     width,
                     e->l.slices > e->l.stretch ? x / PANEL : 0,
                     x == 0 && e->job->packed};
        for (int64_t number = first; number < end; number++) {
            k_slice_t slice = slice_of(e, number);
            multiply_strip(e, &slice, &s);
        }
    }
}

/* The mc x nc block of C at (i, j), by all of k. */
static void multiply_block(engine_t *e, int64_t i, int64_t j)
{
    bool is_there = e->job->packed || (i > 0 && e->l.kept == e->l.slices);
    for (int64_t first = 0; first < e->l.slices; first += e->l.stretch) {
        int64_t end = rungi_smaller(first + e->l.stretch, e->l.slices);
        for (int64_t number = first; number < end && !is_there; number++) {
            k_slice_t slice = slice_of(e, number);
            pack_slice(e, &slice, j, rungi_smaller(e->l.nc, e->job->n - j));
        }
        multiply_stretch(e, i, j, first, end);
    }
}

static void multiply_large(engine_t *e)
{
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t i = 0; i < e->job->m; i += e->l.mc)
            multiply_block(e, i, j);
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

/* C without A B: k is 0. */
static void finish_zeros(const rungi_cpu_job *job)
{
    memset(job->scratch, 0, SUMS_BYTES);
    for (int64_t i = 0; i < job->m; i += PANEL)
        for (int64_t j = 0; j < job->n; j += PANEL) {
            rungi_block block = {i, j, rungi_smaller(PANEL, job->m - i), rungi_smaller(PANEL, job->n - j)};
            rungi_finish_avx512(job, &block, job->scratch, PANEL);
        }
}

static bool is_plain(const rungi_cpu_job *job)
{
    return (job->out == RUNG_F32 || job->out == RUNG_I32) && job->alpha == 1 && job->beta == 0 && !job->addend.first &&
           !job->bias.first && !job->residual.first && job->activation == RUNG_ACTIVATION_NONE &&
           job->c.col_stride == 1;
}

static bool is_streamed(const rungi_cpu_job *job)
{
    return is_plain(job) && (uintptr_t)job->c.first % 64 == 0 && job->c.row_stride % 16 == 0 &&
           job->m * job->n >= job->parameters[STREAM_GIVEN] << 18;
}

RUNGI_ON_AMX static void multiply_on_tiles(engine_t *e)
{
    bool has_squares = e->path == TILES_PARTS || e->regime == IS_SMALL; /* whole tiles, however few the rows */
    rungi_tiles_configure(has_squares ? 16 : e->job->m);
    if (e->regime != IS_SMALL)
        multiply_large(e);
    else if (e->path == TILES_I8)
        multiply_small_i8(e);
    else
        multiply_small_bf16(e);
    let_go(e);
    _tile_release();
}

/* Multiplies by a packed column: its first panel has the elements in pairs, 64 bytes apart. */
static void multiply_packed_column(const rungi_cpu_job *job)
{
    rungi_cpu_job unpacked = *job;
    rungi_layout l = lay_out(job, ONE_COLUMN, IS_LARGE, true, INT64_MAX);
    char *to = job->scratch + RUNGI_VECTOR_SCRATCH;
    for (int64_t p = 0; p < job->k; p += l.depth) {
        int64_t steps = rungi_divide_up(rungi_smaller(l.depth, job->k - p), l.step);
        const char *from = job->packed + engine_place(&l, job, 1, p, steps, 0);
        for (int64_t step = 0; step < steps; step++, from += RUNGI_PANEL_BYTES)
            for (int64_t group = 0; group < RUNGI_GROUPS; group++, to += 4)
                memcpy(to, from + group * RUNGI_STEP_BYTES, 4);
    }
    unpacked.b = (rungi_cpu_input){job->scratch + RUNGI_VECTOR_SCRATCH, 1, 1};
    rungi_vector_multiply(&unpacked, false);
}

RUNGI_ON_AVX512 static void run(const rungi_cpu_job *job)
{
    path_t path = (enum path)(job->form->path / REGIMES);
    engine_t e = {.job = job,
                  .path = path,
                  .regime = (regime_t)(job->form->path % REGIMES),
                  .is_plain = is_plain(job),
                  .is_streamed = is_streamed(job),
                  .is_settled = true};
    if (job->k == 0) {
        finish_zeros(job);
        return;
    }
    if (path >= ONE_ROW) {
        if (job->packed)
            multiply_packed_column(job);
        else
            rungi_vector_multiply(job, path == ONE_ROW);
        return;
    }
    e.l = lay_out(job, path, e.regime, job->form->takes_packed, job->form->kept);
    e.held = no_place(&e);
    if (path <= TILES_PARTS)
        multiply_on_tiles(&e);
    else
        multiply_large(&e);
    if (e.is_streamed)
        _mm_sfence();
}

/* ---- Packing B beforehand ---------------------------------------------------------------------------------------- */

static void pack_floats(const engine_t *e, const k_slice_t *slice, char *packed)
{
    int64_t n = e->job->n;
    for (int64_t j = 0; j < n; j += PANEL) {
        rungi_stretch from = columns_of(e, j, rungi_smaller(PANEL, n - j), slice);
        rungi_lay_floats(&from,
                         (float *)(void *)(packed + packed_place(FLOATS_UNIT, &e->l, n, slice->p, slice->steps, j)));
    }
}

/* Whether the layout has bytes that packing does not write: an odd last panel, or floats and ranges that end before
 * their places do. */
static bool has_gaps(const engine_t *e)
{
    return e->job->n % (2 * PANEL) != 0 || e->l.packing == RUNGI_PACK_PARTS;
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    path_t path = (enum path)(job->form->path / REGIMES);
    engine_t e = {.job = job, .path = path, .l = lay_out(job, path, IS_LARGE, true, INT64_MAX)};
    if (has_gaps(&e)) /* a file of the packed B must not hold what was in this memory before */
        memset(packed, 0, (size_t)job->form->packed.bytes);
    for (int64_t number = 0; number < e.l.slices; number++) {
        k_slice_t slice = slice_of(&e, number);
        rungi_stretch from = columns_of(&e, 0, job->n, &slice);
        char *ranges = packed + ranges_place(&e.l, job, job->n, number, 0);
        rungi_pack_columns(e.l.packing, &from, packed + engine_place(&e.l, job, job->n, slice.p, slice.steps, 0),
                           e.l.packing == RUNGI_PACK_PARTS ? (rungi_range *)(void *)ranges : NULL);
        if (e.l.packing == RUNGI_PACK_PARTS)
            pack_floats(&e, &slice, packed);
    }
}

/* ---- What it takes --------------------------------------------------------------------------------------------- */

/* Tiles, or dot products where there are none or the system does not let them be used. It is asked only if nothing else
 * stands against it, since the process is another one afterwards (rung.h, "Signals"). */
static rung_status take_path(rung_type in, const rungi_cpu_features *has, path_t *path)
{
    bool has_tiles = has->isa >= RUNGI_ISA_AMX, has_dots = in == RUNG_BF16 ? has->has_bf16 : has->has_vnni;
    if (in == RUNG_F32 && !has_tiles)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs AMX for f32, which is not available");
    if (in == RUNG_BF16 && !has_dots)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "12_matrix needs AMX or AVX512_BF16 for bf16, which are not available");
    if (in == RUNG_I8 && !has_dots)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "12_matrix needs AMX or AVX512_VNNI for i8, which are not available");
    has_tiles = has_tiles && rungi_cpu_ask_for_tiles();
    if (in == RUNG_F32 && !has_tiles)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "12_matrix: the system denies AMX to this process; if alternate signal stacks "
                          "(sigaltstack) exist, give them at least 16 KiB");
    *path = in == RUNG_F32    ? TILES_PARTS
            : in == RUNG_BF16 ? has_tiles ? TILES_BF16 : DOT_BF16
            : has_tiles       ? TILES_I8
                              : DOT_I8;
    return RUNG_OK;
}

/* C has twice the room of each operand: it is written once. */
static regime_t regime_of(const rungi_cpu_job *job)
{
    int64_t size = job->in == RUNG_BF16 ? 2 : 1, bytes = job->parameters[SMALL_GIVEN] << 10;
    if (job->m > 16 && job->m <= bytes && job->n <= bytes && job->k <= bytes && job->m * job->k * size <= bytes &&
        job->k * job->n * size <= bytes && job->m * job->n * 4 <= 2 * bytes)
        return IS_SMALL;
    return job->m <= job->parameters[THIN_GIVEN] ? IS_THIN : IS_LARGE;
}

/* Three parts are packed, and that must pay: B is used by too few rows, or all of it is a few tiles. */
static bool parts_are_slow(const rungi_cpu_job *job)
{
    bool is_large = (double)job->n * (double)job->k > 256 * 1024;
    return job->m < (is_large ? 96 : 48) || job->n < 48 || job->k < 32;
}

static bool takes_packed_column(const rungi_cpu_job *job)
{
    return job->in == RUNG_BF16 && job->n == 1 && (job->a.row_stride == 1 || job->a.col_stride == 1);
}

static rung_status settle_packed(const rungi_cpu_job *job, path_t path, rungi_cpu_form *form)
{
    rungi_layout l = lay_out(job, path, IS_LARGE, true, INT64_MAX);
    int64_t bytes, unit = l.unit + floats_unit(&l) + (path == TILES_PARTS ? (int64_t)sizeof(rungi_range) : 0);
    if (!rungi_multiply(packed_panels(job->n), rungi_divide_up(job->k, l.step), &bytes) ||
        !rungi_multiply(bytes, unit, &bytes) || bytes > INT64_MAX - 64)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "12_matrix: the packed B, %lld x %lld, needs more bytes than can be "
                          "addressed; multiply by it in parts",
                          (long long)job->k, (long long)job->n);
    form->packed = (rungi_packed_layout){
        .stored = job->in, .width = PANEL, .depth = l.depth, .bytes = rungi_round_up(bytes, 64)};
    return RUNG_OK;
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    path_t path = TILES_BF16;
    regime_t regime = IS_LARGE;
    (void)compute;
    rung_status status = take_path(job->in, job->features, &path);
    if (status == RUNG_OK && form->takes_packed)
        status = settle_packed(job, path, form);
    if (status != RUNG_OK)
        return status;
    enum path engine = path;
    if (form->takes_packed ? takes_packed_column(job) : rungi_vector_takes(job))
        path = job->m == 1 && !form->takes_packed ? ONE_ROW : ONE_COLUMN;
    else if (path <= TILES_I8)
        regime = regime_of(job);
    else if (path == TILES_PARTS && form->takes_packed && job->m <= FEW)
        path = FEW_ROWS;
    form->path = (int)path * REGIMES + (int)regime;
    /* Dot products of BF16 are as many a cycle as FMAs of what they would be widened to, and feeding them costs more. */
    form->is_slow = path == DOT_BF16 || (path == TILES_PARTS && parts_are_slow(job));
    if (form->takes_packed) /* neither m nor A may decide */
        form->is_slow = engine == DOT_BF16 || (engine == TILES_PARTS && (job->n < 48 || job->k < 32));
    form->grain_m = PANEL;
    form->grain_n = PANEL;
    form->scratch = RUNGI_VECTOR_SCRATCH + (form->takes_packed ? 2 * rungi_round_up(job->k, 32) : 0);
    if (path < ONE_ROW) {
        rungi_layout whole = lay_out(job, path, regime, form->takes_packed, INT64_MAX);
        form->scratch = whole.bytes;
        form->kept = whole.kept;
    }
    return RUNG_OK;
}

/* The panels of A and B that are multiplied stay in L1, with room for a third. Half of L2 is for slices of B, and
 * half for sums that wait for the next slices. */
static void fit(const rungi_blocks *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t *kc = &parameters[KC_GIVEN], *kd = &parameters[KD_GIVEN], nc = parameters[NC_GIVEN];
    int64_t rows = blocks->half_l2 / (nc * sum_bytes) / RUNGI_PANEL * RUNGI_PANEL;
    *kc = rungi_smaller(*kc, rungi_smaller(blocks->panel / RUNGI_PANEL, blocks->half_l2 / nc) / 64 * 64);
    *kc = *kc > 192 ? *kc : 192;
    *kd = rungi_smaller(*kd, blocks->half_l2 / nc) / *kc * *kc;
    *kd = *kd > *kc ? *kd : *kc;
    parameters[MC_GIVEN] = rungi_smaller(parameters[MC_GIVEN], rows > RUNGI_PANEL ? rows : RUNGI_PANEL);
    parameters[SMALL_GIVEN] = rungi_smaller(parameters[SMALL_GIVEN], blocks->small >> 10);
}
#else
static void fit(const rungi_blocks *blocks, int64_t sum_bytes, int64_t *parameters)
{
    (void)blocks;
    (void)sum_bytes;
    (void)parameters;
}

static void run(const rungi_cpu_job *job)
{
    (void)job;
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    (void)job;
    (void)packed;
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    (void)job;
    (void)compute;
    (void)form;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix is for x86-64 processors");
}
#endif

const rungi_cpu_kernel rungi_cpu_12_matrix = {
    .run = run, .settle = settle, .fit = fit, .pack = pack, .is_threaded = true, .is_engine = true};
