/* SPDX-License-Identifier: Apache-2.0 */
/* choose_kernel.c - chooses a kernel and its parameters for a problem. docs/internals/decisions/0018-tuning-store.md
 * describes the order in which kernels are tried. */
#include "core/choose/choose_kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "core/choose/tile_cost.h"
#include "core/choose/tuning_store.h"
#include "core/enum_counts.h"
#include "core/problem.h"

/* Rejected tuning records that a plan lists; kernels need the rest of the text. */
enum { REJECTED_RECORDS_LISTED = 2 };

/* ---- One kernel -------------------------------------------------------------------------------------------------- */

/* Returns whether a bit set of rungi_gemm_types contains the types of the problem. If A is quantized, F8E4M3 x F8E4M3 is no longer
 * the combination without scales. */
static bool supports_types(rungi_gemm_types_set supported, const rung_problem *problem)
{
    rungi_gemm_types types = rungi_gemm_types_of(problem->a.type, problem->b.type, problem->c.type);
    if (rungi_problem_has_quantized_a(problem) && types < RUNGI_GEMM_PLAIN_TYPES_COUNT)
        return (supported & RUNGI_GEMM_FLOAT_PAIRS) != 0;
    return types != RUNGI_GEMM_TYPES_COUNT && (supported & RUNGI_GEMM_TYPES_BIT(types)) != 0;
}

static rung_status check_types(const rung_kernel *kernel, const rung_problem *problem)
{
    if (supports_types(kernel->types, problem))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not multiply %s x %s into %s", kernel->info.name,
                      rung_type_name(problem->a.type), rung_type_name(problem->b.type),
                      rung_type_name(problem->c.type));
}

static rung_status check_compute(const rung_kernel *kernel, const rung_problem *problem)
{
    if (!rungi_problem_has_modes(problem) || rung_kernel_computes(kernel, problem->compute, NULL))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s computes in %s, which is less precise than %s", kernel->info.name,
                      rung_compute_name(rungi_kernel_most_precise(kernel)), rung_compute_name(problem->compute));
}

static rung_status check_abilities(const rung_plan *plan, const rung_kernel *kernel)
{
    const struct {
        bool is_needed;
        unsigned ability;
        const char *name;
    } needs[] = {
        {rungi_problem_has_batch_offsets(&plan->problem), RUNG_ABILITY_BATCH_OFFSETS, "batch offsets"},
        {rungi_problem_has_epilogue(&plan->problem), RUNG_ABILITY_EPILOGUE, "an epilogue"},
        {plan->split_k_requested > 1, RUNG_ABILITY_SPLIT_K, "split-K"},
        {plan->packed_b, RUNG_ABILITY_PACKED_B, "a packed B"},
    };
    TRY(check_compute(kernel, &plan->problem));
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].is_needed && !(kernel->info.abilities & needs[i].ability))
            return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not support %s", kernel->info.name, needs[i].name);
    return RUNG_OK;
}

/* Returns whether the small preset wastes less than half as much as the default preset. The default's larger tiles are
 * less than twice as fast. On a GPU with an automatic choice, idle compute units count as waste too, and a small tile
 * that spans a side of C is already as fast as a larger one. */
static bool is_small_preset_better(const rung_plan *plan, const rung_kernel *kernel, const char *small_preset,
                                   const char *normal_preset)
{
    rungi_tile_cost small = rungi_tile_cost_of(plan, kernel, small_preset);
    rungi_tile_cost normal = rungi_tile_cost_of(plan, kernel, normal_preset);
    /* With a preset for the kind of device, compute units do not correspond to tiles: only the tile area can be counted.
     * On NVIDIA and AMD GPUs a compute unit is a multiprocessor, which computes a tile alone; other OpenCL drivers count
     * execution units or threads. */
    if (!plan->is_kernel_automatic || plan->device->preset)
        return small.area > 0 && 2 * small.area < normal.area;
    return small.wave_area > 0 &&
           (2 * small.wave_area < normal.wave_area || (small.wave_area < normal.wave_area && small.has_spanning_tile));
}

/* Writes the name of the default preset: that of the plan's compute mode, if the kernel has several modes and this is not
 * the usual one, or else that of the device. */
static void default_preset(const rung_plan *plan, const rung_kernel *kernel, char name[RUNGI_PRESET_NAME_BYTES])
{
    const rung_device *device = plan->device;
    snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s", rung_compute_name(plan->info.compute));
    if (!rungi_kernel_needs_compute_macro(kernel, &plan->problem) || !rungi_kernel_has_preset(kernel, name))
        rungi_kernel_default_preset(kernel, device->preset, device->architecture,
                                    rungi_problem_accumulator_type(&plan->problem), name);
}

/* Selects the default preset, or the small preset of the device if that fits the problem better. */
static void select_preset(const rung_plan *plan, const rung_kernel *kernel, char name[RUNGI_PRESET_NAME_BYTES])
{
    const rung_device *device = plan->device;
    char small[RUNGI_PRESET_NAME_BYTES];
    if (rungi_kernel_rows_preset(kernel, plan->problem.c.rows, name))
        return;
    default_preset(plan, kernel, name);
    if (rungi_kernel_small_preset(kernel, device->preset, device->architecture, small) &&
        is_small_preset_better(plan, kernel, small, name))
        snprintf(name, RUNGI_PRESET_NAME_BYTES, "%s", small);
}

/* Lets the device lower the default parameters. A device that only compiles has no operations. */
static void fit_defaults(rung_plan *plan, const rung_kernel *kernel)
{
    const rung_device *device = plan->device;
    if (device->ops && device->ops->fit_defaults &&
        device->ops->fit_defaults(device, kernel, rungi_problem_accumulator_type(&plan->problem), plan->values.value))
        rungi_text_append(plan->origin_text, sizeof plan->origin_text, ", lowered to the caches");
}

/* Clears what an earlier attempt has set in the plan. */
static void reset_attempt(rung_plan *plan, rung_origin origin, const char *origin_text)
{
    plan->kernel = NULL;
    plan->has_parameter_values = false;
    plan->block_threads = plan->block_shared_bytes = 0;
    plan->split_k_ranked = 0;
    plan->info.origin = origin;
    snprintf(plan->origin_text, sizeof plan->origin_text, "%s", origin_text);
}

rung_status rungi_choose_set_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters,
                                    rung_origin origin, const char *origin_text)
{
    char preset[RUNGI_PRESET_NAME_BYTES];
    bool uses_defaults = !parameters;
    reset_attempt(plan, origin, origin_text);
    plan->kernel = kernel;
    plan->info.workspace_bytes = plan->info.packed_b_bytes = 0;
    plan->info.split_k = 1;
    plan->info.compute = rungi_kernel_compute(kernel, &plan->problem);
    TRY(check_types(kernel, &plan->problem));
    TRY(check_abilities(plan, kernel));
    if (uses_defaults) {
        rungi_saved_error saved = rungi_error_save();
        select_preset(plan, kernel, preset);
        rungi_error_restore(&saved);
        parameters = preset;
        plan->info.origin = *preset ? RUNG_ORIGIN_PRESET : RUNG_ORIGIN_DEFAULTS;
        snprintf(plan->origin_text, sizeof plan->origin_text, "%s%s", *preset ? "preset " : "defaults", preset);
    }
    TRY(rungi_kernel_parse_parameters(kernel, parameters, rung_type_size(plan->problem.a.type), &plan->values));
    plan->has_parameter_values = true;
    if (uses_defaults)
        fit_defaults(plan, kernel);
    return RUNG_OK;
}

/* Creates the plan with this kernel. */
static rung_status try_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters, rung_origin origin,
                              const char *origin_text)
{
    TRY(rungi_choose_set_kernel(plan, kernel, parameters, origin, origin_text));
    return plan->device->ops->plan_create(plan);
}

/* Creates the plan with a preset that the device ranked. */
static rung_status try_ranked_preset(rung_plan *plan, const rungi_ranked_preset *ranked)
{
    rung_kernel *kernel;
    char origin[RUNGI_PRESET_NAME_BYTES + 32];
    bool is_preset = *ranked->preset != '\0';
    snprintf(origin, sizeof origin, "%s%s, predicted", is_preset ? "preset " : "defaults", ranked->preset);
    TRY(rung_kernel_find(plan->device->context, plan->device->backend->name, ranked->kernel, &kernel));
    TRY(rungi_choose_set_kernel(plan, kernel, ranked->preset, is_preset ? RUNG_ORIGIN_PRESET : RUNG_ORIGIN_DEFAULTS,
                                origin));
    plan->split_k_ranked = ranked->splits;
    return plan->device->ops->plan_create(plan);
}

/* Tries the kernel's default parameters. If the device does not support them (too many threads per block), tries each
 * other value of a single parameter. */
static rung_status try_parameter_choices(rung_plan *plan, const rung_kernel *kernel)
{
    rung_status status = try_kernel(plan, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults");
    if (status != RUNG_STATUS_UNSUPPORTED || check_types(kernel, &plan->problem) != RUNG_OK ||
        check_abilities(plan, kernel) != RUNG_OK)
        return status;
    rungi_saved_error first = rungi_error_save();
    int64_t threads = plan->block_threads, shared_bytes = plan->block_shared_bytes;
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        const rung_parameter *parameter = &kernel->parameters[i];
        for (int64_t j = 0; j < parameter->choice_count; j++) {
            char choice[RUNGI_PARAMETER_NAME_MAX + 24];
            snprintf(choice, sizeof choice, "%s=%lld", parameter->name, (long long)parameter->choices[j]);
            char origin[sizeof choice + 16];
            snprintf(origin, sizeof origin, "defaults but %s", choice);
            if (try_kernel(plan, kernel, choice, RUNG_ORIGIN_FALLBACK, origin) == RUNG_OK)
                return RUNG_OK;
        }
    }
    rungi_choose_set_kernel(plan, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults"); /* as the error text says */
    plan->block_threads = threads;
    plan->block_shared_bytes = shared_bytes;
    rungi_error_restore(&first);
    return status;
}

/* Checks that the library may choose the kernel without the caller naming it. */
static rung_status check_automatic(const rung_kernel *kernel)
{
    if (kernel->step->is_vendor)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s calls a vendor library and is selected only by name",
                          kernel->info.name);
    if (kernel->info.engine == RUNG_ENGINE_EMULATED && kernel->info.only_sm > 0)
        return rungi_kernel_reject_backend(kernel);
    if (kernel->info.engine == RUNG_ENGINE_EMULATED)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s emulates a matrix engine in software and is selected only by name", kernel->info.name);
    return RUNG_OK;
}

/* Adds the first line of the error text to the plan's list of rejections, after a name if that is not NULL. */
static void append_rejection(rung_plan *plan, const char *name)
{
    const char *reason = rung_error_text();
    rungi_text_append(plan->rejected, sizeof plan->rejected, "%s%s%s%.*s", *plan->rejected ? "; " : "",
                      name ? name : "", name ? ": " : "", (int)strcspn(reason, "\n"), reason);
}

/* ---- Attempts ---------------------------------------------------------------------------------------------------- */

/* Reports an attempt and destroys what it created. */
static rung_status report_attempt(rung_plan *plan, const rungi_attempt_visitor *visitor, const char *kernel,
                                  const char *parameters, rung_status status)
{
    char all[RUNG_PARAMETERS_BYTES];
    if (plan->has_parameter_values) {
        rungi_kernel_format_parameters(plan->kernel, &plan->values, all, sizeof all);
        parameters = all;
    }
    rung_status visited = visitor->visit(visitor->user, plan, &(rungi_attempt){kernel, parameters, status});
    if (status == RUNG_OK) {
        plan->device->ops->plan_destroy(plan);
        plan->state = NULL;
        plan->required_alignment = 0;
        plan->info.library = plan->info.warning = "";
    }
    return visited;
}

/* ---- Tuning records ---------------------------------------------------------------------------------------------- */

rung_status rungi_choose_check_automatic(const rung_kernel *kernel, const rung_problem *problem)
{
    TRY(check_automatic(kernel));
    TRY(check_types(kernel, problem));
    return check_compute(kernel, problem);
}

/* Checks the parameters of a record. A record names every parameter, so that it does not depend on defaults, which may
 * change. */
static rung_status check_parameters(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    char all[RUNG_PARAMETERS_BYTES];
    rungi_parameter_values values;
    TRY(rungi_kernel_parse_tuned_parameters(kernel, parameters, rung_type_size(plan->problem.a.type), &values));
    rungi_kernel_format_parameters(kernel, &values, all, sizeof all);
    if (strcmp(all, parameters) != 0)
        return rungi_invalid("the record has the parameters \"%s\"; %s now has \"%s\"", parameters, kernel->info.name,
                             kernel->defaults);
    return RUNG_OK;
}

static rung_status try_tuning_proposal(rung_plan *plan, const rungi_tuning_proposal *proposal)
{
    rung_kernel *kernel;
    TRY(rung_kernel_find(plan->device->context, plan->device->backend->name, proposal->kernel, &kernel));
    if (strcmp(kernel->info.name, proposal->kernel) != 0)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "the record has the kernel %s; a record needs the full name, %s",
                          proposal->kernel, kernel->info.name);
    TRY(rungi_choose_check_automatic(kernel, &plan->problem));
    TRY(check_parameters(plan, kernel, proposal->parameters));
    return try_kernel(plan, kernel, proposal->parameters, RUNG_ORIGIN_TUNING, proposal->origin);
}

/* Tries a record. No failure of a record makes the plan fail: if memory is exhausted or the device is lost, the ladder
 * fails too. */
static rung_status try_tuning_record(rung_plan *plan, const rungi_tuning_proposal *proposal, bool is_rejection_listed)
{
    reset_attempt(plan, RUNG_ORIGIN_TUNING, proposal->origin);
    rung_status status = try_tuning_proposal(plan, proposal);
    if (status == RUNG_STATUS_COMPILE_FAILED)
        rungi_tuning_store_disable(plan->device->context, proposal);
    if (status != RUNG_OK && is_rejection_listed)
        append_rejection(plan, proposal->origin);
    return status;
}

/* Returns RUNG_STATUS_NOT_FOUND if no record fits, or if all were reported to the visitor. */
static rung_status choose_by_tuning(rung_plan *plan, const rungi_attempt_visitor *visitor)
{
    rungi_tuning_proposal proposals[RUNGI_TUNING_PROPOSALS_MAX];
    int count, rejected = 0;
    TRY(rungi_tuning_store_find(plan->device, &plan->problem, proposals, &count));
    for (int i = 0; i < count; i++) {
        rung_status status = try_tuning_record(plan, &proposals[i], rejected < REJECTED_RECORDS_LISTED);
        rejected += status != RUNG_OK;
        if (visitor)
            status = report_attempt(plan, visitor, proposals[i].kernel, proposals[i].parameters, status);
        if ((status == RUNG_OK) != (visitor != NULL))
            return status; /* created, or the visitor failed */
    }
    if (rejected > REJECTED_RECORDS_LISTED)
        rungi_text_append(plan->rejected, sizeof plan->rejected, "; %d more records",
                          rejected - REJECTED_RECORDS_LISTED);
    return RUNG_STATUS_NOT_FOUND;
}

/* ---- Predictions ------------------------------------------------------------------------------------------------- */

/* Creates the plan with the first preset of the device's ranking that it supports. A preset that is not embedded needs a
 * compiler. *kernel receives the kernel that a visitor has seen accepted. Returns RUNG_STATUS_NOT_FOUND if there is no
 * such preset, or if the visitor has seen all. */
static rung_status choose_by_prediction(rung_plan *plan, const rungi_attempt_visitor *visitor,
                                        const rung_kernel **accepted)
{
    rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX];
    int count = plan->device->ops->rank_presets ? plan->device->ops->rank_presets(plan, ranked) : 0;
    for (int i = 0; i < count; i++) {
        rung_status status = try_ranked_preset(plan, &ranked[i]);
        if (status != RUNG_OK && !rungi_choose_is_rejection(status))
            return status;
        if (visitor && status == RUNG_OK) {
            *accepted = plan->kernel;
            TRY(report_attempt(plan, visitor, ranked[i].kernel, ranked[i].preset, status));
            return RUNG_STATUS_NOT_FOUND;
        }
        if (status == RUNG_OK)
            return RUNG_OK;
    }
    return RUNG_STATUS_NOT_FOUND;
}

/* ---- Ladder ------------------------------------------------------------------------------------------------------ */

/* Tries one kernel of the ladder. */
static rung_status try_ladder_kernel(rung_plan *plan, const rung_kernel *kernel)
{
    reset_attempt(plan, RUNG_ORIGIN_DEFAULTS, "defaults");
    rung_status status = check_automatic(kernel);
    if (status == RUNG_OK)
        status = try_parameter_choices(plan, kernel);
    if (rungi_choose_is_rejection(status))
        append_rejection(plan, NULL);
    return status;
}

/* Returns the types that at least one kernel of the ladder supports without being named, as a bit set. */
static rungi_gemm_types_set types_of_ladder(const rung_plan *plan)
{
    const rungi_backend *backend = plan->device->backend;
    rungi_gemm_types_set types = 0;
    rung_kernel *kernel;
    for (int64_t i = 0; i < backend->ladder_count; i++)
        if (rung_kernel_at(plan->device->context, backend->name, i, &kernel) == RUNG_OK &&
            check_automatic(kernel) == RUNG_OK)
            types |= kernel->types;
    return types;
}

/* Fails because no kernel supports the problem: lists the supported types, or the reason of each kernel. */
static rung_status fail_no_kernel(const rung_plan *plan, rung_status rejection)
{
    const rung_problem *problem = &plan->problem;
    rungi_gemm_types_set types = types_of_ladder(plan);
    char list[RUNGI_GEMM_TYPES_TEXT_BYTES];
    if (supports_types(types, problem))
        return rungi_fail(rejection, "no kernel of %s supports this problem: %s", plan->device->info.name,
                          plan->rejected);
    rungi_gemm_types_format(types, list, sizeof list);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "no kernel multiplies %s x %s into %s; supported types (input:output): %s",
                      rung_type_name(problem->a.type), rung_type_name(problem->b.type), rung_type_name(problem->c.type),
                      *list ? list : "none");
}

enum { LADDER_ROUNDS = 3 };

/* Returns the round in which choose_by_ladder() tries a kernel: first those with a preset for this kind of device, last those
 * for few rows, which are slow for other shapes. */
static int ladder_round(const rung_device *device, const rung_kernel *kernel)
{
    return device->preset && rungi_kernel_has_preset(kernel, device->preset) ? 0 : kernel->has_short_rows ? 2 : 1;
}

/* Chooses the first kernel that supports the problem, from the top of the ladder down in each round. `except` was reported to
 * the visitor before; it may be NULL. */
static rung_status choose_by_ladder(rung_plan *plan, const rungi_attempt_visitor *visitor, const rung_kernel *except)
{
    const rungi_backend *backend = plan->device->backend;
    rung_status rejection = RUNG_STATUS_UNSUPPORTED;
    for (int round = 0; round < LADDER_ROUNDS; round++) {
        for (int64_t i = backend->ladder_count - 1; i >= 0; i--) {
            rung_kernel *kernel;
            TRY(rung_kernel_at(plan->device->context, backend->name, i, &kernel));
            if (ladder_round(plan->device, kernel) != round || kernel == except)
                continue;
            rung_status status = try_ladder_kernel(plan, kernel);
            if (rungi_choose_is_rejection(status))
                rejection = status;
            if (visitor && (status == RUNG_OK || rungi_choose_is_rejection(status)))
                status = report_attempt(plan, visitor, kernel->info.name, "", status);
            if (visitor ? status != RUNG_OK : !rungi_choose_is_rejection(status))
                return status;
        }
    }
    return visitor ? RUNG_OK : fail_no_kernel(plan, rejection);
}

/* Chooses by tuning records, then by predictions, then by the ladder. */
static rung_status choose_automatic(rung_plan *plan, const rungi_attempt_visitor *visitor)
{
    const rung_kernel *accepted = NULL;
    plan->is_kernel_automatic = true;
    /* A record is for one size class of m, and a packed B has one layout for every m. */
    bool has_records = !plan->packed_b && !plan->ignores_tuning;
    rung_status status = has_records ? choose_by_tuning(plan, visitor) : RUNG_STATUS_NOT_FOUND;
    if (status == RUNG_STATUS_NOT_FOUND)
        status = choose_by_prediction(plan, visitor, &accepted);
    return status == RUNG_STATUS_NOT_FOUND ? choose_by_ladder(plan, visitor, accepted) : status;
}

/* ---- Kernels named by the caller --------------------------------------------------------------------------------- */

static rung_status choose_named(rung_plan *plan, const rung_kernel *kernel, const char *parameters,
                                const rungi_attempt_visitor *visitor)
{
    if (kernel->backend != plan->device->backend)
        return rungi_invalid("%s is a kernel of %s, not of %s", kernel->info.name, kernel->backend->name,
                             plan->device->info.name);
    if (kernel->context != plan->device->context)
        return rungi_invalid("%s belongs to another context than the device", kernel->info.name);
    rung_status status = try_kernel(plan, kernel, parameters && *parameters ? parameters : NULL, RUNG_ORIGIN_GIVEN,
                                    "given");
    if (!visitor || status == RUNG_STATUS_NO_MEMORY || status == RUNG_STATUS_DEVICE_LOST)
        return status;
    return report_attempt(plan, visitor, kernel->info.name, "", status);
}

rung_status rungi_choose_check_multiplier(const rungi_backend *backend, const rung_problem *problem)
{
    if (backend->has_multiplier || rungi_matrix_is_empty(&problem->multiplier))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "the problem has a multiplier, which kernels of %s do not apply in this version; multiply on the "
                      "device \"cpu\", or leave the multiplier absent and multiply the result element by element",
                      backend->name);
}

rung_status rungi_choose_kernel(rung_plan *plan, const rung_plan_options *options, const rungi_attempt_visitor *visitor)
{
    rung_status status;
    rungi_saved_error saved = rungi_error_save();
    TRY(rungi_choose_check_multiplier(plan->device->backend, &plan->problem));
    if (options && options->kernel)
        status = choose_named(plan, options->kernel, options->parameters, visitor);
    else if (options && options->parameters && *options->parameters)
        status = rungi_invalid("the options have the parameters \"%s\" and no kernel; set the kernel, too",
                               options->parameters);
    else
        status = choose_automatic(plan, visitor);
    if (status == RUNG_OK)
        rungi_error_restore(&saved); /* rejections of other kernels are not failures */
    return status;
}
