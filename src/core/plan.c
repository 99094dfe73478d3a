/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - choosing a kernel for a problem, and running the choice. */
#include "core/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/matrix.h"
#include "core/problem.h"
#include "core/run.h"
#include "core/trace.h"

/* ---- Choosing -------------------------------------------------------------------------- */

static rung_status check_types(const rung_kernel *kernel, const rung_problem *problem)
{
    rung_type type = problem->c.type;
    if (problem->a.type != type || problem->b.type != type || !(kernel->info.types & 1u << type))
        return rungi_fail(RUNG_UNSUPPORTED, "%s does not multiply %s by %s into %s", kernel->info.name,
                          rung_type_name(problem->a.type), rung_type_name(problem->b.type),
                          rung_type_name(type));
    return RUNG_OK;
}

/* Makes the plan with this kernel, or says why not. Where no parameters are given, a
 * preset for this kind of device goes before the defaults. */
static rung_status try_kernel(rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    const char *preset = plan->device->preset;
    if ((!parameters || !*parameters) && preset && rungi_kernel_has_preset(kernel, preset))
        parameters = preset;
    plan->kernel = kernel;
    rung_status status = check_types(kernel, &plan->problem);
    if (status == RUNG_OK)
        status = rungi_kernel_values(kernel, parameters, &plan->values);
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
    if (status != RUNG_UNSUPPORTED || check_types(kernel, &plan->problem) != RUNG_OK)
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

/* One kernel of an open choice. A refusal is kept for the log, in one sentence. */
static rung_status consider(rung_plan *plan, const rung_kernel *kernel)
{
    rung_status status = kernel->step->is_vendor
                             ? rungi_fail(RUNG_UNSUPPORTED, "%s is taken only when it is named",
                                          kernel->info.name)
                             : try_choices(plan, kernel);
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
    rung_status status = RUNG_UNSUPPORTED;
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
        }
    }
    return rungi_fail(status, "%s takes no such problem: %s", plan->device->info.name, plan->refused);
}

/* ---- Plans ------------------------------------------------------------------------------- */

static rung_matrix form_of(rung_matrix matrix)
{
    matrix.data = NULL;
    matrix.buffer = NULL;
    matrix.offset = 0;
    return matrix;
}

static bool is_aligned(const rung_problem *problem)
{
    return rungi_matrix_is_aligned(&problem->a) && rungi_matrix_is_aligned(&problem->b) &&
           rungi_matrix_is_aligned(&problem->c);
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
    rung_plan *plan = rungi_new(device->context, sizeof *plan);
    if (!plan)
        return RUNG_NO_MEMORY;
    plan->device = device;
    plan->problem = *problem;
    plan->aligned = is_aligned(problem);
    plan->problem.a = form_of(problem->a);
    plan->problem.b = form_of(problem->b);
    plan->problem.c = form_of(problem->c);
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

static rung_status check_view(const char *name, const rung_device *device, const rung_matrix *view)
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
                             const rung_problem *problem, const rung_run_options *options)
{
    if (queue->device != plan->device)
        return rungi_fail(RUNG_INVALID, "the queue is of another device than the plan");
    if (!rungi_problem_same_form(&plan->problem, problem))
        return rungi_fail(RUNG_INVALID, "the problem has other types, sizes or strides than the one "
                          "the plan was made for");
    rung_status status = check_view("A", plan->device, &problem->a);
    if (status == RUNG_OK)
        status = check_view("B", plan->device, &problem->b);
    if (status == RUNG_OK)
        status = check_view("C", plan->device, &problem->c);
    if (status == RUNG_OK)
        status = rung_problem_check(problem);
    if (status != RUNG_OK)
        return status;
    if (plan->needs_aligned && !is_aligned(problem))
        return rungi_fail(RUNG_INVALID, "A, B or C is less aligned than those the plan was made for, which "
                          "began at multiples of 16 bytes; make the plan with a problem like this one");
    if (plan->info.workspace > 0 &&
        (!options->workspace || options->workspace->device != plan->device ||
         options->workspace->bytes < plan->info.workspace))
        return rungi_fail(RUNG_INVALID, "the plan needs a workspace of %lld bytes on its device",
                          (long long)plan->info.workspace);
    return RUNG_OK;
}

rung_status rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                          const rung_run_options *options)
{
    if (!plan || !queue || !problem)
        return rungi_fail(RUNG_INVALID, "rung_plan_run needs a plan, a queue and a problem");
    rung_status status = rungi_run_check(queue, &options);
    if (status == RUNG_OK)
        status = check_run(plan, queue, problem, options);
    if (status != RUNG_OK)
        return status;
    rung_problem rounded = *problem;
    rounded.alpha = rungi_problem_scalar(problem, problem->alpha);
    rounded.beta = rungi_problem_scalar(problem, problem->beta);
    rungi_sizes sizes = {problem->c.rows, problem->c.cols,
                         rounded.alpha == 0.0 ? 0 : problem->a.cols};
    if (plan->device->context->verbose > 0)
        return rungi_trace_run(plan, queue, problem, &rounded, sizes, options);
    return plan->device->ops->plan_run(plan, queue, &rounded, sizes, options);
}
