/* SPDX-License-Identifier: Apache-2.0 */
/* tune_search.c - the search of rung_tune() for the fastest kernel and parameters. tune_bench.c verifies and times;
 * tune_api.c has the public functions.
 *
 * The search tries, until its time is up: tuning records, every kernel with default parameters, the presets of the
 * fastest kernels, then the other listed values of single parameters of these kernels, starting from the best
 * parameters so far. (The command rung tune treats noise and crashing kernels with more care.) */
#include "core/choose/tune_search.h"

#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/clock.h"
#include "base/try.h"
#include "core/choose/choose_kernel.h"
#include "core/choose/tuning_store.h"
#include "core/plan.h"

enum { LEADING_KERNELS = 3 /* kernels whose parameters are searched */ };

/* A plan this many times slower than the best is not timed further, and its kernel is not a leading kernel. */
static const double slow_factor = 4;

/* A plan estimated to be this many times slower than the best is not run if the time left is too short. */
static const double estimate_factor = 10;

static bool is_time_up(const rungi_tuner *tuner)
{
    return tuner->is_stopped || rungi_clock_ns() >= tuner->search_end;
}

double rungi_tuner_gflops(const rungi_tuner *tuner, int64_t nanoseconds)
{
    return nanoseconds > 0 ? tuner->bench.flops / (double)nanoseconds : 0;
}

/* ---- Trials ------------------------------------------------------------------------------------------------------ */

/* Adds a trial unless an equal one exists. */
static void add_trial(rungi_tuner *tuner, const rung_kernel *kernel, const rungi_parameter_values *values)
{
    size_t bytes = (size_t)kernel->info.parameter_count * sizeof *values->value;
    for (int64_t i = 0; i < tuner->count; i++)
        if (tuner->trials[i].kernel == kernel && memcmp(tuner->trials[i].values.value, values->value, bytes) == 0)
            return;
    if (tuner->count < RUNGI_TUNE_TRIALS_MAX)
        tuner->trials[tuner->count++] = (rungi_tune_trial){.kernel = kernel, .values = *values};
}

/* Adds the kernel with parameters that meet its constraints. */
static void add_parameters(rungi_tuner *tuner, const rung_kernel *kernel, const char *parameters)
{
    rungi_parameter_values values;
    int64_t size = rung_type_size(tuner->bench.problem.a.type);
    if (rungi_kernel_parse_tuned_parameters(kernel, parameters, size, &values) == RUNG_OK)
        add_trial(tuner, kernel, &values);
}

/* Adds the kernel with the parameters that the library selects. */
static void add_default(rungi_tuner *tuner, const rung_kernel *kernel)
{
    if (rungi_choose_set_kernel(tuner->scratch, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults") == RUNG_OK)
        add_trial(tuner, kernel, &tuner->scratch->values);
}

static rung_status add_records(rungi_tuner *tuner)
{
    rungi_tuning_proposal proposals[RUNGI_TUNING_PROPOSALS_MAX];
    int count;
    TRY(rungi_tuning_store_find(tuner->device, &tuner->scratch->problem, proposals, &count));
    for (int i = 0; i < count; i++) {
        rung_kernel *kernel;
        if (rung_kernel_find(tuner->device->context, tuner->device->backend->name, proposals[i].kernel, &kernel) ==
                RUNG_OK &&
            (!tuner->options.kernel || tuner->options.kernel == kernel) &&
            rungi_choose_check_automatic(kernel, &tuner->scratch->problem) == RUNG_OK)
            add_parameters(tuner, kernel, proposals[i].parameters);
    }
    return RUNG_OK;
}

/* Adds the kernels from the top of the ladder down, since the fastest ones are at the top. */
static rung_status add_ladder(rungi_tuner *tuner)
{
    const rungi_backend *backend = tuner->device->backend;
    for (int64_t i = backend->ladder_count - 1; i >= 0; i--) {
        rung_kernel *kernel;
        TRY(rung_kernel_at(tuner->device->context, backend->name, i, &kernel));
        if (rungi_choose_check_automatic(kernel, &tuner->scratch->problem) == RUNG_OK)
            add_default(tuner, kernel);
    }
    return RUNG_OK;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

rung_status rungi_tuner_time_interleaved(rungi_tuner *tuner, rung_plan *plan, int64_t *untuned_ns, int64_t *nanoseconds)
{
    TRY(rungi_tune_time(&tuner->bench, tuner->untuned, untuned_ns));
    TRY(rungi_tune_time(&tuner->bench, plan, nanoseconds));
    tuner->untuned_ns = rungi_min(tuner->untuned_ns, *untuned_ns);
    return RUNG_OK;
}

static rung_status measure_plan(rungi_tuner *tuner, rungi_tune_trial *trial, const char *parameters, rung_plan *plan)
{
    int64_t first, untuned_ns = tuner->untuned_ns;
    double estimate, best = (double)tuner->trials[tuner->best].nanoseconds;
    bool is_right;
    TRY(rungi_tune_estimate(&tuner->bench, trial->kernel, parameters, &estimate));
    if (estimate > estimate_factor * best && estimate > (double)(tuner->search_end - rungi_clock_ns()))
        return RUNG_OK; /* a run would take too long */
    TRY(rungi_tune_verify(&tuner->bench, plan, &is_right, &first));
    if (!is_right) {
        tuner->rejected++;
        return RUNG_OK;
    }
    tuner->tried++;
    trial->nanoseconds = rungi_max(1, first);
    if ((double)first < slow_factor * best)
        TRY(rungi_tuner_time_interleaved(tuner, plan, &untuned_ns, &trial->nanoseconds));
    trial->ratio = (double)trial->nanoseconds / (double)untuned_ns;
    if (trial->ratio < tuner->trials[tuner->best].ratio)
        tuner->best = trial - tuner->trials;
    return RUNG_OK;
}

rung_status rungi_tuner_create_plan(rungi_tuner *tuner, const rungi_tune_trial *trial,
                                    char parameters[RUNG_PARAMETERS_BYTES], rung_plan **plan)
{
    rungi_kernel_format_parameters(trial->kernel, &trial->values, parameters, RUNG_PARAMETERS_BYTES);
    rung_plan_options options = rungi_plan_options(trial->kernel, parameters);
    return rungi_plan_create_normalized(tuner->device, &tuner->bench.problem, &options, plan);
}

static rung_status measure(rungi_tuner *tuner, rungi_tune_trial *trial)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_plan *plan = NULL;
    rung_status status = rungi_tuner_create_plan(tuner, trial, parameters, &plan);
    if (status == RUNG_OK)
        status = measure_plan(tuner, trial, parameters, plan);
    rung_plan_destroy(plan);
    /* Parameters of tuning records and of presets can be invalid on this device; other trials may succeed. */
    if (!rungi_choose_is_rejection(status) && status != RUNG_STATUS_INVALID && status != RUNG_STATUS_TOO_LARGE)
        return status;
    tuner->rejected++;
    return RUNG_OK;
}

void rungi_tuner_report_progress(rungi_tuner *tuner, const rungi_tune_trial *trial)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    if (!tuner->options.progress)
        return;
    rungi_kernel_format_parameters(trial->kernel, &trial->values, parameters, sizeof parameters);
    rung_tune_progress progress = {.tried = tuner->done,
                                   .total = tuner->count,
                                   .kernel = trial->kernel->info.name,
                                   .parameters = parameters,
                                   .gflops = trial->ratio > 0 ? rungi_tuner_gflops(tuner, trial->nanoseconds) : 0,
                                   .best_gflops = rungi_tuner_gflops(tuner, tuner->trials[tuner->best].nanoseconds)};
    if (tuner->options.progress(tuner->options.user, &progress) != 0)
        tuner->is_stopped = true;
}

/* Measures the trials that were added, until the time is up. */
static rung_status measure_added(rungi_tuner *tuner)
{
    for (int64_t i = 0; i < tuner->count && !is_time_up(tuner); i++) {
        rungi_tune_trial *trial = &tuner->trials[i];
        if (trial->is_done)
            continue;
        trial->is_done = true;
        tuner->done++;
        TRY(measure(tuner, trial));
        rungi_tuner_report_progress(tuner, trial);
    }
    return RUNG_OK;
}

/* ---- Searching --------------------------------------------------------------------------------------------------- */

/* Returns the fastest trial of a kernel, or NULL. */
static const rungi_tune_trial *best_of(const rungi_tuner *tuner, const rung_kernel *kernel)
{
    const rungi_tune_trial *best = NULL;
    for (int64_t i = 0; i < tuner->count; i++) {
        const rungi_tune_trial *trial = &tuner->trials[i];
        if (trial->kernel == kernel && trial->ratio > 0 && (!best || trial->ratio < best->ratio))
            best = trial;
    }
    return best;
}

static bool contains_kernel(const rung_kernel *const kernels[], int count, const rung_kernel *kernel)
{
    for (int i = 0; i < count; i++)
        if (kernels[i] == kernel)
            return true;
    return false;
}

/* Finds the fastest kernels, the fastest first. */
static int find_leading_kernels(const rungi_tuner *tuner, const rung_kernel *leaders[LEADING_KERNELS])
{
    double limit = slow_factor * tuner->trials[tuner->best].ratio;
    int count = 0;
    for (const rungi_tune_trial *next = tuner->trials; next && count < LEADING_KERNELS;) {
        next = NULL;
        for (int64_t i = 0; i < tuner->count; i++) {
            const rungi_tune_trial *trial = &tuner->trials[i];
            bool is_allowed = !tuner->options.kernel || trial->kernel == tuner->options.kernel;
            if (is_allowed && trial->ratio > 0 && trial->ratio < limit &&
                !contains_kernel(leaders, count, trial->kernel) && (!next || trial->ratio < next->ratio))
                next = trial;
        }
        if (next)
            leaders[count++] = next->kernel;
    }
    return count;
}

/* Tries the listed values of each parameter in turn, and continues from the fastest. Stops when no change of a single
 * parameter is faster. */
static rung_status search_coordinates(rungi_tuner *tuner, const rung_kernel *kernel)
{
    for (bool is_better = true; is_better && !is_time_up(tuner);) {
        double previous = best_of(tuner, kernel)->ratio;
        for (int64_t i = 0; i < kernel->info.parameter_count && !is_time_up(tuner); i++) {
            rungi_parameter_values values = best_of(tuner, kernel)->values;
            for (int64_t j = 0; j < kernel->parameters[i].choice_count; j++) {
                char parameters[RUNG_PARAMETERS_BYTES];
                values.value[i] = kernel->parameters[i].choices[j];
                rungi_kernel_format_parameters(kernel, &values, parameters, sizeof parameters);
                add_parameters(tuner, kernel, parameters);
            }
            TRY(measure_added(tuner));
        }
        is_better = best_of(tuner, kernel)->ratio < previous;
    }
    return RUNG_OK;
}

rung_status rungi_tuner_search(rungi_tuner *tuner)
{
    const rung_kernel *leaders[LEADING_KERNELS];
    TRY(add_records(tuner));
    if (tuner->options.kernel)
        add_default(tuner, tuner->options.kernel);
    else
        TRY(add_ladder(tuner));
    TRY(measure_added(tuner));
    int count = find_leading_kernels(tuner, leaders);
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; j < leaders[i]->info.preset_count; j++)
            add_parameters(tuner, leaders[i], leaders[i]->presets[j].parameters);
    TRY(measure_added(tuner));
    count = find_leading_kernels(tuner, leaders);
    for (int i = 0; i < count && !is_time_up(tuner); i++)
        TRY(search_coordinates(tuner, leaders[i]));
    return RUNG_OK;
}
