/* SPDX-License-Identifier: Apache-2.0 */
/* contender.c - see contender.h. */
#include "bench/contender.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "common/elements.h"
#include "verify/verify.h"

enum { CALL_SAMPLES = 7, SAMPLE_MIN_NS = 200000, WARM_UP_MAX_NS = 2000000, WAKE_UP_NS = 500000, REPEATS_MAX = 1 << 20 };
enum { DISTURBANCE_MAX_NS = 50000000 }; /* a run that lost the processor for some time slices takes up to this long */

/* ---- Runs ---------------------------------------------------------------------------------------------- */

static rung_run_options run_options_of(const lab_contender *contender, rung_event *signal)
{
    return (rung_run_options){.size = sizeof(rung_run_options),
                              .signal = signal,
                              .workspace = contender->workspace,
                              .packed_b = contender->packed};
}

/* Returns the multiply with the operands on the device or on the host, in the mode of the contender. */
static rung_problem view_of(const lab_bench_problem *problem, const lab_contender *contender, bool on_device)
{
    rung_problem multiply = lab_bench_problem_view(problem, on_device);
    if (contender->computes_q8)
        multiply.compute = RUNG_COMPUTE_Q8;
    return multiply;
}

/* Returns the multiply that is timed next: on the next cold copy, if there are any. */
static rung_problem next_problem_view(const lab_bench_problem *problem, const lab_contender *contender, bool on_device)
{
    rung_problem multiply = view_of(problem, contender, on_device);
    return problem->cold_copies && on_device ? lab_cold_copies_next(problem->cold_copies, &multiply) : multiply;
}

/* Runs the plan, or rung_gemm on the host with batch and epilogue. */
static rung_status run_once(const lab_bench_problem *problem, const rung_problem *multiply,
                            const lab_contender *contender, int64_t *time)
{
    rung_run_options options = run_options_of(contender, problem->event);
    if (contender->kernel) {
        TRY(rung_plan_run(contender->plan, problem->queue, multiply, &options));
        return rung_event_time(problem->event, time);
    }
    rung_problem on_host = view_of(problem, contender, false);
    int64_t started = lab_now_ns();
    rung_status status = rung_multiply(problem->context, &on_host, NULL);
    *time = lab_now_ns() - started;
    return status;
}

/* Runs as many times as a sample has repeats, timed by a clock of this process. */
static rung_status run_repeated(const lab_bench_problem *problem, const lab_contender *contender, int64_t *time)
{
    rung_problem multiply = view_of(problem, contender, contender->kernel != NULL);
    rung_run_options options = run_options_of(contender, NULL);
    rung_status status = RUNG_OK;
    int64_t started = lab_clock_now_ns(problem->clock);
    for (int64_t i = 0; status == RUNG_OK && i < contender->row.repeats; i++) {
        if (problem->cold_copies)
            multiply = lab_cold_copies_next(problem->cold_copies, &multiply);
        status = contender->kernel ? rung_plan_run(contender->plan, problem->queue, &multiply, &options)
                                   : rung_multiply(problem->context, &multiply, NULL);
    }
    *time = lab_clock_now_ns(problem->clock) - started;
    return status;
}

/* ---- Verifying ----------------------------------------------------------------------------------------- */

/* Creates the buffers that a plan needs, and packs B. */
static rung_status prepare_buffers(const lab_bench_problem *problem, const rung_matrix *b, lab_contender *contender)
{
    const rung_plan_info *info = rung_plan_describe(contender->plan);
    if (info->workspace_bytes > 0)
        TRY(rung_buffer_create(problem->device, info->workspace_bytes, &contender->workspace));
    if (!contender->row.is_packed)
        return RUNG_OK;
    TRY(rung_buffer_create(problem->device, info->packed_b_bytes, &contender->packed));
    return rung_plan_pack_b(contender->plan, problem->queue, b, contender->packed, NULL);
}

static rung_status make_plan(const lab_bench_problem *problem, lab_contender *contender)
{
    rung_problem multiply = view_of(problem, contender, true);
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = contender->kernel,
                                 .parameters = contender->requested_parameters,
                                 .split_k = problem->splits,
                                 .max_workspace_bytes = LAB_WORKSPACE_MAX_BYTES,
                                 .shared_carveout_percent = (int)problem->carveout,
                                 .threads = problem->threads,
                                 .packed_b = contender->row.is_packed};
    if (!contender->kernel)
        return RUNG_OK; /* rung_gemm makes its own plans */
    TRY(rung_plan_create(problem->device, &multiply, &options, &contender->plan));
    const rung_plan_info *info = rung_plan_describe(contender->plan);
    lab_bench_row *row = &contender->row;
    snprintf(row->params, sizeof row->params, "%s", info->parameters);
    snprintf(row->origin_text, sizeof row->origin_text, "%s", info->origin_text);
    snprintf(row->library, sizeof row->library, "%s", info->library);
    snprintf(row->warning, sizeof row->warning, "%s", info->warning);
    row->origin = info->origin;
    row->splits = info->split_k;
    row->threads = info->threads;
    row->compute = info->compute;
    return prepare_buffers(problem, &multiply.b, contender);
}

/* Runs once on C in `buffer` and copies the result to the host. */
static rung_status run_for_check(const lab_bench_problem *problem, const rung_problem *multiply,
                                 const lab_contender *contender, rung_buffer *buffer, int64_t offset, int64_t *time)
{
    TRY(lab_bench_problem_clear_c(problem, buffer, offset));
    TRY(run_once(problem, multiply, contender, time));
    if (contender->kernel)
        TRY(lab_bench_problem_read_c(problem, buffer, offset, NULL));
    return rung_queue_finish(problem->queue);
}

/* Returns the shortest of up to three times, so that a single disturbance does not count. */
static rung_status find_shortest_run(const lab_bench_problem *problem, const lab_contender *contender,
                                     int64_t *shortest)
{
    TRY(run_repeated(problem, contender, shortest));
    for (int i = 1; i < 3 && *shortest < DISTURBANCE_MAX_NS; i++) {
        int64_t time;
        TRY(run_repeated(problem, contender, &time));
        *shortest = time < *shortest ? time : *shortest;
    }
    return RUNG_OK;
}

/* Chooses the repeats per sample, so that reading the clock takes a negligible part of a sample. */
static rung_status calibrate(const lab_bench_problem *problem, lab_contender *contender)
{
    contender->row.repeats = 1;
    while (problem->clock != LAB_CLOCK_EVENT && contender->row.repeats < REPEATS_MAX) {
        int64_t time;
        TRY(find_shortest_run(problem, contender, &time));
        contender->verified_run_ns = time / contender->row.repeats;
        if (time >= SAMPLE_MIN_NS)
            break;
        int64_t needed = contender->row.repeats * SAMPLE_MIN_NS / (time > 0 ? time : 1) + 1;
        contender->row.repeats = needed < 8 * contender->row.repeats ? needed : 8 * contender->row.repeats;
    }
    return RUNG_OK;
}

void lab_contender_init(lab_contender *contender, const rung_kernel *kernel, const char *parameters)
{
    memset(contender, 0, sizeof *contender);
    contender->kernel = kernel;
    snprintf(contender->requested_parameters, sizeof contender->requested_parameters, "%s", parameters);
}

void lab_contender_reject(lab_contender *contender, lab_row_state state, const char *format, ...)
{
    va_list arguments;
    contender->row.verified = false;
    contender->row.state = state;
    va_start(arguments, format);
    vsnprintf(contender->row.why_not, sizeof contender->row.why_not, format, arguments);
    va_end(arguments);
}

static rung_status plan_and_run(const lab_bench_problem *problem, lab_contender *contender)
{
    int64_t unused;
    TRY(make_plan(problem, contender));
    rung_problem multiply = view_of(problem, contender, true);
    TRY(run_once(problem, &multiply, contender, &unused)); /* compiles and loads the kernel */
    return run_for_check(problem, &multiply, contender, problem->c.on_device.buffer, 0, &contender->verified_run_ns);
}

void lab_contender_verify(const lab_bench_problem *problem, lab_contender *contender)
{
    rung_problem on_host = view_of(problem, contender, false);
    char why[256] = "";
    if (plan_and_run(problem, contender) != RUNG_OK) {
        lab_contender_reject(contender, LAB_ROW_REFUSED, "%.*s", (int)strcspn(rung_error_text(), "\n"),
                             rung_error_text());
        return;
    }
    contender->row.verified = lab_freivalds_check(&on_host, LAB_VERIFY_SEED, why, sizeof why);
    contender->row.state = LAB_ROW_OK;
    if (!contender->row.verified)
        lab_contender_reject(contender, LAB_ROW_WRONG, "WRONG: %s", why);
    else if (calibrate(problem, contender) != RUNG_OK)
        lab_contender_reject(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
}

void lab_contender_verify_copies(const lab_bench_problem *problem, lab_contender *contender)
{
    const lab_operand_copies *c = &problem->cold_copies->c;
    const int64_t last = problem->cold_copies->count - 1, tested[] = {0, last / 2, last};
    rung_problem on_host = view_of(problem, contender, false), on_device = view_of(problem, contender, true);
    for (int i = 0; contender->row.verified && i < 3; i++) {
        char why[256] = "";
        int64_t unused;
        rung_problem multiply = lab_cold_copies_at(problem->cold_copies, &on_device, tested[i]);
        if (run_for_check(problem, &multiply, contender, c->buffer, tested[i] * c->stride_bytes, &unused) != RUNG_OK)
            lab_contender_reject(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
        else if (!lab_freivalds_check(&on_host, LAB_VERIFY_SEED, why, sizeof why))
            lab_contender_reject(contender, LAB_ROW_WRONG, "WRONG on copy %lld of A, B and C: %s", (long long)tested[i],
                                 why);
    }
}

/* ---- Sampling ------------------------------------------------------------------------------------------ */

/* Submits one short run ahead of a sample. On an idle device the sample would include the time that the processor needs to
 * submit it. */
static rung_status run_warm_up(const lab_bench_problem *problem, const lab_contender *contender)
{
    rung_problem multiply = next_problem_view(problem, contender, true);
    rung_run_options options = run_options_of(contender, NULL);
    if (!contender->plan || contender->verified_run_ns > WARM_UP_MAX_NS)
        return RUNG_OK;
    return rung_plan_run(contender->plan, problem->queue, &multiply, &options);
}

/* Takes a sample with the timestamps of the device. */
static rung_status sample_events(const lab_bench_problem *problem, lab_contender *contender)
{
    int64_t time;
    TRY(run_warm_up(problem, contender));
    rung_problem multiply = next_problem_view(problem, contender, contender->kernel != NULL);
    TRY(run_once(problem, &multiply, contender, &time));
    lab_samples_add(&contender->taken, time, 0, 0);
    contender->spent_ns += time;
    return RUNG_OK;
}

/* Repeats the warm-up until threads that slept are awake. Libraries that wait for all threads at the end of each run need one run
 * for that; rung does not wait for a thread that wakes up late. */
static rung_status wake_threads(const lab_bench_problem *problem, const lab_contender *contender)
{
    int64_t until = lab_now_ns() + WAKE_UP_NS;
    do
        TRY(run_warm_up(problem, contender));
    while (problem->probe_threads > 1 && contender->verified_run_ns <= WARM_UP_MAX_NS && lab_now_ns() < until);
    return RUNG_OK;
}

/* Takes a sample with a clock of this process, between two probes. The warm-up, which leaves caches and threads as the runs
 * do, counts for the budget but not for the sample. */
static rung_status sample_clock(const lab_bench_problem *problem, lab_contender *contender)
{
    int64_t time, started = lab_now_ns();
    int threads = (int)problem->probe_threads;
    if (problem->idle_ns > 0)
        lab_sleep_ns(problem->idle_ns);
    double before = lab_cpu_probe_run(problem->probe, threads);
    TRY(wake_threads(problem, contender));
    TRY(run_repeated(problem, contender, &time));
    lab_samples_add(&contender->taken, time / contender->row.repeats, before,
                    lab_cpu_probe_run(problem->probe, threads));
    contender->spent_ns += lab_now_ns() - started;
    return RUNG_OK;
}

rung_status lab_contender_sample(const lab_bench_problem *problem, lab_contender *contender)
{
    rung_status status = problem->clock == LAB_CLOCK_EVENT ? sample_events(problem, contender)
                                                           : sample_clock(problem, contender);
    contender->row.samples = contender->taken.count;
    return status;
}

/* ---- Batches as single calls --------------------------------------------------------------------------- */

/* Submits one multiply per item of the batch to the same queue. */
static rung_status submit_items(const lab_bench_problem *problem, const lab_contender *contender, rung_plan *plan)
{
    rung_problem all = view_of(problem, contender, true), one = all;
    one.batch = 1;
    for (int64_t i = 0; i < problem->batch; i++) {
        one.a = lab_batch_item(&all.a, i);
        one.b = lab_batch_item(&all.b, i);
        one.c = lab_batch_item(&all.c, i);
        TRY(rung_plan_run(plan, problem->queue, &one, NULL));
    }
    return RUNG_OK;
}

/* Times the items with `item_plan`, or the batch if it is NULL. */
static rung_status time_submission(const lab_bench_problem *problem, const lab_contender *contender,
                                   rung_plan *item_plan, int64_t *time)
{
    rung_problem all = view_of(problem, contender, true);
    rung_run_options options = run_options_of(contender, NULL);
    int64_t started = lab_now_ns();
    rung_status status = item_plan ? submit_items(problem, contender, item_plan)
                                   : rung_plan_run(contender->plan, problem->queue, &all, &options);
    rung_status finished = rung_queue_finish(problem->queue);
    *time = lab_now_ns() - started;
    return status == RUNG_OK ? finished : status;
}

static rung_status time_calls(const lab_bench_problem *problem, lab_contender *contender, rung_plan *item_plan)
{
    int64_t calls[CALL_SAMPLES], batches[CALL_SAMPLES];
    for (int i = 0; i < CALL_SAMPLES; i++) {
        TRY(time_submission(problem, contender, item_plan, &calls[i]));
        TRY(time_submission(problem, contender, NULL, &batches[i]));
    }
    contender->row.calls_wall_ns = lab_median(calls, CALL_SAMPLES);
    contender->row.batch_wall_ns = lab_median(batches, CALL_SAMPLES);
    return RUNG_OK;
}

rung_status lab_contender_time_calls(const lab_bench_problem *problem, lab_contender *contender)
{
    rung_problem one = view_of(problem, contender, true);
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = contender->kernel,
                                 .parameters = contender->row.params,
                                 .split_k = 1,
                                 .shared_carveout_percent = (int)problem->carveout,
                                 .threads = problem->threads};
    one.batch = 1;
    TRY(rung_plan_create(problem->device, &one, &options, &plan));
    rung_status status = time_calls(problem, contender, plan);
    rung_plan_destroy(plan);
    return status;
}

/* ---- Results ------------------------------------------------------------------------------------------- */

void lab_contender_summarise(lab_contender *contender, double best_probe)
{
    lab_bench_row *row = &contender->row;
    lab_sample_summary chosen = lab_samples_summary(&contender->taken, LAB_SPEED_MODE_ANY, 0);
    row->mode = LAB_SPEED_MODE_ANY;
    if (best_probe > 0) {
        row->fast = lab_samples_summary(&contender->taken, LAB_SPEED_MODE_FAST, best_probe);
        row->slow = lab_samples_summary(&contender->taken, LAB_SPEED_MODE_SLOW, best_probe);
        if (row->fast.samples >= LAB_SAMPLES_MIN) {
            row->mode = LAB_SPEED_MODE_FAST;
            chosen = row->fast;
        } else if (row->slow.samples >= LAB_SAMPLES_MIN) {
            row->mode = LAB_SPEED_MODE_SLOW;
            chosen = row->slow;
        }
    }
    row->median_ns = chosen.median_ns;
    row->min_ns = chosen.min_ns;
    row->ci95_ns = chosen.ci95_ns;
    row->worst_ns = chosen.worst_ns;
    row->outliers = chosen.outliers;
    row->samples = chosen.samples;
}

bool lab_contender_needs_samples(const lab_contender *contender, double best_probe, int64_t budget_ns)
{
    if (contender->taken.count == LAB_SAMPLES_MAX || contender->spent_ns >= budget_ns)
        return contender->taken.count == 0;
    bool is_sure = contender->row.samples >= LAB_SAMPLES_MIN &&
                   contender->row.ci95_ns * 100 <= contender->row.median_ns;
    return !is_sure || (best_probe > 0 && contender->row.mode != LAB_SPEED_MODE_FAST);
}

void lab_contender_release(lab_contender *contender)
{
    rung_plan_destroy(contender->plan);
    rung_buffer_destroy(contender->workspace);
    rung_buffer_destroy(contender->packed);
    contender->plan = NULL;
    contender->workspace = contender->packed = NULL;
}
