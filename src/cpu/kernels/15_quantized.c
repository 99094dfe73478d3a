/* SPDX-License-Identifier: Apache-2.0 */
/* 15_quantized - a quantized B is multiplied as integers.
 *
 * Removes  the conversion of every element of B to F32, which 10_pipeline makes for any number of rows: with few rows it takes
 *          longer than the multiplication. Here narrow numbers are multiplied, in one of four ways.
 * Leaves   with few rows the time in which B is read from memory, with many the path from L2 to the tiles.
 * Watch    rung verify --device cpu --kernels 15
 *
 * Dot products, for few rows and compute q8: A is rounded to 8-bit integers with a scale per block of 32 elements, ROWS rows
 * at a time. B is then read once, two columns at a time. The sum of a block is an exact integer; the sums of blocks are
 * added as F32, in an order that depends on k alone. A packed B has its columns interleaved. Dot products then load whole
 * vectors instead of collecting blocks.
 *
 * Panels, for more rows and compute q8 on processors without AMX: the same dot products, of register tiles. A slice of B is
 * interleaved in L1 and multiplied by all rows.
 *
 * Tiles of integers, for some more rows and compute q8: the same integers are multiplied in AMX tiles, one block at a time.
 *
 * Tiles of BF16, for many rows and for compute bf16x1: A and the dequantized B are rounded to BF16 and multiplied in AMX tiles.
 * A quantized A is dequantized before it is rounded.
 * Formats with separate scales always take this way.
 */
// takes: *q8_0,*q4_0,*i8,*u8,*i4,*u4,*f8e4m3,*f8e5m2,*f4e2m1,quantized*quantized
// computes: bf16x1,q8
#include "base/amx_permission.h"
#include "base/try.h"
#include "core/matrix.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/quantized/quantized_integer_tiles.h"
#include "cpu/quantized/quantized_packed.h"
#include "cpu/quantized/quantized_panels.h"
#include "cpu/quantized/quantized_tiles.h"

/* Most rows of A that are quantized at a time. */
#ifndef ROWS
#define ROWS 16 // 8 16 32
#endif
/* Most rows that are multiplied by single dot products. With a packed B up to 2 FEW - 1 rows are, without AMX up to 2 FEW. */
#ifndef FEW
#define FEW 8 // 0 4 8 12
#endif
/* Most rows that are multiplied in tiles of integers. More rows are multiplied in tiles of BF16. */
#ifndef MANY
#define MANY 40 // 0 16 32 40 64 96
#endif
#define BM ROWS
#define BN 64
#if ROWS < 1 || ROWS > 1024
#error "ROWS must be from 1 to 1024"
#endif
#if FEW > 65536
#error "FEW must be at most 65536"
#endif
#if MANY > 65536
#error "MANY must be at most 65536"
#endif

#if defined(__x86_64__)
enum { ROWS_PARAMETER, FEW_PARAMETER, MANY_PARAMETER }; /* indices of the parameters */
enum { PATH_DOT, PATH_PANELS, PATH_INTEGER_TILES, PATH_TILES, PATH_NONE };

enum { BLOCK_COLUMNS = 64 }; /* columns of sums that are kept before they become C */

static int64_t group_count(const rungi_cpu_job *job)
{
    return rungi_ceil_divide(job->k, RUNGI_QUANTIZED_GROUP);
}

/* Multiplies quantized rows by `cols` columns of a packed B, from column j of the job on. */
static void multiply_packed_columns(const rungi_cpu_job *job, const rungi_quantized_group *a, int64_t rows, int64_t j,
                                    int64_t cols, float *sums)
{
    for (int64_t c = 0; c < cols; c += RUNGI_QUANTIZED_PANEL)
        for (int64_t r = 0; r < rows; r += RUNGI_QUANTIZED_MAX_ROWS)
            rungi_quantized_packed_dot(job, job->first_col + j + c, rungi_min(rows - r, RUNGI_QUANTIZED_MAX_ROWS),
                                       a + r, rows, sums + r * BLOCK_COLUMNS + c, BLOCK_COLUMNS);
}

/* Multiplies quantized rows by `cols` columns of B, from column j on. */
static void multiply_columns(const rungi_cpu_job *job, const rungi_quantized_group *a, int64_t rows, int64_t j,
                             int64_t cols, float *sums)
{
    int64_t column_bytes = rungi_type_bytes(job->b_type, job->b.col_stride), blocks = job->k / RUNGI_QUANTIZED_BLOCK;
    for (int64_t c = 0; c < cols; c += 2) {
        const char *first = (const char *)job->b.first + (j + c) * column_bytes;
        const char *columns[2] = {first, c + 1 < cols ? first + column_bytes : first};
        for (int64_t r = 0; r < rows; r += RUNGI_QUANTIZED_MAX_ROWS)
            (job->features->has_vnni ? rungi_quantized_dot : rungi_quantized_dot_avx2)(
                job->b_type, rungi_min(rows - r, RUNGI_QUANTIZED_MAX_ROWS), blocks, a + r, rows, columns,
                sums + r * BLOCK_COLUMNS + c, BLOCK_COLUMNS);
    }
}

/* Applies the epilogue to sums of zero. */
static void run_zero_k(const rungi_cpu_job *job)
{
    static const float zeros[BLOCK_COLUMNS];
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j += BLOCK_COLUMNS)
            rungi_cpu_epilogue_apply(job, i, j, 1, rungi_min(BLOCK_COLUMNS, job->n - j), zeros, 0);
}

static void run_dot(const rungi_cpu_job *job)
{
    int64_t max_rows = job->parameters[ROWS_PARAMETER];
    float *sums = (float *)(void *)job->scratch;
    rungi_quantized_group *a = (rungi_quantized_group *)(void *)(sums + max_rows * BLOCK_COLUMNS);
    for (int64_t i = 0; i < job->m; i += max_rows) {
        int64_t rows = rungi_min(max_rows, job->m - i);
        rungi_quantized_rows(job, i, rows, a);
        for (int64_t j = 0; j < job->n; j += BLOCK_COLUMNS) {
            int64_t cols = rungi_min(BLOCK_COLUMNS, job->n - j);
            (job->packed ? multiply_packed_columns : multiply_columns)(job, a, rows, j, cols, sums);
            rungi_cpu_epilogue_apply(job, i, j, rows, cols, sums, BLOCK_COLUMNS);
        }
    }
}

static void run(const rungi_cpu_job *job)
{
    const rungi_cpu_kernel_config *config = job->config;
    rungi_quantized_tiles_blocks sizes = {
        .rows = config->max_cached, .cols = config->nc, .chunk = config->chunk, .slice = config->kc};
    if (job->k == 0)
        run_zero_k(job);
    else if (config->path == PATH_TILES)
        rungi_quantized_tiles_run(job, &sizes);
    else if (config->path == PATH_INTEGER_TILES)
        rungi_integer_tiles_run(job, config->max_cached);
    else if (config->path == PATH_PANELS)
        rungi_quantized_panels_run(job, config->max_cached);
    else
        run_dot(job);
}

/* Chooses how the problem is multiplied. The system is asked for tiles last, because that changes the process. A packed B and
 * many rows need AVX-512 VNNI. */
static int choose_path(const rungi_cpu_job *job, rung_compute compute, bool has_packed_b)
{
    bool can_use_integers = compute == RUNG_COMPUTE_Q8 && rungi_type_has_scales(job->b_type);
    bool can_use_dots = can_use_integers && job->features->has_vnni;
    int64_t few = job->parameters[FEW_PARAMETER];
    if (can_use_dots && job->m <= (has_packed_b ? 2 * few - 1 : few))
        return PATH_DOT;
    if (can_use_integers && !has_packed_b && job->m <= few && rungi_quantized_has_dots(job->features))
        return PATH_DOT;
    if (job->features->isa < RUNGI_ISA_AMX || !rungi_amx_request())
        return !can_use_dots ? PATH_NONE : job->m <= 2 * few && !has_packed_b ? PATH_DOT : PATH_PANELS;
    return can_use_dots && job->m <= job->parameters[MANY_PARAMETER] ? PATH_INTEGER_TILES : PATH_TILES;
}

/* The layout does not depend on the path: plans for few and for many rows share a packed B. */
static rung_status configure_packed_b(const rungi_cpu_job *job, rungi_cpu_kernel_config *config)
{
    int64_t bytes;
    if (!rungi_quantized_packed_bytes(job->b_type, job->n, job->k, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "15_quantized: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)job->k, (long long)job->n);
    config->packed = (rungi_packed_layout){
        .packed_type = job->b_type, .width = RUNGI_QUANTIZED_PANEL, .k_block = RUNGI_QUANTIZED_BLOCK, .bytes = bytes};
    return RUNG_OK;
}

static void configure_tiles(const rungi_cpu_job *job, rungi_cpu_kernel_config *config)
{
    rungi_quantized_tiles_blocks sizes = rungi_quantized_tiles_blocks_choose(job);
    config->max_cached = sizes.rows;
    config->nc = sizes.cols;
    config->chunk = sizes.chunk;
    config->kc = sizes.slice;
    config->grain_m = config->grain_n = 32;
    config->scratch = rungi_quantized_tiles_scratch_bytes(&sizes);
}

static rung_status fail_for_k(int64_t k)
{
    return rungi_fail(RUNG_STATUS_TOO_LARGE, "15_quantized: k is %lld; split A and B along k", (long long)k);
}

static rung_status configure_integer_tiles(const rungi_cpu_job *job, rungi_cpu_kernel_config *config)
{
    config->max_cached = rungi_integer_tiles_rows(job, job->m);
    config->grain_m = rungi_max(job->m, 1); /* every thread quantizes the rows of its block */
    config->grain_n = RUNGI_QUANTIZED_PANEL;
    return rungi_integer_tiles_scratch_bytes(config->max_cached, job->k, &config->scratch) ? RUNG_OK
                                                                                           : fail_for_k(job->k);
}

static rung_status configure_panels(const rungi_cpu_job *job, rungi_cpu_kernel_config *config)
{
    config->max_cached = rungi_quantized_panels_rows(job, job->m);
    config->grain_m = 32;
    config->grain_n = RUNGI_QUANTIZED_PANELS_COLUMNS;
    return rungi_quantized_panels_scratch_bytes(config->max_cached, job->k, &config->scratch) ? RUNG_OK
                                                                                              : fail_for_k(job->k);
}

static rung_status configure_dot(const rungi_cpu_job *job, rungi_cpu_kernel_config *config)
{
    int64_t max_rows = job->parameters[ROWS_PARAMETER], bytes;
    if (!rungi_checked_multiply(group_count(job) * max_rows, sizeof(rungi_quantized_group), &bytes))
        return fail_for_k(job->k);
    config->grain_m = rungi_max(job->m, 1); /* every thread quantizes the rows of its block */
    config->grain_n = BLOCK_COLUMNS;
    config->scratch = bytes + max_rows * BLOCK_COLUMNS * (int64_t)sizeof(float);
    return RUNG_OK;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    if (!rungi_cpu_job_has_b_along_k(job) && job->n > 0 && job->k > 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "15_quantized needs a %s B whose blocks lie along k (row stride 1); quantize the transposed "
                          "matrix, which is n x k",
                          rung_type_name(job->b_type));
    if (config->has_packed_b && !rungi_type_has_scales(job->b_type))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "15_quantized does not pack a B of type %s; 10_pipeline does",
                          rung_type_name(job->b_type));
    if (config->has_packed_b)
        TRY(configure_packed_b(job, config));
    config->path = choose_path(job, compute, config->has_packed_b);
    if (config->path == PATH_NONE)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "15_quantized needs AMX%s, which is not available",
                          compute == RUNG_COMPUTE_Q8 && rungi_type_has_scales(job->b_type)
                              ? " or AVX512_VNNI (AVX2 for few rows)"
                              : "");
    if (config->path == PATH_DOT)
        return configure_dot(job, config);
    if (config->path == PATH_PANELS)
        return configure_panels(job, config);
    if (config->path == PATH_INTEGER_TILES)
        return configure_integer_tiles(job, config);
    configure_tiles(job, config);
    return RUNG_OK;
}
#else
static void run(const rungi_cpu_job *job)
{
    (void)job;
}

static void rungi_quantized_pack(const rungi_cpu_job *job, char *packed)
{
    (void)job;
    (void)packed;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    (void)job;
    (void)compute;
    (void)config;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "15_quantized needs an x86-64 processor");
}
#endif

const rungi_cpu_kernel rungi_cpu_15_quantized = {
    .run = run, .configure = configure, .pack = rungi_quantized_pack, .is_threaded = true};
