/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - choosing a kernel and its parameters for a problem. See
 * docs/decisions/0018-tuning-store.md for the order in which they are tried. */
#include "core/choose.h"

#include <stdio.h>
#include <string.h>

#include "core/compute.h"
#include "core/problem.h"
#include "core/store.h"
#include "core/tiles.h"

/* ---- One kernel ---------------------------------------------------------------------------- */

/* Returns whether the types of the problem are one of these products. */
static bool is_among(const rung_problem *problem, unsigned products)
{
    rungi_product product = rungi_product_of(problem->a.type, problem->b.type, problem->c.type);
    return product != RUNGI_PRODUCT_COUNT && products & 1u << product;
}

static rung_status check_types(const rung_kernel *kernel, const rung_problem *problem)
{
    if (is_among(problem, kernel->products))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not multiply %s x %s into %s", kernel->info.name,
                      rung_type_name(problem->a.type), rung_type_name(problem->b.type),
                      rung_type_name(problem->c.type));
}

static rung_status check_compute(const rung_kernel *kernel, const rung_problem *problem)
{
    const rung_kernel_info *info = &kernel->info;
    if (problem->a.type == RUNG_F32 && !rungi_compute_is_as_precise(info->compute, problem->compute))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s computes in %s, which is less than %s", info->name,
                          rung_compute_name(info->compute), rung_compute_name(problem->compute));
    return RUNG_OK;
}

/* Returns the name of one of these abilities, or NULL if there are none. */
static const char *ability_name(unsigned abilities)
{
    if (abilities & RUNG_ABILITY_BATCH_OFFSETS)
        return "batch offsets";
    if (abilities & RUNG_ABILITY_EPILOGUE)
        return "an epilogue";
    if (abilities & RUNG_ABILITY_SPLIT_K)
        return "split-K";
    return abilities & RUNG_ABILITY_PACKED_B ? "a packed B" : NULL;
}

static rung_status check_abilities(const rung_plan *plan, const rung_kernel *kernel)
{
    const rung_problem *problem = &plan->problem;
    const rung_kernel_info *info = &kernel->info;
    rung_status status = check_compute(kernel, problem);
    if (status != RUNG_OK)
        return status;
    unsigned needed = 0;
    if (rungi_problem_has_epilogue(problem))
        needed |= RUNG_ABILITY_EPILOGUE;
    if (problem->a.batch_offsets || problem->b.batch_offsets || problem->c.batch_offsets ||
        rungi_problem_addend(problem)->batch_offsets)
        needed |= RUNG_ABILITY_BATCH_OFFSETS;
    if (plan->splits_asked > 1)
        needed |= RUNG_ABILITY_SPLIT_K;
    if (plan->packed_b)
        needed |= RUNG_ABILITY_PACKED_B;
    const char *missing = ability_name(needed & ~info->abilities);
    if (missing)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not support %s", info->name, missing);
    return RUNG_OK;
}

/* Whether tiles of the smaller parameters suit better: if they leave less than half as much
 * unused, since larger ones are faster by less than that. Where the choice is open on a GPU, units
 * that would be idle count as unused too, unless a long k is cut for them; and along a side that
 * a small tile spans, larger ones have nothing to be faster by. */
static bool suits_better(const rung_plan *plan, const rung_kernel *kernel, const char *small, const char *usual)
{
    if (!plan->is_open || rungi_tiles_by_area(plan->device)) {
        double less = rungi_tiles_area(plan, kernel, small);
        return less > 0 && 2 * less < rungi_tiles_area(plan, kernel, usual);
    }
    double less = rungi_tiles_cost(plan, kernel, small), more = rungi_tiles_cost(plan, kernel, usual);
    return less > 0 && (2 * less < more || (less < more && rungi_tiles_span(plan, kernel, small)));
}

/* The parameters to take where none are given: the usual ones, or smaller ones beside them. */
static void default_parameters(const rung_plan *plan, const rung_kernel *kernel, char name[RUNGI_PRESET_NAME])
{
    const rung_device *device = plan->device;
    rung_type sum = rungi_problem_sum_type(&plan->problem);
    char small[RUNGI_PRESET_NAME];
    rungi_kernel_usual_preset(kernel, device->preset, device->architecture, sum, name);
    if (rungi_kernel_small_preset(kernel, device->preset, device->architecture, small) &&
        suits_better(plan, kernel, small, name))
        snprintf(name, RUNGI_PRESET_NAME, "%s", small);
}

/* Lets the device lower the default parameters. A plan that is only compiled has no device. */
static void fit_defaults(rung_plan *plan, const rung_kernel *kernel)
{
    const rung_device *device = plan->device;
    size_t used = strlen(plan->origin_text);
    if (device->ops && device->ops->fit_defaults &&
        device->ops->fit_defaults(device, kernel, rungi_problem_sum_type(&plan->problem), plan->values.value))
        snprintf(plan->origin_text + used, sizeof plan->origin_text - used, ", lowered to the caches");
}

static void set_origin(rung_plan *plan, rung_origin origin, const char *text)
{
    plan->info.origin = origin;
    snprintf(plan->origin_text, sizeof plan->origin_text, "%s", text);
}

rung_status rungi_choose_take(rung_plan *plan, const rung_kernel *kernel, const char *parameters, rung_origin origin,
                              const char *origin_text)
{
    char preset[RUNGI_PRESET_NAME];
    bool are_defaults = !parameters;
    set_origin(plan, origin, origin_text);
    plan->kernel = kernel;
    plan->has_values = false;
    plan->block_threads = plan->block_shared_bytes = 0;
    plan->info.workspace_bytes = 0;
    plan->info.packed_b_bytes = 0;
    plan->info.split_k = 1;
    plan->info.compute = plan->problem.a.type == RUNG_F32 ? kernel->info.compute : RUNG_COMPUTE_STRICT;
    rung_status status = check_types(kernel, &plan->problem);
    if (status == RUNG_OK)
        status = check_abilities(plan, kernel);
    if (status != RUNG_OK)
        return status;
    if (are_defaults) {
        rungi_error before;
        rungi_error_save(&before);
        default_parameters(plan, kernel, preset);
        rungi_error_restore(&before);
        parameters = preset;
        plan->info.origin = *preset ? RUNG_ORIGIN_PRESET : RUNG_ORIGIN_DEFAULTS;
        snprintf(plan->origin_text, sizeof plan->origin_text, "%s%s", *preset ? "preset " : "defaults", preset);
    }
    status = rungi_kernel_values(kernel, parameters, rung_type_size(plan->problem.a.type), &plan->values);
    plan->has_values = status == RUNG_OK;
    if (status == RUNG_OK && are_defaults)
        fit_defaults(plan, kernel);
    return status;
}

/* Makes the plan with this kernel, or says why not. */
static rung_status try_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters, rung_origin origin,
                              const char *origin_text)
{
    rung_status status = rungi_choose_take(plan, kernel, parameters, origin, origin_text);
    return status == RUNG_OK ? plan->device->ops->plan_create(plan) : status;
}

/* With the kernel's defaults, and where the device cannot take those (a block of too
 * many threads), with each other choice of one parameter. */
static rung_status try_choices(rung_plan *plan, const rung_kernel *kernel)
{
    rungi_error first;
    rung_status status = try_kernel(plan, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults");
    if (status != RUNG_STATUS_UNSUPPORTED || check_types(kernel, &plan->problem) != RUNG_OK ||
        check_abilities(plan, kernel) != RUNG_OK)
        return status;
    rungi_error_save(&first);
    int64_t threads = plan->block_threads, shared_bytes = plan->block_shared_bytes;
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        const rung_parameter *parameter = &kernel->parameters[i];
        for (int64_t j = 0; j < parameter->choice_count; j++) {
            char choice[RUNGI_PARAMETER_NAME + 24];
            snprintf(choice, sizeof choice, "%s=%lld", parameter->name, (long long)parameter->choices[j]);
            char origin[sizeof choice + 16];
            snprintf(origin, sizeof origin, "defaults but %s", choice);
            if (try_kernel(plan, kernel, choice, RUNG_ORIGIN_FALLBACK, origin) == RUNG_OK)
                return RUNG_OK;
        }
    }
    rungi_choose_take(plan, kernel, NULL, RUNG_ORIGIN_DEFAULTS, "defaults"); /* what the sentence is about */
    plan->block_threads = threads;
    plan->block_shared_bytes = shared_bytes;
    rungi_error_restore(&first);
    return status;
}

/* Whether a kernel may be taken unasked. */
static rung_status check_choice(const rung_kernel *kernel)
{
    if (kernel->step->is_vendor)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s calls a vendor library and is selected only by name",
                          kernel->info.name);
    if (kernel->info.engine == RUNG_ENGINE_EMULATED)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s emulates a matrix engine in software and is selected "
                          "only by name",
                          kernel->info.name);
    return RUNG_OK;
}

/* Keeps a rejection for the log, in one sentence; `whose` is NULL where that says it itself. */
static void note_refusal(rung_plan *plan, const char *whose)
{
    size_t used = strlen(plan->rejected);
    const char *sentence = rung_error_text();
    snprintf(plan->rejected + used, sizeof plan->rejected - used, "%s%s%s%.*s", used ? "; " : "", whose ? whose : "",
             whose ? ": " : "", (int)strcspn(sentence, "\n"), sentence);
}

/* ---- Attempts ------------------------------------------------------------------------------ */

static void begin_attempt(rung_plan *plan, rung_origin origin, const char *origin_text)
{
    plan->kernel = NULL;
    plan->has_values = false;
    plan->block_threads = plan->block_shared_bytes = 0;
    set_origin(plan, origin, origin_text);
}

/* Makes a created plan what it was before. */
static void undo(rung_plan *plan)
{
    plan->device->ops->plan_destroy(plan);
    plan->state = NULL;
    plan->needs_aligned = 0;
    plan->info.library = plan->info.warning = "";
}

/* Reports an attempt and destroys what it created. */
static rung_status report(rung_plan *plan, const rungi_visitor *visitor, const char *kernel, const char *parameters,
                          rung_status status)
{
    char all[RUNG_PARAMETERS_BYTES];
    if (plan->has_values) {
        rungi_kernel_values_text(plan->kernel, &plan->values, all, sizeof all);
        parameters = all;
    }
    rung_status visited = visitor->visit(visitor->user, plan, &(rungi_attempt){kernel, parameters, status});
    if (status == RUNG_OK)
        undo(plan);
    return visited;
}

/* Returns whether a failure is the kernel's and leaves other kernels a chance. */
static bool is_rejection(rung_status status)
{
    return status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_COMPILE_FAILED;
}

/* ---- What was measured ------------------------------------------------------------------- */

rung_status rungi_choose_check(const rung_kernel *kernel, const rung_problem *problem)
{
    rung_status status = check_choice(kernel);
    if (status == RUNG_OK)
        status = check_types(kernel, problem);
    return status == RUNG_OK ? check_compute(kernel, problem) : status;
}

/* A record names every parameter, so that it means what was measured whatever the defaults
 * become. */
static rung_status check_parameters(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    char all[RUNG_PARAMETERS_BYTES];
    rungi_values values;
    rung_status status = rungi_kernel_values(kernel, parameters, rung_type_size(plan->problem.a.type), &values);
    if (status != RUNG_OK)
        return status;
    status = rungi_kernel_check_range(kernel, &values);
    if (status != RUNG_OK)
        return status;
    rungi_kernel_values_text(kernel, &values, all, sizeof all);
    if (strcmp(all, parameters) != 0)
        return rungi_fail(RUNG_STATUS_INVALID, "the parameters of %s are now \"%s\"", kernel->info.name,
                          kernel->defaults);
    return RUNG_OK;
}

static rung_status try_proposal(rung_plan *plan, const rungi_proposal *proposal)
{
    rung_kernel *kernel;
    rung_status status = rung_kernel_find(plan->device->context, plan->device->backend->name, proposal->kernel,
                                          &kernel);
    if (status == RUNG_OK && strcmp(kernel->info.name, proposal->kernel) != 0)
        status = rungi_fail(RUNG_STATUS_NOT_FOUND, "a record gives a kernel's whole name, %s", kernel->info.name);
    if (status == RUNG_OK)
        status = rungi_choose_check(kernel, &plan->problem);
    if (status == RUNG_OK)
        status = check_parameters(plan, kernel, proposal->parameters);
    if (status != RUNG_OK)
        return status;
    return try_kernel(plan, kernel, proposal->parameters, RUNG_ORIGIN_TUNING, proposal->origin);
}

/* Whatever a record fails by is no failure of the plan: if memory is really short or the device is lost, the ladder
 * fails too. */
static rung_status consider_record(rung_plan *plan, const rungi_proposal *proposal, bool is_noted)
{
    begin_attempt(plan, RUNG_ORIGIN_TUNING, proposal->origin);
    rung_status status = try_proposal(plan, proposal);
    if (status == RUNG_STATUS_COMPILE_FAILED)
        rungi_store_pass_over(plan->device->context, proposal);
    if (status != RUNG_OK && is_noted)
        note_refusal(plan, proposal->origin);
    return status;
}

/* RUNG_STATUS_NOT_FOUND if no record serves, or all were reported. */
static rung_status choose_by_store(rung_plan *plan, const rungi_visitor *visitor)
{
    enum { NOTED = 2 }; /* the rest of the line is for kernels */
    rungi_proposal proposals[RUNGI_PROPOSALS];
    int count, rejected = 0;
    rung_status status = rungi_store_find(plan->device, &plan->problem, proposals, &count);
    if (status != RUNG_OK)
        return status;
    for (int i = 0; i < count; i++) {
        status = consider_record(plan, &proposals[i], rejected < NOTED);
        rejected += status != RUNG_OK;
        if (visitor)
            status = report(plan, visitor, proposals[i].kernel, proposals[i].parameters, status);
        if ((status == RUNG_OK) != (visitor != NULL))
            return status; /* created, or the visitor failed */
    }
    size_t used = strlen(plan->rejected);
    if (rejected > NOTED)
        snprintf(plan->rejected + used, sizeof plan->rejected - used, "; %d more records", rejected - NOTED);
    return RUNG_STATUS_NOT_FOUND;
}

/* ---- What can be counted ------------------------------------------------------------------- */

/* One kernel of an open choice. */
static rung_status consider(rung_plan *plan, const rung_kernel *kernel)
{
    begin_attempt(plan, RUNG_ORIGIN_DEFAULTS, "defaults");
    rung_status status = check_choice(kernel);
    if (status == RUNG_OK)
        status = try_choices(plan, kernel);
    if (is_rejection(status))
        note_refusal(plan, NULL);
    return status;
}

/* Returns the products that at least one kernel of the ladder multiplies without being named. */
static unsigned products_of_ladder(const rung_plan *plan)
{
    const rungi_backend *backend = plan->device->backend;
    unsigned products = 0;
    rung_kernel *kernel;
    for (int64_t i = 0; i < backend->ladder_count; i++)
        if (rung_kernel_at(plan->device->context, backend->name, i, &kernel) == RUNG_OK &&
            check_choice(kernel) == RUNG_OK)
            products |= kernel->products;
    return products;
}

static rung_status fail_types(const rung_problem *problem, unsigned products)
{
    char list[256];
    rungi_product_words(products, list, sizeof list);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "no kernel multiplies %s x %s into %s; supported products (input:output): %s",
                      rung_type_name(problem->a.type), rung_type_name(problem->b.type), rung_type_name(problem->c.type),
                      *list ? list : "none");
}

/* Fails because no kernel was taken: one sentence if the types are to blame, else the reason of each kernel. */
static rung_status fail_choice(const rung_plan *plan, rung_status refusal)
{
    unsigned products = products_of_ladder(plan);
    if (!is_among(&plan->problem, products))
        return fail_types(&plan->problem, products);
    return rungi_fail(refusal, "%s takes no such problem: %s", plan->device->info.name, plan->rejected);
}

/* From the top of the ladder down, the first that takes the problem; those with
 * parameters for this kind of device before all others. */
static rung_status choose_by_ladder(rung_plan *plan, const rungi_visitor *visitor)
{
    const rungi_backend *backend = plan->device->backend;
    const char *preset = plan->device->preset;
    rung_status refusal = RUNG_STATUS_UNSUPPORTED;
    for (int round = preset ? 0 : 1; round < 2; round++) {
        for (int64_t i = backend->ladder_count - 1; i >= 0; i--) {
            rung_kernel *kernel;
            rung_status status = rung_kernel_at(plan->device->context, backend->name, i, &kernel);
            if (status != RUNG_OK)
                return status;
            bool is_meant = preset && rungi_kernel_has_preset(kernel, preset);
            if (is_meant != (round == 0))
                continue;
            status = consider(plan, kernel);
            if (is_rejection(status))
                refusal = status;
            if (visitor && (status == RUNG_OK || is_rejection(status)))
                status = report(plan, visitor, kernel->info.name, "", status);
            if (visitor ? status != RUNG_OK : !is_rejection(status))
                return status;
        }
    }
    return visitor ? RUNG_OK : fail_choice(plan, refusal);
}

static rung_status choose_freely(rung_plan *plan, const rungi_visitor *visitor)
{
    plan->is_open = true;
    /* Records are for one order of m, and a packed B has one layout for every m. */
    bool has_records = !plan->packed_b && !plan->skips_records;
    rung_status status = has_records ? choose_by_store(plan, visitor) : RUNG_STATUS_NOT_FOUND;
    return status == RUNG_STATUS_NOT_FOUND ? choose_by_ladder(plan, visitor) : status;
}

/* ---- What the caller names --------------------------------------------------------------- */

static rung_status check_given(const rung_plan *plan, const rung_kernel *kernel)
{
    if (kernel->backend != plan->device->backend)
        return rungi_fail(RUNG_STATUS_INVALID, "%s is a kernel of %s, not of %s", kernel->info.name,
                          kernel->backend->name, plan->device->info.name);
    if (kernel->context != plan->device->context)
        return rungi_fail(RUNG_STATUS_INVALID, "%s was found in another context than the device's", kernel->info.name);
    return RUNG_OK;
}

static rung_status choose_given(rung_plan *plan, const rung_kernel *kernel, const char *parameters,
                                const rungi_visitor *visitor)
{
    rung_status status = check_given(plan, kernel);
    if (status != RUNG_OK)
        return status;
    status = try_kernel(plan, kernel, parameters && *parameters ? parameters : NULL, RUNG_ORIGIN_GIVEN, "given");
    if (!visitor || status == RUNG_STATUS_NO_MEMORY || status == RUNG_STATUS_DEVICE_LOST)
        return status;
    return report(plan, visitor, kernel->info.name, "", status);
}

rung_status rungi_choose(rung_plan *plan, const rung_plan_options *options, const rungi_visitor *visitor)
{
    rungi_error before;
    rung_status status;
    rungi_error_save(&before);
    if (options && options->kernel)
        status = choose_given(plan, options->kernel, options->parameters, visitor);
    else if (options && options->parameters && *options->parameters)
        status = rungi_fail(RUNG_STATUS_INVALID, "parameters are a kernel's; say which kernel \"%s\" are for",
                            options->parameters);
    else
        status = choose_freely(plan, visitor);
    if (status == RUNG_OK)
        rungi_error_restore(&before); /* a rejection on the way is no failure */
    return status;
}
