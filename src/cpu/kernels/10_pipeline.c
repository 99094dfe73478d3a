/* SPDX-License-Identifier: Apache-2.0 */
/* 10_pipeline - packed panels with prefetching, packing overlapped with multiply-adds, and all threads.
 *
 * Removes  the time in which 09_warptile multiplies nothing. The first panel of rows that is multiplied with a block of
 *          B also packs the block, between its multiply-adds. The next rows of A and the next steps of B are
 *          prefetched while the current ones are used. A is copied only if its rows compete for the same cache
 *          sets. C is partitioned between threads (cpu_plan.c).
 * Leaves   the multiply-adds themselves: inputs narrower than the sums are widened first, which gains no speed.
 *          12_matrix multiplies them unchanged.
 * Watch    rung bench --device cpu --kernels 09,10 --threads 1
 *
 * A B that is quantized, or narrower than A, is dequantized or widened while it is packed, and so is a quantized A. If A has few
 * rows and the columns of
 * B are contiguous along k, C is computed by dot products, without packing.
 *
 * A KC x NC block of B stays in L2 while all rows of A are multiplied with it, one panel of rows at a time. A is packed as well
 * if C is wide enough for this to save time. B is read in place if A has too few rows. The bits of an element depend on k, KC
 * and the path only.
 *
 * microkernels/pipeline_config.c chooses the path and the block sizes. The inner loop is in
 * microkernels/microkernel_body.h.
 */
#include <string.h>

#include "core/matrix.h"
#include "cpu/microkernels/cpu_dequantize.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/microkernels/cpu_pack.h"
#include "cpu/microkernels/pipeline.h"

// takes: f32,f32:f16,f32:bf16,f64,f64:f32,f16,f16:f32,bf16,bf16:f32,i8,i32
// takes: *q8_0,*q4_0,*i8,*u8,*i4,*u4,*f8e4m3,*f8e5m2,*f4e2m1,*f16,*bf16
// takes: f8e4m3,f8e4m3:bf16,f8e5m2,f8e5m2:bf16,quantized*quantized
// preset f64: KC=256,NC=1024
// preset tiny: KC=16,NC=32
#ifndef KC
#define KC 512 // 256 512 1024
#endif
#ifndef NC
#define NC 1024 // 256 512 1024
#endif
#if KC < 16 || KC > 8192
#error "KC is 16 to 8192"
#endif
#if NC < 32 || NC > 16384
#error "NC is 32 to 16384"
#endif

enum {
    SUM_ROWS = RUNGI_PIPELINE_SUM_ROWS,
    L1_K_STEPS = RUNGI_PIPELINE_L1_K_STEPS,
    IN_PLACE_COLUMNS = RUNGI_PIPELINE_IN_PLACE_COLUMNS,
    L1_RESIDENT_TILES = 8,    /* most tiles of an unpacked B that panels of A share in L1 */
    PANEL_ROWS = 9,           /* most rows of a panel that is packed */
    MIN_BLOCK_ROW_BYTES = 896 /* lower bound for NC in bytes when default parameters are fitted to the caches */
};

/* Lowers KC so that a panel of A stays in L1 and a packed block of B stays wide. The configuration lowers NC. */
static void fit(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t max_kc = rungi_min(blocks->a_panel / (PANEL_ROWS * sum_bytes), blocks->packed_b / MIN_BLOCK_ROW_BYTES);
    parameters[RUNGI_PIPELINE_KC] = rungi_min(parameters[RUNGI_PIPELINE_KC], rungi_max(max_kc / 16 * 16, 64));
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

static const char *a_at(const rungi_pipeline *run, int64_t i, int64_t p)
{
    const rungi_cpu_input *a = &run->job->a;
    return (const char *)a->first + (i * a->row_stride + p * a->col_stride) * run->in_size;
}

static const char *b_at(const rungi_pipeline *run, int64_t p, int64_t j)
{
    const rungi_cpu_input *b = &run->job->b;
    return (const char *)b->first + rungi_type_bytes(run->job->b_type, p * b->row_stride + j * b->col_stride);
}

/* Packs the current block of B, tile by tile. The columns behind its last one become zeros: leftover values might be slow
 * to multiply (denormals) or raise floating-point exceptions. */
static void pack_b(const rungi_pipeline *run)
{
    const rungi_cpu_input *b = &run->job->b;
    int64_t tile = run->tile_width;
    for (int64_t j = 0; j < run->cols; j += tile) {
        int64_t cols = rungi_min(tile, run->cols - j);
        char *to = run->b_panels + j * run->k_size * run->size;
        if (cols < tile)
            memset(to, 0, (size_t)(run->k_size * tile * run->size));
        if (rungi_cpu_dequantizes(run->job))
            rungi_cpu_dequantize(run->job->features->isa, &run->job->narrow_b, run->p, run->j + j, run->k_size, cols,
                                 (float *)(void *)to, tile);
        else
            rungi_cpu_pack(run->job->features->isa,
                           &(rungi_cpu_pack_args){run->job->b_type, b_at(run, run->p, run->j + j), b->row_stride,
                                                  b->col_stride, run->k_size, cols, to, tile});
    }
}

/* Returns the offset of the current K block, from column `col` on, in a packed B. A packed B holds one K block after the
 * other, each as consecutive tiles. */
static int64_t packed_offset(const rungi_pipeline *run, int64_t col)
{
    int64_t cols = rungi_round_up(run->job->config->problem_n, run->tile_width);
    return (run->p * cols + col * run->k_size) * run->size;
}

static const char *packed_block(const rungi_pipeline *run)
{
    return run->job->packed + packed_offset(run, run->job->first_col + run->j);
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    rungi_pipeline run;
    rungi_pipeline_init(&run, job, job->config);
    run.cols = job->n;
    for (run.p = 0; run.p < job->k; run.p += job->config->kc) {
        run.k_size = rungi_min(job->config->kc, job->k - run.p);
        run.b_panels = packed + packed_offset(&run, 0);
        pack_b(&run);
    }
}

/* Copies the K block of rows i ... i + rows - 1 of A: row by row, `row` elements apart. */
static void copy_a(const rungi_pipeline *run, int64_t i, int64_t rows, char *to, int64_t row)
{
    const rungi_cpu_job *job = run->job;
    if (rungi_cpu_dequantizes_a(job))
        rungi_cpu_dequantize_transposed(job->features->isa, &job->narrow_a, run->p, i, run->k_size, rows,
                                        (float *)(void *)to, row);
    else
        rungi_cpu_pack(job->features->isa, &(rungi_cpu_pack_args){job->in, a_at(run, i, run->p), job->a.row_stride,
                                                                  job->a.col_stride, rows, run->k_size, to, row});
}

/* Copies the transpose of the K block of rows i ... i + rows - 1 of A. */
static void copy_a_transposed(const rungi_pipeline *run, int64_t i, int64_t rows, char *to)
{
    const rungi_cpu_job *job = run->job;
    if (rungi_cpu_dequantizes_a(job))
        rungi_cpu_dequantize(job->features->isa, &job->narrow_a, run->p, i, run->k_size, rows, (float *)(void *)to,
                             rows);
    else
        rungi_cpu_pack(job->features->isa, &(rungi_cpu_pack_args){job->in, a_at(run, i, run->p), job->a.col_stride,
                                                                  job->a.row_stride, run->k_size, rows, to, rows});
}

/* Returns whether an earlier block of B already copied the rows of A. */
static bool is_a_cached(const rungi_pipeline *run)
{
    return run->caches_a && run->j > 0;
}

/* Returns where the copies of the rows from i on are. */
static char *a_copy_at(const rungi_pipeline *run, int64_t i)
{
    return run->a_copies + (run->caches_a ? (i - run->i) * rungi_pipeline_a_row_bytes(run, run->k_size) : 0);
}

/* Sets the rows of A that are multiplied: in place, or as a copy. */
static void set_a_args(const rungi_pipeline *run, int64_t i, int64_t rows, rungi_microkernel_args *args)
{
    const rungi_cpu_input *a = &run->job->a;
    args->a = a_at(run, i, run->p);
    args->a_row_stride = a->row_stride;
    args->packs_a = false;
    if (!run->copies_a && !run->caches_a)
        return;
    int64_t row = rungi_pipeline_a_row_bytes(run, run->k_size) / run->size;
    char *copy = a_copy_at(run, i);
    if (!is_a_cached(run))
        copy_a(run, i, rows, copy, row);
    args->a = copy;
    args->a_row_stride = row;
}

/* Sets the rows of A and their packed copy. Rows that can be read in place are packed while they are multiplied. */
static void set_packed_a_args(const rungi_pipeline *run, int64_t i, int64_t rows, rungi_microkernel_args *args)
{
    const rungi_cpu_input *a = &run->job->a;
    args->a = a_at(run, i, run->p);
    args->a_row_stride = a->row_stride;
    args->packed_a = a_copy_at(run, i);
    args->packed_a_stride = run->caches_a ? rows * rungi_pipeline_a_row_bytes(run, run->k_size) / run->size : 0;
    args->packs_a = !is_a_cached(run) && !run->copies_a;
    if (!is_a_cached(run) && run->copies_a)
        copy_a_transposed(run, i, rows, args->packed_a);
}

/* Sets the rows of A to prefetch: those of the next panel, at the address where they will be read or copied from. */
static void set_prefetch_args(const rungi_pipeline *run, int64_t i, bool has_next, rungi_microkernel_args *args)
{
    if (has_next && is_a_cached(run)) {
        args->a_prefetch = a_copy_at(run, i);
        args->a_prefetch_row_stride = rungi_pipeline_a_row_bytes(run, run->k_size) / run->size;
    } else if (has_next && run->can_read_a_in_place) {
        args->a_prefetch = a_at(run, i, run->p);
        args->a_prefetch_row_stride = run->job->a.row_stride;
    } else {
        args->a_prefetch = args->a;
        args->a_prefetch_row_stride = 0;
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------------------ */

/* Sets where the sums of a panel are stored and how: the first K block replaces C, the others add to it. A large alpha is
 * applied after the last K block, because a partial sum times alpha might overflow where the whole sum does not. */
static void set_c_args(const rungi_pipeline *run, int64_t i, int64_t j, rungi_microkernel_args *args)
{
    const rungi_cpu_job *job = run->job;
    bool is_first = run->p == 0;
    if (run->buffers_sums) {
        args->c_row_stride = rungi_round_up(run->cols, run->tile_width);
        args->c = run->sums + ((i - run->i) * args->c_row_stride + j - run->j) * run->size;
        args->alpha = 1;
        args->beta = is_first ? 0 : 1;
    } else {
        args->c_row_stride = job->c.row_stride;
        args->c = (char *)job->c.first + (i * job->c.row_stride + j) * run->size;
        args->alpha = run->scales_last ? 1 : job->alpha;
        args->beta = !is_first ? 1 : run->scales_last ? job->beta / job->alpha : job->beta;
    }
}

typedef rungi_microkernel *const tile_row_t[RUNGI_MICROKERNEL_MAX_VECTORS];

/* The micro-kernels for one panel. */
typedef struct panel_functions {
    tile_row_t *tiles;                   /* by number of rows, then of vectors */
    rungi_microkernel *const *streaming; /* by number of rows; NULL if the sums are not streamed */
    bool has_packed_b;
} panel_functions_t;

static panel_functions_t select_functions(const rungi_pipeline *run, bool packing, bool has_packed_a)
{
    const rungi_microkernel_table *all = run->tiles;
    if (packing)
        return (panel_functions_t){all->packing, NULL, false};
    if (run->is_in_place)
        return (panel_functions_t){all->in_place, NULL, false};
    rungi_microkernel *const *streaming = has_packed_a ? all->packed_a_streaming : all->streaming;
    return (panel_functions_t){has_packed_a ? all->packed_a : all->packed, run->streams_c ? streaming : NULL, true};
}

/* Multiplies a panel of rows with `cols` columns of B: whole tiles in one call, then the rest. */
static void multiply_panel(const rungi_pipeline *run, panel_functions_t functions, int64_t rows, int64_t cols,
                           rungi_microkernel_args *args)
{
    int64_t width = run->tile_width, whole = (int64_t)((uint64_t)cols / (uint64_t)width);
    int64_t rest = cols - whole * width;
    rungi_microkernel *streaming = functions.streaming ? functions.streaming[rows - 1] : NULL;
    args->k = run->k_size;
    args->tiles = whole;
    args->cols = width;
    if (whole > 0)
        (streaming ? streaming : functions.tiles[rows - 1][width / run->tiles->lanes - 1])(args);
    if (rest == 0)
        return;
    int64_t b_step = functions.has_packed_b ? run->k_size * width : width;
    args->b = (const char *)args->b + whole * b_step * run->size;
    args->c = (char *)args->c + whole * width * run->size;
    if (args->pack_to)
        args->pack_to = (char *)args->pack_to + whole * run->k_size * width * run->size;
    args->tiles = 1;
    args->cols = rest;
    args->packs_a = false; /* the whole tiles did */
    functions.tiles[rows - 1][(rest - 1) / run->tiles->lanes](args);
}

static void scale(const rungi_pipeline *run, int64_t i, int64_t rows)
{
    const rungi_cpu_job *job = run->job;
    for (int64_t row = i; row < i + rows; row++)
        for (int64_t j = run->j; j < run->j + run->cols; j++) {
            char *at = (char *)job->c.first + (row * job->c.row_stride + j) * run->size;
            if (run->size == 8)
                *(double *)at *= job->alpha;
            else
                *(float *)at = (float)(*(float *)at * job->alpha);
        }
}

/* Applies what follows the last K block: a late alpha, and the epilogue. */
static void epilogue_store_panel(const rungi_pipeline *run, int64_t i, int64_t rows)
{
    int64_t sums_stride = rungi_round_up(run->cols, run->tile_width);
    if (run->p + run->k_size < run->job->k)
        return;
    if (run->scales_last)
        scale(run, i, rows);
    if (run->buffers_sums)
        rungi_cpu_epilogue_apply(run->job, i, run->j, rows, run->cols,
                                 run->sums + (i - run->i) * sums_stride * run->size, sums_stride);
    else if (rungi_cpu_has_epilogue(run->job))
        rungi_cpu_epilogue_apply(run->job, i, run->j, rows, run->cols, NULL, 0);
}

/* ---- Packed B ------------------------------------------------------------------------------------ */

/* Rows in panels of nearly the same height: the first `taller` panels have one more row. */
typedef struct panels {
    int64_t count, height, taller;
} panels_t;

static panels_t split_into_panels(const rungi_pipeline *run)
{
    int64_t max_rows = run->tile_rows, count = run->rows <= max_rows ? 1 : rungi_ceil_divide(run->rows, max_rows);
    int64_t height = run->rows / count;
    return (panels_t){count, height, run->rows - height * count};
}

/* Multiplies all rows with one packed tile of columns by one K block. The rows of A are cached copies. The second panel
 * prefetches the next steps of B, which follow in memory: in this tile or in the next one. */
static void multiply_packed_l1(const rungi_pipeline *whole)
{
    panels_t panels = split_into_panels(whole);
    int64_t width = whole->tile_width, a_row = rungi_pipeline_a_row_bytes(whole, whole->k_size) / whole->size, rows;
    rungi_microkernel_args args = {.panels = 1, .prefetches_c = whole->prefetches_c};
    rungi_pipeline part = *whole;
    for (int64_t q = 0; q < whole->k_size; q += L1_K_STEPS) {
        part.p = whole->p + q;
        part.k_size = rungi_min(L1_K_STEPS, whole->k_size - q);
        for (int64_t panel = 0, i = whole->i; panel < panels.count; panel++, i += rows) {
            rows = panels.height + (panel < panels.taller);
            if (q == 0)
                set_a_args(whole, i, rows, &args);
            args.a = args.a_prefetch = whole->a_copies + ((i - whole->i) * a_row + q) * whole->size;
            args.a_row_stride = a_row;
            args.b_prefetch_steps = panel == 0 ? 20 : 0;
            args.b_prefetch_offset = panel == 1 ? part.k_size * width : 0;
            args.b = packed_block(whole) + q * width * whole->size;
            set_c_args(&part, i, whole->j, &args);
            multiply_panel(&part, select_functions(whole, false, false), rows, whole->cols, &args);
            epilogue_store_panel(&part, i, rows);
        }
    }
}

/* Returns whether A is packed for these panels. A narrow block of C does not pay for it. */
static bool packs_panels(const rungi_pipeline *run, const panels_t *panels)
{
    bool has_functions = run->tiles->packed_a[panels->height - 1][0] &&
                         (panels->taller == 0 || run->tiles->packed_a[panels->height][0]);
    return run->packs_a && has_functions && (is_a_cached(run) || run->cols >= run->tile_width);
}

/* Returns whether panels of the same height can be one call: unless each needs its own copy of A or epilogue. */
static bool can_join_panels(const rungi_pipeline *run, bool has_packed_a)
{
    bool is_copied = run->copies_a || (!has_packed_a && run->caches_a);
    bool shares_copy = has_packed_a && !run->caches_a && run->cols % run->tile_width != 0;
    return (!is_copied || is_a_cached(run)) && !shares_copy && !run->buffers_sums && !run->scales_last &&
           !rungi_cpu_has_epilogue(run->job);
}

/* Multiplies one block of C by one K block. The first panel packs B if it can, and does not pack A. */
static void multiply_block(const rungi_pipeline *run)
{
    panels_t panels = split_into_panels(run);
    bool is_packed = run->job->config->has_packed_b, packs_a = packs_panels(run, &panels);
    const char *b_panels = is_packed ? packed_block(run) : run->b_panels;
    bool packing = run->can_read_b_in_place && run->tiles->packing[panels.height + (panels.taller > 0) - 1][0];
    bool joins_panels = can_join_panels(run, packs_a);
    if (!packing && !is_packed)
        pack_b(run);
    int64_t i = run->i, count;
    for (int64_t panel = 0; panel < panels.count; panel += count, packing = false) {
        bool is_tall = panel < panels.taller, has_packed_a = packs_a && !packing;
        int64_t rows = panels.height + is_tall;
        count = !joins_panels || packing ? 1 : (is_tall ? panels.taller : panels.count) - panel;
        rungi_microkernel_args args; /* every member is set: zeroing first takes longer than a small tile */
        args.panels = count;
        args.b_prefetch_steps = packing ? 16 : 20;
        args.b_prefetch_offset = 0;
        args.prefetches_c = run->prefetches_c;
        (has_packed_a ? set_packed_a_args : set_a_args)(run, i, rows, &args);
        set_c_args(run, i, run->j, &args);
        args.b = packing ? b_at(run, run->p, run->j) : b_panels;
        args.b_row_stride = run->job->b.row_stride;
        args.pack_to = packing ? run->b_panels : NULL;
        set_prefetch_args(run, i + rows, panel + 1 < panels.count, &args);
        multiply_panel(run, select_functions(run, packing, has_packed_a), rows, run->cols, &args);
        epilogue_store_panel(run, i, rows);
        i += count * rows;
    }
}

static void run_with_cached_a(rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    int64_t block_rows = run->cached_rows;
    for (run->i = 0; run->i < job->m; run->i += block_rows) {
        run->rows = rungi_min(block_rows, job->m - run->i);
        for (run->p = 0; run->p < job->k; run->p += run->kc) {
            run->k_size = rungi_min(run->kc, job->k - run->p);
            for (run->j = 0; run->j < job->n; run->j += run->nc) {
                run->cols = rungi_min(run->nc, job->n - run->j);
                (run->is_l1_resident ? multiply_packed_l1 : multiply_block)(run);
            }
        }
    }
}

static void run_packed(rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    int64_t block_rows = run->buffers_sums ? SUM_ROWS : job->m;
    for (run->j = 0; run->j < job->n; run->j += run->nc) {
        run->cols = rungi_min(run->nc, job->n - run->j);
        for (run->i = 0; run->i < job->m; run->i += block_rows) {
            run->rows = rungi_min(block_rows, job->m - run->i);
            for (run->p = 0; run->p < job->k; run->p += run->kc) {
                run->k_size = rungi_min(run->kc, job->k - run->p);
                multiply_block(run);
            }
        }
    }
}

/* ---- B in place ---------------------------------------------------------------------------------------- */

/* Multiplies all rows with `cols` columns of B, from column j of the block on. Panels after the first find B in L1. The
 * second panel prefetches what follows, b_prefetch_offset elements further. */
static void multiply_l1_columns(const rungi_pipeline *run, rungi_microkernel_args args, int64_t j, int64_t cols,
                                int64_t b_prefetch_offset)
{
    panels_t panels = split_into_panels(run);
    const char *a = args.a;
    int64_t rows, i = 0;
    for (int64_t panel = 0; panel < panels.count; panel++, i += rows) {
        rows = panels.height + (panel < panels.taller);
        args.b_prefetch_steps = panel == 0 ? 8 : 0;
        args.b_prefetch_offset = panel == 1 ? b_prefetch_offset : 0;
        args.a = args.a_prefetch = a + i * args.a_row_stride * run->size;
        args.b = b_at(run, run->p, run->j + j);
        set_c_args(run, i, run->j + j, &args);
        multiply_panel(run, select_functions(run, false, false), rows, cols, &args);
    }
}

/* Returns the number of columns of B whose next rows fit L1 while all panels of A are multiplied with them. */
static int64_t columns_in_l1(const rungi_pipeline *run)
{
    int64_t tile = run->tile_width, tiles = L1_RESIDENT_TILES;
    while (tiles > 1 &&
           tiles * RUNGI_PIPELINE_IN_PLACE_K_STEPS * tile * run->size > run->job->features->blocks.l1_tiles)
        tiles--;
    return tile * tiles;
}

static void multiply_k_block(const rungi_pipeline *run)
{
    int64_t block_columns = run->rows > run->tile_rows ? columns_in_l1(run) : run->cols;
    int64_t step = run->job->b.row_stride;
    rungi_microkernel_args args = {.panels = 1, .b_row_stride = step};
    set_a_args(run, 0, run->rows, &args);
    for (int64_t j = 0; j < run->cols; j += block_columns)
        multiply_l1_columns(run, args, j, rungi_min(block_columns, run->cols - j),
                            j + block_columns < run->cols ? block_columns : run->k_size * step - j);
}

/* Reads a large B once, a few of its rows at a time. */
static void run_in_place(rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    run->rows = job->m;
    for (run->j = 0; run->j < job->n; run->j += IN_PLACE_COLUMNS) {
        run->cols = rungi_min(IN_PLACE_COLUMNS, job->n - run->j);
        for (run->p = 0; run->p < job->k; run->p += run->kc) {
            run->k_size = rungi_min(run->kc, job->k - run->p);
            multiply_k_block(run);
        }
        run->p = job->k - run->k_size;
        epilogue_store_panel(run, 0, job->m);
    }
}

/* ---- B in place along k --------------------------------------------------------------------------------- */

/* Reads B once, a few of its columns at a time. */
static void run_dot_products(const rungi_pipeline *run)
{
    enum { COLUMNS = RUNGI_PIPELINE_DOT_COLUMNS };
    const rungi_cpu_job *job = run->job;
    rungi_dot_products_args args = {.rows = job->m,
                                    .k = job->k,
                                    .a = job->a.first,
                                    .a_row_stride = job->a.row_stride,
                                    .b_col_stride = job->b.col_stride,
                                    .sums = job->scratch,
                                    .sums_row_stride = COLUMNS};
    for (int64_t j = 0; j < job->n; j += COLUMNS) {
        args.cols = rungi_min(COLUMNS, job->n - j);
        args.b = b_at(run, 0, j);
        run->tiles->dot_products(&args);
        rungi_cpu_epilogue_apply(job, 0, j, job->m, args.cols, args.sums, COLUMNS);
    }
}

/* ---- The kernel ---------------------------------------------------------------------------------------------- */

/* Applies the epilogue to sums of zero. */
static void run_zero_k(const rungi_cpu_job *job)
{
    static const double zeros[SUM_ROWS];
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j += SUM_ROWS)
            rungi_cpu_epilogue_apply(job, i, j, 1, rungi_min(SUM_ROWS, job->n - j), zeros, 0);
}

static void run_path(rungi_pipeline *run)
{
    if (run->is_dots)
        run_dot_products(run);
    else if (run->is_in_place)
        run_in_place(run);
    else if (run->caches_a)
        run_with_cached_a(run);
    else
        run_packed(run);
}

static void finish(const rungi_pipeline *run)
{
#if defined(__x86_64__)
    if (run->streams_c)
        __builtin_ia32_sfence(); /* orders streaming stores before later ones */
#else
    (void)run;
#endif
}

static void run_pipeline(const rungi_cpu_job *job)
{
    rungi_pipeline run;
    if (job->k == 0) {
        run_zero_k(job);
        return;
    }
    rungi_pipeline_start(&run, job);
    run_path(&run);
    finish(&run);
}

/* ---- Several items of a batch ---------------------------------------------------------------------------------- */

/* Returns whether an item is one K block that is read in place, with a B that all panels find in L1. */
static bool is_small_item(const rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    int64_t max_columns = job->m <= run->tile_rows ? IN_PLACE_COLUMNS : columns_in_l1(run);
    return run->is_in_place && !run->copies_a && !run->buffers_sums && !run->scales_last && job->n <= max_columns &&
           job->k <= run->kc;
}

/* Multiplies small items: only the addresses differ. */
static void run_small_items(rungi_pipeline *run, const rungi_cpu_items *items)
{
    const rungi_cpu_job *job = run->job;
    run->p = run->i = run->j = 0;
    run->k_size = job->k;
    run->rows = job->m;
    run->cols = job->n;
    panels_t panels = split_into_panels(run);
    panel_functions_t functions = select_functions(run, false, false);
    rungi_microkernel_args args = {.panels = 1, .b_row_stride = job->b.row_stride, .b_prefetch_steps = 8};
    set_a_args(run, 0, job->m, &args);
    set_c_args(run, 0, 0, &args);
    for (int64_t item = items->first; item < items->end; item++) {
        const char *a = rungi_cpu_item_address(&items->a, item), *b = rungi_cpu_item_address(&items->b, item);
        char *c = rungi_cpu_item_address(&items->c, item);
        for (int64_t panel = 0; panel < panels.count; panel++) {
            int64_t rows = panels.height + (panel < panels.taller);
            args.a = args.a_prefetch = a;
            args.b = b;
            args.c = c;
            multiply_panel(run, functions, rows, job->n, &args);
            a += rows * job->a.row_stride * run->size;
            c += rows * job->c.row_stride * run->size;
        }
    }
}

static void run_items(const rungi_cpu_job *first, const rungi_cpu_items *items)
{
    rungi_cpu_job job = *first;
    rungi_pipeline run;
    if (job.k > 0)
        rungi_pipeline_start(&run, &job);
    if (job.k > 0 && is_small_item(&run)) {
        run_small_items(&run, items);
        return;
    }
    for (int64_t item = items->first; item < items->end; item++) {
        job.c.first = rungi_cpu_item_address(&items->c, item);
        if (job.k == 0) {
            run_zero_k(&job);
            continue;
        }
        job.a.first = rungi_cpu_item_address(&items->a, item);
        job.b.first = rungi_cpu_item_address(&items->b, item);
        if (run.can_stream_c) /* which depends on the address */
            rungi_pipeline_start(&run, &job);
        run_path(&run);
        finish(&run);
    }
}

const rungi_cpu_kernel rungi_cpu_10_pipeline = {.run = run_pipeline,
                                                .run_items = run_items,
                                                .configure = rungi_pipeline_configure,
                                                .fit = fit,
                                                .pack = pack,
                                                .is_threaded = true};
