/* SPDX-License-Identifier: Apache-2.0 */
/* peak_device.c - rung peak on devices other than the CPU (see peak.h), through the public interface.
 *
 * Two kernels, lab/bench/peak/fma.cu and copy.cu, run as plans on problems whose shapes give the number of threads and the
 * length of their work. They multiply no matrices; their output is known and checked. */
#include "bench/peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "common/lab_clock.h"
#include "peak/sources.h"
#include "target/target.h"

/* Sums of F32 stay whole up to 2^24: 128 sums of 2^16 steps. */
enum { SAMPLES = 25, SAMPLES_MIN = 5, RUN_MIN_NS = 5000000, BLOCKS_PER_UNIT = 32, K_MAX = 1 << 16 };

/* Everything that one ceiling needs; created for it and freed after it. */
typedef struct peak_run {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel *kernel;
    rung_plan *plan;
    rung_event *event;
    rung_buffer *a, *b, *c;
    rung_problem problem;
    rung_type type; /* of multiply-adds */
    void *on_host;  /* a copy of A or of C */
    int64_t a_bytes, c_bytes;
} peak_run_t;

static void release_run(peak_run_t *run)
{
    rung_plan_destroy(run->plan);
    rung_event_destroy(run->event);
    rung_buffer_destroy(run->a);
    rung_buffer_destroy(run->b);
    rung_buffer_destroy(run->c);
    rung_kernel_destroy(run->kernel);
    free(run->on_host);
}

static rung_status open_kernel(peak_run_t *run, const char *file, const char *text)
{
    const char *backend = rung_device_describe(run->device)->backend;
    TRY(rung_kernel_from_source(run->context, backend, file, text, &run->kernel));
    return rung_event_create(run->device, &run->event);
}

static rung_status make_buffers(peak_run_t *run, int64_t a_bytes, int64_t c_bytes)
{
    run->a_bytes = a_bytes;
    run->c_bytes = c_bytes;
    run->on_host = calloc(1, (size_t)(a_bytes > c_bytes ? a_bytes : c_bytes));
    if (!run->on_host)
        return RUNG_STATUS_NO_MEMORY;
    TRY(rung_buffer_create(run->device, a_bytes, &run->a));
    TRY(rung_buffer_create(run->device, 8, &run->b));
    return rung_buffer_create(run->device, c_bytes, &run->c);
}

/* Fills C with NaN, so that an earlier output cannot pass for a new one. */
static rung_status fill_output_with_nan(peak_run_t *run)
{
    memset(run->on_host, 0xff, (size_t)run->c_bytes);
    TRY(rung_buffer_write(run->queue, run->c, 0, run->c_bytes, run->on_host, NULL));
    return rung_queue_finish(run->queue);
}

static rung_status download_output(peak_run_t *run)
{
    TRY(rung_buffer_read(run->queue, run->c, 0, run->c_bytes, run->on_host, NULL));
    return rung_queue_finish(run->queue);
}

/* Submits one run ahead, so that the time to submit work to an idle device is not measured. */
static rung_status time_run(peak_run_t *run, int64_t *time)
{
    rung_run_options options = {.size = sizeof(rung_run_options), .signal = run->event};
    TRY(rung_plan_run(run->plan, run->queue, &run->problem, NULL));
    TRY(rung_plan_run(run->plan, run->queue, &run->problem, &options));
    return rung_event_time(run->event, time);
}

/* Takes up to SAMPLES samples of `work` operations or bytes each, for at most about a second. */
static rung_status sample(peak_run_t *run, double work, lab_peak_ceiling *ceiling, double *best)
{
    double samples[SAMPLES];
    int64_t count = 0, started = lab_now_ns();
    while (count < SAMPLES && (count < SAMPLES_MIN || lab_now_ns() - started < 1000000000)) {
        int64_t time;
        TRY(time_run(run, &time));
        samples[count++] = work / (double)(time > 0 ? time : 1);
    }
    *best = lab_peak_best_sample(samples, count, &ceiling->spread);
    ceiling->samples = count;
    return RUNG_OK;
}

static void set_ceiling_error(lab_peak_ceiling *ceiling, rung_status status, bool right, const char *wrong)
{
    if (status != RUNG_OK)
        snprintf(ceiling->why_not, sizeof ceiling->why_not, "%.*s", (int)strcspn(rung_error_text(), "\n"),
                 rung_error_text());
    else if (!right)
        snprintf(ceiling->why_not, sizeof ceiling->why_not, "%s", wrong);
    ceiling->is_wrong = status == RUNG_OK && !right;
    if (*ceiling->why_not)
        ceiling->gflops = ceiling->gb_s = ceiling->spread = 0;
}

/* ---- Multiply-adds ------------------------------------------------------------------------------------ */

static double element(rung_type type, const void *from, int64_t i)
{
    return type == RUNG_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* Plans n threads that run k multiply-adds per accumulator. */
static rung_status create_fma_plan(peak_run_t *run, rung_type type, int64_t n, int64_t k, const char *parameters)
{
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = run->kernel, .parameters = parameters};
    run->problem = rung_problem_of(rung_matrix_broadcast(rung_matrix_in_buffer(type, 1, 1, run->a, 0), 1, k),
                                   rung_matrix_broadcast(rung_matrix_in_buffer(type, 1, 1, run->b, 0), k, n),
                                   rung_matrix_in_buffer(type, 1, n, run->c, 0));
    rung_plan_destroy(run->plan);
    run->plan = NULL;
    return rung_plan_create(run->device, &run->problem, &options, &run->plan);
}

/* A variant of the kernel: accumulators per thread, iterations, and whether threads synchronize. */
typedef struct fma_chain {
    int64_t sums, k;
    bool meet;
    char parameters[64];
    double gflops; /* of one run */
} fma_chain_t;

/* Doubles k until a run is long enough to be timed. */
static rung_status calibrate_fma_chain(peak_run_t *run, rung_type type, int64_t n, fma_chain_t *chain)
{
    int64_t time = 0;
    snprintf(chain->parameters, sizeof chain->parameters, "SUMS=%lld,MEET=%d", (long long)chain->sums, chain->meet);
    for (chain->k = 128; time < RUN_MIN_NS && chain->k < K_MAX;) {
        chain->k *= 2;
        TRY(create_fma_plan(run, type, n, chain->k, chain->parameters));
        TRY(time_run(run, &time));
    }
    chain->gflops = 2.0 * (double)chain->sums * (double)chain->k * (double)n / (double)(time > 0 ? time : 1);
    return RUNG_OK;
}

/* Tries all choices of the kernel file: the device determines how many accumulators hide the latency and fit the
 * registers. */
static rung_status find_best_fma_chain(peak_run_t *run, rung_type type, int64_t n, fma_chain_t *best)
{
    const rung_parameter *sums = rung_kernel_parameter(run->kernel, 0);
    for (int64_t i = 0; i < 2 * sums->choice_count; i++) {
        fma_chain_t tried = {.sums = sums->choices[i / 2], .meet = i % 2};
        TRY(calibrate_fma_chain(run, type, n, &tried));
        *best = tried.gflops > best->gflops ? tried : *best;
    }
    return create_fma_plan(run, type, n, best->k, best->parameters);
}

static bool fma_is_correct(const peak_run_t *run, rung_type type, int64_t n, const fma_chain_t *chain)
{
    double expected = (double)(chain->sums * chain->k + chain->sums * (chain->sums - 1) / 2);
    for (int64_t i = 0; i < n; i++)
        if (element(type, run->on_host, i) != expected)
            return false;
    return true;
}

static rung_status measure_fma(peak_run_t *run, lab_peak_ceiling *ceiling, bool *right)
{
    rung_type type = run->type;
    int64_t units = rung_device_describe(run->device)->compute_units;
    fma_chain_t best = {.gflops = 0};
    const float f32[2] = {1};
    const double f64 = 1;
    const void *one = type == RUNG_F64 ? (const void *)&f64 : f32;
    TRY(open_kernel(run, "fma.cu", lab_source_fma));
    int64_t n = lab_kernel_value_or(run->kernel, NULL, type, "BN", 1) * BLOCKS_PER_UNIT * (units > 0 ? units : 1);
    TRY(make_buffers(run, 8, n * rung_type_size(type)));
    TRY(rung_buffer_write(run->queue, run->a, 0, 8, one, NULL));
    TRY(rung_buffer_write(run->queue, run->b, 0, 8, one, NULL));
    TRY(find_best_fma_chain(run, type, n, &best));
    TRY(fill_output_with_nan(run));
    TRY(sample(run, 2.0 * (double)best.sums * (double)best.k * (double)n, ceiling, &ceiling->gflops));
    TRY(download_output(run));
    *right = fma_is_correct(run, type, n, &best);
    return RUNG_OK;
}

/* ---- Bandwidth ---------------------------------------------------------------------------------------- */

/* Returns a number that identifies its index; exact in float. */
static float number_at(int64_t i)
{
    return (float)(i * 7919 % 16777213);
}

static bool copy_is_correct(const peak_run_t *run, int64_t n)
{
    const float *copied = run->on_host;
    for (int64_t i = 0; i < n; i++)
        if (copied[i] != number_at(i))
            return false;
    return true;
}

static rung_status create_copy_plan(peak_run_t *run, int64_t n)
{
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = run->kernel};
    TRY(make_buffers(run, 4 * n, 4 * n));
    for (int64_t i = 0; i < n; i++)
        ((float *)run->on_host)[i] = number_at(i);
    TRY(rung_buffer_write(run->queue, run->a, 0, 4 * n, run->on_host, NULL));
    TRY(rung_queue_finish(run->queue));
    run->problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 1, n, run->a, 0),
                                   rung_matrix_broadcast(rung_matrix_in_buffer(RUNG_F32, 1, 1, run->b, 0), n, n),
                                   rung_matrix_in_buffer(RUNG_F32, 1, n, run->c, 0));
    return rung_plan_create(run->device, &run->problem, &options, &run->plan);
}

static rung_status measure_copy(peak_run_t *run, lab_peak_ceiling *ceiling, bool *right)
{
    int64_t n = ceiling->bytes / 8;
    TRY(open_kernel(run, "copy.cu", lab_source_copy));
    TRY(create_copy_plan(run, n));
    TRY(fill_output_with_nan(run));
    TRY(sample(run, 8.0 * (double)n, ceiling, &ceiling->gb_s));
    TRY(download_output(run));
    *right = copy_is_correct(run, n);
    return RUNG_OK;
}

/* ---- All of it ---------------------------------------------------------------------------------------- */

typedef rung_status measure_t(peak_run_t *run, lab_peak_ceiling *ceiling, bool *right);

/* Adds a ceiling and measures it; `bytes` is the size of A and C together, 0 for registers. */
static void add_ceiling(peak_run_t run, const char *name, const char *level, int64_t bytes, measure_t *measure,
                        lab_peak *peak)
{
    bool right = false;
    lab_peak_ceiling *ceiling = lab_peak_add(peak, name, level);
    if (!ceiling)
        return;
    ceiling->bytes = bytes / 8 * 8;
    rung_status status = measure(&run, ceiling, &right);
    set_ceiling_error(ceiling, status, right,
                      bytes > 0 ? "the copy differs from its source" : "the kernel computed wrong sums");
    release_run(&run);
}

void lab_peak_measure_device(rung_context *context, rung_device *device, rung_queue *queue, lab_peak *peak)
{
    const rung_device_info *info = rung_device_describe(device);
    peak_run_t run = {.context = context, .device = device, .queue = queue, .type = RUNG_F32};
    int64_t cache = lab_device_last_level_cache(info), memory = 4 * cache;
    memory = memory < (int64_t)256 << 20 ? (int64_t)256 << 20 : memory;
    if (info->memory_bytes > 0 && memory > info->memory_bytes / 4)
        memory = info->memory_bytes / 4;
    if (info->max_buffer_bytes > 0 && memory > 2 * info->max_buffer_bytes)
        memory = 2 * info->max_buffer_bytes;
    add_ceiling(run, "fma f32", "registers", 0, measure_fma, peak);
    run.type = RUNG_F64;
    add_ceiling(run, "fma f64", "registers", 0, measure_fma, peak);
    add_ceiling(run, "copy", "cache", cache / 2 < memory ? cache / 2 : memory, measure_copy, peak);
    add_ceiling(run, "copy", "memory", memory, measure_copy, peak);
}
