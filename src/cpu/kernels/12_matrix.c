/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - matrix instructions: AMX tiles, dot products of AVX-512 vectors, or SMMLA and BFMMLA of AArch64.
 *
 * Removes  vector multiply-adds. One AMX instruction multiplies 64 bytes of k for 16 x 16 elements of C, and a 32 x 32
 *          block of C stays in tiles for a whole slice of k.
 * Leaves   the path from memory to the tiles: L2 delivers at most 64 bytes per cycle, and the tiles consume 48.
 * Watch    rung bench --device cpu --dtype bf16 --kernels 10,12
 *
 * C is split into MC x NC blocks and k into slices of KC bytes. Slices of B are packed, KD bytes of k at a time, and stay
 * in L2. Of A only a panel of 32 rows is packed; it stays in L1 while all panels of B are multiplied with it, and meanwhile
 * the next one is copied. Sums that need further slices are kept in L2. A small problem, which fits L2, exchanges the roles: a panel of B stays in L1
 * while all of A is multiplied with it.
 *
 * F32 (compute bf16x3) is multiplied as three BF16 terms per element. Where that would be inexact, FMA is used: see
 * docs/internals/decisions/0025. On every path the order of summation depends on k alone.
 *
 * This file chooses the path and the block sizes. The loops over panels are in amx/amx_multiply.c, the tile instructions in
 * amx/amx_tiles.h, packing in amx/amx_pack.c and the layout of a packed B in amx/amx_packed_b.c. The code for AArch64, which
 * uses KC, MC and NC only, is in mmla/.
 */
// takes: bf16,bf16:f32,i8,f32,f32:bf16,f32:f16
// computes: bf16x3
#include "base/amx_permission.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cpu/amx/amx_multiply.h"

/* Bytes of packed k per slice (a panel of A stays in L1), and per pass over B (its panels stay in L2). F32 has slices of
 * 3/4 KC. */
#ifndef KC
#define KC 1024 // 512 1024 2048
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
enum { KC_BYTES, KD_BYTES, MC_ROWS, NC_COLUMNS, SMALL_KIB, THIN_ROWS, STREAM_MIB };

/* FMA_MAX_ROWS: most rows of C for which a packed F32 B is multiplied by FMA. Three BF16 terms are 1.5 times the bytes. */
enum { PANEL = RUNGI_AMX_PANEL_WIDTH, FMA_MAX_ROWS = 16, MIN_KC = 192 };

/* ---- Block sizes ------------------------------------------------------------------------------------------ */

/* Chooses the blocking. A thin C takes short slices of long rows of B, a small problem one panel of B at a time. With BF16x3
 * the slices are always the same, because they decide how an element is summed. A packed B has slices of KC for every m and
 * is read again for each block of rows: blocks are narrower for a thin C and twice as high for a large one. */
static rungi_amx_blocking choose_blocking(const rungi_cpu_job *job, rungi_amx_path path, rungi_amx_regime regime,
                                          bool has_packed_b, int64_t max_cached_slices)
{
    const int64_t *values = job->parameters, kc = values[KC_BYTES], nc = values[NC_COLUMNS];
    const int64_t max_cached_bytes = job->features->blocks.cached_b;
    bool is_bf16x3 = path == RUNGI_AMX_PATH_BF16X3 || path == RUNGI_AMX_PATH_FMA_FEW_ROWS;
    bool is_i8 = path == RUNGI_AMX_PATH_I8 || path == RUNGI_AMX_PATH_DOT_I8;
    rungi_amx_packing packing = is_bf16x3 ? RUNGI_AMX_PACKING_BF16X3
                                : is_i8   ? RUNGI_AMX_PACKING_I8
                                          : RUNGI_AMX_PACKING_BF16;
    rungi_amx_blocking_options options = {kc,    values[KD_BYTES], values[MC_ROWS],   nc,
                                          false, max_cached_bytes, max_cached_slices, has_packed_b};
    if (is_bf16x3) /* a step takes six times as long, but its three terms are three times the bytes */
        options.kc = kc * 3 / 4;
    if (path == RUNGI_AMX_PATH_DOT_I8) /* B is read through L1, too */
        options.kc = rungi_max(kc / 2, MIN_KC);
    if (regime == RUNGI_AMX_REGIME_THIN) {
        options.kc = options.kd = has_packed_b ? options.kc : rungi_max(kc / 4, MIN_KC);
        options.nc = has_packed_b ? nc : 4 * nc;
    }
    if (regime == RUNGI_AMX_REGIME_LARGE && has_packed_b)
        options.mc = 2 * values[MC_ROWS];
    if (path == RUNGI_AMX_PATH_FMA_FEW_ROWS)
        options.nc = 4 * nc;
    if (regime == RUNGI_AMX_REGIME_SMALL) {
        options.kd = kc;
        options.mc = job->m;
        options.nc = is_i8 ? 2 * PANEL : PANEL;
        options.packs_all_a = true;
    }
    return rungi_amx_blocking_compute(job->m, job->n, job->k, packing, &options);
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

/* Computes C where k is 0. */
static void epilogue_store_zeros(const rungi_cpu_job *job)
{
    memset(job->scratch, 0, RUNGI_AMX_SUMS_BYTES);
    for (int64_t i = 0; i < job->m; i += PANEL)
        for (int64_t j = 0; j < job->n; j += PANEL) {
            rungi_cpu_c_block block = {i, j, rungi_min(PANEL, job->m - i), rungi_min(PANEL, job->n - j)};
            rungi_cpu_epilogue_apply_avx512(job, &block, job->scratch, PANEL);
        }
}

/* Multiplies by a packed B of one column, whose elements lie in pairs, 64 bytes apart: unpacks the column first. */
static void multiply_packed_column(const rungi_cpu_job *job)
{
    rungi_cpu_job unpacked = *job;
    rungi_amx_blocking l = choose_blocking(job, RUNGI_AMX_PATH_GEMV_COLUMN, RUNGI_AMX_REGIME_LARGE, true, INT64_MAX);
    char *to = job->scratch + RUNGI_GEMV_SCRATCH_BYTES;
    for (int64_t number = 0; number < l.slices; number++) {
        rungi_amx_slice slice = rungi_amx_slice_at(&l, job->k, number);
        const char *from = job->packed + rungi_amx_packed_panel_offset(&l, job->k, 1, &slice, 0);
        for (int64_t step = 0; step < slice.steps; step++, from += RUNGI_AMX_PANEL_STEP_BYTES)
            for (int64_t group = 0; group < RUNGI_AMX_GROUPS_PER_STEP; group++, to += 4)
                memcpy(to, from + group * RUNGI_AMX_STEP_BYTES, 4);
    }
    unpacked.b = (rungi_cpu_input){job->scratch + RUNGI_GEMV_SCRATCH_BYTES, 1, 1};
    rungi_gemv_bf16_run(&unpacked, false);
}

static void run(const rungi_cpu_job *job)
{
    rungi_amx_path path = (rungi_amx_path)(job->config->path / RUNGI_AMX_REGIME_COUNT);
    rungi_amx_regime regime = (rungi_amx_regime)(job->config->path % RUNGI_AMX_REGIME_COUNT);
    if (job->k == 0) {
        epilogue_store_zeros(job);
    } else if (path < RUNGI_AMX_PATH_GEMV_ROW) {
        rungi_amx_blocking l = choose_blocking(job, path, regime, job->config->has_packed_b, job->config->max_cached);
        rungi_amx_multiply(job, &l, path, regime, job->parameters[STREAM_MIB] << 18);
    } else if (job->packed) {
        multiply_packed_column(job);
    } else {
        rungi_gemv_bf16_run(job, path == RUNGI_AMX_PATH_GEMV_ROW);
    }
}

static void pack(const rungi_cpu_job *job, char *packed)
{
    rungi_amx_path path = (rungi_amx_path)(job->config->path / RUNGI_AMX_REGIME_COUNT);
    rungi_amx_blocking l = choose_blocking(job, path, RUNGI_AMX_REGIME_LARGE, true, INT64_MAX);
    rungi_amx_packed_b_fill(&l, job, packed);
}

/* ---- Configuration --------------------------------------------------------------------------------------------- */

/* Chooses tiles, or dot products if tiles are missing or the system denies them. The system is asked last, because the
 * permission changes the process (rung.h, "Signals"). */
static rung_status choose_path(rung_type in, const rungi_cpu_features *has, rungi_amx_path *path)
{
    bool has_tiles = has->isa >= RUNGI_ISA_AMX, has_dots = in == RUNG_BF16 ? has->has_bf16 : has->has_vnni;
    if (in == RUNG_F32 && !has_tiles)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs AMX for f32, which is not available");
    if (in != RUNG_F32 && !has_dots)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs AMX or %s for %s, which are not available",
                          in == RUNG_BF16 ? "AVX512_BF16" : "AVX512_VNNI", rung_type_name(in));
    has_tiles = has_tiles && rungi_amx_request();
    if (in == RUNG_F32 && !has_tiles)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "12_matrix: the system denies AMX to this process; if alternate signal stacks "
                          "(sigaltstack) exist, give them at least 16 KiB");
    *path = in == RUNG_F32    ? RUNGI_AMX_PATH_BF16X3
            : in == RUNG_BF16 ? has_tiles ? RUNGI_AMX_PATH_BF16 : RUNGI_AMX_PATH_DOT_BF16
            : has_tiles       ? RUNGI_AMX_PATH_I8
                              : RUNGI_AMX_PATH_DOT_I8;
    return RUNG_OK;
}

/* Chooses the regime. C may be twice as large as an operand, because it is written only once. */
static rungi_amx_regime choose_regime(const rungi_cpu_job *job)
{
    int64_t size = job->in == RUNG_BF16 ? 2 : 1, bytes = job->parameters[SMALL_KIB] << 10;
    if (job->m > 16 && job->m <= bytes && job->n <= bytes && job->k <= bytes && job->m * job->k * size <= bytes &&
        job->k * job->n * size <= bytes && job->m * job->n * 4 <= 2 * bytes)
        return RUNGI_AMX_REGIME_SMALL;
    return job->m <= job->parameters[THIN_ROWS] ? RUNGI_AMX_REGIME_THIN : RUNGI_AMX_REGIME_LARGE;
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

static rung_status configure_packed_b(const rungi_cpu_job *job, rungi_amx_path path, rungi_cpu_kernel_config *config)
{
    rungi_amx_blocking l = choose_blocking(job, path, RUNGI_AMX_REGIME_LARGE, true, INT64_MAX);
    int64_t bytes;
    TRY(rungi_amx_packed_b_bytes(&l, job->k, job->n, &bytes));
    config->packed = (rungi_packed_layout){
        .packed_type = job->in, .width = PANEL, .k_block = l.slice_k, .bytes = bytes};
    return RUNG_OK;
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    rungi_amx_path path = RUNGI_AMX_PATH_BF16;
    rungi_amx_regime regime = RUNGI_AMX_REGIME_LARGE;
    (void)compute;
    TRY(choose_path(job->in, job->features, &path));
    if (config->has_packed_b)
        TRY(configure_packed_b(job, path, config));
    rungi_amx_path engine = path;
    if (config->has_packed_b ? is_packed_gemv(job) : rungi_gemv_bf16_is_supported(job))
        path = job->m == 1 && !config->has_packed_b ? RUNGI_AMX_PATH_GEMV_ROW : RUNGI_AMX_PATH_GEMV_COLUMN;
    else if (path <= RUNGI_AMX_PATH_I8)
        regime = choose_regime(job);
    else if (path == RUNGI_AMX_PATH_BF16X3 && config->has_packed_b && job->m <= FMA_MAX_ROWS)
        path = RUNGI_AMX_PATH_FMA_FEW_ROWS;
    config->path = (int)path * RUNGI_AMX_REGIME_COUNT + (int)regime;
    /* BF16 dot products run at the rate of F32 FMAs, and packing for them costs more. */
    config->is_slow = path == RUNGI_AMX_PATH_DOT_BF16 || (path == RUNGI_AMX_PATH_BF16X3 && is_bf16x3_slow(job));
    if (config->has_packed_b) /* the choice must not depend on m or A */
        config->is_slow = engine == RUNGI_AMX_PATH_DOT_BF16 ||
                          (engine == RUNGI_AMX_PATH_BF16X3 && (job->n < 48 || job->k < 32));
    config->grain_m = PANEL;
    config->grain_n = PANEL;
    config->scratch = RUNGI_GEMV_SCRATCH_BYTES + (config->has_packed_b ? 2 * rungi_round_up(job->k, 32) : 0);
    if (path < RUNGI_AMX_PATH_GEMV_ROW) {
        rungi_amx_blocking whole = choose_blocking(job, path, regime, config->has_packed_b, INT64_MAX);
        config->scratch = whole.scratch_bytes;
        config->max_cached = whole.cached_slices;
    }
    return RUNG_OK;
}

/* Keeps a panel of A in L1, with space for sums; B is read past L1. Half of L2 is for slices of B, half for sums between slices. */
static void fit_parameters(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    int64_t *kc = &parameters[KC_BYTES], *kd = &parameters[KD_BYTES], nc = parameters[NC_COLUMNS];
    int64_t rows = blocks->half_l2 / (nc * sum_bytes) / RUNGI_AMX_PANEL_WIDTH * RUNGI_AMX_PANEL_WIDTH;
    *kc = rungi_min(*kc, rungi_min(blocks->amx_panel / RUNGI_AMX_PANEL_WIDTH, blocks->half_l2 / nc) / 64 * 64);
    *kc = rungi_max(*kc, MIN_KC);
    *kd = rungi_min(*kd, blocks->half_l2 / nc) / *kc * *kc;
    *kd = *kd > *kc ? *kd : *kc;
    parameters[MC_ROWS] = rungi_min(parameters[MC_ROWS], rows > RUNGI_AMX_PANEL_WIDTH ? rows : RUNGI_AMX_PANEL_WIDTH);
    parameters[SMALL_KIB] = rungi_min(parameters[SMALL_KIB], blocks->small_operand >> 10);
}
#elif defined(__aarch64__)
#include "cpu/mmla/mmla.h"

const rungi_cpu_kernel rungi_cpu_12_matrix = {.run = rungi_mmla_run,
                                              .configure = rungi_mmla_configure,
                                              .fit = rungi_mmla_fit,
                                              .pack = rungi_mmla_pack_b,
                                              .is_threaded = true,
                                              .is_engine = true};
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
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "12_matrix needs an x86-64 or AArch64 processor");
}
#endif

#if !defined(__aarch64__)
const rungi_cpu_kernel rungi_cpu_12_matrix = {
    .run = run, .configure = configure, .fit = fit_parameters, .pack = pack, .is_threaded = true, .is_engine = true};
#endif
