/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - matrix instructions: AMX tiles, or dot products of AVX-512 vectors.
 *
 * Removes  vector multiply-adds. One AMX instruction multiplies 64 bytes of k for 16 x 16 elements of C, and a 32 x 32
 *          block of C stays in tiles for a whole slice of k.
 * Leaves   the path from memory to the tiles: L2 delivers at most 64 bytes per cycle, and the tiles consume 48.
 * Watch    rung bench --device cpu --dtype bf16 --kernels 10,12
 *
 * C is split into MC x NC blocks and k into slices of KC bytes. Slices of B are packed, KD bytes of k at a time, and stay
 * in L2. Of A only the next panel of 32 rows is packed; it stays in L1 while all panels of B are multiplied with it. Sums
 * that need further slices are kept in L2. A small problem, which fits L2, exchanges the roles: a panel of B stays in L1
 * while all of A is multiplied with it.
 *
 * F32 (compute bf16x3) is multiplied as three BF16 terms per element. Where that would be inexact, FMA is used: see
 * docs/internals/decisions/0025. On every path the order of summation depends on k alone.
 *
 * The file is longer than 500 lines because "rung kernels 12_matrix --source" shows it as one lesson. Packing is in
 * amx/amx_pack.c, the tile instructions in amx/amx_tiles.h, and the block sizes in amx/amx_blocking.c.
 */
// takes: bf16,bf16:f32,i8,f32,f32:bf16,f32:f16
// computes: bf16x3
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cpu/amx/amx_blocking.h"
#include "cpu/amx/amx_tiles.h"
#include "cpu/amx/avx512_dot.h"
#include "cpu/amx/gemv_bf16.h"
#include "cpu/kernels/cpu_kernels.h"

/* Bytes of packed k per slice (a panel of a slice stays in L1), and per pass over B (its panels stay in L2). */
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
/* Largest KiB of A, and of B, for the small regime; most rows of C for the thin regime; and MiB of C from which stores
 * bypass the caches. */
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
#error "MC and NC must be at most 65536, and MC * NC at most 16777216"
#endif

#if SMALL > 65536 || THIN > 65536 || STREAM > 65536
#error "SMALL, THIN and STREAM must be at most 65536"
#endif

#if defined(__x86_64__)
#include <string.h>

/* Indices of the parameters, in the order of their definitions above. */
enum {
    PARAMETER_KC_BYTES,
    PARAMETER_KD_BYTES,
    PARAMETER_MC,
    PARAMETER_NC_COLUMNS,
    PARAMETER_SMALL,
    PARAMETER_THIN,
    PARAMETER_STREAM
};

typedef enum path {
    PATH_AMX_BF16,
    PATH_AMX_I8,
    PATH_AMX_BF16X3,
    PATH_DOT_BF16,
    PATH_DOT_I8,
    PATH_FMA_FEW_ROWS,
    PATH_GEMV_ROW,
    PATH_GEMV_COLUMN
} path_t;

/* Regimes: all operands fit L2; C has so few rows that reading B dominates; or neither. */
typedef enum regime { REGIME_SMALL, REGIME_THIN, REGIME_LARGE, REGIME_COUNT } regime_t;

enum {
    PANEL = RUNGI_AMX_PANEL_WIDTH,
    SUMS_BYTES = RUNGI_AMX_SUMS_BYTES,
    FMA_MAX_ROWS =
        16, /* most rows of C for which a packed F32 B is multiplied by FMA: three BF16 terms are 1.5 times the bytes */
    IN_PLACE_MAX_COLUMNS = 256 /* most columns of C for which rows of A are not copied */
};

/* ---- Block sizes ------------------------------------------------------------------------------------------ */

/* Chooses the blocking. A thin C takes short slices of long rows of B, a small problem one panel of B at a time. With BF16x3
 * the slices are always the same, because they decide how an element is summed. A packed B has slices of KC for every m and
 * is read again for each block of rows: blocks are narrower for a thin C and twice as high for a large one. */
static rungi_amx_blocking choose_blocking(const rungi_cpu_job *job, path_t path, regime_t regime, bool has_packed_b,
                                          int64_t max_cached_slices)
{
    const int64_t *values = job->parameters, max_cached_bytes = job->features->blocks.cached_b;
    rungi_amx_packing packing = path == PATH_AMX_BF16X3 || path == PATH_FMA_FEW_ROWS ? RUNGI_AMX_PACKING_BF16X3
                                : path == PATH_AMX_I8 || path == PATH_DOT_I8         ? RUNGI_AMX_PACKING_I8
                                                                                     : RUNGI_AMX_PACKING_BF16;
    rungi_amx_blocking_options options = {values[PARAMETER_KC_BYTES],
                                          values[PARAMETER_KD_BYTES],
                                          values[PARAMETER_MC],
                                          values[PARAMETER_NC_COLUMNS],
                                          false,
                                          max_cached_bytes,
                                          max_cached_slices,
                                          has_packed_b};
    if (regime == REGIME_THIN) {
        options.kc = options.kd = has_packed_b ? values[PARAMETER_KC_BYTES] : values[PARAMETER_KC_BYTES] / 2;
        options.nc = has_packed_b ? values[PARAMETER_NC_COLUMNS] : 4 * values[PARAMETER_NC_COLUMNS];
    }
    if (regime == REGIME_LARGE && has_packed_b)
        options.mc = 2 * values[PARAMETER_MC];
    if (path == PATH_FMA_FEW_ROWS)
        options.nc = 4 * values[PARAMETER_NC_COLUMNS];
    if (regime == REGIME_SMALL) {
        options.kd = values[PARAMETER_KC_BYTES];
        options.mc = job->m;
        options.nc = path == PATH_AMX_I8 ? 2 * PANEL : PANEL;
        options.packs_all_a = true;
    }
    return rungi_amx_blocking_compute(job->m, job->n, job->k, packing, &options);
}

/* A packed B holds one slice of k after the other, and each slice one panel after the other. The number of panels is even,
 * because INT8 is packed in pairs of panels. KC alone decides the slice size, so that the layout is the same for every m. */
static int64_t packed_panels(int64_t n)
{
    return 2 * rungi_ceil_divide(n, 2 * PANEL);
}

/* F32 is packed twice: unchanged, for few rows and for values outside the range of BF16 terms, and then as terms. The ranges
 * of all panels follow, slice by slice. */
enum { F32_UNIT_BYTES = 32 * RUNGI_F32_PANEL_STEP_BYTES };

static int64_t f32_unit_bytes(const rungi_amx_blocking *l)
{
    return l->packing == RUNGI_AMX_PACKING_BF16X3 ? F32_UNIT_BYTES : 0;
}

/* Returns the offset of the panel of column j in the slice that begins at p and has `steps` steps of `unit` bytes. */
static int64_t packed_panel_offset(int64_t unit, const rungi_amx_blocking *l, int64_t problem_n, int64_t p,
                                   int64_t steps, int64_t j)
{
    return (p / l->step_k * packed_panels(problem_n) + j / PANEL * steps) * unit;
}

/* The same for the panels that the matrix instructions read, which follow the unchanged F32 panels. */
static int64_t amx_panel_offset(const rungi_amx_blocking *l, const rungi_cpu_job *job, int64_t problem_n, int64_t p,
                                int64_t steps, int64_t j)
{
    return packed_panels(problem_n) * rungi_ceil_divide(job->k, l->step_k) * f32_unit_bytes(l) +
           packed_panel_offset(l->panel_step_bytes, l, problem_n, p, steps, j);
}

static int64_t ranges_offset(const rungi_amx_blocking *l, const rungi_cpu_job *job, int64_t problem_n, int64_t slice,
                             int64_t j)
{
    return packed_panels(problem_n) * rungi_ceil_divide(job->k, l->step_k) * (f32_unit_bytes(l) + l->panel_step_bytes) +
           (slice * packed_panels(problem_n) + j / PANEL) * (int64_t)sizeof(rungi_bf16x3_range);
}

/* ---- State of a run --------------------------------------------------------------------------------- */

/* One run of a thread. */
typedef struct amx_run {
    const rungi_cpu_job *job;
    rungi_amx_blocking l;
    path_t path;
    regime_t regime;
    bool has_plain_output;          /* sums are stored as they are, */
    bool is_streamed;               /* past the caches */
    rungi_amx_store_target pending; /* where the sums in the tiles belong, */
    bool is_stored;                 /* and whether nothing more becomes of them there */
    rungi_cpu_c_block block[2];     /* else the blocks of C that they are */
} amx_run_t;

/* One slice of k. */
typedef struct k_slice {
    int64_t number, p, k_size, steps;
    bool is_first, is_last;
} k_slice_t;

/* Up to 32 rows of a block of C. */
typedef struct row_panel {
    int64_t i, j, height, width;
    int64_t number;      /* index of its sums */
    bool is_b_in_memory; /* first row panel of a block that reads a packed B: prefetch B from memory */
} row_panel_t;

static k_slice_t k_slice_at(const amx_run_t *e, int64_t number)
{
    int64_t p = number * e->l.slice_k, depth = rungi_min(e->l.slice_k, e->job->k - p);
    return (k_slice_t){
        number, p, depth, rungi_round_up(depth, e->l.step_k) / e->l.step_k, number == 0, number + 1 == e->l.slices};
}

static rungi_cpu_c_block c_block_at(const row_panel_t *s, int64_t panel)
{
    return (rungi_cpu_c_block){s->i, s->j + panel * PANEL, s->height, rungi_min(PANEL, s->width - panel * PANEL)};
}

static char *sums_at(const amx_run_t *e, const row_panel_t *s, int64_t panel)
{
    if (e->l.slices > 1)
        return e->job->scratch + e->l.sums_offset + (s->number * e->l.panels + panel) * SUMS_BYTES;
    return e->job->scratch + e->l.block_offset + panel % 2 * SUMS_BYTES;
}

static rungi_amx_operand a_operand(const amx_run_t *e, int64_t i, int64_t rows, const k_slice_t *slice)
{
    const rungi_cpu_input *a = &e->job->a;
    return (rungi_amx_operand){(const char *)a->first +
                                   (i * a->row_stride + slice->p * a->col_stride) * e->l.element_bytes,
                               a->row_stride, a->col_stride, rows, slice->k_size};
}

static rungi_amx_operand b_operand(const amx_run_t *e, int64_t j, int64_t cols, const k_slice_t *slice)
{
    const rungi_cpu_input *b = &e->job->b;
    return (rungi_amx_operand){(const char *)b->first +
                                   (slice->p * b->row_stride + j * b->col_stride) * e->l.element_bytes,
                               b->col_stride, b->row_stride, cols, slice->k_size};
}

static char *scratch_slice_at(const amx_run_t *e, const k_slice_t *slice)
{
    return e->job->scratch + e->l.b_offset + slice->number % e->l.cached_slices * e->l.slice_bytes;
}

/* Returns the packed panels of a slice, from column j on. */
static const char *slice_at(const amx_run_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_slice_at(e, slice);
    return job->packed +
           amx_panel_offset(&e->l, job, job->config->problem_n, slice->p, slice->steps, job->first_col + j);
}

/* The panel of a packed F32 as it is, from column j on. */
static const float *f32_panel_at(const amx_run_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    return (const float *)(const void *)(job->packed + packed_panel_offset(F32_UNIT_BYTES, &e->l,
                                                                           job->config->problem_n, slice->p,
                                                                           slice->steps, job->first_col + j));
}

static rungi_bf16x3_range *scratch_ranges_at(const amx_run_t *e, const k_slice_t *slice)
{
    return (rungi_bf16x3_range *)(void *)(e->job->scratch + e->l.ranges_offset) +
           slice->number % e->l.cached_slices * e->l.panels;
}

static const rungi_bf16x3_range *ranges_at(const amx_run_t *e, const k_slice_t *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_ranges_at(e, slice);
    return (const rungi_bf16x3_range *)(const void *)(job->packed + ranges_offset(&e->l, job, job->config->problem_n,
                                                                                  slice->number, job->first_col + j));
}

/* ---- Storing sums --------------------------------------------------------------------------------- */

/* Stores a block whose sums are in memory: unchanged, or through the epilogue. */
static void store_block(const amx_run_t *e, const rungi_cpu_c_block *block, const char *sums)
{
    bool is_whole = block->rows == PANEL && block->cols == PANEL;
    if (e->has_plain_output)
        rungi_amx_sums_store(e->job, block, sums, e->is_streamed && is_whole);
    else
        rungi_cpu_epilogue_apply_avx512(e->job, block, sums, PANEL);
}

/* Stores the pending block, whose tiles were stored some time ago: reading memory right after a tile store is slow. */
static void store_pending_block(amx_run_t *e)
{
    if (e->is_stored)
        return;
    store_block(e, &e->block[0], e->pending.top);
    if (e->block[1].cols > 0)
        store_block(e, &e->block[1], e->pending.bottom);
}

static rungi_amx_store_target discard_target(const amx_run_t *e)
{
    char *discarded = e->job->scratch + e->l.block_offset;
    return (rungi_amx_store_target){discarded, discarded, RUNGI_AMX_SUMS_ROW_BYTES};
}

/* Remembers where the sums in the tiles belong: to their buffer, or to C itself if no step follows. Only 16 x 64 has a second
 * block. Members are assigned one by one because they are read one by one: copying the whole struct right after its members
 * were written waits for the stores, and for all tile stores before them. */
RUNGI_AMX_INLINE void set_pending_block(amx_run_t *e, bool is_last, rungi_cpu_c_block first, rungi_cpu_c_block second,
                                        char *top, char *bottom)
{
    const rungi_cpu_job *job = e->job;
    bool is_flat = second.cols > 0;
    int64_t row = job->c.row_stride * 4;
    e->is_stored = !is_last;
    e->pending.top = top;
    e->pending.bottom = bottom;
    e->pending.stride = RUNGI_AMX_SUMS_ROW_BYTES;
    e->block[0].i = first.i;
    e->block[0].j = first.j;
    e->block[0].rows = first.rows;
    e->block[0].cols = first.cols;
    e->block[1].i = second.i;
    e->block[1].j = second.j;
    e->block[1].rows = second.rows;
    e->block[1].cols = second.cols;
    if (!is_last || !e->has_plain_output || e->is_streamed || first.cols < PANEL || (is_flat && second.cols < PANEL) ||
        (is_flat ? first.rows != rungi_min(job->m, 16) : first.rows < PANEL))
        return;
    e->pending.top = (char *)job->c.first + first.i * row + first.j * 4;
    e->pending.bottom = e->pending.top + (is_flat ? RUNGI_AMX_SUMS_ROW_BYTES : 16 * row);
    e->pending.stride = row;
    e->is_stored = true;
}

RUNGI_AMX_INLINE void flush_tiles(amx_run_t *e)
{
    rungi_amx_tiles_store(&e->pending);
    store_pending_block(e);
    e->pending = discard_target(e);
    e->is_stored = true;
}

/* Multiplies 32 x 32 elements of C by a slice. */
RUNGI_AMX_INLINE void multiply_32x32(amx_run_t *e, bool is_i8, bool is_b_in_memory, const k_slice_t *slice,
                                     const rungi_amx_row_strides *a, const char *b, char *sums, rungi_cpu_c_block block)
{
    char *bottom = sums + 16 * RUNGI_AMX_SUMS_ROW_BYTES;
    if (slice->is_first)
        rungi_amx_32x32_begin(is_i8, true, a, b, &e->pending, sums, bottom);
    else
        rungi_amx_32x32_begin(is_i8, false, a, b, &e->pending, sums, bottom);
    bool prefetches_c = slice->is_last && e->has_plain_output && !e->is_streamed && e->regime == REGIME_LARGE;
    const char *c = (const char *)e->job->c.first + (block.i * e->job->c.row_stride + block.j + PANEL) * 4;
    if (is_b_in_memory)
        rungi_amx_32x32_continue(is_i8, true, slice->steps, a, b, prefetches_c ? c : NULL, e->job->c.row_stride * 4);
    else
        rungi_amx_32x32_continue(is_i8, false, slice->steps, a, b, prefetches_c ? c : NULL, e->job->c.row_stride * 4);
    store_pending_block(e);
    set_pending_block(e, slice->is_last, block, (rungi_cpu_c_block){0, 0, 0, 0}, sums, bottom);
}

/* Multiplies 16 x 64 elements of C by a slice. A last odd panel is multiplied twice and stored twice to the same place. */
RUNGI_AMX_INLINE void multiply_16x64(amx_run_t *e, bool is_i8, const k_slice_t *slice, const row_panel_t *s,
                                     int64_t panel, const rungi_amx_row_strides *a, const char *b)
{
    bool is_last_odd = (panel + 1) * PANEL >= s->width;
    const char *b2 = is_last_odd ? b : b + slice->steps * RUNGI_AMX_PANEL_STEP_BYTES;
    char *top = sums_at(e, s, panel), *bottom = is_last_odd ? top : sums_at(e, s, panel + 1);
    if (slice->is_first)
        rungi_amx_16x64_begin(is_i8, true, a, b, b2, &e->pending, top, bottom);
    else
        rungi_amx_16x64_begin(is_i8, false, a, b, b2, &e->pending, top, bottom);
    if (s->is_b_in_memory)
        rungi_amx_16x64_continue(is_i8, true, slice->steps, a, b, b2);
    else
        rungi_amx_16x64_continue(is_i8, false, slice->steps, a, b, b2);
    store_pending_block(e);
    rungi_cpu_c_block none = {0, 0, 0, 0};
    set_pending_block(e, slice->is_last, c_block_at(s, panel), is_last_odd ? none : c_block_at(s, panel + 1), top,
                      bottom);
}

/* ---- Row panels ------------------------------------------------------------------------------------------------ */

RUNGI_AMX_INLINE void row_panel_amx(amx_run_t *e, bool is_i8, const k_slice_t *slice, const row_panel_t *s,
                                    const rungi_amx_row_strides *a)
{
    const char *b = slice_at(e, slice, s->j);
    int64_t panel_bytes = slice->steps * RUNGI_AMX_PANEL_STEP_BYTES, panels_per_call = s->height <= 16 ? 2 : 1;
    for (int64_t panel = 0; panel * PANEL < s->width; panel += panels_per_call, b += panels_per_call * panel_bytes)
        if (panels_per_call == 2)
            multiply_16x64(e, is_i8, slice, s, panel, a, b);
        else
            multiply_32x32(e, is_i8, s->is_b_in_memory, slice, a, b, sums_at(e, s, panel), c_block_at(s, panel));
}

RUNGI_TARGET_AMX static void row_panel_amx_bf16(amx_run_t *e, const k_slice_t *slice, const row_panel_t *s,
                                                const rungi_amx_row_strides *a)
{
    row_panel_amx(e, false, slice, s, a);
}

RUNGI_TARGET_AMX static void row_panel_amx_i8(amx_run_t *e, const k_slice_t *slice, const row_panel_t *s,
                                              const rungi_amx_row_strides *a)
{
    row_panel_amx(e, true, slice, s, a);
}

/* Multiplies a row panel by dot products, without tiles. */
static void row_panel_dot(amx_run_t *e, bool is_i8, const k_slice_t *slice, const row_panel_t *s,
                          const rungi_amx_row_strides *a)
{
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        const char *b = slice_at(e, slice, s->j) + panel * slice->steps * RUNGI_AMX_PANEL_STEP_BYTES;
        char *sums = sums_at(e, s, panel);
        rungi_cpu_c_block block = c_block_at(s, panel);
        if (is_i8)
            rungi_avx512_dot_i8(s->height, slice->steps, a->first, b, slice->is_first, (int32_t *)(void *)sums);
        else
            rungi_avx512_dot_bf16(s->height, slice->steps, a->first, b, slice->is_first, (float *)(void *)sums);
        if (slice->is_last)
            store_block(e, &block, sums);
    }
}

/* Returns whether no product of terms can underflow or overflow. docs/internals/decisions/0025 derives the bounds. */
static bool is_bf16x3_safe(const rungi_bf16x3_range *a, const rungi_bf16x3_range *b, int64_t k)
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

static void multiply_block_fma(amx_run_t *e, const k_slice_t *slice, const rungi_cpu_c_block *block, char *sums)
{
    rungi_amx_operand a = a_operand(e, block->i, block->rows, slice);
    float *rows = (float *)(void *)(e->job->scratch + e->l.fma_scratch_offset),
          *packed_columns = rows + slice->k_size * PANEL;
    const float *columns = e->job->packed ? f32_panel_at(e, slice, block->j) : packed_columns;
    rungi_f32_panel_pack(&a, rows);
    if (!e->job->packed) {
        rungi_amx_operand b = b_operand(e, block->j, block->cols, slice);
        rungi_f32_panel_pack(&b, packed_columns);
    }
    rungi_f32_panel_multiply(PANEL, slice->k_size, rows, columns, slice->is_first, (float *)(void *)sums);
    if (slice->is_last)
        store_block(e, block, sums);
}

/* Multiplies a row panel of F32. A block once summed by FMA continues with FMA, because its sums may be too small for tiles. */
RUNGI_TARGET_AMX static void row_panel_bf16x3(amx_run_t *e, const k_slice_t *slice, const row_panel_t *s,
                                              const rungi_amx_row_strides *a, const rungi_bf16x3_range *range)
{
    char *worn = e->job->scratch + e->l.fma_flags_offset + s->number * e->l.panels;
    const char *b = slice_at(e, slice, s->j);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++, b += slice->steps * e->l.panel_step_bytes) {
        char *sums = sums_at(e, s, panel), *bottom = sums + 16 * RUNGI_AMX_SUMS_ROW_BYTES;
        rungi_cpu_c_block block = c_block_at(s, panel);
        worn[panel] = (char)((!slice->is_first && worn[panel]) ||
                             !is_bf16x3_safe(range, ranges_at(e, slice, s->j) + panel, e->job->k));
        if (worn[panel]) {
            if (e->pending.top == sums) /* the tiles still have what is to be added to */
                flush_tiles(e);
            multiply_block_fma(e, slice, &block, sums);
            continue;
        }
        if (slice->is_first)
            rungi_amx_bf16x3_begin(true, a->first, b, &e->pending, sums, bottom);
        else
            rungi_amx_bf16x3_begin(false, a->first, b, &e->pending, sums, bottom);
        rungi_amx_bf16x3_continue(s->is_b_in_memory, slice->steps, a->first, b);
        store_pending_block(e);
        set_pending_block(e, slice->is_last, block, (rungi_cpu_c_block){0, 0, 0, 0}, sums, bottom);
    }
}

/* Multiplies a row panel of unchanged F32 by FMA. The rows are packed once for all panels. */
static void row_panel_fma(amx_run_t *e, const k_slice_t *slice, const row_panel_t *s)
{
    rungi_amx_operand from = a_operand(e, s->i, s->height, slice);
    float *rows = (float *)(void *)(e->job->scratch + e->l.fma_scratch_offset);
    rungi_f32_panel_pack(&from, rows);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        char *sums = sums_at(e, s, panel);
        rungi_cpu_c_block block = c_block_at(s, panel);
        rungi_f32_panel_multiply(s->height, slice->k_size, rows, f32_panel_at(e, slice, block.j), slice->is_first,
                                 (float *)(void *)sums);
        if (slice->is_last)
            store_block(e, &block, sums);
    }
}

/* ---- Packing A ----------------------------------------------------------------------------------------------- */

/* Returns whether tiles can load the rows of A in place: whole cache lines, a stride that does not map all rows to the same
 * cache sets, and too few uses to pay for a copy. */
static bool is_in_place(const amx_run_t *e, const row_panel_t *s, const k_slice_t *slice)
{
    int64_t row = e->job->a.row_stride * e->l.element_bytes;
    return e->path <= PATH_AMX_I8 && e->job->a.col_stride == 1 && s->height == PANEL &&
           slice->k_size % e->l.step_k == 0 && (uintptr_t)e->job->a.first % 64 == 0 && row % 64 == 0 &&
           row % 2048 != 0 && s->width <= IN_PLACE_MAX_COLUMNS;
}

static rungi_amx_row_strides rows_in_place(const amx_run_t *e, const row_panel_t *s, const k_slice_t *slice)
{
    int64_t row = e->job->a.row_stride * e->l.element_bytes;
    return (rungi_amx_row_strides){a_operand(e, s->i, s->height, slice).first, row, 16 * row, RUNGI_AMX_STEP_BYTES};
}

static rungi_amx_row_strides packed_rows(const char *first)
{
    return (rungi_amx_row_strides){first, RUNGI_AMX_STEP_BYTES, RUNGI_AMX_TILE_BYTES, RUNGI_AMX_PANEL_STEP_BYTES};
}

static rungi_amx_row_strides load_a_rows(const amx_run_t *e, const row_panel_t *s, const k_slice_t *slice,
                                         rungi_bf16x3_range *range)
{
    char *to = e->job->scratch + e->l.a_offset;
    rungi_amx_operand from = a_operand(e, s->i, s->height, slice);
    if (is_in_place(e, s, slice))
        return rows_in_place(e, s, slice);
    rungi_amx_rows_pack(e->l.packing, &from, to, e->path == PATH_AMX_BF16X3 ? range : NULL);
    for (int64_t byte = 0; e->path == PATH_DOT_I8 && byte < slice->steps * RUNGI_AMX_PANEL_STEP_BYTES; byte++)
        to[byte] = (char)(to[byte] ^ 0x80);
    return packed_rows(to);
}

/* ---- Packing B -------------------------------------------------------------------------------------------- */

static void pack_slice(const amx_run_t *e, const k_slice_t *slice, int64_t j, int64_t cols)
{
    rungi_amx_operand from = b_operand(e, j, cols, slice);
    rungi_amx_columns_pack(e->l.packing, &from, scratch_slice_at(e, slice),
                           e->path == PATH_AMX_BF16X3 ? scratch_ranges_at(e, slice) : NULL);
}

/* ---- Small problems -------------------------------------------------------------------------------------------- */

/* Returns the rows of a row panel, packed by pack_all_rows or in place. */
static rungi_amx_row_strides rows_at(const amx_run_t *e, const row_panel_t *s, const k_slice_t *slice)
{
    if (is_in_place(e, s, slice))
        return rows_in_place(e, s, slice);
    return packed_rows(e->job->scratch + e->l.a_offset +
                       (s->i / PANEL * e->l.slices + slice->number) * e->l.panel_bytes);
}

static row_panel_t row_panel_at(const amx_run_t *e, int64_t i, int64_t j)
{
    return (row_panel_t){i, j, rungi_min(PANEL, e->job->m - i), rungi_min(e->l.nc, e->job->n - j), i / PANEL, false};
}

static void pack_all_rows(const amx_run_t *e)
{
    for (int64_t i = 0; i < e->job->m; i += PANEL)
        for (int64_t number = 0; number < e->l.slices; number++) {
            row_panel_t s = row_panel_at(e, i, 0);
            k_slice_t slice = k_slice_at(e, number);
            rungi_amx_operand from = a_operand(e, i, s.height, &slice);
            rungi_amx_row_strides to = rows_at(e, &s, &slice);
            if (to.step == RUNGI_AMX_PANEL_STEP_BYTES)
                rungi_amx_rows_pack(e->l.packing, &from, (char *)(uintptr_t)to.first, NULL);
        }
}

RUNGI_AMX_INLINE void multiply_small(amx_run_t *e, bool is_i8)
{
    pack_all_rows(e);
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t number = 0; number < e->l.slices; number++) {
            k_slice_t slice = k_slice_at(e, number);
            int64_t cols = rungi_min(e->l.nc, e->job->n - j);
            const char *b = slice_at(e, &slice, j);
            if (!e->job->packed)
                pack_slice(e, &slice, j, cols);
            for (int64_t panel = 0; panel * PANEL < cols; panel++)
                for (int64_t i = 0; i < e->job->m; i += PANEL) {
                    row_panel_t s = row_panel_at(e, i, j);
                    rungi_amx_row_strides a = rows_at(e, &s, &slice);
                    multiply_32x32(e, is_i8, false, &slice, &a, b + panel * slice.steps * RUNGI_AMX_PANEL_STEP_BYTES,
                                   sums_at(e, &s, panel), c_block_at(&s, panel));
                }
        }
}

RUNGI_TARGET_AMX static void multiply_small_bf16(amx_run_t *e)
{
    multiply_small(e, false);
}

RUNGI_TARGET_AMX static void multiply_small_i8(amx_run_t *e)
{
    multiply_small(e, true);
}

/* ---- Large problems -------------------------------------------------------------------------------------------------- */

static void multiply_row_panel(amx_run_t *e, const k_slice_t *slice, const row_panel_t *s)
{
    rungi_bf16x3_range range = {0, 0, 0};
    if (e->path == PATH_FMA_FEW_ROWS) {
        row_panel_fma(e, slice, s);
        return;
    }
    rungi_amx_row_strides a = load_a_rows(e, s, slice, &range);
    switch (e->path) {
    case PATH_AMX_BF16: row_panel_amx_bf16(e, slice, s, &a); break;
    case PATH_AMX_I8: row_panel_amx_i8(e, slice, s, &a); break;
    case PATH_AMX_BF16X3: row_panel_bf16x3(e, slice, s, &a, &range); break;
    case PATH_DOT_BF16: row_panel_dot(e, false, slice, s, &a); break;
    case PATH_DOT_I8: row_panel_dot(e, true, slice, s, &a); break;
    case PATH_FMA_FEW_ROWS: /* handled above */
    case PATH_GEMV_ROW:
    case PATH_GEMV_COLUMN: break; /* no row panels */
    }
}

/* Multiplies a block of C by the packed slices first ... end - 1. */
static void multiply_slices(amx_run_t *e, int64_t i, int64_t j, int64_t first, int64_t end)
{
    int64_t height = rungi_min(e->l.mc, e->job->m - i), width = rungi_min(e->l.nc, e->job->n - j);
    for (int64_t x = 0; x < height; x += PANEL) {
        row_panel_t s = {i + x,
                         j,
                         rungi_min(PANEL, height - x),
                         width,
                         e->l.slices > e->l.slices_per_pass ? x / PANEL : 0,
                         x == 0 && e->job->packed};
        for (int64_t number = first; number < end; number++) {
            k_slice_t slice = k_slice_at(e, number);
            multiply_row_panel(e, &slice, &s);
        }
    }
}

/* Computes the mc x nc block of C at (i, j). */
static void multiply_block(amx_run_t *e, int64_t i, int64_t j)
{
    bool is_packed = e->job->packed || (i > 0 && e->l.cached_slices == e->l.slices);
    for (int64_t first = 0; first < e->l.slices; first += e->l.slices_per_pass) {
        int64_t end = rungi_min(first + e->l.slices_per_pass, e->l.slices);
        for (int64_t number = first; number < end && !is_packed; number++) {
            k_slice_t slice = k_slice_at(e, number);
            pack_slice(e, &slice, j, rungi_min(e->l.nc, e->job->n - j));
        }
        multiply_slices(e, i, j, first, end);
    }
}

static void multiply_large(amx_run_t *e)
{
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t i = 0; i < e->job->m; i += e->l.mc)
            multiply_block(e, i, j);
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

/* Computes C where k is 0. */
static void epilogue_store_zeros(const rungi_cpu_job *job)
{
    memset(job->scratch, 0, SUMS_BYTES);
    for (int64_t i = 0; i < job->m; i += PANEL)
        for (int64_t j = 0; j < job->n; j += PANEL) {
            rungi_cpu_c_block block = {i, j, rungi_min(PANEL, job->m - i), rungi_min(PANEL, job->n - j)};
            rungi_cpu_epilogue_apply_avx512(job, &block, job->scratch, PANEL);
        }
}

static bool has_plain_output(const rungi_cpu_job *job)
{
    return (job->out == RUNG_F32 || job->out == RUNG_I32) && job->alpha == 1 && job->beta == 0 && !job->addend.first &&
           !job->bias.first && !job->residual.first && job->activation == RUNG_ACTIVATION_NONE &&
           job->c.col_stride == 1;
}

static bool is_streamed(const rungi_cpu_job *job)
{
    return has_plain_output(job) && (uintptr_t)job->c.first % 64 == 0 && job->c.row_stride % 16 == 0 &&
           job->m * job->n >= job->parameters[PARAMETER_STREAM] << 18;
}

RUNGI_TARGET_AMX static void run_on_amx(amx_run_t *e)
{
    bool has_squares = e->path == PATH_AMX_BF16X3 ||
                       e->regime == REGIME_SMALL; /* tiles of 16 rows, even if C has fewer */
    rungi_amx_tiles_configure(has_squares ? 16 : e->job->m);
    if (e->regime != REGIME_SMALL)
        multiply_large(e);
    else if (e->path == PATH_AMX_I8)
        multiply_small_i8(e);
    else
        multiply_small_bf16(e);
    flush_tiles(e);
    _tile_release();
}

/* Multiplies by a packed B of one column, whose elements lie in pairs, 64 bytes apart: unpacks the column first. */
static void multiply_packed_column(const rungi_cpu_job *job)
{
    rungi_cpu_job unpacked = *job;
    rungi_amx_blocking l = choose_blocking(job, PATH_GEMV_COLUMN, REGIME_LARGE, true, INT64_MAX);
    char *to = job->scratch + RUNGI_GEMV_SCRATCH_BYTES;
    for (int64_t p = 0; p < job->k; p += l.slice_k) {
        int64_t steps = rungi_ceil_divide(rungi_min(l.slice_k, job->k - p), l.step_k);
        const char *from = job->packed + amx_panel_offset(&l, job, 1, p, steps, 0);
        for (int64_t step = 0; step < steps; step++, from += RUNGI_AMX_PANEL_STEP_BYTES)
            for (int64_t group = 0; group < RUNGI_AMX_GROUPS_PER_STEP; group++, to += 4)
                memcpy(to, from + group * RUNGI_AMX_STEP_BYTES, 4);
    }
    unpacked.b = (rungi_cpu_input){job->scratch + RUNGI_GEMV_SCRATCH_BYTES, 1, 1};
    rungi_gemv_bf16_run(&unpacked, false);
}

RUNGI_TARGET_AVX512 static void run(const rungi_cpu_job *job)
{
    path_t path = (enum path)(job->config->path / REGIME_COUNT);
    amx_run_t e = {.job = job,
                   .path = path,
                   .regime = (regime_t)(job->config->path % REGIME_COUNT),
                   .has_plain_output = has_plain_output(job),
                   .is_streamed = is_streamed(job),
                   .is_stored = true};
    if (job->k == 0) {
        epilogue_store_zeros(job);
        return;
    }
    if (path >= PATH_GEMV_ROW) {
        if (job->packed)
            multiply_packed_column(job);
        else
            rungi_gemv_bf16_run(job, path == PATH_GEMV_ROW);
        return;
    }
    e.l = choose_blocking(job, path, e.regime, job->config->has_packed_b, job->config->max_cached);
    e.pending = discard_target(&e);
    if (path <= PATH_AMX_BF16X3)
        run_on_amx(&e);
    else
        multiply_large(&e);
    if (e.is_streamed)
        _mm_sfence();
}

/* ---- Packing B in advance ---------------------------------------------------------------------------------------- */

static void pack_f32(const amx_run_t *e, const k_slice_t *slice, char *packed)
{
    int64_t n = e->job->n;
    for (int64_t j = 0; j < n; j += PANEL) {
        rungi_amx_operand from = b_operand(e, j, rungi_min(PANEL, n - j), slice);
        rungi_f32_panel_pack(&from, (float *)(void *)(packed + packed_panel_offset(F32_UNIT_BYTES, &e->l, n, slice->p,
                                                                                   slice->steps, j)));
    }
}

/* Returns whether packing leaves bytes of the layout unwritten: an odd last panel, or incomplete F32 panels and ranges. */
static bool has_unwritten_bytes(const amx_run_t *e)
{
    return e->job->n % (2 * PANEL) != 0 || e->l.packing == RUNGI_AMX_PACKING_BF16X3;
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    path_t path = (enum path)(job->config->path / REGIME_COUNT);
    amx_run_t e = {.job = job, .path = path, .l = choose_blocking(job, path, REGIME_LARGE, true, INT64_MAX)};
    if (has_unwritten_bytes(&e)) /* a file of the packed B must not contain old memory contents */
        memset(packed, 0, (size_t)job->config->packed.bytes);
    for (int64_t number = 0; number < e.l.slices; number++) {
        k_slice_t slice = k_slice_at(&e, number);
        rungi_amx_operand from = b_operand(&e, 0, job->n, &slice);
        char *ranges = packed + ranges_offset(&e.l, job, job->n, number, 0);
        rungi_amx_columns_pack(e.l.packing, &from,
                               packed + amx_panel_offset(&e.l, job, job->n, slice.p, slice.steps, 0),
                               e.l.packing == RUNGI_AMX_PACKING_BF16X3 ? (rungi_bf16x3_range *)(void *)ranges : NULL);
        if (e.l.packing == RUNGI_AMX_PACKING_BF16X3)
            pack_f32(&e, &slice, packed);
    }
}

/* ---- Configuration --------------------------------------------------------------------------------------------- */

/* Chooses tiles, or dot products if tiles are missing or the system denies them. The system is asked last, because the
 * permission changes the process (rung.h, "Signals"). */
static rung_status choose_path(rung_type in, const rungi_cpu_features *has, path_t *path)
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
    has_tiles = has_tiles && rungi_cpu_amx_request();
    if (in == RUNG_F32 && !has_tiles)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "12_matrix: the system denies AMX to this process; if alternate signal stacks "
                          "(sigaltstack) exist, give them at least 16 KiB");
    *path = in == RUNG_F32    ? PATH_AMX_BF16X3
            : in == RUNG_BF16 ? has_tiles ? PATH_AMX_BF16 : PATH_DOT_BF16
            : has_tiles       ? PATH_AMX_I8
                              : PATH_DOT_I8;
    return RUNG_OK;
}

/* Chooses the regime. C may be twice as large as an operand, because it is written only once. */
static regime_t choose_regime(const rungi_cpu_job *job)
{
    int64_t size = job->in == RUNG_BF16 ? 2 : 1, bytes = job->parameters[PARAMETER_SMALL] << 10;
    if (job->m > 16 && job->m <= bytes && job->n <= bytes && job->k <= bytes && job->m * job->k * size <= bytes &&
        job->k * job->n * size <= bytes && job->m * job->n * 4 <= 2 * bytes)
        return REGIME_SMALL;
    return job->m <= job->parameters[PARAMETER_THIN] ? REGIME_THIN : REGIME_LARGE;
}

/* Returns whether packing three terms does not pay: few rows use B, or the problem is only a few tiles. */
static bool is_bf16x3_slow(const rungi_cpu_job *job)
{
    bool is_large = (double)job->n * (double)job->k > 256 * 1024;
    return job->m < (is_large ? 96 : 48) || job->n < 48 || job->k < 32;
}

static bool is_packed_gemv(const rungi_cpu_job *job)
{
    return job->in == RUNG_BF16 && job->n == 1 && (job->a.row_stride == 1 || job->a.col_stride == 1);
}

static rung_status configure_packed_b(const rungi_cpu_job *job, path_t path, rungi_cpu_kernel_config *config)
{
    rungi_amx_blocking l = choose_blocking(job, path, REGIME_LARGE, true, INT64_MAX);
    int64_t bytes, unit = l.panel_step_bytes + f32_unit_bytes(&l) +
                          (path == PATH_AMX_BF16X3 ? (int64_t)sizeof(rungi_bf16x3_range) : 0);
    if (!rungi_checked_multiply(packed_panels(job->n), rungi_ceil_divide(job->k, l.step_k), &bytes) ||
        !rungi_checked_multiply(bytes, unit, &bytes) || bytes > INT64_MAX - 64)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "12_matrix: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)job->k, (long long)job->n);
    config->packed = (rungi_packed_layout){
        .packed_type = job->in, .width = PANEL, .k_block = l.slice_k, .bytes = rungi_round_up(bytes, 64)};
    return RUNG_OK;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    path_t path = PATH_AMX_BF16;
    regime_t regime = REGIME_LARGE;
    (void)compute;
    TRY(choose_path(job->in, job->features, &path));
    if (config->has_packed_b)
        TRY(configure_packed_b(job, path, config));
    enum path engine = path;
    if (config->has_packed_b ? is_packed_gemv(job) : rungi_gemv_bf16_is_supported(job))
        path = job->m == 1 && !config->has_packed_b ? PATH_GEMV_ROW : PATH_GEMV_COLUMN;
    else if (path <= PATH_AMX_I8)
        regime = choose_regime(job);
    else if (path == PATH_AMX_BF16X3 && config->has_packed_b && job->m <= FMA_MAX_ROWS)
        path = PATH_FMA_FEW_ROWS;
    config->path = (int)path * REGIME_COUNT + (int)regime;
    /* BF16 dot products run at the rate of F32 FMAs, and packing for them costs more. */
    config->is_slow = path == PATH_DOT_BF16 || (path == PATH_AMX_BF16X3 && is_bf16x3_slow(job));
    if (config->has_packed_b) /* the choice must not depend on m or A */
        config->is_slow = engine == PATH_DOT_BF16 || (engine == PATH_AMX_BF16X3 && (job->n < 48 || job->k < 32));
    config->grain_m = PANEL;
    config->grain_n = PANEL;
    config->scratch = RUNGI_GEMV_SCRATCH_BYTES + (config->has_packed_b ? 2 * rungi_round_up(job->k, 32) : 0);
    if (path < PATH_GEMV_ROW) {
        rungi_amx_blocking whole = choose_blocking(job, path, regime, config->has_packed_b, INT64_MAX);
        config->scratch = whole.scratch_bytes;
        config->max_cached = whole.cached_slices;
    }
    return RUNG_OK;
}

/* Keeps two panels, and space for a third, in L1. Half of L2 is for slices of B, half for sums between slices. */
static void fit_parameters(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t *kc = &parameters[PARAMETER_KC_BYTES], *kd = &parameters[PARAMETER_KD_BYTES],
            nc = parameters[PARAMETER_NC_COLUMNS];
    int64_t rows = blocks->half_l2 / (nc * sum_bytes) / RUNGI_AMX_PANEL_WIDTH * RUNGI_AMX_PANEL_WIDTH;
    *kc = rungi_min(*kc, rungi_min(blocks->amx_panel / RUNGI_AMX_PANEL_WIDTH, blocks->half_l2 / nc) / 64 * 64);
    *kc = *kc > 192 ? *kc : 192;
    *kd = rungi_min(*kd, blocks->half_l2 / nc) / *kc * *kc;
    *kd = *kd > *kc ? *kd : *kc;
    parameters[PARAMETER_MC] = rungi_min(parameters[PARAMETER_MC],
                                         rows > RUNGI_AMX_PANEL_WIDTH ? rows : RUNGI_AMX_PANEL_WIDTH);
    parameters[PARAMETER_SMALL] = rungi_min(parameters[PARAMETER_SMALL], blocks->small_operand >> 10);
}
#else
#define fit_parameters NULL

static void run(const rungi_cpu_job *job)
{
    (void)job;
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    (void)job;
    (void)packed;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    (void)job;
    (void)compute;
    (void)config;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs an x86-64 processor");
}
#endif

const rungi_cpu_kernel rungi_cpu_12_matrix = {
    .run = run, .configure = configure, .fit = fit_parameters, .pack = pack, .is_threaded = true, .is_engine = true};
