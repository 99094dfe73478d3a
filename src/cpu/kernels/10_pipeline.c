/* SPDX-License-Identifier: Apache-2.0 */
/* 10_pipeline - packed panels again, with everything on its way before it is needed, and all threads.
 *
 * Removes  the time in which nothing is multiplied. B is packed by the first panel of rows that
 *          is multiplied with it, between its multiply-adds; the next rows of A and the next
 *          steps of B are asked for while the ones before are used; A is copied only where its
 *          rows would fall on each other in the cache. C is cut between threads (plan.c).
 * Leaves   the multiply-adds themselves: inputs narrower than the sums are widened first, and
 *          are no faster for it. 12_matrix multiplies them as they are.
 * Watch    rung bench --device cpu --kernels 09,10 --threads 1
 *
 * A block of B, KC x NC, stays in the second cache while all rows of A pass by it, a panel of
 * 14 or so at a time. Where A has too few rows to pay for packing, B is read where it stands.
 * The bits of an element depend on k, KC and the path alone.
 */
#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "core/error.h"
#include "cpu/finish_block.h"
#include "cpu/kernels/kernels.h"
#include "cpu/pack.h"
#include "cpu/tile.h"

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
/* Paths: how B is read. PACKED_NEAR is for a few panels of rows and a large B that came packed: one tile of columns and
 * NEAR_STEPS of k at a time, so that the panels after the first find B in L1. */
enum { PACKED, IN_PLACE, PACKED_NEAR };
enum {
    SUM_ROWS = 336, /* of sums that are kept beside C */
    WIDE = 4096,    /* columns that a short A is multiplied with before the next of k */
    SHALLOW = 32,   /* steps of k that it is multiplied with at a time; twice as many where it has more panels */
    FEW = 10,       /* panels up to which a B of more than in_place_b bytes is left unpacked */
    NEAR_STEPS =
        32,   /* steps of k of a packed tile: few, so that what one panel prefetches arrives while others compute */
    NEAR = 8, /* tiles whose B is still in the first cache, at most */
    ROW_BYTES = 896, /* of a block of B, at least, in the default parameters */
    EVEN = 1 << 16,  /* alpha up to which beta is not divided by it: whole numbers stay whole */
    GAP = 64,        /* bytes between copied rows of A, so that they do not meet in the cache */
    PAGE = 4096
};

typedef struct work {
    const rungi_cpu_job *job;
    const rungi_tiles *tiles;
    int64_t size, in_size;  /* of a sum, and of an element of A or B */
    int64_t kc, nc, kept;   /* kept: rows of A */
    bool a_fits, b_fits;    /* they may be read where they stand */
    bool copies_a, keeps_a; /* panel by panel; a stretch of k of many rows */
    bool is_near;           /* see PACKED_NEAR */
    bool keeps_sums;        /* beside C */
    bool streams_c, brings_c;
    bool scales_last;               /* alpha comes when all of k is summed */
    char *a_rows, *b_panels, *sums; /* scratch */
    int64_t i, j, rows, cols;       /* the block of C at hand, */
    int64_t p, depth;               /* and the stretch of k */
} work_t;

/* ---- What is settled for the whole problem -------------------------------------------------------------- */

static rung_type sum_type(const rungi_cpu_job *job)
{
    return job->out == RUNG_I32 ? RUNG_I32 : job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32;
}

/* k in stretches of about KC, all of the same length but the last. */
static int64_t depth_of(const rungi_cpu_job *job)
{
    int64_t most = job->parameters[PARAMETER_KC], stretches = rungi_divide_up(job->k, most);
    return stretches > 1 ? rungi_round_up((job->k + stretches - 1) / stretches, 4) : job->k;
}

/* Columns of a block of B, which leaves some of the second cache to A and C. */
static int64_t width_of(const rungi_cpu_job *job, int64_t tile, int64_t step_bytes)
{
    int64_t room = job->features->blocks.packed_b / (step_bytes > 0 ? step_bytes : 1) / tile * tile;
    int64_t most = rungi_round_up(rungi_smaller(job->parameters[PARAMETER_NC], room > tile ? room : tile), tile);
    int64_t blocks = rungi_divide_up(job->n, most);
    return blocks > 1 ? rungi_round_up((job->n + blocks - 1) / blocks, tile) : rungi_round_up(job->n, tile);
}

/* Bytes from one copied row of A to the next, which is at another place of the cache. */
static int64_t a_row_bytes(const work_t *work, int64_t depth)
{
    return rungi_round_up(depth * work->size, GAP) + GAP;
}

/* Rows of A whose copies are kept, of the whole problem. A part of it has its own number of rows, of which more might
 * fit evenly: it keeps no more all the same, since the scratch was asked for once. */
static int64_t rows_kept(const work_t *work)
{
    int64_t row = a_row_bytes(work, work->kc), tile = work->tiles->rows, m = work->job->m;
    int64_t bytes = work->job->features->blocks.kept_a;
    int64_t most = row < bytes / tile ? bytes / row : tile, blocks = rungi_divide_up(m, most);
    return blocks > 1 ? rungi_round_up((m + blocks - 1) / blocks, tile) : m;
}

/* For a panel, for those that are kept, or for all rows where B is read in place. */
static int64_t a_bytes(const work_t *work, bool in_place)
{
    int64_t rows = in_place ? work->job->m : work->keeps_a ? work->kept : work->tiles->rows;
    return in_place || work->copies_a ? rungi_round_up(rows * a_row_bytes(work, work->kc), PAGE) : 0;
}

/* A very large A would come from many pages of memory for each block of B. It is copied, as one is whose rows must be,
 * and where several blocks of B follow each other the copy is kept for them. */
static void settle_copies(work_t *work, bool in_place)
{
    const rungi_cpu_job *job = work->job;
    bool is_immense = (double)job->m * (double)job->k * (double)work->size > 32e6;
    bool is_often_read = (work->copies_a || is_immense) && job->n >= 3 * work->nc && job->m >= 256 && job->k >= 256;
    work->keeps_a = !in_place && !work->keeps_sums && (is_often_read || work->is_near);
    work->copies_a = work->copies_a || work->keeps_a;
}

static void begin(work_t *work, const rungi_cpu_job *job, const rungi_cpu_form *form)
{
    rung_type sum = sum_type(job);
    memset(work, 0, sizeof *work);
    work->job = job;
    work->tiles = rungi_tiles_of(job->features->isa, sum);
    work->size = sum == RUNG_F64 ? 8 : 4;
    work->in_size = job->in == sum ? work->size : rung_type_size(job->in);
    work->a_fits = job->in == sum && job->a.col_stride == 1;
    work->b_fits = job->in == sum && job->b.col_stride == 1 && !form->takes_packed;
    /* Rows a multiple of a page apart fall on the same few places of the first cache. */
    work->copies_a = !work->a_fits || ((uint64_t)job->a.row_stride * (uint64_t)work->size % 1024 == 0 && job->k > 256);
    work->keeps_sums = job->out != sum || job->c.col_stride != 1;
}

/* Bytes of sums beside C. */
static int64_t sum_bytes(const work_t *work, bool in_place)
{
    if (!work->keeps_sums)
        return 0;
    return in_place
               ? work->job->m * rungi_round_up(rungi_smaller(work->job->n, WIDE), 2 * work->tiles->lanes) * work->size
               : SUM_ROWS * work->nc * work->size;
}

static double b_bytes(const work_t *work)
{
    return (double)work->job->n * (double)work->job->k * (double)work->size;
}

static bool is_b_large(const work_t *work)
{
    return b_bytes(work) > (double)work->job->features->blocks.in_place_b;
}

/* Whether B is read where it stands: for two panels of rows always, for some more where it comes from the memory. */
static bool is_in_place(const work_t *work)
{
    return work->b_fits && work->job->m <= (is_b_large(work) ? FEW : 2) * work->tiles->rows;
}

/* A block of B that is packed at once should not become narrow: KC is lowered first, and NC follows. */
static void fit(const rungi_blocks *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t most = blocks->packed_b / ROW_BYTES / 16 * 16;
    (void)sum_bytes;
    parameters[PARAMETER_KC] = rungi_smaller(parameters[PARAMETER_KC], most > 64 ? most : 64);
}

/* The layout of a packed B: see packed_place. */
static rung_status settle_packed(const work_t *work, rungi_cpu_form *form)
{
    const rungi_cpu_job *job = work->job;
    int64_t width = 2 * work->tiles->lanes, bytes;
    if (!rungi_multiply(rungi_round_up(job->n, width), job->k, &bytes) || !rungi_multiply(bytes, work->size, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "10_pipeline: the packed B, %lld x %lld, needs more bytes than can be "
                          "addressed; multiply by it in parts",
                          (long long)job->k, (long long)job->n);
    form->packed = (rungi_packed_layout){.stored = sum_type(job), .width = width, .depth = work->kc, .bytes = bytes};
    return RUNG_OK;
}

static bool is_near(const work_t *work, const rungi_cpu_form *form)
{
    int64_t panel = work->tiles->rows;
    return form->takes_packed && !work->keeps_sums && is_b_large(work) && work->job->m > panel &&
           work->job->m <= FEW * panel;
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    work_t work;
    rung_status status = RUNG_OK;
    (void)compute;
    begin(&work, job, form);
    work.kc = depth_of(job);
    work.nc = width_of(job, 2 * work.tiles->lanes, work.kc * work.size);
    bool in_place = is_in_place(&work);
    if (in_place && b_bytes(&work) > (double)job->features->blocks.shallow_b)
        work.kc = job->m <= 2 * work.tiles->rows ? SHALLOW : 2 * SHALLOW;
    work.is_near = is_near(&work, form);
    if (work.is_near)
        work.nc = 2 * work.tiles->lanes;
    form->path = in_place ? IN_PLACE : work.is_near ? PACKED_NEAR : PACKED;
    form->grain_m = work.tiles->rows;
    form->grain_n = 2 * work.tiles->lanes;
    form->kc = work.kc;
    form->nc = work.nc;
    if (form->takes_packed)
        status = settle_packed(&work, form);
    if (status != RUNG_OK)
        return status;
    settle_copies(&work, in_place);
    form->kept = work.kept = rows_kept(&work);
    form->scratch = a_bytes(&work, in_place) + sum_bytes(&work, in_place) +
                    (in_place || form->takes_packed ? 0 : work.kc * work.nc * work.size);
    return RUNG_OK;
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

static const char *a_at(const work_t *work, int64_t i, int64_t p)
{
    const rungi_cpu_input *a = &work->job->a;
    return (const char *)a->first + (i * a->row_stride + p * a->col_stride) * work->in_size;
}

static const char *b_at(const work_t *work, int64_t p, int64_t j)
{
    const rungi_cpu_input *b = &work->job->b;
    return (const char *)b->first + (p * b->row_stride + j * b->col_stride) * work->in_size;
}

/* The block of B, tile after tile. Behind its last column stand zeros, since what is left of other
 * matrices might be slow to multiply, or raise a flag of the floating-point unit. */
static void pack_b(const work_t *work)
{
    const rungi_cpu_input *b = &work->job->b;
    int64_t tile = 2 * work->tiles->lanes;
    for (int64_t j = 0; j < work->cols; j += tile) {
        int64_t cols = rungi_smaller(tile, work->cols - j);
        char *to = work->b_panels + j * work->depth * work->size;
        if (cols < tile)
            memset(to, 0, (size_t)(work->depth * tile * work->size));
        rungi_cpu_pack(work->job->features->isa,
                       &(rungi_pack){work->job->in, b_at(work, work->p, work->j + j), b->row_stride, b->col_stride,
                                     work->depth, cols, to, tile});
    }
}

/* All of B, one stretch of k after the other, each as the blocks of it stand beside each other: where
 * the block at hand is. */
static int64_t packed_place(const work_t *work, int64_t col)
{
    int64_t cols = rungi_round_up(work->job->form->whole_n, 2 * work->tiles->lanes);
    return (work->p * cols + col * work->depth) * work->size;
}

static const char *packed_at(const work_t *work)
{
    return work->job->packed + packed_place(work, work->job->first_col + work->j);
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    work_t work;
    begin(&work, job, job->form);
    work.cols = job->n;
    for (work.p = 0; work.p < job->k; work.p += job->form->kc) {
        work.depth = rungi_smaller(job->form->kc, job->k - work.p);
        work.b_panels = packed + packed_place(&work, 0);
        pack_b(&work);
    }
}

/* Whether the copies that are kept were made for an earlier block of B. */
static bool has_a(const work_t *work)
{
    return work->keeps_a && work->j > 0;
}

/* Some rows of A, where they stand or as a copy. */
static void take_a(const work_t *work, int64_t i, int64_t rows, rungi_tile_job *tile)
{
    const rungi_cpu_input *a = &work->job->a;
    tile->a = a_at(work, i, work->p);
    tile->a_row = a->row_stride;
    if (!work->copies_a)
        return;
    int64_t row = a_row_bytes(work, work->depth) / work->size;
    char *copy = work->a_rows + (work->keeps_a ? (i - work->i) * row * work->size : 0);
    if (!has_a(work))
        rungi_cpu_pack(work->job->features->isa, &(rungi_pack){work->job->in, tile->a, a->row_stride, a->col_stride,
                                                               rows, work->depth, copy, row});
    tile->a = copy;
    tile->a_row = row;
}

/* The rows that are asked for while a panel is multiplied, the next ones, where they will be read or copied from. */
static void take_next(const work_t *work, int64_t i, bool is_there, rungi_tile_job *tile)
{
    if (is_there && has_a(work)) {
        tile->next = work->a_rows + (i - work->i) * tile->a_row * work->size;
        tile->next_row = tile->a_row;
    } else if (is_there && work->a_fits) {
        tile->next = a_at(work, i, work->p);
        tile->next_row = work->job->a.row_stride;
    } else {
        tile->next = tile->a;
        tile->next_row = 0;
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------------------ */

/* Where a panel's sums go, and how they are taken: k's first stretch replaces, the others add. A large alpha waits for the
 * last one: what a part of k comes to may be too large for it where the whole is not. */
static void take_c(const work_t *work, int64_t i, int64_t j, rungi_tile_job *tile)
{
    const rungi_cpu_job *job = work->job;
    bool is_first = work->p == 0;
    if (work->keeps_sums) {
        tile->c_row = rungi_round_up(work->cols, 2 * work->tiles->lanes);
        tile->c = work->sums + ((i - work->i) * tile->c_row + j - work->j) * work->size;
        tile->alpha = 1;
        tile->beta = is_first ? 0 : 1;
    } else {
        tile->c_row = job->c.row_stride;
        tile->c = (char *)job->c.first + (i * job->c.row_stride + j) * work->size;
        tile->alpha = work->scales_last ? 1 : job->alpha;
        tile->beta = !is_first ? 1 : work->scales_last ? job->beta / job->alpha : job->beta;
    }
}

typedef rungi_tile *tile_table_t[RUNGI_TILE_ROWS][RUNGI_TILE_VECTORS];

static const tile_table_t *table_of(const work_t *work, bool packing)
{
    return packing                             ? &work->tiles->packing
           : work->job->form->path == IN_PLACE ? &work->tiles->in_place
                                               : &work->tiles->packed;
}

/* A panel of rows by `cols` columns of B, from column j of C on. */
static void multiply(const work_t *work, const tile_table_t *table, int64_t rows, int64_t cols, rungi_tile_job *tile)
{
    int64_t lanes = work->tiles->lanes, width = 2 * lanes, whole = (int64_t)((uint64_t)cols / (uint64_t)width);
    int64_t rest = cols - whole * width;
    bool streams = work->streams_c && table == &work->tiles->packed && work->tiles->streaming[rows - 1];
    tile->k = work->depth;
    tile->tiles = whole;
    tile->cols = width;
    if (whole > 0)
        (streams ? work->tiles->streaming[rows - 1] : (*table)[rows - 1][1])(tile);
    if (rest == 0)
        return;
    int64_t b_step = table == &work->tiles->packed ? work->depth * width : width;
    tile->b = (const char *)tile->b + whole * b_step * work->size;
    tile->c = (char *)tile->c + whole * width * work->size;
    if (tile->pack)
        tile->pack = (char *)tile->pack + whole * work->depth * width * work->size;
    tile->tiles = 1;
    tile->cols = rest;
    (*table)[rows - 1][rest > lanes](tile);
}

static void scale(const work_t *work, int64_t i, int64_t rows)
{
    const rungi_cpu_job *job = work->job;
    for (int64_t row = i; row < i + rows; row++)
        for (int64_t j = work->j; j < work->j + work->cols; j++) {
            char *at = (char *)job->c.first + (row * job->c.row_stride + j) * work->size;
            if (work->size == 8)
                *(double *)at *= job->alpha;
            else
                *(float *)at = (float)(*(float *)at * job->alpha);
        }
}

/* What follows the last stretch of k. */
static void finish(const work_t *work, int64_t i, int64_t rows)
{
    int64_t sums_row = rungi_round_up(work->cols, 2 * work->tiles->lanes);
    if (work->p + work->depth < work->job->k)
        return;
    if (work->scales_last)
        scale(work, i, rows);
    if (work->keeps_sums)
        rungi_cpu_finish(work->job, i, work->j, rows, work->cols, work->sums + (i - work->i) * sums_row * work->size,
                         sums_row);
    else if (rungi_cpu_has_epilogue(work->job))
        rungi_cpu_finish(work->job, i, work->j, rows, work->cols, NULL, 0);
}

/* ---- Where B is packed ------------------------------------------------------------------------------------ */

/* Rows in panels of nearly the same height: the first `taller` have one row more. */
typedef struct panels {
    int64_t count, height, taller;
} panels_t;

static panels_t panels_of(const work_t *work)
{
    int64_t most = work->tiles->rows, count = work->rows <= most ? 1 : (work->rows + most - 1) / most;
    int64_t height = work->rows / count;
    return (panels_t){count, height, work->rows - height * count};
}

/* All rows by one packed tile of columns and one stretch of k, whose rows of A are kept as copies. The second panel
 * prefetches the next steps, which follow in memory: in this tile, or in the next one. */
static void multiply_packed_near(const work_t *whole)
{
    panels_t panels = panels_of(whole);
    int64_t width = 2 * whole->tiles->lanes, a_row = a_row_bytes(whole, whole->depth) / whole->size, rows;
    rungi_tile_job tile = {.panels = 1, .brings_c = whole->brings_c};
    work_t part = *whole;
    for (int64_t q = 0; q < whole->depth; q += NEAR_STEPS) {
        part.p = whole->p + q;
        part.depth = rungi_smaller(NEAR_STEPS, whole->depth - q);
        for (int64_t panel = 0, i = whole->i; panel < panels.count; panel++, i += rows) {
            rows = panels.height + (panel < panels.taller);
            if (q == 0)
                take_a(whole, i, rows, &tile);
            tile.a = tile.next = whole->a_rows + ((i - whole->i) * a_row + q) * whole->size;
            tile.a_row = a_row;
            tile.ahead = panel == 0 ? 20 : 0;
            tile.aside = panel == 1 ? part.depth * width : 0;
            tile.b = packed_at(whole) + q * width * whole->size;
            take_c(&part, i, whole->j, &tile);
            multiply(&part, table_of(whole, false), rows, whole->cols, &tile);
            finish(&part, i, rows);
        }
    }
}

/* One block of C by one stretch of k. */
static void multiply_block(const work_t *work)
{
    panels_t panels = panels_of(work);
    bool is_packed = work->job->form->takes_packed;
    const char *b_panels = is_packed ? packed_at(work) : work->b_panels;
    bool packing = work->b_fits && work->tiles->packing[panels.height + (panels.taller > 0) - 1][0];
    /* Panels of the same height at once, unless something is to be done with each. */
    bool together = (!work->copies_a || has_a(work)) && !work->keeps_sums && !work->scales_last &&
                    !rungi_cpu_has_epilogue(work->job);
    if (!packing && !is_packed)
        pack_b(work);
    int64_t i = work->i, count;
    for (int64_t panel = 0; panel < panels.count; panel += count, packing = false) {
        bool is_tall = panel < panels.taller;
        int64_t rows = panels.height + is_tall;
        count = !together ? 1 : is_tall ? panels.taller : panels.count - panels.taller;
        rungi_tile_job tile; /* all of which is set: zeros first would take longer than a small panel's tile */
        tile.panels = count;
        tile.ahead = packing ? 16 : 20;
        tile.aside = 0;
        tile.brings_c = work->brings_c;
        take_a(work, i, rows, &tile);
        take_c(work, i, work->j, &tile);
        tile.b = packing ? b_at(work, work->p, work->j) : b_panels;
        tile.b_step = work->job->b.row_stride;
        tile.pack = packing ? work->b_panels : NULL;
        take_next(work, i + rows, panel + 1 < panels.count, &tile);
        multiply(work, table_of(work, packing), rows, work->cols, &tile);
        finish(work, i, rows);
        i += count * rows;
    }
}

static void run_kept(work_t *work)
{
    const rungi_cpu_job *job = work->job;
    int64_t high = work->kept;
    for (work->i = 0; work->i < job->m; work->i += high) {
        work->rows = rungi_smaller(high, job->m - work->i);
        for (work->p = 0; work->p < job->k; work->p += work->kc) {
            work->depth = rungi_smaller(work->kc, job->k - work->p);
            for (work->j = 0; work->j < job->n; work->j += work->nc) {
                work->cols = rungi_smaller(work->nc, job->n - work->j);
                (work->is_near ? multiply_packed_near : multiply_block)(work);
            }
        }
    }
}

static void run_packed(work_t *work)
{
    const rungi_cpu_job *job = work->job;
    int64_t high = work->keeps_sums ? SUM_ROWS : job->m;
    for (work->j = 0; work->j < job->n; work->j += work->nc) {
        work->cols = rungi_smaller(work->nc, job->n - work->j);
        for (work->i = 0; work->i < job->m; work->i += high) {
            work->rows = rungi_smaller(high, job->m - work->i);
            for (work->p = 0; work->p < job->k; work->p += work->kc) {
                work->depth = rungi_smaller(work->kc, job->k - work->p);
                multiply_block(work);
            }
        }
    }
}

/* ---- Where it is not ---------------------------------------------------------------------------------------- */

/* All rows by `cols` columns near each other, from column j of the block on: those after the first find B in the
 * first cache, and the second panel asks for what is next, `aside` elements on. */
static void multiply_near(const work_t *work, rungi_tile_job tile, int64_t j, int64_t cols, int64_t aside)
{
    panels_t panels = panels_of(work);
    const char *a = tile.a;
    int64_t rows, i = 0;
    for (int64_t panel = 0; panel < panels.count; panel++, i += rows) {
        rows = panels.height + (panel < panels.taller);
        tile.ahead = panel == 0 ? 8 : 0;
        tile.aside = panel == 1 ? aside : 0;
        tile.a = tile.next = a + i * tile.a_row * work->size;
        tile.b = b_at(work, work->p, work->j + j);
        take_c(work, i, work->j + j, &tile);
        multiply(work, table_of(work, false), rows, cols, &tile);
    }
}

/* Columns of B whose next few rows stay in L1 while all panels of A are multiplied with them. */
static int64_t columns_in_l1(const work_t *work)
{
    int64_t tile = 2 * work->tiles->lanes, tiles = NEAR;
    while (tiles > 1 && tiles * SHALLOW * tile * work->size > work->job->features->blocks.l1_tiles)
        tiles--;
    return tile * tiles;
}

static void multiply_stretch(const work_t *work)
{
    int64_t near = work->rows > work->tiles->rows ? columns_in_l1(work) : work->cols;
    int64_t step = work->job->b.row_stride;
    rungi_tile_job tile = {.panels = 1, .b_step = step};
    take_a(work, 0, work->rows, &tile);
    for (int64_t j = 0; j < work->cols; j += near)
        multiply_near(work, tile, j, rungi_smaller(near, work->cols - j),
                      j + near < work->cols ? near : work->depth * step - j);
}

/* B is large and goes by once: a few of its rows at a time, as they stand in memory. */
static void run_in_place(work_t *work)
{
    const rungi_cpu_job *job = work->job;
    work->rows = job->m;
    for (work->j = 0; work->j < job->n; work->j += WIDE) {
        work->cols = rungi_smaller(WIDE, job->n - work->j);
        for (work->p = 0; work->p < job->k; work->p += work->kc) {
            work->depth = rungi_smaller(work->kc, job->k - work->p);
            multiply_stretch(work);
        }
        work->p = job->k - work->depth;
        finish(work, 0, job->m);
    }
}

/* ---- The kernel ---------------------------------------------------------------------------------------------- */

/* Nothing to multiply. */
static void run_empty(work_t *work)
{
    static const double nothing[SUM_ROWS];
    for (int64_t i = 0; i < work->job->m; i++)
        for (int64_t j = 0; j < work->job->n; j += SUM_ROWS)
            rungi_cpu_finish(work->job, i, j, 1, rungi_smaller(SUM_ROWS, work->job->n - j), nothing, 0);
}

static void run(const rungi_cpu_job *job)
{
    work_t work;
    begin(&work, job, job->form);
    if (job->k == 0) {
        run_empty(&work);
        return;
    }
    bool in_place = job->form->path == IN_PLACE;
    work.kc = job->form->kc;
    work.nc = job->form->nc;
    work.is_near = job->form->path == PACKED_NEAR;
    int64_t c_bytes = job->m * job->n * work.size, steps = work.is_near ? NEAR_STEPS : work.kc;
    work.streams_c = !work.keeps_sums && !rungi_cpu_has_epilogue(job) && job->beta == 0 && job->k <= steps &&
                     c_bytes > (int64_t)16 << 20 && (uintptr_t)job->c.first % 64 == 0 &&
                     job->c.row_stride * work.size % 64 == 0;
    work.scales_last = !work.keeps_sums && job->out != RUNG_I32 && job->k > steps &&
                       fabs(job->alpha) > (job->beta == 0 ? 1 : EVEN);
    work.brings_c = !work.streams_c && c_bytes > job->features->blocks.prefetch_c;
    work.a_rows = job->scratch;
    work.kept = rungi_smaller(job->form->kept, job->m);
    settle_copies(&work, in_place);
    work.sums = work.a_rows + a_bytes(&work, in_place);
    work.b_panels = work.sums + sum_bytes(&work, in_place);
    if (in_place)
        run_in_place(&work);
    else if (work.keeps_a)
        run_kept(&work);
    else
        run_packed(&work);
#if defined(__x86_64__)
    if (work.streams_c)
        __builtin_ia32_sfence(); /* stores past the caches are seen by others before what follows */
#endif
}

const rungi_cpu_kernel rungi_cpu_10_pipeline = {
    .run = run, .settle = settle, .fit = fit, .pack = pack, .is_threaded = true};
