/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - rung_tune(): searches for the fastest kernel and parameters of a problem. tune_bench.c verifies and times.
 *
 * The search tries, until its time is up: tuning records, every kernel with the library's own parameters, the presets of
 * the fastest kernels, then single parameters of these kernels changed to their other listed values, from the best
 * parameters so far. A final comparison decides whether the best is saved. (The lab's rung tune takes more care of
 * noise and of kernels that crash.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/assert.h"
#include "core/cancel.h"
#include "core/checked.h"
#include "core/choose.h"
#include "core/growth.h"
#include "core/store.h"
#include "core/tune.h"

enum {
    TRIALS_MAX = 4096,
    LEADERS = 3,      /* kernels whose parameters are searched */
    FINAL_ROUNDS = 9, /* and at least ... */
    FINAL_ROUNDS_MIN = 3
};

static const double seconds_default = 10, search_share = 0.85, /* of the time; the rest is for the final comparison */
    hopeless = 4,  /* times as long as the best: not timed further, and its kernel is no leader */
    too_long = 10, /* times as long as the best by an estimate: not run, if the time left does not suffice */
    least_gain = 1.03;

typedef struct trial {
    const rung_kernel *kernel;
    rungi_values values;
    bool is_done;
    double ratio; /* time per time of the untuned plan; 0: rejected, or not run */
    int64_t nanoseconds;
} trial_t;

typedef struct tuner {
    rung_device *device;
    rung_tune_options options;
    rung_plan *scratch; /* for default parameters; has no kernel of its own */
    rung_plan *untuned;
    int64_t untuned_ns; /* the best time so far */
    rungi_tune_bench bench;
    trial_t *trials; /* the first is the untuned plan */
    int64_t count, done, best;
    int64_t tried, rejected;
    int64_t search_end, end; /* on the clock of now() */
    bool is_stopped;
} tuner_t;

/* A report and the memory of its texts. */
typedef struct report {
    rung_tune_report report;
    rung_context *context;
    char kernel[256], parameters[RUNG_PARAMETERS_BYTES];
} report_t;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_over(const tuner_t *tuner)
{
    return tuner->is_stopped || now() >= tuner->search_end;
}

static double gflops_of(const tuner_t *tuner, int64_t nanoseconds)
{
    return nanoseconds > 0 ? tuner->bench.flops / (double)nanoseconds : 0;
}

/* ---- Trials ---------------------------------------------------------------------------------- */

static bool is_same(const trial_t *trial, const rung_kernel *kernel, const rungi_values *values)
{
    return trial->kernel == kernel && memcmp(trial->values.value, values->value,
                                             (size_t)kernel->info.parameter_count * sizeof *values->value) == 0;
}

/* Adds a trial unless it is there already. */
static void add_trial(tuner_t *tuner, const rung_kernel *kernel, const rungi_values *values)
{
    for (int64_t i = 0; i < tuner->count; i++)
        if (is_same(&tuner->trials[i], kernel, values))
            return;
    if (tuner->count < TRIALS_MAX)
        tuner->trials[tuner->count++] = (trial_t){.kernel = kernel, .values = *values};
}

/* Adds the kernel with parameters that meet its constraints. */
static void add_parameters(tuner_t *tuner, const rung_kernel *kernel, const char *parameters)
{
    rungi_values values;
    int64_t size = rung_type_size(tuner->bench.problem.a.type);
    if (rungi_kernel_values(kernel, parameters, size, &values) == RUNG_OK &&
        rungi_kernel_check_range(kernel, &values) == RUNG_OK)
        add_trial(tuner, kernel, &values);
}

/* Adds the kernel with the parameters that the library selects. */
static void add_default(tuner_t *tuner, const rung_kernel *kernel)
{
    if (rungi_choose_take(tuner->scratch, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults") == RUNG_OK)
        add_trial(tuner, kernel, &tuner->scratch->values);
}

static void add_presets(tuner_t *tuner, const rung_kernel *kernel)
{
    for (int64_t i = 0; i < kernel->info.preset_count; i++)
        add_parameters(tuner, kernel, kernel->presets[i].parameters);
}

static rung_status add_records(tuner_t *tuner)
{
    rungi_proposal proposals[RUNGI_PROPOSALS];
    int count;
    rung_status status = rungi_store_find(tuner->device, &tuner->scratch->problem, proposals, &count);
    for (int i = 0; status == RUNG_OK && i < count; i++) {
        rung_kernel *kernel;
        if (rung_kernel_find(tuner->device->context, tuner->device->backend->name, proposals[i].kernel, &kernel) ==
                RUNG_OK &&
            (!tuner->options.kernel || tuner->options.kernel == kernel) &&
            rungi_choose_check(kernel, &tuner->scratch->problem) == RUNG_OK)
            add_parameters(tuner, kernel, proposals[i].parameters);
    }
    return status;
}

/* From the top of the ladder down, since the fast ones are there. */
static rung_status add_ladder(tuner_t *tuner)
{
    const rungi_backend *backend = tuner->device->backend;
    for (int64_t i = backend->ladder_count - 1; i >= 0; i--) {
        rung_kernel *kernel;
        rung_status status = rung_kernel_at(tuner->device->context, backend->name, i, &kernel);
        if (status != RUNG_OK)
            return status;
        if (rungi_choose_check(kernel, &tuner->scratch->problem) == RUNG_OK)
            add_default(tuner, kernel);
    }
    return RUNG_OK;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* Returns whether a failure is the candidate's own, and leaves others a chance. */
static bool is_rejection(rung_status status)
{
    return status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_COMPILE_FAILED || status == RUNG_STATUS_INVALID ||
           status == RUNG_STATUS_TOO_LARGE;
}

/* Times the untuned plan and this one, one after the other. */
static rung_status time_both(tuner_t *tuner, rung_plan *plan, int64_t *untuned_ns, int64_t *nanoseconds)
{
    rung_status status = rungi_tune_time(&tuner->bench, tuner->untuned, untuned_ns);
    if (status == RUNG_OK)
        status = rungi_tune_time(&tuner->bench, plan, nanoseconds);
    if (status == RUNG_OK)
        tuner->untuned_ns = rungi_smaller(tuner->untuned_ns, *untuned_ns);
    return status;
}

/* Returns whether a run would take too long, by an estimate. */
static rung_status is_too_slow(tuner_t *tuner, const trial_t *trial, const char *parameters, bool *is_slow)
{
    double estimate, best = (double)tuner->trials[tuner->best].nanoseconds;
    rung_status status = rungi_tune_estimate(&tuner->bench, trial->kernel, parameters, &estimate);
    *is_slow = estimate > too_long * best && estimate > (double)(tuner->search_end - now());
    return status;
}

static rung_status measure_plan(tuner_t *tuner, trial_t *trial, rung_plan *plan)
{
    int64_t first, untuned_ns;
    bool is_right;
    rung_status status = rungi_tune_verify(&tuner->bench, plan, &is_right, &first);
    if (status != RUNG_OK)
        return status;
    if (!is_right) {
        tuner->rejected++;
        return RUNG_OK;
    }
    tuner->tried++;
    trial->nanoseconds = rungi_larger(1, first);
    untuned_ns = tuner->untuned_ns;
    if ((double)first < hopeless * (double)tuner->trials[tuner->best].nanoseconds)
        status = time_both(tuner, plan, &untuned_ns, &trial->nanoseconds);
    trial->ratio = (double)trial->nanoseconds / (double)untuned_ns;
    if (status == RUNG_OK && trial->ratio < tuner->trials[tuner->best].ratio)
        tuner->best = trial - tuner->trials;
    return status;
}

static rung_status measure(tuner_t *tuner, trial_t *trial)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_plan *plan = NULL;
    bool is_slow = false;
    rungi_kernel_values_text(trial->kernel, &trial->values, parameters, sizeof parameters);
    rung_plan_options options = rungi_tune_plan_options(trial->kernel, parameters);
    rung_status status = rungi_tune_plan_create(&tuner->bench, &tuner->bench.problem, &options, &plan);
    if (status == RUNG_OK)
        status = is_too_slow(tuner, trial, parameters, &is_slow);
    if (status == RUNG_OK && !is_slow)
        status = measure_plan(tuner, trial, plan);
    rung_plan_destroy(plan);
    if (!is_rejection(status))
        return status;
    tuner->rejected++;
    return RUNG_OK;
}

static void report_progress(tuner_t *tuner, const trial_t *trial)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    if (!tuner->options.progress)
        return;
    rungi_kernel_values_text(trial->kernel, &trial->values, parameters, sizeof parameters);
    rung_tune_progress progress = {.tried = tuner->done,
                                   .total = tuner->count,
                                   .kernel = trial->kernel->info.name,
                                   .parameters = parameters,
                                   .gflops = trial->ratio > 0 ? gflops_of(tuner, trial->nanoseconds) : 0,
                                   .best_gflops = gflops_of(tuner, tuner->trials[tuner->best].nanoseconds)};
    if (tuner->options.progress(tuner->options.user, &progress) != 0)
        tuner->is_stopped = true;
}

/* Measures the trials that were added, until the time is up. */
static rung_status measure_added(tuner_t *tuner)
{
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < tuner->count && !is_over(tuner); i++) {
        trial_t *trial = &tuner->trials[i];
        if (trial->is_done)
            continue;
        trial->is_done = true;
        status = measure(tuner, trial);
        tuner->done++;
        if (status == RUNG_OK)
            report_progress(tuner, trial);
    }
    return status;
}

/* ---- Searching ------------------------------------------------------------------------------- */

/* Returns the fastest trial of a kernel, or NULL. */
static const trial_t *best_of(const tuner_t *tuner, const rung_kernel *kernel)
{
    const trial_t *best = NULL;
    for (int64_t i = 0; i < tuner->count; i++) {
        const trial_t *trial = &tuner->trials[i];
        if (trial->kernel == kernel && trial->ratio > 0 && (!best || trial->ratio < best->ratio))
            best = trial;
    }
    return best;
}

static bool is_among(const rung_kernel *const kernels[], int count, const rung_kernel *kernel)
{
    for (int i = 0; i < count; i++)
        if (kernels[i] == kernel)
            return true;
    return false;
}

/* Finds the fastest kernels, the fastest first. */
static int find_leaders(const tuner_t *tuner, const rung_kernel *leaders[LEADERS])
{
    double limit = hopeless * tuner->trials[tuner->best].ratio;
    int count = 0;
    for (const trial_t *next = tuner->trials; next && count < LEADERS;) {
        next = NULL;
        for (int64_t i = 0; i < tuner->count; i++) {
            const trial_t *trial = &tuner->trials[i];
            bool is_allowed = !tuner->options.kernel || trial->kernel == tuner->options.kernel;
            if (is_allowed && trial->ratio > 0 && trial->ratio < limit && !is_among(leaders, count, trial->kernel) &&
                (!next || trial->ratio < next->ratio))
                next = trial;
        }
        if (next)
            leaders[count++] = next->kernel;
    }
    return count;
}

/* Changes one parameter after the other to each of its listed values; where that is faster, goes on from there. Ends
 * where no change of a single parameter is faster. */
static rung_status descend(tuner_t *tuner, const rung_kernel *kernel)
{
    rung_status status = RUNG_OK;
    for (bool is_better = true; is_better && status == RUNG_OK && !is_over(tuner);) {
        double before = best_of(tuner, kernel)->ratio;
        for (int64_t i = 0; status == RUNG_OK && i < kernel->info.parameter_count && !is_over(tuner); i++) {
            rungi_values values = best_of(tuner, kernel)->values;
            for (int64_t j = 0; j < kernel->parameters[i].choice_count; j++) {
                char parameters[RUNG_PARAMETERS_BYTES];
                values.value[i] = kernel->parameters[i].choices[j];
                rungi_kernel_values_text(kernel, &values, parameters, sizeof parameters);
                add_parameters(tuner, kernel, parameters);
            }
            status = measure_added(tuner);
        }
        is_better = best_of(tuner, kernel)->ratio < before;
    }
    return status;
}

static rung_status search(tuner_t *tuner)
{
    const rung_kernel *leaders[LEADERS];
    rung_status status = add_records(tuner);
    if (status == RUNG_OK && tuner->options.kernel)
        add_default(tuner, tuner->options.kernel);
    else if (status == RUNG_OK)
        status = add_ladder(tuner);
    if (status == RUNG_OK)
        status = measure_added(tuner);
    int count = find_leaders(tuner, leaders);
    for (int i = 0; i < count; i++)
        add_presets(tuner, leaders[i]);
    if (status == RUNG_OK)
        status = measure_added(tuner);
    count = find_leaders(tuner, leaders);
    for (int i = 0; status == RUNG_OK && i < count && !is_over(tuner); i++)
        status = descend(tuner, leaders[i]);
    return status;
}

/* ---- The final comparison -------------------------------------------------------------------- */

static int compare_times(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static int64_t median_of(int64_t *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare_times);
    return times[count / 2];
}

/* Compares the best plan with the untuned one by the medians of interleaved rounds. */
static rung_status compare(tuner_t *tuner, rung_plan *plan, int64_t *untuned_ns, int64_t *best_ns)
{
    int64_t untuned[FINAL_ROUNDS], best[FINAL_ROUNDS];
    int rounds = 0;
    for (; rounds < FINAL_ROUNDS && (rounds < FINAL_ROUNDS_MIN || now() < tuner->end); rounds++) {
        rung_status status = time_both(tuner, plan, &untuned[rounds], &best[rounds]);
        if (status != RUNG_OK)
            return status;
    }
    *untuned_ns = median_of(untuned, rounds);
    *best_ns = median_of(best, rounds);
    return RUNG_OK;
}

/* Creates the plan of the best trial again, verifies and compares it. If it is not right, or not faster, the untuned
 * plan becomes the best. */
static rung_status decide(tuner_t *tuner, int64_t *untuned_ns, int64_t *best_ns)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    trial_t *best = &tuner->trials[tuner->best];
    rung_plan *plan = NULL;
    bool is_right = false;
    *untuned_ns = *best_ns = tuner->untuned_ns;
    if (tuner->best == 0)
        return RUNG_OK;
    rungi_kernel_values_text(best->kernel, &best->values, parameters, sizeof parameters);
    rung_plan_options options = rungi_tune_plan_options(best->kernel, parameters);
    rung_status status = rungi_tune_plan_create(&tuner->bench, &tuner->bench.problem, &options, &plan);
    if (status == RUNG_OK)
        status = rungi_tune_verify(&tuner->bench, plan, &is_right, best_ns);
    if (status == RUNG_OK && is_right)
        status = compare(tuner, plan, untuned_ns, best_ns);
    rung_plan_destroy(plan);
    if (!is_right || *best_ns >= *untuned_ns) {
        tuner->best = 0;
        *best_ns = *untuned_ns;
    }
    return status;
}

/* Returns whether the best trial is worth a record, and can have one: a caller's own kernel cannot be found by others. */
static bool is_worth_saving(const tuner_t *tuner, const rung_tune_report *report)
{
    const char *path = tuner->options.path;
    return tuner->best > 0 && report->gflops >= least_gain * report->untuned_gflops && !(path && !*path) &&
           tuner->trials[tuner->best].kernel->step;
}

static rung_status conclude(tuner_t *tuner, const rung_problem *problem, report_t *out)
{
    int64_t untuned_ns, best_ns;
    rung_status status = decide(tuner, &untuned_ns, &best_ns);
    if (status != RUNG_OK)
        return status;
    const trial_t *best = &tuner->trials[tuner->best];
    rung_tune_report *report = &out->report;
    snprintf(out->kernel, sizeof out->kernel, "%s", best->kernel->info.name);
    rungi_kernel_values_text(best->kernel, &best->values, out->parameters, sizeof out->parameters);
    report->gflops = gflops_of(tuner, best_ns);
    report->untuned_gflops = gflops_of(tuner, untuned_ns);
    report->measured = tuner->tried;
    report->rejected = tuner->rejected;
    if (!is_worth_saving(tuner, report))
        return RUNG_OK;
    rung_tuning tuning = rung_tuning_default();
    tuning.kernel = report->kernel;
    tuning.parameters = report->parameters;
    tuning.gflops = report->gflops;
    status = rung_tuning_save(tuner->device, problem, &tuning, tuner->options.path);
    report->saved = status == RUNG_OK;
    return status;
}

/* ---- The call -------------------------------------------------------------------------------- */

static rung_status read_options(const rung_tune_options *given, rung_tune_options *options)
{
    *options = rung_tune_options_default();
    rung_status status = given ? rungi_struct_read(given, options, sizeof *options, "rung_tune_options",
                                                   "rung_tune_options_default")
                               : RUNG_OK;
    if (status != RUNG_OK)
        return status;
    if (!(options->seconds >= 0 && options->seconds <= 1e9))
        return rungi_fail(RUNG_STATUS_INVALID, "seconds is %g; it must be from 0 to 1e9 (0 selects %g)",
                          options->seconds, seconds_default);
    if (options->seconds == 0)
        options->seconds = seconds_default;
    return RUNG_OK;
}

static rung_status check_problem(const rung_problem *problem, const rung_kernel *kernel)
{
    rung_problem ordered = *problem;
    rung_status status = rungi_problem_check_form(problem);
    if (status != RUNG_OK)
        return status;
    rungi_problem_order(&ordered); /* C is the result */
    int64_t m = ordered.c.rows, n = ordered.c.cols, k = ordered.a.cols;
    if (m == 0 || n == 0 || k == 0)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the problem has m = %lld, n = %lld, k = %lld; rung_tune needs sizes of "
                          "at least 1",
                          (long long)m, (long long)n, (long long)k);
    return kernel && kernel->step ? rungi_choose_check(kernel, &ordered) : RUNG_OK;
}

/* Creates, verifies and times the plan that the library selects without tuning: the first trial. */
static rung_status begin(tuner_t *tuner)
{
    trial_t *first = tuner->trials;
    bool is_right;
    rung_status status = rungi_tune_verify(&tuner->bench, tuner->untuned, &is_right, &tuner->untuned_ns);
    if (status == RUNG_OK && !is_right)
        status = rungi_fail(RUNG_STATUS_UNSUPPORTED,
                            "%s gives another result than the simplest kernel on %s: run rung verify "
                            "--device %s",
                            tuner->untuned->info.kernel, tuner->device->info.name, tuner->device->info.name);
    if (status == RUNG_OK)
        status = rungi_tune_time(&tuner->bench, tuner->untuned, &tuner->untuned_ns);
    if (status != RUNG_OK)
        return status;
    *first = (trial_t){.kernel = tuner->untuned->kernel,
                       .values = tuner->untuned->values,
                       .is_done = true,
                       .ratio = 1,
                       .nanoseconds = tuner->untuned_ns};
    tuner->count = tuner->done = tuner->tried = 1;
    report_progress(tuner, first);
    return RUNG_OK;
}

/* Returns the problem without its memory. */
static rung_problem form_of(const rung_problem *problem)
{
    rung_problem form = *problem;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        rung_matrix *view = rungi_problem_place(&form, i);
        view->data = NULL;
        view->buffer = NULL;
        view->offset = 0;
    }
    return form;
}

static rung_status tune(tuner_t *tuner, const rung_problem *problem, report_t *out)
{
    rung_context *context = tuner->device->context;
    rung_plan_options options = rungi_tune_plan_options(NULL, NULL);
    rung_problem form = form_of(problem);
    rung_status status = rungi_plan_create_untuned(tuner->device, &form, &options, &tuner->untuned);
    if (status != RUNG_OK)
        return status;
    status = rungi_tune_bench_create(tuner->device, &form, &tuner->bench);
    if (status == RUNG_OK)
        status = rungi_plan_prepare(tuner->device, &form, &options, &tuner->scratch);
    if (status == RUNG_OK)
        tuner->scratch->is_open = true;
    if (status == RUNG_OK && !(tuner->trials = rungi_new(context, TRIALS_MAX * sizeof *tuner->trials)))
        status = RUNG_STATUS_NO_MEMORY;
    if (status == RUNG_OK)
        status = begin(tuner);
    if (status == RUNG_OK)
        status = search(tuner);
    if (status == RUNG_OK)
        status = conclude(tuner, &form, out);
    rungi_release(context, tuner->trials);
    rungi_release(context, tuner->scratch);
    rung_plan_destroy(tuner->untuned);
    rungi_tune_bench_destroy(&tuner->bench);
    return status;
}

static rung_status check_kernel(const rung_device *device, const rung_kernel *kernel)
{
    if (kernel && (kernel->backend != device->backend || kernel->context != device->context))
        return rungi_fail(RUNG_STATUS_INVALID, "%s is a kernel of another backend or of another context than %s",
                          kernel->info.name, device->info.name);
    return RUNG_OK;
}

rung_status rung_tune(rung_device *device, const rung_problem *problem, const rung_tune_options *options,
                      rung_tune_report **out)
{
    RUNGI_DISABLE_CANCELLATION;
    tuner_t tuner = {.device = device};
    rungi_error before;
    if (out)
        *out = NULL;
    if (!device || !problem)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tune needs a device and a problem; one of them is NULL");
    rung_problem read;
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = read_options(options, &tuner.options);
    problem = &read;
    if (status == RUNG_OK)
        status = check_kernel(device, tuner.options.kernel);
    if (status == RUNG_OK)
        status = check_problem(problem, tuner.options.kernel);
    if (status != RUNG_OK)
        return status;
    report_t *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->report.kernel = made->kernel;
    made->report.parameters = made->parameters;
    made->context = rungi_context_retain(device->context);
    rungi_error_save(&before);
    int64_t start = now();
    tuner.end = start + (int64_t)(tuner.options.seconds * 1e9);
    tuner.search_end = start + (int64_t)(tuner.options.seconds * 1e9 * search_share);
    status = tune(&tuner, problem, made);
    if (status == RUNG_OK)
        rungi_error_restore(&before); /* a rejected candidate is no failure */
    if (status == RUNG_OK && out)
        *out = &made->report;
    else
        rung_tune_report_destroy(&made->report);
    return status;
}

void rung_tune_report_destroy(rung_tune_report *given)
{
    RUNGI_DISABLE_CANCELLATION;
    report_t *made = (report_t *)(void *)given; /* begins with it */
    if (!made)
        return;
    rung_context *context = made->context;
    rungi_release(context, made);
    rungi_context_release(context);
}
