/* SPDX-License-Identifier: Apache-2.0 */
/* peak_device.c - see peak.h: a device of blocks and threads, measured through the public interface.
 *
 * Two kernel files of our own, lab/peak/fma.cu and copy.cu, run as plans on problems whose shapes say
 * how many threads there are and how long they work. They multiply no matrices; what they must have
 * written is known, and looked at. */
#include "peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caches.h"
#include "clock.h"
#include "peak/sources.h"
#include "target.h"

/* Sums of F32 stay whole up to 2^24: 128 sums of 2^16 steps. */
enum { SAMPLES = 25, SAMPLES_MIN = 5, ENOUGH_NS = 5000000, BLOCKS_A_UNIT = 32, K_MAX = 1 << 16 };

/* What a kernel is run with; all of it is made for one ceiling and freed after it. */
typedef struct trial {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel *kernel;
    rung_plan *plan;
    rung_event *event;
    rung_buffer *a, *b, *c;
    rung_problem problem;
    void *here; /* as many bytes as C has, of C or of A */
    int64_t a_bytes, c_bytes;
} trial_t;

static void end_trial(trial_t *trial)
{
    rung_plan_destroy(trial->plan);
    rung_event_destroy(trial->event);
    rung_buffer_destroy(trial->a);
    rung_buffer_destroy(trial->b);
    rung_buffer_destroy(trial->c);
    rung_kernel_destroy(trial->kernel);
    free(trial->here);
}

static rung_status open_kernel(trial_t *trial, const char *file, const char *text)
{
    const char *backend = rung_device_describe(trial->device)->backend;
    rung_status status = rung_kernel_from_source(trial->context, backend, file, text, &trial->kernel);
    return status == RUNG_OK ? rung_event_create(trial->device, &trial->event) : status;
}

static rung_status make_buffers(trial_t *trial, int64_t a_bytes, int64_t c_bytes)
{
    trial->a_bytes = a_bytes;
    trial->c_bytes = c_bytes;
    trial->here = calloc(1, (size_t)(a_bytes > c_bytes ? a_bytes : c_bytes));
    rung_status status = trial->here ? rung_buffer_create(trial->device, a_bytes, &trial->a) : RUNG_STATUS_NO_MEMORY;
    if (status == RUNG_OK)
        status = rung_buffer_create(trial->device, 8, &trial->b);
    return status == RUNG_OK ? rung_buffer_create(trial->device, c_bytes, &trial->c) : status;
}

/* Where C is all ones of bits first, nothing of before counts. */
static rung_status spoil(trial_t *trial)
{
    memset(trial->here, 0xff, (size_t)trial->c_bytes);
    rung_status status = rung_buffer_write(trial->queue, trial->c, 0, trial->c_bytes, trial->here, NULL);
    return status == RUNG_OK ? rung_queue_finish(trial->queue) : status;
}

static rung_status fetch(trial_t *trial)
{
    rung_status status = rung_buffer_read(trial->queue, trial->c, 0, trial->c_bytes, trial->here, NULL);
    return status == RUNG_OK ? rung_queue_finish(trial->queue) : status;
}

/* One run in front keeps the device awake, so that handing over is not timed. */
static rung_status time_run(trial_t *trial, int64_t *time)
{
    rung_status status = rung_plan_run(trial->plan, trial->queue, &trial->problem, NULL);
    if (status == RUNG_OK)
        status = rung_plan_run(trial->plan, trial->queue, &trial->problem,
                               &(rung_run_options){.size = sizeof(rung_run_options), .signal = trial->event});
    return status == RUNG_OK ? rung_event_time(trial->event, time) : status;
}

/* `work` operations or bytes a run. As many samples as there should be, or as fit a second. */
static rung_status sample(trial_t *trial, double work, lab_ceiling *ceiling, double *best)
{
    double samples[SAMPLES];
    int64_t count = 0, started = lab_now();
    while (count < SAMPLES && (count < SAMPLES_MIN || lab_now() - started < 1000000000)) {
        int64_t time;
        rung_status status = time_run(trial, &time);
        if (status != RUNG_OK)
            return status;
        samples[count++] = work / (double)(time > 0 ? time : 1);
    }
    *best = lab_peak_best(samples, count, &ceiling->spread);
    ceiling->samples = count;
    return RUNG_OK;
}

static void tell(lab_ceiling *ceiling, rung_status status, bool right, const char *wrong)
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

static void write_one(rung_type type, void *to)
{
    if (type == RUNG_F64)
        *(double *)to = 1;
    else
        *(float *)to = 1;
}

static double element(rung_type type, const void *from, int64_t i)
{
    return type == RUNG_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* One factor, one step, n threads that run k steps each. */
static rung_status make_chain(trial_t *trial, rung_type type, int64_t n, int64_t k, const char *parameters)
{
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = trial->kernel, .parameters = parameters};
    trial->problem = rung_problem_of(rung_matrix_broadcast(rung_matrix_in_buffer(type, 1, 1, trial->a, 0), 1, k),
                                     rung_matrix_broadcast(rung_matrix_in_buffer(type, 1, 1, trial->b, 0), k, n),
                                     rung_matrix_in_buffer(type, 1, n, trial->c, 0));
    rung_plan_destroy(trial->plan);
    trial->plan = NULL;
    return rung_plan_create(trial->device, &trial->problem, &options, &trial->plan);
}

/* A form of the kernel: sums a thread, whether threads meet, steps. */
typedef struct chain {
    int64_t sums, k;
    bool meet;
    char parameters[64];
    double gflops; /* of one run */
} chain_t;

/* Longer and longer, until a run takes its time. */
static rung_status find_chain(trial_t *trial, rung_type type, int64_t n, chain_t *chain)
{
    int64_t time = 0;
    rung_status status = RUNG_OK;
    snprintf(chain->parameters, sizeof chain->parameters, "SUMS=%lld,MEET=%d", (long long)chain->sums, chain->meet);
    for (chain->k = 128; status == RUNG_OK && time < ENOUGH_NS && chain->k < K_MAX;) {
        chain->k *= 2;
        status = make_chain(trial, type, n, chain->k, chain->parameters);
        if (status == RUNG_OK)
            status = time_run(trial, &time);
    }
    chain->gflops = 2.0 * (double)chain->sums * (double)chain->k * (double)n / (double)(time > 0 ? time : 1);
    return status;
}

/* How many sums hide the latency and still fit the registers is the device's business: all that the file
 * thinks worth trying are tried. */
static rung_status find_best(trial_t *trial, rung_type type, int64_t n, chain_t *best)
{
    const rung_parameter *sums = rung_kernel_parameter(trial->kernel, 0);
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < 2 * sums->choice_count; i++) {
        chain_t tried = {.sums = sums->choices[i / 2], .meet = i % 2};
        status = find_chain(trial, type, n, &tried);
        *best = tried.gflops > best->gflops ? tried : *best;
    }
    return status == RUNG_OK ? make_chain(trial, type, n, best->k, best->parameters) : status;
}

static bool chain_is_right(const trial_t *trial, rung_type type, int64_t n, const chain_t *chain)
{
    double expected = (double)(chain->sums * chain->k + chain->sums * (chain->sums - 1) / 2);
    for (int64_t i = 0; i < n; i++)
        if (element(type, trial->here, i) != expected)
            return false;
    return true;
}

static rung_status measure_chain(trial_t *trial, rung_type type, lab_ceiling *ceiling, bool *right)
{
    int64_t units = rung_device_describe(trial->device)->compute_units;
    chain_t best = {.gflops = 0};
    double one = 0;
    rung_status status = open_kernel(trial, "fma.cu", lab_source_fma);
    if (status != RUNG_OK)
        return status;
    int64_t n = lab_kernel_number(trial->kernel, NULL, type, "BN", 1) * BLOCKS_A_UNIT * (units > 0 ? units : 1);
    status = make_buffers(trial, 8, n * rung_type_size(type));
    write_one(type, &one);
    if (status == RUNG_OK)
        status = rung_buffer_write(trial->queue, trial->a, 0, 8, &one, NULL);
    if (status == RUNG_OK)
        status = rung_buffer_write(trial->queue, trial->b, 0, 8, &one, NULL);
    if (status == RUNG_OK)
        status = find_best(trial, type, n, &best);
    if (status == RUNG_OK)
        status = spoil(trial);
    if (status == RUNG_OK)
        status = sample(trial, 2.0 * (double)best.sums * (double)best.k * (double)n, ceiling, &ceiling->gflops);
    if (status == RUNG_OK)
        status = fetch(trial);
    *right = status == RUNG_OK && chain_is_right(trial, type, n, &best);
    return status;
}

/* ---- Bandwidth ---------------------------------------------------------------------------------------- */

/* A number that tells its place; floats hold them all. */
static float number_at(int64_t i)
{
    return (float)(i * 7919 % 16777213);
}

static bool copy_is_right(const trial_t *trial, int64_t n)
{
    const float *copied = trial->here;
    for (int64_t i = 0; i < n; i++)
        if (copied[i] != number_at(i))
            return false;
    return true;
}

static rung_status make_copy(trial_t *trial, int64_t n)
{
    rung_status status = make_buffers(trial, 4 * n, 4 * n);
    for (int64_t i = 0; status == RUNG_OK && i < n; i++)
        ((float *)trial->here)[i] = number_at(i);
    if (status == RUNG_OK)
        status = rung_buffer_write(trial->queue, trial->a, 0, 4 * n, trial->here, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(trial->queue);
    trial->problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 1, n, trial->a, 0),
                                     rung_matrix_broadcast(rung_matrix_in_buffer(RUNG_F32, 1, 1, trial->b, 0), n, n),
                                     rung_matrix_in_buffer(RUNG_F32, 1, n, trial->c, 0));
    return status == RUNG_OK
               ? rung_plan_create(trial->device, &trial->problem,
                                  &(rung_plan_options){.size = sizeof(rung_plan_options), .kernel = trial->kernel},
                                  &trial->plan)
               : status;
}

static rung_status measure_copy(trial_t *trial, lab_ceiling *ceiling, bool *right)
{
    int64_t n = ceiling->bytes / 8;
    rung_status status = open_kernel(trial, "copy.cu", lab_source_copy);
    if (status == RUNG_OK)
        status = make_copy(trial, n);
    if (status == RUNG_OK)
        status = spoil(trial);
    if (status == RUNG_OK)
        status = sample(trial, 8.0 * (double)n, ceiling, &ceiling->gb_s);
    if (status == RUNG_OK)
        status = fetch(trial);
    *right = status == RUNG_OK && copy_is_right(trial, n);
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------------- */

static void add_chain(const trial_t *form, rung_type type, lab_peak *peak)
{
    trial_t trial = *form;
    char name[32];
    bool right = false;
    snprintf(name, sizeof name, "fma %s", rung_type_name(type));
    lab_ceiling *ceiling = lab_peak_add(peak, name, "registers");
    if (!ceiling)
        return;
    rung_status status = measure_chain(&trial, type, ceiling, &right);
    tell(ceiling, status, right, "its sums are wrong");
    end_trial(&trial);
}

/* A and C together are so many bytes. */
static void add_copy(const trial_t *form, const char *level, int64_t bytes, lab_peak *peak)
{
    trial_t trial = *form;
    bool right = false;
    lab_ceiling *ceiling = lab_peak_add(peak, "copy", level);
    if (!ceiling)
        return;
    ceiling->bytes = bytes / 8 * 8;
    rung_status status = measure_copy(&trial, ceiling, &right);
    tell(ceiling, status, right, "the copy is not what was copied");
    end_trial(&trial);
}

void lab_peak_device(rung_context *context, rung_device *device, rung_queue *queue, lab_peak *peak)
{
    const rung_device_info *info = rung_device_describe(device);
    const trial_t form = {.context = context, .device = device, .queue = queue};
    int64_t cache = lab_last_cache(info), memory = 4 * cache;
    memory = memory < (int64_t)256 << 20 ? (int64_t)256 << 20 : memory;
    if (info->memory_bytes > 0 && memory > info->memory_bytes / 4)
        memory = info->memory_bytes / 4;
    if (info->max_buffer_bytes > 0 && memory > 2 * info->max_buffer_bytes)
        memory = 2 * info->max_buffer_bytes;
    add_chain(&form, RUNG_F32, peak);
    add_chain(&form, RUNG_F64, peak);
    add_copy(&form, "cache", cache / 2 < memory ? cache / 2 : memory, peak);
    add_copy(&form, "memory", memory, peak);
}
