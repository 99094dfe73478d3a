/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - choosing a kernel for a problem, and running the choice. */
#include "core/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/run.h"
#include "core/trace.h"

/* ---- Choosing -------------------------------------------------------------------------- */

static rung_status check_types(const rung_kernel *kernel, const rung_problem *problem)
{
    rung_product product = rung_product_of(problem->a.type, problem->c.type);
    if (problem->a.type != problem->b.type || product == RUNG_PRODUCT_COUNT ||
        !(kernel->info.products & 1u << product))
        return rungi_fail(RUNG_UNSUPPORTED, "%s does not multiply %s by %s into %s", kernel->info.name,
                          rung_type_name(problem->a.type), rung_type_name(problem->b.type),
                          rung_type_name(problem->c.type));
    return RUNG_OK;
}

static rung_status check_abilities(const rung_plan *plan, const rung_kernel *kernel)
{
    const rung_problem *problem = &plan->problem;
    const rung_kernel_info *info = &kernel->info;
    if (problem->a.type == RUNG_F32 && info->compute > problem->compute)
        return rungi_fail(RUNG_UNSUPPORTED, "%s computes in %s, which is less than %s", info->name,
                          rung_compute_name(info->compute), rung_compute_name(problem->compute));
    unsigned needed = 0;
    if (rungi_problem_has_epilogue(problem))
        needed |= RUNG_EPILOGUE;
    if (problem->a.batch_offsets || problem->b.batch_offsets || problem->c.batch_offsets)
        needed |= RUNG_SCATTERED;
    if (plan->splits_asked > 1)
        needed |= RUNG_SPLIT;
#define X(ability, bit, words)                                                                       \
    if (needed & ~info->abilities & RUNG_##ability)                                                  \
        return rungi_fail(RUNG_UNSUPPORTED, "%s is not made for " words, info->name);
    RUNG_ABILITY_LIST(X)
#undef X
    return RUNG_OK;
}

/* How much of C's tiles is computed with these parameters, edges and beyond; 0 if the
 * kernel does not take them or does not say what its tiles are. */
static double padded_size(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    const rung_matrix *c = &plan->problem.c;
    rungi_values values;
    int64_t bm, bn;
    if (rungi_kernel_values(kernel, parameters, rung_type_size(plan->problem.a.type), &values) != RUNG_OK ||
        rungi_kernel_number(kernel, &values, rungi_slice_of("BM", 2), &bm) != RUNG_OK ||
        rungi_kernel_number(kernel, &values, rungi_slice_of("BN", 2), &bn) != RUNG_OK || bm < 1 || bn < 1)
        return 0;
    return (double)rungi_divide_up(c->rows, bm) * (double)bm * (double)rungi_divide_up(c->cols, bn) *
           (double)bn;
}

/* The parameters to take where none are given: the usual ones, or smaller ones beside them
 * that leave less than half as much unused. */
static void default_parameters(const rung_plan *plan, const rung_kernel *kernel, char name[RUNGI_PRESET_NAME])
{
    const rung_device *device = plan->device;
    rung_type sum = rungi_problem_sum_type(&plan->problem);
    char small[RUNGI_PRESET_NAME];
    rungi_kernel_usual_preset(kernel, device->preset, device->architecture, sum, name);
    if (!rungi_kernel_small_preset(kernel, device->preset, device->architecture, small))
        return;
    double usual = padded_size(plan, kernel, name), less = padded_size(plan, kernel, small);
    if (less > 0 && 2 * less < usual)
        snprintf(name, RUNGI_PRESET_NAME, "%s", small);
}

/* Makes the plan with this kernel, or says why not. */
static rung_status try_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    char preset[RUNGI_PRESET_NAME];
    plan->kernel = kernel;
    plan->info.workspace = 0;
    plan->info.splits = 1;
    plan->info.compute = plan->problem.a.type == RUNG_F32 ? kernel->info.compute : RUNG_STRICT;
    rung_status status = check_types(kernel, &plan->problem);
    if (status == RUNG_OK)
        status = check_abilities(plan, kernel);
    if (status != RUNG_OK)
        return status;
    if (!parameters || !*parameters) {
        rungi_error before;
        rungi_error_save(&before);
        default_parameters(plan, kernel, preset);
        rungi_error_restore(&before);
        parameters = preset;
    }
    status = rungi_kernel_values(kernel, parameters, rung_type_size(plan->problem.a.type), &plan->values);
    if (status == RUNG_OK)
        status = plan->device->ops->plan_create(plan);
    return status;
}

/* With the kernel's defaults, and where the device cannot take those (a block of too
 * many threads), with each other choice of one parameter. */
static rung_status try_choices(rung_plan *plan, const rung_kernel *kernel)
{
    rungi_error first;
    rung_status status = try_kernel(plan, kernel, NULL);
    if (status != RUNG_UNSUPPORTED || check_types(kernel, &plan->problem) != RUNG_OK ||
        check_abilities(plan, kernel) != RUNG_OK)
        return status;
    rungi_error_save(&first);
    for (int64_t i = 0; i < kernel->info.parameter_count; i++) {
        const rung_parameter *parameter = &kernel->parameters[i];
        for (int64_t j = 0; j < parameter->choice_count; j++) {
            char choice[RUNGI_PARAMETER_NAME + 24];
            snprintf(choice, sizeof choice, "%s=%lld", parameter->name,
                     (long long)parameter->choices[j]);
            if (try_kernel(plan, kernel, choice) == RUNG_OK)
                return RUNG_OK;
        }
    }
    rungi_error_restore(&first);
    return status;
}

/* Whether a kernel may be taken unasked. */
static rung_status check_choice(const rung_kernel *kernel)
{
    if (kernel->step->is_vendor)
        return rungi_fail(RUNG_UNSUPPORTED, "%s is taken only when it is named", kernel->info.name);
    if (kernel->info.engine == RUNG_ENGINE_EMULATED)
        return rungi_fail(RUNG_UNSUPPORTED, "%s multiplies in software here, and is taken only when it is "
                          "named", kernel->info.name);
    return RUNG_OK;
}

/* One kernel of an open choice. A refusal is kept for the log, in one sentence. */
static rung_status consider(rung_plan *plan, const rung_kernel *kernel)
{
    rung_status status = check_choice(kernel);
    if (status == RUNG_OK)
        status = try_choices(plan, kernel);
    if (status != RUNG_UNSUPPORTED && status != RUNG_COMPILE)
        return status;
    size_t used = strlen(plan->refused);
    const char *sentence = rung_error_text();
    snprintf(plan->refused + used, sizeof plan->refused - used, "%s%.*s", used ? "; " : "",
             (int)strcspn(sentence, "\n"), sentence);
    return status;
}

/* From the top of the ladder down, the first that takes the problem; those with
 * parameters for this kind of device before all others. */
static rung_status choose_kernel(rung_plan *plan)
{
    const rungi_backend *backend = plan->device->backend;
    const char *preset = plan->device->preset;
    rung_status status, refusal = RUNG_UNSUPPORTED;
    rungi_error before;
    rungi_error_save(&before);
    for (int round = preset ? 0 : 1; round < 2; round++) {
        for (int64_t i = backend->ladder_count - 1; i >= 0; i--) {
            rung_kernel *kernel;
            status = rung_kernel_at(plan->device->context, backend->name, i, &kernel);
            if (status != RUNG_OK)
                return status;
            bool is_meant = preset && rungi_kernel_has_preset(kernel, preset);
            if (is_meant != (round == 0))
                continue;
            status = consider(plan, kernel);
            if (status == RUNG_OK)
                rungi_error_restore(&before); /* a refusal on the way is no failure */
            if (status != RUNG_UNSUPPORTED && status != RUNG_COMPILE)
                return status;
            refusal = status;
        }
    }
    return rungi_fail(refusal, "%s takes no such problem: %s", plan->device->info.name, plan->refused);
}

/* ---- Plans ------------------------------------------------------------------------------- */

static rung_matrix form_of(rung_matrix matrix)
{
    static const int64_t some_offsets[1] = {0}; /* a sign that there are some */
    matrix.data = NULL;
    matrix.buffer = NULL;
    matrix.offset = 0;
    matrix.batch_offsets = matrix.batch_offsets ? some_offsets : NULL;
    return matrix;
}

/* The problem without its memory. */
static rung_problem problem_form(const rung_problem *problem)
{
    rung_problem form = rungi_problem_settled(problem);
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        *rungi_problem_place(&form, i) = form_of(*rungi_problem_view(&form, i));
    return form;
}

static bool begins_at(const rung_problem *problem, rungi_operand operand, int64_t elements)
{
    return rungi_matrix_is_aligned(rungi_problem_view(problem, operand), problem->batch, elements);
}

static unsigned alignment_of(const rung_problem *problem)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type);
    bool at_fours = begins_at(problem, RUNGI_A, 4) && begins_at(problem, RUNGI_B, 4) &&
                    begins_at(problem, RUNGI_C, 4);
    bool at_16_bytes = begins_at(problem, RUNGI_A, chunk) && begins_at(problem, RUNGI_B, chunk);
    return (at_fours ? RUNGI_AT_FOURS : 0u) | (at_16_bytes ? RUNGI_AT_16_BYTES : 0u);
}

static rung_status fill_plan(rung_plan *plan, const rung_plan_options *options)
{
    rung_status status;
    if (options && options->kernel) {
        if (options->kernel->backend != plan->device->backend)
            return rungi_fail(RUNG_INVALID, "%s is a kernel of %s, not of %s",
                              options->kernel->info.name, options->kernel->backend->name,
                              plan->device->info.name);
        if (options->kernel->context != plan->device->context)
            return rungi_fail(RUNG_INVALID, "%s was found in another context than the device's",
                              options->kernel->info.name);
        status = try_kernel(plan, options->kernel, options->parameters);
    } else if (options && options->parameters && *options->parameters) {
        return rungi_fail(RUNG_INVALID, "parameters are a kernel's; say which kernel \"%s\" are for",
                          options->parameters);
    } else {
        status = choose_kernel(plan);
    }
    if (status != RUNG_OK)
        return status;
    rungi_kernel_retain(plan->kernel);
    rungi_kernel_values_text(plan->kernel, &plan->values, plan->parameters, sizeof plan->parameters);
    plan->info.kernel = plan->kernel->info.name;
    plan->info.parameters = plan->parameters;
    plan->info.origin = "defaults";
    plan->info.refused = plan->refused;
    return RUNG_OK;
}

rung_status rung_plan_create(rung_device *device, const rung_problem *problem,
                             const rung_plan_options *options, rung_plan **out)
{
    if (out)
        *out = NULL;
    if (!device || !problem || !out)
        return rungi_fail(RUNG_INVALID, "rung_plan_create needs a device, a problem and a place for "
                          "the plan");
    rung_status status = rungi_problem_check_form(problem);
    if (status != RUNG_OK)
        return status;
    if (options && (options->carveout < 0 || options->carveout > 100))
        return rungi_fail(RUNG_INVALID, "a carve-out of %lld per cent cannot be; it is 1 to 100, or 0 for "
                          "the driver's choice", (long long)options->carveout);
    if (options && (options->splits < 0 || options->workspace < 0))
        return rungi_fail(RUNG_INVALID, "a plan is cut into %lld shares and offered %lld bytes; neither "
                          "may be negative", (long long)options->splits, (long long)options->workspace);
    rung_plan *plan = rungi_new(device->context, sizeof *plan);
    if (!plan)
        return RUNG_NO_MEMORY;
    plan->device = device;
    plan->problem = problem_form(problem);
    plan->aligned = alignment_of(problem);
    plan->splits_asked = options ? options->splits : 0;
    plan->workspace_offered = options ? options->workspace : 0;
    plan->carveout = options ? options->carveout : 0;
    status = fill_plan(plan, options);
    if (status != RUNG_OK) {
        rungi_log(device->context, 1, "rung: %s %lldx%lldx%lld %s was refused: %s", device->info.name,
                  (long long)problem->c.rows, (long long)problem->c.cols, (long long)problem->a.cols,
                  rung_type_name(problem->c.type), rung_error_text());
        rungi_release(device->context, plan);
        return status;
    }
    rungi_device_retain(device);
    *out = plan;
    return RUNG_OK;
}

void rung_plan_destroy(rung_plan *plan)
{
    if (!plan)
        return;
    rung_device *device = plan->device;
    device->ops->plan_destroy(plan);
    rung_kernel_destroy((rung_kernel *)(uintptr_t)plan->kernel);
    rungi_release(device->context, plan);
    rung_device_close(device);
}

const rung_plan_info *rung_plan_describe(const rung_plan *plan)
{
    return plan ? &plan->info : NULL;
}

/* ---- Running ------------------------------------------------------------------------------- */

static rung_status check_view(const rung_device *device, const char *name, const rung_matrix *view)
{
    if (rungi_matrix_is_empty(view))
        return RUNG_OK;
    if (view->buffer && view->buffer->device != device)
        return rungi_fail(RUNG_INVALID, "%s lies in a buffer of another device than the plan's", name);
    if (view->data && !device->takes_data)
        return rungi_fail(RUNG_INVALID, "%s lies in this process's memory, which %s cannot reach; copy "
                          "it to a buffer, or call rung_gemm", name, device->info.name);
    return RUNG_OK;
}

static rung_status check_run(const rung_plan *plan, const rung_queue *queue,
                             const rung_problem *problem, const rung_problem *settled,
                             const rung_run_options *options)
{
    if (queue->device != plan->device)
        return rungi_fail(RUNG_INVALID, "the queue is of another device than the plan");
    if (!rungi_problem_same_form(&plan->problem, settled))
        return rungi_fail(RUNG_INVALID, "the problem has other types, sizes, strides, items or another "
                          "epilogue than the one the plan was made for");
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++)
        status = check_view(plan->device, rungi_operand_name(i), rungi_problem_view(problem, i));
    if (status == RUNG_OK)
        status = rung_problem_check(problem);
    if (status != RUNG_OK)
        return status;
    if (plan->needs_aligned & ~alignment_of(problem))
        return rungi_fail(RUNG_INVALID, "A, B or C is less aligned than those the plan was made for, which "
                          "began at multiples of %s; make the plan with a problem like this one",
                          plan->needs_aligned & RUNGI_AT_FOURS ? "four elements" : "16 bytes");
    if (plan->info.workspace > 0 &&
        (!options->workspace || options->workspace->device != plan->device ||
         options->workspace->bytes < plan->info.workspace || options->workspace->place % 16 != 0))
        return rungi_fail(RUNG_INVALID, "the plan needs a workspace of %lld bytes on its device, at a "
                          "multiple of 16 bytes", (long long)plan->info.workspace);
    if (plan->info.workspace > 0 && rungi_problem_meets(settled, options->workspace, plan->info.workspace))
        return rungi_fail(RUNG_OVERLAP, "the workspace is memory of A, B, C or the epilogue; give it its own");
    return RUNG_OK;
}

rung_status rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                          const rung_run_options *options)
{
    if (!plan || !queue || !problem)
        return rungi_fail(RUNG_INVALID, "rung_plan_run needs a plan, a queue and a problem");
    rung_problem settled = rungi_problem_settled(problem);
    rung_status status = rungi_run_check(queue, &options);
    if (status == RUNG_OK)
        status = check_run(plan, queue, problem, &settled, options);
    if (status != RUNG_OK)
        return status;
    rungi_sizes sizes = {problem->c.rows, problem->c.cols,
                         settled.alpha == 0.0 ? 0 : problem->a.cols, problem->batch};
    const rungi_device_ops *ops = plan->device->ops;
    if (plan->device->context->verbose > 0 && !(ops->queue_is_captured && ops->queue_is_captured(queue)))
        return rungi_trace_run(plan, queue, problem, &settled, sizes, options);
    return ops->plan_run(plan, queue, &settled, sizes, options);
}
