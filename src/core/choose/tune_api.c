/* SPDX-License-Identifier: Apache-2.0 */
/* tune_api.c - rung_tune(): checks the arguments, runs the search of tune_search.c, compares the best plan with the
 * untuned one and saves it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cancellation.h"
#include "base/clock.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/choose/tune_search.h"
#include "core/plan.h"

enum { FINAL_ROUNDS_MIN = 3, FINAL_ROUNDS_MAX = 9 };

static const double seconds_default = 10;
static const double search_time_fraction = 0.85; /* the rest is for the final comparison */
static const double min_speedup = 1.03;          /* of a plan that is saved */

/* A report and the memory of its texts. */
typedef struct tune_report {
    rung_tune_report report;
    rung_context *context;
    char kernel[256], parameters[RUNG_PARAMETERS_BYTES];
} tune_report_t;

/* ---- Final comparison -------------------------------------------------------------------------------------------- */

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
static rung_status compare(rungi_tuner *tuner, rung_plan *plan, int64_t *untuned_ns, int64_t *best_ns)
{
    int64_t untuned[FINAL_ROUNDS_MAX], best[FINAL_ROUNDS_MAX];
    int rounds = 0;
    for (; rounds < FINAL_ROUNDS_MAX && (rounds < FINAL_ROUNDS_MIN || rungi_clock_ns() < tuner->end); rounds++)
        TRY(rungi_tuner_time_interleaved(tuner, plan, &untuned[rounds], &best[rounds]));
    *untuned_ns = median_of(untuned, rounds);
    *best_ns = median_of(best, rounds);
    return RUNG_OK;
}

/* Creates the plan of the best trial again, verifies and compares it. If its result is wrong, or if it is not faster,
 * the untuned plan becomes the best. */
static rung_status compare_best(rungi_tuner *tuner, int64_t *untuned_ns, int64_t *best_ns)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_plan *plan = NULL;
    bool is_right = false;
    *untuned_ns = *best_ns = tuner->untuned_ns;
    if (tuner->best == 0)
        return RUNG_OK;
    rung_status status = rungi_tuner_create_plan(tuner, &tuner->trials[tuner->best], parameters, &plan);
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

/* Fills the report and saves the record. */
static rung_status finish_report(rungi_tuner *tuner, const rung_problem *problem, tune_report_t *out)
{
    int64_t untuned_ns, best_ns;
    TRY(compare_best(tuner, &untuned_ns, &best_ns));
    const rungi_tune_trial *best = &tuner->trials[tuner->best];
    rung_tune_report *report = &out->report;
    snprintf(out->kernel, sizeof out->kernel, "%s", best->kernel->info.name);
    rungi_kernel_format_parameters(best->kernel, &best->values, out->parameters, sizeof out->parameters);
    report->gflops = rungi_tuner_gflops(tuner, best_ns);
    report->untuned_gflops = rungi_tuner_gflops(tuner, untuned_ns);
    report->measured = tuner->tried;
    report->rejected = tuner->rejected;
    /* A kernel of the caller cannot be saved, since other programs do not have it. */
    const char *path = tuner->options.path;
    report->saved = tuner->best > 0 && report->gflops >= min_speedup * report->untuned_gflops && !(path && !*path) &&
                    best->kernel->step;
    rung_tuning tuning = {
        .size = sizeof tuning, .kernel = report->kernel, .parameters = report->parameters, .gflops = report->gflops};
    return report->saved ? rung_tuning_save(tuner->device, problem, &tuning, path) : RUNG_OK;
}

/* ---- rung_tune --------------------------------------------------------------------------------------------------- */

static rung_status read_options(const rung_tune_options *given, rung_tune_options *options)
{
    TRY(rungi_versioned_options_read(given, options, sizeof *options, "rung_tune_options",
                                     "rung_tune_options_default"));
    if (!(options->seconds >= 0 && options->seconds <= 1e9))
        return rungi_invalid("seconds is %g; it must be from 0 to 1e9 (0 selects %g)", options->seconds,
                             seconds_default);
    if (options->seconds == 0)
        options->seconds = seconds_default;
    return RUNG_OK;
}

static rung_status check_arguments(const rung_device *device, const rung_problem *problem, const rung_kernel *kernel)
{
    rung_problem ordered = *problem;
    if (kernel && (kernel->backend != device->backend || kernel->context != device->context))
        return rungi_invalid("%s is a kernel of another backend or of another context than %s", kernel->info.name,
                             device->info.name);
    TRY(rungi_problem_check_form(problem));
    rungi_problem_put_result_in_c(&ordered);
    int64_t m = ordered.c.rows, n = ordered.c.cols, k = ordered.a.cols;
    if (m == 0 || n == 0 || k == 0)
        return rungi_invalid("the problem has m = %lld, n = %lld, k = %lld; rung_tune needs sizes of at least 1",
                             (long long)m, (long long)n, (long long)k);
    if (problem->b.type != problem->a.type)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "A has type %s and B %s; rung_tune tunes only matrices of the same type",
                          rung_type_name(problem->a.type), rung_type_name(problem->b.type));
    return kernel && kernel->step ? rungi_choose_check_automatic(kernel, &ordered) : RUNG_OK;
}

/* Verifies and times the plan that the library selects without tuning. It is the first trial. */
static rung_status measure_untuned(rungi_tuner *tuner)
{
    bool is_right;
    TRY(rungi_tune_verify(&tuner->bench, tuner->untuned, &is_right, &tuner->untuned_ns));
    if (!is_right)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s and the simplest kernel compute different results on %s; run rung verify --device %s",
                          tuner->untuned->info.kernel, tuner->device->info.name, tuner->device->info.name);
    TRY(rungi_tune_time(&tuner->bench, tuner->untuned, &tuner->untuned_ns));
    tuner->trials[0] = (rungi_tune_trial){.kernel = tuner->untuned->kernel,
                                          .values = tuner->untuned->values,
                                          .is_done = true,
                                          .ratio = 1,
                                          .nanoseconds = tuner->untuned_ns};
    tuner->count = tuner->done = tuner->tried = 1;
    rungi_tuner_report_progress(tuner, tuner->trials);
    return RUNG_OK;
}

/* Tunes a problem without memory. tune() frees what it created. */
static rung_status tune_form(rungi_tuner *tuner, const rung_problem *form, tune_report_t *out)
{
    rung_plan_options options = rungi_plan_options(NULL, NULL);
    TRY(rungi_plan_create_untuned(tuner->device, form, &options, &tuner->untuned));
    TRY(rungi_tune_bench_create(tuner->device, form, &tuner->bench));
    TRY(rungi_plan_create_without_kernel(tuner->device, form, &options, &tuner->scratch));
    tuner->scratch->is_kernel_automatic = true;
    tuner->trials = rungi_allocate_zeroed(tuner->device->context, RUNGI_TUNE_TRIALS_MAX * sizeof *tuner->trials);
    TRY(rungi_allocated(tuner->trials));
    TRY(measure_untuned(tuner));
    TRY(rungi_tuner_search(tuner));
    return finish_report(tuner, form, out);
}

static rung_status tune(rungi_tuner *tuner, const rung_problem *problem, tune_report_t *out)
{
    rung_context *context = tuner->device->context;
    rung_problem form = *problem;
    rungi_problem_clear_memory(&form);
    tuner->bench.device = tuner->device;
    rung_status status = tune_form(tuner, &form, out);
    rungi_release(context, tuner->trials);
    rungi_release(context, tuner->scratch);
    rung_plan_destroy(tuner->untuned);
    rungi_tune_bench_destroy(&tuner->bench);
    return status;
}

rung_status rung_tune(rung_device *device, const rung_problem *problem, const rung_tune_options *options,
                      rung_tune_report **out)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_tuner tuner = {.device = device};
    rung_problem read;
    if (out)
        *out = NULL;
    if (!device || !problem)
        return rungi_invalid("rung_tune needs a device and a problem; one of them is NULL");
    TRY(rungi_problem_read(problem, &read));
    TRY(read_options(options, &tuner.options));
    TRY(check_arguments(device, &read, tuner.options.kernel));
    tune_report_t *created = rungi_allocate_zeroed(device->context, sizeof *created);
    TRY(rungi_allocated(created));
    created->report.kernel = created->kernel;
    created->report.parameters = created->parameters;
    created->context = rungi_context_retain(device->context);
    rungi_saved_error saved = rungi_error_save();
    int64_t start = rungi_clock_ns();
    tuner.end = start + (int64_t)(tuner.options.seconds * 1e9);
    tuner.search_end = start + (int64_t)(tuner.options.seconds * 1e9 * search_time_fraction);
    rung_status status = tune(&tuner, &read, created);
    if (status == RUNG_OK)
        rungi_error_restore(&saved); /* rejected trials are not failures */
    if (status == RUNG_OK && out)
        *out = &created->report;
    else
        rung_tune_report_destroy(&created->report);
    return status;
}

void rung_tune_report_destroy(rung_tune_report *report)
{
    RUNGI_DISABLE_CANCELLATION;
    tune_report_t *created = (tune_report_t *)(void *)report; /* the report is its first member */
    if (!created)
        return;
    rung_context *context = created->context;
    rungi_release(context, created);
    rungi_context_release(context);
}
