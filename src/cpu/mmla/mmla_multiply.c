/* SPDX-License-Identifier: Apache-2.0 */
/* mmla_multiply.c - the loops of 12_matrix on AArch64. See mmla.h.
 *
 * C is split into MC x NC blocks and k into slices of KC bytes. A slice of NC columns of B is packed and stays in L2. Of A
 * only the next panel of 8 rows is packed; it stays in L1 while all columns are multiplied with it. Sums that need further slices
 * are kept in L2. An element is summed in the order of k on every path, whatever the blocks are. */
#include "cpu/mmla/mmla.h"

#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "cpu/microkernels/cpu_epilogue.h"

enum {
    KC_BYTES = 0,
    MC_ROWS = 2,
    NC_COLUMNS = 3,
    ROWS = RUNGI_MMLA_ROWS,
    COLUMNS = RUNGI_MMLA_COLUMNS,
    GROUP = RUNGI_MMLA_GROUP_BYTES,
    SUMS_BYTES = 4 * RUNGI_MMLA_SUMS,
    MIN_KC = 192, /* the smallest KC, and multiple of MC, that the file of 12_matrix allows */
    MAX_KC = 512, /* the default KC is for AMX, which reads B past L1 */
    MC_MULTIPLE = 32,
    FEW = 4 /* with fewer rows or columns, most products of a tile are not needed */
};

typedef struct mmla_blocking {
    int64_t size;            /* bytes per element */
    int64_t slice_k, slices; /* elements per slice, whole groups */
    int64_t mc, nc;          /* whole tiles */
    int64_t cached_slices;   /* slices of B that stay packed: all, or one */
    int64_t a_offset, b_offset, sums_offset, scratch_bytes;
} mmla_blocking_t;

/* One run of a thread. */
typedef struct mmla_run {
    const rungi_cpu_job *job;
    mmla_blocking_t l;
    rungi_mmla_tile *tile;
    bool has_plain_output; /* sums are stored unchanged */
} mmla_run_t;

/* A slice of k in a block of C that begins at (i, j). */
typedef struct mmla_slice {
    int64_t i, j, p, k_size, groups;
    bool is_first, is_last;
    const char *b; /* packed columns */
} mmla_slice_t;

/* ---- Block sizes ------------------------------------------------------------------------------------------------ */

static int64_t allocate_scratch(int64_t *bytes, int64_t more)
{
    int64_t offset = *bytes;
    *bytes += rungi_round_up(more, 64);
    return offset;
}

static mmla_blocking_t choose_blocking(const rungi_cpu_job *job, bool has_packed_b, int64_t max_cached)
{
    const int64_t *values = job->parameters;
    int64_t size = rung_type_size(job->in), per_group = GROUP / size;
    mmla_blocking_t l = {.size = size};
    l.slices = rungi_ceil_divide(job->k, values[KC_BYTES] / size);
    l.slice_k = l.slices > 0 ? rungi_round_up(rungi_ceil_divide(job->k, l.slices), per_group) : 0;
    l.slices = l.slices > 0 ? rungi_ceil_divide(job->k, l.slice_k) : 0;
    l.mc = rungi_min(rungi_round_up(values[MC_ROWS], ROWS), rungi_round_up(job->m, ROWS));
    l.nc = rungi_min(values[NC_COLUMNS] / COLUMNS * COLUMNS, rungi_round_up(job->n, COLUMNS));
    int64_t slice_bytes = l.nc * l.slice_k * size;
    bool caches_all = job->m > l.mc && l.slices <= max_cached &&
                      l.slices <= job->features->blocks.cached_b / (slice_bytes + 1);
    l.cached_slices = caches_all ? l.slices : rungi_min(l.slices, 1);
    l.a_offset = allocate_scratch(&l.scratch_bytes, ROWS * l.slice_k * size);
    l.b_offset = allocate_scratch(&l.scratch_bytes, has_packed_b ? 0 : l.cached_slices * slice_bytes);
    l.sums_offset = allocate_scratch(&l.scratch_bytes, l.slices > 1 ? l.mc * l.nc * 4 : SUMS_BYTES);
    return l;
}

/* Returns the offset of columns from column j on in a packed B of n columns, for the slice that begins at p. */
static int64_t packed_offset(int64_t size, int64_t n, int64_t j, int64_t p, int64_t groups)
{
    return rungi_round_up(n, COLUMNS) * p * size + j * groups * GROUP;
}

/* ---- Operands ----------------------------------------------------------------------------------------------- */

static void pack_rows(const mmla_run_t *e, const mmla_slice_t *s, int64_t i, char *to)
{
    const rungi_cpu_input *a = &e->job->a;
    rungi_mmla_operand from = {(const char *)a->first + (i * a->row_stride + s->p * a->col_stride) * e->l.size,
                               a->row_stride, a->col_stride, rungi_min(ROWS, e->job->m - i), s->k_size};
    rungi_mmla_pack(ROWS, e->l.size, &from, to);
}

/* Packs `columns` columns from column j on, panel by panel. */
static void pack_columns(const rungi_cpu_job *job, const mmla_slice_t *s, int64_t j, int64_t columns, char *to)
{
    const rungi_cpu_input *b = &job->b;
    int64_t size = rung_type_size(job->in);
    for (int64_t x = 0; x < columns; x += COLUMNS, to += COLUMNS * s->groups * GROUP) {
        rungi_mmla_operand from = {(const char *)b->first + (s->p * b->row_stride + (j + x) * b->col_stride) * size,
                                   b->col_stride, b->row_stride, rungi_min(COLUMNS, columns - x), s->k_size};
        rungi_mmla_pack(COLUMNS, size, &from, to);
    }
}

static mmla_slice_t slice_at(const mmla_blocking_t *l, int64_t k, int64_t number)
{
    int64_t p = number * l->slice_k, k_size = rungi_min(l->slice_k, k - p);
    return (mmla_slice_t){.p = p,
                          .k_size = k_size,
                          .groups = rungi_ceil_divide(k_size * l->size, GROUP),
                          .is_first = number == 0,
                          .is_last = number + 1 == l->slices};
}

/* Returns the packed columns of a slice, and packs them unless that was done in advance or for the previous rows. */
static const char *load_columns(const mmla_run_t *e, const mmla_slice_t *s, int64_t number)
{
    const rungi_cpu_job *job = e->job;
    const mmla_blocking_t *l = &e->l;
    if (job->packed)
        return job->packed + packed_offset(l->size, job->config->problem_n, job->first_col + s->j, s->p, s->groups);
    char *to = job->scratch + l->b_offset + number % l->cached_slices * l->nc * l->slice_k * l->size;
    if (s->i == 0 || l->cached_slices < l->slices)
        pack_columns(job, s, s->j, rungi_min(l->nc, job->n - s->j), to);
    return to;
}

/* ---- Sums ------------------------------------------------------------------------------------------------------ */

/* Stores the sums of a tile, unchanged or through the epilogue. */
static void store_tile(const mmla_run_t *e, int64_t i, int64_t j, const char *tile)
{
    const rungi_cpu_job *job = e->job;
    int64_t rows = rungi_min(ROWS, job->m - i), cols = rungi_min(COLUMNS, job->n - j);
    bool is_direct = e->has_plain_output && cols == COLUMNS;
    char by_rows[SUMS_BYTES] __attribute__((aligned(16)));
    char *to = is_direct ? (char *)job->c.first + (i * job->c.row_stride + j) * 4 : by_rows;
    int64_t row_bytes = is_direct ? job->c.row_stride * 4 : COLUMNS * 4;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < COLUMNS; c += 2)
            memcpy(to + r * row_bytes + c * 4, tile + (r / 2 * COLUMNS + c) * 8 + r % 2 * 8, 8);
    if (!is_direct)
        rungi_cpu_epilogue_apply(job, i, j, rows, cols, by_rows, COLUMNS);
}

static bool has_plain_output(const rungi_cpu_job *job)
{
    return (job->out == RUNG_F32 || job->out == RUNG_I32) && job->alpha == 1 && job->beta == 0 &&
           !rungi_cpu_has_epilogue(job) && job->c.col_stride == 1;
}

/* Computes C where k is 0. */
static void store_zeros(const mmla_run_t *e)
{
    static const char zeros[SUMS_BYTES] __attribute__((aligned(16)));
    for (int64_t i = 0; i < e->job->m; i += ROWS)
        for (int64_t j = 0; j < e->job->n; j += COLUMNS)
            store_tile(e, i, j, zeros);
}

/* ---- The kernel ------------------------------------------------------------------------------------------------ */

/* Multiplies 8 rows by all columns of a slice. */
static void multiply_rows(const mmla_run_t *e, const mmla_slice_t *s, int64_t i)
{
    const mmla_blocking_t *l = &e->l;
    char *a = e->job->scratch + l->a_offset, *sums = e->job->scratch + l->sums_offset;
    int64_t width = rungi_min(l->nc, e->job->n - s->j);
    int64_t sums_step = l->slices > 1 ? SUMS_BYTES : 0;
    sums += (i - s->i) / ROWS * (l->nc / COLUMNS) * sums_step;
    pack_rows(e, s, i, a);
    for (int64_t x = 0; x < width; x += COLUMNS, sums += sums_step) {
        e->tile(s->groups, a, s->b + x * s->groups * GROUP, s->is_first, sums);
        if (s->is_last)
            store_tile(e, i, s->j + x, sums);
    }
}

static void multiply_block(const mmla_run_t *e, int64_t i, int64_t j)
{
    for (int64_t number = 0; number < e->l.slices; number++) {
        mmla_slice_t s = slice_at(&e->l, e->job->k, number);
        s.i = i;
        s.j = j;
        s.b = load_columns(e, &s, number);
        for (int64_t x = i; x < rungi_min(i + e->l.mc, e->job->m); x += ROWS)
            multiply_rows(e, &s, x);
    }
}

void rungi_mmla_run(const rungi_cpu_job *job)
{
    mmla_run_t e = {.job = job,
                    .l = choose_blocking(job, job->config->has_packed_b, job->config->max_cached),
                    .tile = job->in == RUNG_I8 ? rungi_mmla_tile_i8 : rungi_mmla_tile_bf16,
                    .has_plain_output = has_plain_output(job)};
    if (job->k == 0)
        store_zeros(&e);
    for (int64_t j = 0; j < job->n && job->k > 0; j += e.l.nc)
        for (int64_t i = 0; i < job->m; i += e.l.mc)
            multiply_block(&e, i, j);
}

void rungi_mmla_pack_b(const rungi_cpu_job *job, char *packed)
{
    mmla_blocking_t l = choose_blocking(job, true, 1);
    for (int64_t number = 0; number < l.slices; number++) {
        mmla_slice_t s = slice_at(&l, job->k, number);
        pack_columns(job, &s, 0, job->n, packed + packed_offset(l.size, job->n, 0, s.p, s.groups));
    }
}

/* ---- Configuration ---------------------------------------------------------------------------------------------- */

static rung_status configure_packed_b(const rungi_cpu_job *job, const mmla_blocking_t *l,
                                      rungi_cpu_kernel_config *config)
{
    int64_t bytes;
    if (!rungi_checked_multiply(rungi_round_up(job->n, COLUMNS), rungi_round_up(job->k, GROUP), &bytes) ||
        !rungi_checked_multiply(bytes, l->size, &bytes) || bytes > INT64_MAX - 64)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "12_matrix: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)job->k, (long long)job->n);
    bytes = rungi_round_up(job->n, COLUMNS) * rungi_round_up(job->k, GROUP / l->size) * l->size;
    config->packed = (rungi_packed_layout){
        .packed_type = job->in, .width = COLUMNS, .k_block = l->slice_k, .bytes = rungi_round_up(bytes, 64)};
    return RUNG_OK;
}

rung_status rungi_mmla_configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    const rungi_cpu_features *has = job->features;
    (void)compute;
    if (job->in == RUNG_F32)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs AMX for f32, which is not available");
    if (job->in == RUNG_I8 ? !has->has_i8mm : !has->has_bf16)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs the instruction %s for %s, which is not available",
                          job->in == RUNG_I8 ? "SMMLA (i8mm)" : "BFMMLA (bf16)", rung_type_name(job->in));
    mmla_blocking_t whole = choose_blocking(job, config->has_packed_b, INT64_MAX);
    config->grain_m = ROWS;
    config->grain_n = COLUMNS;
    config->scratch = whole.scratch_bytes;
    config->max_cached = whole.cached_slices;
    if (config->has_packed_b) /* the choice must not depend on m or A */
        return configure_packed_b(job, &whole, config);
    config->is_slow = job->m < FEW || job->n < FEW;
    return RUNG_OK;
}

/* Keeps a panel of rows and one of columns in half of L1. Half of L2 is for a slice of B, half for sums between slices. */
void rungi_mmla_fit(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t nc = parameters[NC_COLUMNS], rows = blocks->half_l2 / (nc * sum_bytes) / MC_MULTIPLE * MC_MULTIPLE;
    int64_t kc = rungi_min(blocks->amx_panel / 2 / (ROWS + COLUMNS), blocks->half_l2 / nc) / 64 * 64;
    parameters[KC_BYTES] = rungi_max(rungi_min(rungi_min(parameters[KC_BYTES], kc), MAX_KC), MIN_KC);
    parameters[1] = parameters[1] / parameters[KC_BYTES] * parameters[KC_BYTES]; /* KD, which is not used */
    parameters[MC_ROWS] = rungi_min(parameters[MC_ROWS], rungi_max(rows, MC_MULTIPLE));
}
