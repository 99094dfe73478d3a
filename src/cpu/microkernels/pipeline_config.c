/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_config.c - see pipeline.h. The constants were measured: see docs/internals/decisions/0026. */
#include <math.h>

#include "base/error.h"
#include "base/try.h"
#include "core/matrix.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/microkernels/pipeline.h"

enum {
    IN_PLACE_FEW_ROWS = 8,        /* most rows whose K blocks have fewer steps */
    IN_PLACE_MAX_PANELS = 10,     /* most panels of A for which a B of more than in_place_b bytes stays unpacked */
    MAX_UNSCALED_ALPHA = 1 << 16, /* largest alpha for which beta is not divided by it: integers stay exact */
    MIN_PACKED_A_COLUMNS = 256,   /* fewest columns that pay for packing A */
    MIN_PACKED_A_STEPS = 64,      /* fewest steps of k that do */
    DOT_MAX_ROWS = 8,             /* most rows that are multiplied by dot products */
    DOT_MIN_STEPS = 32,           /* fewest steps of k that are, */
    DOT_STEPS_PER_ROW = 16,       /* and fewest steps per row */
    MIN_EVEN_PANEL_STEPS = 64,    /* fewest steps of k that pay for panels that are not whole */
    PAGE = 4096
};

static rung_type sum_type(const rungi_cpu_job *job)
{
    return job->out == RUNG_I32 ? RUNG_I32 : job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32;
}

/* Splits k into K blocks of at most about KC, all of the same size but the last. They begin with whole blocks of a quantized
 * B. */
static int64_t k_block_size(const rungi_cpu_job *job)
{
    int64_t k_blocks = rungi_ceil_divide(job->k, job->parameters[RUNGI_PIPELINE_KC]);
    int64_t multiple = rungi_max(rung_type_block_elements(job->b_type), 4);
    return k_blocks > 1 ? rungi_round_up(rungi_ceil_divide(job->k, k_blocks), multiple) : job->k;
}

/* Returns NC: a block of B leaves part of L2 to A and C. */
static int64_t n_block_size(const rungi_cpu_job *job, int64_t tile, int64_t step_bytes)
{
    int64_t fitting = job->features->blocks.packed_b / rungi_max(step_bytes, 1) / tile * tile;
    int64_t max_nc = rungi_round_up(rungi_min(job->parameters[RUNGI_PIPELINE_NC], rungi_max(fitting, tile)), tile);
    int64_t blocks = rungi_ceil_divide(job->n, max_nc);
    return blocks > 1 ? rungi_round_up(rungi_ceil_divide(job->n, blocks), tile) : rungi_round_up(job->n, tile);
}

/* Returns how many rows of A are copied and cached, for the whole problem. One thread's block has fewer rows, of which more
 * might fit evenly, but it caches no more: the scratch was sized once. */
static int64_t cached_row_count(const rungi_pipeline *run)
{
    int64_t row = rungi_pipeline_a_row_bytes(run, run->kc), tile = run->tile_rows, m = run->job->m;
    int64_t bytes = run->job->features->blocks.cached_a;
    int64_t max_rows = row < bytes / tile ? bytes / row : tile, blocks = rungi_ceil_divide(m, max_rows);
    return blocks > 1 ? rungi_round_up(rungi_ceil_divide(m, blocks), tile) : m;
}

/* Returns the bytes of copies of A: one panel, the cached rows, or all rows if B is read in place. */
static int64_t a_bytes(const rungi_pipeline *run)
{
    int64_t rows = run->is_in_place ? run->job->m : run->caches_a ? run->cached_rows : run->tile_rows;
    return run->is_in_place || run->copies_a || run->caches_a || run->packs_a
               ? rungi_round_up(rows * rungi_pipeline_a_row_bytes(run, run->kc), PAGE)
               : 0;
}

/* Decides whether A is copied. Reading a very large A touches many pages for each block of B, so it is copied as well. If
 * several blocks of B follow each other, the copies are cached for them. */
static void configure_a_copies(rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    bool is_large_a = (double)job->m * (double)job->k * (double)run->size > 32e6;
    run->packs_a = !run->is_in_place && !run->is_l1_resident && job->in == sum_type(job) &&
                   run->tiles->packed_a[run->tile_rows - 1][0] && job->n >= MIN_PACKED_A_COLUMNS &&
                   job->k >= MIN_PACKED_A_STEPS;
    bool is_often_read = (run->copies_a || run->packs_a || is_large_a) && job->n >= 2 * run->nc && job->m >= 256 &&
                         job->k >= 256;
    run->caches_a = !run->is_in_place && !run->buffers_sums && (is_often_read || run->is_l1_resident);
}

/* Returns whether the rows of a panel compete for a set of L1, which also holds lines of B and C: rows a multiple of 1 KiB apart
 * use few sets. */
static bool has_conflicts(const rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    return (uint64_t)job->a.row_stride * (uint64_t)run->size % 1024 == 0 && job->k > 256 &&
           run->tile_rows + 3 > job->features->blocks.l1_ways;
}

static void set_path(rungi_pipeline *run, bool is_in_place)
{
    const rungi_microkernel_table *tiles = run->tiles;
    run->is_in_place = is_in_place;
    run->tile_rows = is_in_place ? tiles->in_place_rows : tiles->packed_rows;
    run->tile_width = (is_in_place ? RUNGI_IN_PLACE_VECTORS : tiles->packed_vectors) * tiles->lanes;
    run->copies_a = !run->can_read_a_in_place || has_conflicts(run);
}

void rungi_pipeline_init(rungi_pipeline *run, const rungi_cpu_job *job, const rungi_cpu_kernel_config *config)
{
    rung_type sum = sum_type(job);
    int64_t size = sum == RUNG_F64 ? 8 : 4;
    bool is_sum_type = job->in == sum, is_a_narrow = job->narrow_a.type != RUNG_TYPE_NONE;
    bool can_read_a_in_place = is_sum_type && !is_a_narrow && job->a.col_stride == 1;
    *run = (rungi_pipeline){.job = job,
                            .tiles = rungi_microkernel_table_select(job->features, sum),
                            .size = size,
                            .in_size = is_sum_type ? size : rung_type_size(job->in),
                            .can_read_a_in_place = can_read_a_in_place,
                            .can_read_b_in_place = job->b_type == sum && job->b.col_stride == 1 &&
                                                   !config->has_packed_b,
                            .buffers_sums = job->out != sum || job->c.col_stride != 1};
    set_path(run, false);
}

/* Returns the bytes of sums that are kept outside C. */
static int64_t sum_bytes(const rungi_pipeline *run)
{
    int64_t in_place_columns = rungi_min(run->job->n, RUNGI_PIPELINE_IN_PLACE_COLUMNS);
    if (!run->buffers_sums)
        return 0;
    return run->is_in_place ? run->job->m * rungi_round_up(in_place_columns, run->tile_width) * run->size
                            : RUNGI_PIPELINE_SUM_ROWS * run->nc * run->size;
}

static double b_bytes(const rungi_pipeline *run)
{
    return (double)run->job->n * (double)run->job->k * (double)run->size;
}

static bool is_large_b(const rungi_pipeline *run)
{
    return b_bytes(run) > (double)run->job->features->blocks.in_place_b;
}

/* Returns whether panels find B in L1 without packing, and its columns fill tiles in place better than packed tiles. */
static bool is_small_b(const rungi_pipeline *run)
{
    int64_t in_place_width = RUNGI_IN_PLACE_VECTORS * run->tiles->lanes, n = run->job->n;
    return b_bytes(run) <= (double)run->job->features->blocks.l1_b &&
           rungi_round_up(n, in_place_width) < rungi_round_up(n, run->tile_width);
}

/* Returns whether B is read in place: for up to two panels of rows, and for some more if B is larger than the cache. */
static bool reads_b_in_place(const rungi_pipeline *run)
{
    if (run->can_read_b_in_place && is_small_b(run))
        return true;
    return run->can_read_b_in_place &&
           run->job->m <= (is_large_b(run) ? IN_PLACE_MAX_PANELS : 2) * run->tiles->in_place_rows;
}

/* Returns whether C is computed by dot products: for few rows, if the columns of B are contiguous along k and long enough to pay
 * for adding the lanes at their end. */
static bool uses_dot_products(const rungi_pipeline *run, const rungi_cpu_kernel_config *config)
{
    const rungi_cpu_job *job = run->job;
    return run->can_read_a_in_place && job->b_type == job->in && job->in != RUNG_I32 && job->b.row_stride == 1 &&
           !config->has_packed_b && job->m <= DOT_MAX_ROWS &&
           job->k >= rungi_max(DOT_MIN_STEPS, DOT_STEPS_PER_ROW * job->m);
}

static rung_status configure_dot_products(const rungi_pipeline *run, rungi_cpu_kernel_config *config)
{
    config->path = RUNGI_PIPELINE_DOTS;
    config->grain_m = run->job->m; /* every thread reads its own columns of B, and all of A */
    config->grain_n = RUNGI_DOT_MAX_COLUMNS;
    config->scratch = run->job->m * RUNGI_PIPELINE_DOT_COLUMNS * run->size;
    return RUNG_OK;
}

/* Chooses the layout of a packed B: see packed_offset in 10_pipeline.c. */
static rung_status configure_packed_b(const rungi_pipeline *run, rungi_cpu_kernel_config *config)
{
    const rungi_cpu_job *job = run->job;
    int64_t width = run->tile_width, bytes;
    if (!rungi_checked_multiply(rungi_round_up(job->n, width), job->k, &bytes) ||
        !rungi_checked_multiply(bytes, run->size, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "10_pipeline: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)job->k, (long long)job->n);
    config->packed = (rungi_packed_layout){
        .packed_type = sum_type(job), .width = width, .k_block = run->kc, .bytes = bytes};
    return RUNG_OK;
}

static bool uses_l1_path(const rungi_pipeline *run, const rungi_cpu_kernel_config *config)
{
    return config->has_packed_b && !run->buffers_sums && is_large_b(run) && run->job->m > run->tile_rows &&
           run->job->m <= IN_PLACE_MAX_PANELS * run->tiles->in_place_rows;
}

/* Returns the steps of a K block of a large B in place. The fewer rows, the more the time depends on how B is read: few steps
 * read longer runs of each row of B. A B that stays in L2 is read fast in any order; there, more steps add to C less often. */
static int64_t in_place_steps(const rungi_pipeline *run)
{
    int64_t m = run->job->m, steps = RUNGI_PIPELINE_IN_PLACE_K_STEPS;
    if (b_bytes(run) <= (double)run->job->features->blocks.l2_b)
        return m <= IN_PLACE_FEW_ROWS ? 2 * steps : 4 * steps;
    return m <= IN_PLACE_FEW_ROWS ? steps / 2 : m <= 2 * run->tile_rows ? steps : 2 * steps;
}

rung_status rungi_pipeline_configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    rungi_pipeline run;
    (void)compute;
    if (rungi_type_has_scales(job->b_type) && !rungi_cpu_job_has_b_along_k(job) && job->n > 0 && job->k > 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "10_pipeline needs a %s B whose blocks lie along k (row stride 1); quantize the transposed "
                          "matrix, which is n x k",
                          rung_type_name(job->b_type));
    rungi_pipeline_init(&run, job, config);
    if (uses_dot_products(&run, config))
        return configure_dot_products(&run, config);
    run.kc = k_block_size(job);
    run.nc = n_block_size(job, run.tile_width, run.kc * run.size);
    set_path(&run, reads_b_in_place(&run));
    if (run.is_in_place && b_bytes(&run) > (double)job->features->blocks.few_rows_b)
        run.kc = in_place_steps(&run);
    run.is_l1_resident = uses_l1_path(&run, config);
    if (run.is_l1_resident)
        run.nc = run.tile_width;
    config->path = run.is_in_place      ? RUNGI_PIPELINE_IN_PLACE
                   : run.is_l1_resident ? RUNGI_PIPELINE_PACKED_L1
                                        : RUNGI_PIPELINE_PACKED;
    /* Panels of nearly the same height balance threads. A short k does not pay for one panel more. */
    config->grain_m = job->k < MIN_EVEN_PANEL_STEPS ? run.tile_rows : 1;
    config->grain_n = config->has_packed_b ? run.tile_width : run.tiles->lanes;
    config->kc = run.kc;
    config->nc = run.nc;
    if (config->has_packed_b)
        TRY(configure_packed_b(&run, config));
    configure_a_copies(&run);
    config->max_cached = run.cached_rows = cached_row_count(&run);
    config->scratch = a_bytes(&run) + sum_bytes(&run) +
                      (run.is_in_place || config->has_packed_b ? 0 : run.kc * run.nc * run.size);
    return RUNG_OK;
}

void rungi_pipeline_start(rungi_pipeline *run, const rungi_cpu_job *job)
{
    rungi_pipeline_init(run, job, job->config);
    run->kc = job->config->kc;
    run->nc = job->config->nc;
    set_path(run, job->config->path == RUNGI_PIPELINE_IN_PLACE);
    run->is_l1_resident = job->config->path == RUNGI_PIPELINE_PACKED_L1;
    run->is_dots = job->config->path == RUNGI_PIPELINE_DOTS;
    int64_t c_bytes = job->m * job->n * run->size, steps = run->is_l1_resident ? RUNGI_PIPELINE_L1_K_STEPS : run->kc;
    run->can_stream_c = !run->buffers_sums && !rungi_cpu_has_epilogue(job) && job->beta == 0 && job->k <= steps &&
                        c_bytes > (int64_t)16 << 20;
    run->streams_c = run->can_stream_c && (uintptr_t)job->c.first % 64 == 0 && job->c.row_stride * run->size % 64 == 0;
    run->scales_last = !run->buffers_sums && job->out != RUNG_I32 && job->k > steps &&
                       fabs(job->alpha) > (job->beta == 0 ? 1 : MAX_UNSCALED_ALPHA);
    run->prefetches_c = !run->streams_c && c_bytes > job->features->blocks.prefetch_c;
    run->a_copies = job->scratch;
    run->cached_rows = rungi_min(job->config->max_cached, job->m);
    configure_a_copies(run);
    if (!run->a_copies)
        return; /* nothing needs memory */
    run->sums = run->a_copies + a_bytes(run);
    run->b_panels = run->sums + sum_bytes(run);
}
