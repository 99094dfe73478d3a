/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_config.c - see pipeline.h. The constants were measured: see docs/internals/decisions/0026. */
#include <math.h>

#include "base/error.h"
#include "base/try.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/microkernels/pipeline.h"

enum {
    IN_PLACE_MAX_PANELS = 10,     /* most panels of A for which a B of more than in_place_b bytes stays unpacked */
    MAX_UNSCALED_ALPHA = 1 << 16, /* largest alpha for which beta is not divided by it: integers stay exact */
    PAGE = 4096
};

static rung_type sum_type(const rungi_cpu_job *job)
{
    return job->out == RUNG_I32 ? RUNG_I32 : job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32;
}

/* Splits k into K blocks of at most about KC, all of the same size but the last. */
static int64_t k_block_size(const rungi_cpu_job *job)
{
    int64_t k_blocks = rungi_ceil_divide(job->k, job->parameters[RUNGI_PIPELINE_KC]);
    return k_blocks > 1 ? rungi_round_up(rungi_ceil_divide(job->k, k_blocks), 4) : job->k;
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
    int64_t row = rungi_pipeline_a_row_bytes(run, run->kc), tile = run->tiles->rows, m = run->job->m;
    int64_t bytes = run->job->features->blocks.cached_a;
    int64_t max_rows = row < bytes / tile ? bytes / row : tile, blocks = rungi_ceil_divide(m, max_rows);
    return blocks > 1 ? rungi_round_up(rungi_ceil_divide(m, blocks), tile) : m;
}

/* Returns the bytes of copies of A: one panel, the cached rows, or all rows if B is read in place. */
static int64_t a_bytes(const rungi_pipeline *run)
{
    int64_t rows = run->is_in_place ? run->job->m : run->caches_a ? run->cached_rows : run->tiles->rows;
    return run->is_in_place || run->copies_a ? rungi_round_up(rows * rungi_pipeline_a_row_bytes(run, run->kc), PAGE)
                                             : 0;
}

/* Decides whether A is copied. Reading a very large A touches many pages for each block of B, so it is copied as well. If
 * several blocks of B follow each other, the copies are cached for them. */
static void configure_a_copies(rungi_pipeline *run)
{
    const rungi_cpu_job *job = run->job;
    bool is_large_a = (double)job->m * (double)job->k * (double)run->size > 32e6;
    bool is_often_read = (run->copies_a || is_large_a) && job->n >= 3 * run->nc && job->m >= 256 && job->k >= 256;
    run->caches_a = !run->is_in_place && !run->buffers_sums && (is_often_read || run->is_l1_resident);
    run->copies_a = run->copies_a || run->caches_a;
}

void rungi_pipeline_init(rungi_pipeline *run, const rungi_cpu_job *job, const rungi_cpu_kernel_config *config)
{
    rung_type sum = sum_type(job);
    int64_t size = sum == RUNG_F64 ? 8 : 4;
    bool is_sum_type = job->in == sum, can_read_a_in_place = is_sum_type && job->a.col_stride == 1;
    /* Rows a multiple of 1 KiB apart compete for the same few sets of L1. */
    bool has_conflicts = (uint64_t)job->a.row_stride * (uint64_t)size % 1024 == 0 && job->k > 256;
    *run = (rungi_pipeline){.job = job,
                            .tiles = rungi_microkernel_table_select(job->features->isa, sum),
                            .size = size,
                            .in_size = is_sum_type ? size : rung_type_size(job->in),
                            .can_read_a_in_place = can_read_a_in_place,
                            .can_read_b_in_place = is_sum_type && job->b.col_stride == 1 && !config->has_packed_b,
                            .copies_a = !can_read_a_in_place || has_conflicts,
                            .buffers_sums = job->out != sum || job->c.col_stride != 1};
}

/* Returns the bytes of sums that are kept outside C. */
static int64_t sum_bytes(const rungi_pipeline *run)
{
    int64_t in_place_columns = rungi_min(run->job->n, RUNGI_PIPELINE_IN_PLACE_COLUMNS);
    if (!run->buffers_sums)
        return 0;
    return run->is_in_place ? run->job->m * rungi_round_up(in_place_columns, 2 * run->tiles->lanes) * run->size
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

/* Returns whether B is read in place: for up to two panels of rows, and for some more if B is larger than the cache. */
static bool reads_b_in_place(const rungi_pipeline *run)
{
    return run->can_read_b_in_place && run->job->m <= (is_large_b(run) ? IN_PLACE_MAX_PANELS : 2) * run->tiles->rows;
}

/* Chooses the layout of a packed B: see packed_offset in 10_pipeline.c. */
static rung_status configure_packed_b(const rungi_pipeline *run, rungi_cpu_kernel_config *config)
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

static bool uses_l1_path(const rungi_pipeline *run, const rungi_cpu_kernel_config *config)
{
    int64_t panel = run->tiles->rows;
    return config->has_packed_b && !run->buffers_sums && is_large_b(run) && run->job->m > panel &&
           run->job->m <= IN_PLACE_MAX_PANELS * panel;
}

rung_status rungi_pipeline_configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    rungi_pipeline run;
    (void)compute;
    rungi_pipeline_init(&run, job, config);
    run.kc = k_block_size(job);
    run.nc = n_block_size(job, 2 * run.tiles->lanes, run.kc * run.size);
    run.is_in_place = reads_b_in_place(&run);
    if (run.is_in_place && b_bytes(&run) > (double)job->features->blocks.few_rows_b)
        run.kc = (job->m <= 2 * run.tiles->rows ? 1 : 2) * RUNGI_PIPELINE_IN_PLACE_K_STEPS;
    run.is_l1_resident = uses_l1_path(&run, config);
    if (run.is_l1_resident)
        run.nc = 2 * run.tiles->lanes;
    config->path = run.is_in_place      ? RUNGI_PIPELINE_IN_PLACE
                   : run.is_l1_resident ? RUNGI_PIPELINE_PACKED_L1
                                        : RUNGI_PIPELINE_PACKED;
    config->grain_m = run.tiles->rows;
    config->grain_n = 2 * run.tiles->lanes;
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
    run->is_in_place = job->config->path == RUNGI_PIPELINE_IN_PLACE;
    run->is_l1_resident = job->config->path == RUNGI_PIPELINE_PACKED_L1;
    int64_t c_bytes = job->m * job->n * run->size, steps = run->is_l1_resident ? RUNGI_PIPELINE_L1_K_STEPS : run->kc;
    run->streams_c = !run->buffers_sums && !rungi_cpu_has_epilogue(job) && job->beta == 0 && job->k <= steps &&
                     c_bytes > (int64_t)16 << 20 && (uintptr_t)job->c.first % 64 == 0 &&
                     job->c.row_stride * run->size % 64 == 0;
    run->scales_last = !run->buffers_sums && job->out != RUNG_I32 && job->k > steps &&
                       fabs(job->alpha) > (job->beta == 0 ? 1 : MAX_UNSCALED_ALPHA);
    run->prefetches_c = !run->streams_c && c_bytes > job->features->blocks.prefetch_c;
    run->a_copies = job->scratch;
    run->cached_rows = rungi_min(job->config->max_cached, job->m);
    configure_a_copies(run);
    run->sums = run->a_copies + a_bytes(run);
    run->b_panels = run->sums + sum_bytes(run);
}
