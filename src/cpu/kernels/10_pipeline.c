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
 * A KC x NC block of B stays in L2 while all rows of A are multiplied with it, one panel of up to 14 rows at a time. If
 * A has too few rows to pay for packing, B is read in place. The bits of an element depend on k, KC and the path only.
 *
 * The file is longer than 500 lines because "rung kernels 10_pipeline --source" shows it as one lesson. The inner loop
 * is in microkernels/microkernel_body.h.
 */
#include <math.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "base/try.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/kernels/cpu_kernels.h"
#include "cpu/microkernels/cpu_pack.h"
#include "cpu/microkernels/microkernel.h"

// preset f64: KC=1024,NC=256
// preset tiny: KC=16,NC=32
#ifndef KC
#define KC 1024 // 256 512 1024
#endif
#ifndef NC
#define NC 512 // 256 512 1024
#endif
#if KC < 16 || KC > 8192
#error "KC is 16 to 8192"
#endif
#if NC < 32 || NC > 16384
#error "NC is 32 to 16384"
#endif

enum { PARAMETER_KC, PARAMETER_NC };
/* How B is read: packed by this run or in advance, in place, or (PATH_PACKED_L1) packed in advance for a few panels of
 * rows and a large B. The last path takes one tile of columns and L1_K_STEPS steps of k at a time, so that every panel
 * after the first finds B in L1. */
enum { PATH_PACKED, PATH_IN_PLACE, PATH_PACKED_L1 };
enum {
    SUM_BUFFER_ROWS = 336,        /* rows of sums that are kept outside C */
    IN_PLACE_COLUMNS = 4096,      /* columns of an unpacked B per pass over k */
    IN_PLACE_K_STEPS = 32,        /* steps of k per K block of an unpacked B; twice as many for more than two panels */
    IN_PLACE_MAX_PANELS = 10,     /* most panels of A for which a B of more than in_place_b bytes stays unpacked */
    L1_K_STEPS = 32,              /* steps of k per packed tile: few, so that prefetched lines arrive in time */
    L1_RESIDENT_TILES = 8,        /* most tiles of an unpacked B that panels of A share in L1 */
    MIN_BLOCK_ROW_BYTES = 896,    /* lower bound for NC in bytes when default parameters are fitted to the caches */
    MAX_UNSCALED_ALPHA = 1 << 16, /* largest alpha for which beta is not divided by it: integers stay exact */
    A_ROW_PADDING = 64,           /* bytes between copied rows of A, which then lie in different cache sets */
    PAGE = 4096
};

/* One run of a thread. */
typedef struct pipeline {
    const rungi_cpu_job *job;
    const rungi_microkernel_table *tiles;
    int64_t size, in_size;                         /* bytes of a sum, and of an element of A or B */
    int64_t kc, nc, cached_rows;                   /* cached_rows: rows of A */
    bool can_read_a_in_place, can_read_b_in_place; /* contiguous along the row, and of the accumulator type */
    bool copies_a, caches_a; /* A is copied; copies of many rows are reused by several blocks of B */
    bool is_l1_resident;     /* PATH_PACKED_L1 */
    bool buffers_sums;       /* sums are kept outside C */
    bool streams_c, prefetches_c;
    bool scales_last;                 /* alpha is applied after the last K block */
    char *a_copies, *b_panels, *sums; /* scratch */
    int64_t i, j, rows, cols;         /* the current block of C, */
    int64_t p, k_size;                /* and the current K block */
} pipeline_t;

/* ---- Configuration -------------------------------------------------------------------------------- */

static rung_type sum_type(const rungi_cpu_job *job)
{
    return job->out == RUNG_I32 ? RUNG_I32 : job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32;
}

/* Splits k into K blocks of at most about KC, all of the same size but the last. */
static int64_t k_block_size(const rungi_cpu_job *job)
{
    int64_t k_blocks = rungi_ceil_divide(job->k, job->parameters[PARAMETER_KC]);
    return k_blocks > 1 ? rungi_round_up(rungi_ceil_divide(job->k, k_blocks), 4) : job->k;
}

/* Returns NC: a block of B leaves part of L2 to A and C. */
static int64_t n_block_size(const rungi_cpu_job *job, int64_t tile, int64_t step_bytes)
{
    int64_t fitting = job->features->blocks.packed_b / rungi_max(step_bytes, 1) / tile * tile;
    int64_t max_nc = rungi_round_up(rungi_min(job->parameters[PARAMETER_NC], rungi_max(fitting, tile)), tile);
    int64_t blocks = rungi_ceil_divide(job->n, max_nc);
    return blocks > 1 ? rungi_round_up(rungi_ceil_divide(job->n, blocks), tile) : rungi_round_up(job->n, tile);
}

/* Returns the bytes from one copied row of A to the next. The padding puts rows into different cache sets. */
static int64_t a_row_bytes(const pipeline_t *run, int64_t k_size)
{
    return rungi_round_up(k_size * run->size, A_ROW_PADDING) + A_ROW_PADDING;
}

/* Returns how many rows of A are copied and cached, for the whole problem. One thread's block has fewer rows, of which more
 * might fit evenly, but it caches no more: the scratch was sized once. */
static int64_t cached_row_count(const pipeline_t *run)
{
    int64_t row = a_row_bytes(run, run->kc), tile = run->tiles->rows, m = run->job->m;
    int64_t bytes = run->job->features->blocks.cached_a;
    int64_t max_rows = row < bytes / tile ? bytes / row : tile, blocks = rungi_ceil_divide(m, max_rows);
    return blocks > 1 ? rungi_round_up(rungi_ceil_divide(m, blocks), tile) : m;
}

/* Returns the bytes of copies of A: one panel, the cached rows, or all rows if B is read in place. */
static int64_t a_bytes(const pipeline_t *run, bool in_place)
{
    int64_t rows = in_place ? run->job->m : run->caches_a ? run->cached_rows : run->tiles->rows;
    return in_place || run->copies_a ? rungi_round_up(rows * a_row_bytes(run, run->kc), PAGE) : 0;
}

/* Decides whether A is copied. Reading a very large A touches many pages for each block of B, so it is copied as well. If
 * several blocks of B follow each other, the copies are cached for them. */
static void configure_a_copies(pipeline_t *run, bool in_place)
{
    const rungi_cpu_job *job = run->job;
    bool is_large_a = (double)job->m * (double)job->k * (double)run->size > 32e6;
    bool is_often_read = (run->copies_a || is_large_a) && job->n >= 3 * run->nc && job->m >= 256 && job->k >= 256;
    run->caches_a = !in_place && !run->buffers_sums && (is_often_read || run->is_l1_resident);
    run->copies_a = run->copies_a || run->caches_a;
}

static void init_pipeline(pipeline_t *run, const rungi_cpu_job *job, const rungi_cpu_kernel_config *config)
{
    rung_type sum = sum_type(job);
    memset(run, 0, sizeof *run);
    run->job = job;
    run->tiles = rungi_microkernel_table_select(job->features->isa, sum);
    run->size = sum == RUNG_F64 ? 8 : 4;
    run->in_size = job->in == sum ? run->size : rung_type_size(job->in);
    run->can_read_a_in_place = job->in == sum && job->a.col_stride == 1;
    run->can_read_b_in_place = job->in == sum && job->b.col_stride == 1 && !config->has_packed_b;
    /* Rows a multiple of 1 KiB apart compete for the same few sets of L1. */
    run->copies_a = !run->can_read_a_in_place ||
                    ((uint64_t)job->a.row_stride * (uint64_t)run->size % 1024 == 0 && job->k > 256);
    run->buffers_sums = job->out != sum || job->c.col_stride != 1;
}

/* Returns the bytes of sums that are kept outside C. */
static int64_t sum_bytes(const pipeline_t *run, bool in_place)
{
    if (!run->buffers_sums)
        return 0;
    return in_place ? run->job->m * rungi_round_up(rungi_min(run->job->n, IN_PLACE_COLUMNS), 2 * run->tiles->lanes) *
                          run->size
                    : SUM_BUFFER_ROWS * run->nc * run->size;
}

static double b_bytes(const pipeline_t *run)
{
    return (double)run->job->n * (double)run->job->k * (double)run->size;
}

static bool is_large_b(const pipeline_t *run)
{
    return b_bytes(run) > (double)run->job->features->blocks.in_place_b;
}

/* Returns whether B is read in place: for up to two panels of rows, and for some more if B is larger than the cache. */
static bool is_in_place(const pipeline_t *run)
{
    return run->can_read_b_in_place && run->job->m <= (is_large_b(run) ? IN_PLACE_MAX_PANELS : 2) * run->tiles->rows;
}

/* Lowers KC so that a packed block of B stays wide. n_block_size() lowers NC. */
static void fit(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t max_kc = rungi_max(blocks->packed_b / MIN_BLOCK_ROW_BYTES / 16 * 16, 64);
    (void)sum_bytes;
    parameters[PARAMETER_KC] = rungi_min(parameters[PARAMETER_KC], max_kc);
}

/* Chooses the layout of a packed B: see packed_offset. */
static rung_status configure_packed_b(const pipeline_t *run, rungi_cpu_kernel_config *config)
{
    const rungi_cpu_job *job = run->job;
    int64_t width = 2 * run->tiles->lanes, bytes;
    if (!rungi_checked_multiply(rungi_round_up(job->n, width), job->k, &bytes) ||
        !rungi_checked_multiply(bytes, run->size, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "10_pipeline: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)job->k, (long long)job->n);
    config->packed = (rungi_packed_layout){
        .packed_type = sum_type(job), .width = width, .k_block = run->kc, .bytes = bytes};
    return RUNG_OK;
}

static bool uses_l1_path(const pipeline_t *run, const rungi_cpu_kernel_config *config)
{
    int64_t panel = run->tiles->rows;
    return config->has_packed_b && !run->buffers_sums && is_large_b(run) && run->job->m > panel &&
           run->job->m <= IN_PLACE_MAX_PANELS * panel;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    pipeline_t run;
    (void)compute;
    init_pipeline(&run, job, config);
    run.kc = k_block_size(job);
    run.nc = n_block_size(job, 2 * run.tiles->lanes, run.kc * run.size);
    bool in_place = is_in_place(&run);
    if (in_place && b_bytes(&run) > (double)job->features->blocks.few_rows_b)
        run.kc = job->m <= 2 * run.tiles->rows ? IN_PLACE_K_STEPS : 2 * IN_PLACE_K_STEPS;
    run.is_l1_resident = uses_l1_path(&run, config);
    if (run.is_l1_resident)
        run.nc = 2 * run.tiles->lanes;
    config->path = in_place ? PATH_IN_PLACE : run.is_l1_resident ? PATH_PACKED_L1 : PATH_PACKED;
    config->grain_m = run.tiles->rows;
    config->grain_n = 2 * run.tiles->lanes;
    config->kc = run.kc;
    config->nc = run.nc;
    if (config->has_packed_b)
        TRY(configure_packed_b(&run, config));
    configure_a_copies(&run, in_place);
    config->max_cached = run.cached_rows = cached_row_count(&run);
    config->scratch = a_bytes(&run, in_place) + sum_bytes(&run, in_place) +
                      (in_place || config->has_packed_b ? 0 : run.kc * run.nc * run.size);
    return RUNG_OK;
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

static const char *a_at(const pipeline_t *run, int64_t i, int64_t p)
{
    const rungi_cpu_input *a = &run->job->a;
    return (const char *)a->first + (i * a->row_stride + p * a->col_stride) * run->in_size;
}

static const char *b_at(const pipeline_t *run, int64_t p, int64_t j)
{
    const rungi_cpu_input *b = &run->job->b;
    return (const char *)b->first + (p * b->row_stride + j * b->col_stride) * run->in_size;
}

/* Packs the current block of B, tile by tile. The columns behind its last one become zeros: leftover values might be slow
 * to multiply (denormals) or raise floating-point exceptions. */
static void pack_b(const pipeline_t *run)
{
    const rungi_cpu_input *b = &run->job->b;
    int64_t tile = 2 * run->tiles->lanes;
    for (int64_t j = 0; j < run->cols; j += tile) {
        int64_t cols = rungi_min(tile, run->cols - j);
        char *to = run->b_panels + j * run->k_size * run->size;
        if (cols < tile)
            memset(to, 0, (size_t)(run->k_size * tile * run->size));
        rungi_cpu_pack(run->job->features->isa,
                       &(rungi_cpu_pack_args){run->job->in, b_at(run, run->p, run->j + j), b->row_stride, b->col_stride,
                                              run->k_size, cols, to, tile});
    }
}

/* Returns the offset of the current K block, from column `col` on, in a packed B. A packed B holds one K block after the
 * other, each as consecutive tiles. */
static int64_t packed_offset(const pipeline_t *run, int64_t col)
{
    int64_t cols = rungi_round_up(run->job->config->problem_n, 2 * run->tiles->lanes);
    return (run->p * cols + col * run->k_size) * run->size;
}

static const char *packed_block(const pipeline_t *run)
{
    return run->job->packed + packed_offset(run, run->job->first_col + run->j);
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    pipeline_t run;
    init_pipeline(&run, job, job->config);
    run.cols = job->n;
    for (run.p = 0; run.p < job->k; run.p += job->config->kc) {
        run.k_size = rungi_min(job->config->kc, job->k - run.p);
        run.b_panels = packed + packed_offset(&run, 0);
        pack_b(&run);
    }
}

/* Returns whether an earlier block of B already copied the rows of A. */
static bool is_a_cached(const pipeline_t *run)
{
    return run->caches_a && run->j > 0;
}

/* Sets the rows of A that are multiplied: in place or as a copy. */
static void set_a_args(const pipeline_t *run, int64_t i, int64_t rows, rungi_microkernel_args *args)
{
    const rungi_cpu_input *a = &run->job->a;
    args->a = a_at(run, i, run->p);
    args->a_row_stride = a->row_stride;
    if (!run->copies_a)
        return;
    int64_t row = a_row_bytes(run, run->k_size) / run->size;
    char *copy = run->a_copies + (run->caches_a ? (i - run->i) * row * run->size : 0);
    if (!is_a_cached(run))
        rungi_cpu_pack(run->job->features->isa, &(rungi_cpu_pack_args){run->job->in, args->a, a->row_stride,
                                                                       a->col_stride, rows, run->k_size, copy, row});
    args->a = copy;
    args->a_row_stride = row;
}

/* Sets the rows of A to prefetch: those of the next panel, at the address where they will be read or copied from. */
static void set_prefetch_args(const pipeline_t *run, int64_t i, bool has_next, rungi_microkernel_args *args)
{
    if (has_next && is_a_cached(run)) {
        args->a_prefetch = run->a_copies + (i - run->i) * args->a_row_stride * run->size;
        args->a_prefetch_row_stride = args->a_row_stride;
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
static void set_c_args(const pipeline_t *run, int64_t i, int64_t j, rungi_microkernel_args *args)
{
    const rungi_cpu_job *job = run->job;
    bool is_first = run->p == 0;
    if (run->buffers_sums) {
        args->c_row_stride = rungi_round_up(run->cols, 2 * run->tiles->lanes);
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

typedef rungi_microkernel *tile_table_t[RUNGI_MICROKERNEL_MAX_ROWS][RUNGI_MICROKERNEL_MAX_VECTORS];

static const tile_table_t *microkernels_for(const pipeline_t *run, bool packing)
{
    return packing                                   ? &run->tiles->packing
           : run->job->config->path == PATH_IN_PLACE ? &run->tiles->in_place
                                                     : &run->tiles->packed;
}

/* Multiplies a panel of rows with `cols` columns of B: whole tiles in one call, then the rest. */
static void multiply_panel(const pipeline_t *run, const tile_table_t *table, int64_t rows, int64_t cols,
                           rungi_microkernel_args *args)
{
    int64_t lanes = run->tiles->lanes, width = 2 * lanes, whole = (int64_t)((uint64_t)cols / (uint64_t)width);
    int64_t rest = cols - whole * width;
    bool streams = run->streams_c && table == &run->tiles->packed && run->tiles->streaming[rows - 1];
    args->k = run->k_size;
    args->tiles = whole;
    args->cols = width;
    if (whole > 0)
        (streams ? run->tiles->streaming[rows - 1] : (*table)[rows - 1][1])(args);
    if (rest == 0)
        return;
    int64_t b_step = table == &run->tiles->packed ? run->k_size * width : width;
    args->b = (const char *)args->b + whole * b_step * run->size;
    args->c = (char *)args->c + whole * width * run->size;
    if (args->pack_to)
        args->pack_to = (char *)args->pack_to + whole * run->k_size * width * run->size;
    args->tiles = 1;
    args->cols = rest;
    (*table)[rows - 1][rest > lanes](args);
}

static void scale(const pipeline_t *run, int64_t i, int64_t rows)
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
static void epilogue_store_panel(const pipeline_t *run, int64_t i, int64_t rows)
{
    int64_t sums_stride = rungi_round_up(run->cols, 2 * run->tiles->lanes);
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

static panels_t split_into_panels(const pipeline_t *run)
{
    int64_t max_rows = run->tiles->rows, count = run->rows <= max_rows ? 1 : rungi_ceil_divide(run->rows, max_rows);
    int64_t height = run->rows / count;
    return (panels_t){count, height, run->rows - height * count};
}

/* Multiplies all rows with one packed tile of columns by one K block. The rows of A are cached copies. The second panel
 * prefetches the next steps of B, which follow in memory: in this tile or in the next one. */
static void multiply_packed_l1(const pipeline_t *whole)
{
    panels_t panels = split_into_panels(whole);
    int64_t width = 2 * whole->tiles->lanes, a_row = a_row_bytes(whole, whole->k_size) / whole->size, rows;
    rungi_microkernel_args args = {.panels = 1, .prefetches_c = whole->prefetches_c};
    pipeline_t part = *whole;
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
            multiply_panel(&part, microkernels_for(whole, false), rows, whole->cols, &args);
            epilogue_store_panel(&part, i, rows);
        }
    }
}

/* Multiplies one block of C by one K block. */
static void multiply_block(const pipeline_t *run)
{
    panels_t panels = split_into_panels(run);
    bool is_packed = run->job->config->has_packed_b;
    const char *b_panels = is_packed ? packed_block(run) : run->b_panels;
    bool packing = run->can_read_b_in_place && run->tiles->packing[panels.height + (panels.taller > 0) - 1][0];
    /* Panels of the same height are one call, unless each needs its own copy of A or epilogue. */
    bool is_one_call = (!run->copies_a || is_a_cached(run)) && !run->buffers_sums && !run->scales_last &&
                       !rungi_cpu_has_epilogue(run->job);
    if (!packing && !is_packed)
        pack_b(run);
    int64_t i = run->i, count;
    for (int64_t panel = 0; panel < panels.count; panel += count, packing = false) {
        bool is_tall = panel < panels.taller;
        int64_t rows = panels.height + is_tall;
        count = !is_one_call ? 1 : is_tall ? panels.taller : panels.count - panels.taller;
        rungi_microkernel_args args; /* every member is set: zeroing first takes longer than a small tile */
        args.panels = count;
        args.b_prefetch_steps = packing ? 16 : 20;
        args.b_prefetch_offset = 0;
        args.prefetches_c = run->prefetches_c;
        set_a_args(run, i, rows, &args);
        set_c_args(run, i, run->j, &args);
        args.b = packing ? b_at(run, run->p, run->j) : b_panels;
        args.b_row_stride = run->job->b.row_stride;
        args.pack_to = packing ? run->b_panels : NULL;
        set_prefetch_args(run, i + rows, panel + 1 < panels.count, &args);
        multiply_panel(run, microkernels_for(run, packing), rows, run->cols, &args);
        epilogue_store_panel(run, i, rows);
        i += count * rows;
    }
}

static void run_with_cached_a(pipeline_t *run)
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

static void run_packed(pipeline_t *run)
{
    const rungi_cpu_job *job = run->job;
    int64_t block_rows = run->buffers_sums ? SUM_BUFFER_ROWS : job->m;
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
static void multiply_l1_columns(const pipeline_t *run, rungi_microkernel_args args, int64_t j, int64_t cols,
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
        multiply_panel(run, microkernels_for(run, false), rows, cols, &args);
    }
}

/* Returns the number of columns of B whose next rows fit L1 while all panels of A are multiplied with them. */
static int64_t columns_in_l1(const pipeline_t *run)
{
    int64_t tile = 2 * run->tiles->lanes, tiles = L1_RESIDENT_TILES;
    while (tiles > 1 && tiles * IN_PLACE_K_STEPS * tile * run->size > run->job->features->blocks.l1_tiles)
        tiles--;
    return tile * tiles;
}

static void multiply_k_block(const pipeline_t *run)
{
    int64_t block_columns = run->rows > run->tiles->rows ? columns_in_l1(run) : run->cols;
    int64_t step = run->job->b.row_stride;
    rungi_microkernel_args args = {.panels = 1, .b_row_stride = step};
    set_a_args(run, 0, run->rows, &args);
    for (int64_t j = 0; j < run->cols; j += block_columns)
        multiply_l1_columns(run, args, j, rungi_min(block_columns, run->cols - j),
                            j + block_columns < run->cols ? block_columns : run->k_size * step - j);
}

/* Reads a large B once, a few of its rows at a time. */
static void run_in_place(pipeline_t *run)
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

/* ---- The kernel ---------------------------------------------------------------------------------------------- */

/* Applies the epilogue to sums of zero. */
static void run_zero_k(pipeline_t *run)
{
    static const double zeros[SUM_BUFFER_ROWS];
    for (int64_t i = 0; i < run->job->m; i++)
        for (int64_t j = 0; j < run->job->n; j += SUM_BUFFER_ROWS)
            rungi_cpu_epilogue_apply(run->job, i, j, 1, rungi_min(SUM_BUFFER_ROWS, run->job->n - j), zeros, 0);
}

static void run_pipeline(const rungi_cpu_job *job)
{
    pipeline_t run;
    init_pipeline(&run, job, job->config);
    if (job->k == 0) {
        run_zero_k(&run);
        return;
    }
    bool in_place = job->config->path == PATH_IN_PLACE;
    run.kc = job->config->kc;
    run.nc = job->config->nc;
    run.is_l1_resident = job->config->path == PATH_PACKED_L1;
    int64_t c_bytes = job->m * job->n * run.size, steps = run.is_l1_resident ? L1_K_STEPS : run.kc;
    run.streams_c = !run.buffers_sums && !rungi_cpu_has_epilogue(job) && job->beta == 0 && job->k <= steps &&
                    c_bytes > (int64_t)16 << 20 && (uintptr_t)job->c.first % 64 == 0 &&
                    job->c.row_stride * run.size % 64 == 0;
    run.scales_last = !run.buffers_sums && job->out != RUNG_I32 && job->k > steps &&
                      fabs(job->alpha) > (job->beta == 0 ? 1 : MAX_UNSCALED_ALPHA);
    run.prefetches_c = !run.streams_c && c_bytes > job->features->blocks.prefetch_c;
    run.a_copies = job->scratch;
    run.cached_rows = rungi_min(job->config->max_cached, job->m);
    configure_a_copies(&run, in_place);
    run.sums = run.a_copies + a_bytes(&run, in_place);
    run.b_panels = run.sums + sum_bytes(&run, in_place);
    if (in_place)
        run_in_place(&run);
    else if (run.caches_a)
        run_with_cached_a(&run);
    else
        run_packed(&run);
#if defined(__x86_64__)
    if (run.streams_c)
        __builtin_ia32_sfence(); /* orders streaming stores before later ones */
#endif
}

const rungi_cpu_kernel rungi_cpu_10_pipeline = {
    .run = run_pipeline, .configure = configure, .fit = fit, .pack = pack, .is_threaded = true};
