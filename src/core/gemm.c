/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_gemm() and rung_multiply(): multiply host matrices in one call.
 *
 * A device that reads host memory computes on the caller's matrices. For other devices, staging/overlap.c copies the
 * operands. */
#include "base/assert.h"
#include "base/cancellation.h"
#include "base/checked_option.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/checked/checked_multiply.h"
#include "core/device_pool.h"
#include "core/plan.h"
#include "core/problem.h"
#include "core/quantization.h"
#include "core/staging/pipeline.h"

/* Makes `plan` the first in the queue's cache. It was at `index`, or replaces the plan there. */
static void move_to_front(rung_queue *queue, int index, rung_plan *plan)
{
    RUNGI_ASSERT(index >= 0 && index < RUNGI_QUEUE_CACHED_PLANS_MAX && plan);
    for (; index > 0; index--)
        queue->plans[index] = queue->plans[index - 1];
    queue->plans[0] = plan;
}

/* Most calls request no number of threads, and the first comparison is enough. */
static inline bool matches_threads(const rung_plan *plan, int64_t threads)
{
    return plan->threads_requested == threads || rungi_plan_matches_threads(plan, threads);
}

static bool matches(const rung_plan *plan, const rung_problem *problem, int64_t threads)
{
    return matches_threads(plan, threads) && rungi_plan_matches(plan, problem);
}

/* Finds the plan in the queue's cache, or creates it in place of the least recently used one. Creating a plan takes
 * longer than a small multiply, and programs repeat the same multiplies. */
static rung_status find_or_create_plan(rung_queue *queue, const rung_problem *problem, int64_t threads,
                                       rung_plan **plan)
{
    int index = 0, last = RUNGI_QUEUE_CACHED_PLANS_MAX - 1;
    while (index < last && queue->plans[index] && !matches(queue->plans[index], problem, threads))
        index++;
    *plan = queue->plans[index];
    if (!*plan || (index == last && !matches(*plan, problem, threads))) {
        rung_plan_options options = rungi_plan_options(NULL, NULL);
        options.threads = threads;
        TRY(rungi_plan_create_normalized(queue->device, problem, &options, plan));
        rung_plan_destroy(queue->plans[index]);
    }
    move_to_front(queue, index, *plan);
    return RUNG_OK;
}

/* Runs the problem at once if an idle queue has a plan for it and the fast path accepts it. Returns whether it did. */
static bool try_fast_path(rung_context *context, const rung_problem *problem, int64_t threads, rung_status *status)
{
    static const rung_run_options no_options;
    rung_queue *queue = context->span || problem->alpha == 0 ? NULL : rungi_device_pool_acquire_idle_queue(context);
    int index = 0;
    if (!queue)
        return false;
    while (index < RUNGI_QUEUE_CACHED_PLANS_MAX && queue->plans[index] &&
           !(matches_threads(queue->plans[index], threads) &&
             rungi_plan_can_run_fast(queue->plans[index], queue, problem)))
        index++;
    bool is_found = index < RUNGI_QUEUE_CACHED_PLANS_MAX && queue->plans[index];
    if (is_found) {
        move_to_front(queue, index, queue->plans[index]);
        *status = rungi_plan_run_fast(queue->plans[0], queue, problem, &no_options);
    }
    rungi_device_pool_release_queue(context, queue);
    return is_found;
}

static rung_status run(rung_queue *queue, const rung_problem *problem, int64_t threads, rungi_timeline *timeline)
{
    rung_plan *plan;
    rung_run_options options = rung_run_options_default();
    TRY(find_or_create_plan(queue, problem, threads, &plan));
    if (plan->info.workspace_bytes > 0)
        TRY(rung_buffer_create(queue->device, plan->info.workspace_bytes, &options.workspace));
    int64_t start = rungi_timeline_now(timeline);
    rung_status status = rungi_queue_finish_after(queue, rungi_plan_run_normalized(plan, queue, problem, &options));
    if (status == RUNG_OK)
        status = rungi_timeline_add_host(timeline, plan->info.kernel, 0, start, 0);
    rung_buffer_destroy(options.workspace);
    return status;
}

static rung_status run_on_host_memory(rung_context *context, rung_device *device, const rung_problem *problem,
                                      int64_t threads)
{
    rung_queue *queue;
    rungi_timeline timeline;
    rungi_timeline_begin(&timeline, device);
    TRY(rungi_device_pool_acquire_queue(context, device, &queue));
    rung_status status = run(queue, problem, threads, &timeline);
    rungi_device_pool_release_queue(context, queue);
    return rungi_timeline_end(&timeline, status);
}

static rung_status run_on_device(rung_context *context, rung_device *device, const rung_problem *normalized,
                                 int64_t threads)
{
    return device->reads_host_memory ? run_on_host_memory(context, device, normalized, threads)
                                     : rungi_staging_multiply(context, device, normalized);
}

/* ---- Checked products -------------------------------------------------------------------------------------------- */

typedef struct device_call {
    rung_context *context;
    rung_device *device;
    int64_t threads;
} device_call_t;

static rung_status multiply_unchecked(void *user, const rung_problem *normalized)
{
    const device_call_t *call = user;
    return run_on_device(call->context, call->device, normalized, call->threads);
}

static void run_parts(void *user, int64_t parts, rungi_part_work *work, void *job)
{
    const device_call_t *call = user;
    call->device->ops->run_parts(call->device, call->threads, parts, work, job);
}

static rung_status run_checked(rung_context *context, rung_device *device, const rung_problem *normalized,
                               int64_t threads, int64_t *corrected)
{
    device_call_t call = {context, device, threads};
    rungi_unchecked unchecked = {
        .multiply = multiply_unchecked, .user = &call, .has_engine = !device->reads_host_memory};
    if (device->ops->run_parts)
        unchecked.runner = (rungi_part_runner){run_parts, &call};
    rung_status status = rungi_multiply_and_check(context, &unchecked, normalized, corrected);
    rungi_corrections_log(context, device->info.name, *corrected);
    return status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Multiplies after a validation of all arguments. Not inlined, so that the fast path needs little stack. */
static __attribute__((noinline)) rung_status validate_and_multiply(rung_context *context, const rung_problem *problem,
                                                                   const rung_multiply_options *options,
                                                                   int64_t *corrected)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_device *device;
    rung_problem normalized;
    TRY(rungi_problem_read(problem, &normalized));
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (rungi_problem_uses_operand(&normalized, i) && rungi_problem_view(&normalized, i)->buffer)
            return rungi_invalid("%s is in a buffer; rung_gemm and rung_multiply take matrices in memory (for buffers, "
                                 "create a plan and run it on a queue)",
                                 rungi_operand_name(i));
    TRY(rungi_quantization_check_in_memory("A", normalized.a_quantization));
    TRY(rungi_quantization_check_in_memory("B", normalized.b_quantization));
    TRY(rung_problem_check(&normalized));
    rungi_problem_normalize(&normalized);
    if (normalized.alpha == 0.0) /* A and B are not read, so they are not copied to the device */
        rungi_problem_drop_inputs(&normalized);
    TRY(rungi_device_pool_acquire_wanted(context, options->device, &device));
    rung_status status = corrected ? run_checked(context, device, &normalized, options->threads, corrected)
                                   : run_on_device(context, device, &normalized, options->threads);
    rung_device_close(device);
    return status;
}

/* Multiplies. The product is checked if `corrected` is not NULL. */
static rung_status multiply(rung_context *context, const rung_problem *problem, const rung_multiply_options *options,
                            int64_t *corrected)
{
    rung_status status;
    context = rungi_context_or_default(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    if (!corrected && !options->device && try_fast_path(context, problem, options->threads, &status))
        return status;
    return validate_and_multiply(context, problem, options, corrected);
}

rung_status rung_multiply(rung_context *context, const rung_problem *problem, const rung_multiply_options *options)
{
    rung_multiply_options read = {.threads = 0};
    int64_t corrected = 0;
    if (!problem)
        return rungi_invalid("the problem is NULL");
    if (options) {
        TRY(rungi_versioned_struct_read(options, &read, sizeof read, "rung_multiply_options",
                                        "rung_multiply_options_default"));
        TRY(rungi_threads_check(read.threads, "the context's number"));
        TRY(rungi_checked_option_check(read.checked));
    }
    rung_status status = multiply(context, problem, &read, read.checked ? &corrected : NULL);
    if (read.corrected)
        *read.corrected = corrected;
    return status;
}

rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b, double beta, rung_matrix c)
{
    static const rung_multiply_options no_options;
    rung_problem problem = rung_problem_of(a, b, c);
    problem.alpha = alpha;
    problem.beta = beta;
    return multiply(context, &problem, &no_options, NULL);
}
