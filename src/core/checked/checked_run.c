/* SPDX-License-Identifier: Apache-2.0 */
/* checked_run.c - see checked_run.h. The plan itself computes a product that is stored as it was summed. Any other product
 * needs a plan of its own, with the same kernel if that kernel supports it. */
#include "core/checked/checked_run.h"

#include "base/try.h"
#include "core/checked/checked_multiply.h"
#include "core/choose/choose_kernel.h"
#include "core/problem.h"
#include "core/quantization.h"

typedef struct checked_run {
    rung_plan *plan;
    rung_queue *queue;
    const rung_problem *problem; /* that of the plan */
    const rung_run_options *options;
} checked_run_t;

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* Replaces the buffer of a view by the address of its memory. */
static void set_address(rung_matrix *view)
{
    if (!view->buffer)
        return;
    view->data = (char *)view->buffer->address;
    view->buffer = NULL;
}

static void set_quantization_addresses(const rung_quantization **given, rung_quantization *copy)
{
    if (!*given || rungi_quantization_read(*given, copy) != RUNG_OK) /* it was validated */
        return;
    set_address(&copy->scales);
    set_address(&copy->zero_points);
    *given = copy;
}

static void set_addresses(rung_problem *problem, rung_quantization quantizations[2])
{
    rung_matrix *const views[] = {&problem->a,    &problem->b,          &problem->c,       &problem->d,
                                  &problem->bias, &problem->multiplier, &problem->residual};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        set_address(views[i]);
    set_quantization_addresses(&problem->a_quantization, &quantizations[0]);
    set_quantization_addresses(&problem->b_quantization, &quantizations[1]);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static rung_status create_product_plan(const rung_plan *plan, const rung_problem *product, rung_plan **created)
{
    rung_plan_options options = rungi_plan_options(plan->kernel, plan->parameters);
    rungi_saved_error saved = rungi_error_save();
    options.threads = plan->threads_requested;
    rung_status status = rungi_plan_create_normalized(plan->device, product, &options, created);
    if (!rungi_choose_is_rejection(status))
        return status;
    rungi_error_restore(&saved);
    options.kernel = NULL;
    options.parameters = NULL;
    return rungi_plan_create_normalized(plan->device, product, &options, created);
}

static rung_status multiply(void *user, const rung_problem *normalized)
{
    const checked_run_t *run = user;
    rung_plan *product_plan;
    if (normalized == run->problem)
        return rungi_plan_run_normalized(run->plan, run->queue, normalized, run->options);
    TRY(create_product_plan(run->plan, normalized, &product_plan));
    rung_status status = rungi_plan_run_normalized(product_plan, run->queue, normalized, run->options);
    rung_plan_destroy(product_plan);
    return status;
}

static void run_parts(void *user, int64_t parts, rungi_part_work *work, void *job)
{
    const checked_run_t *run = user;
    rung_device *device = run->plan->device;
    device->ops->run_parts(device, rungi_plan_threads(run->plan, run->options), parts, work, job);
}

static rung_status check_support(const rung_plan *plan)
{
    if (!plan->device->reads_host_memory)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the check of a product needs A and B in host memory, and a plan of %s has them in device "
                          "memory; run the plan without `checked`, or call rung_multiply with `checked`",
                          plan->device->info.name);
    if (plan->packed_b)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the check of a product needs A and B, and the plan has a packed B; run it without "
                          "`checked`, or create a plan without packed_b");
    return RUNG_OK;
}

rung_status rungi_plan_run_checked(rung_plan *plan, rung_queue *queue, const rung_problem *normalized,
                                   const rung_run_options *options)
{
    const rungi_device_ops *ops = plan->device->ops;
    rung_problem problem = *normalized;
    rung_quantization quantizations[2];
    checked_run_t run = {plan, queue, &problem, options};
    rungi_unchecked unchecked = {.multiply = multiply, .user = &run};
    int64_t corrected = 0;
    TRY(check_support(plan));
    if (ops->run_parts)
        unchecked.runner = (rungi_part_runner){run_parts, &run};
    set_addresses(&problem, quantizations);
    rung_status status = rungi_multiply_and_check(plan->device->context, &unchecked, &problem, &corrected);
    rungi_corrections_log(plan->device->context, plan->device->info.name, corrected);
    if (options->corrected)
        *options->corrected = corrected;
    return status;
}
