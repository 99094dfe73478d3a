/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_gemm and rung_multiply: matrices in memory, multiplied in one call.
 *
 * A device that reaches this process's memory gets the views as they are; for one with
 * memory of its own see overlap.c. */
#include "core/assert.h"
#include "core/cancel.h"
#include "core/context.h"
#include "core/growth.h"
#include "core/overlap.h"
#include "core/plan.h"
#include "core/problem.h"
#include "core/span.h"

/* Whatever happened, nothing may still use what is freed next. The first failure is the one
 * that is told. */
static rung_status finish(rung_queue *queue, rung_status status)
{
    rungi_error first;
    if (status == RUNG_OK)
        return rung_queue_finish(queue);
    rungi_error_save(&first);
    rung_queue_finish(queue);
    rungi_error_restore(&first);
    return status;
}

/* The plan used last stands first; it was, or comes instead of the one, at `place`. */
static void bring_forward(rung_queue *queue, int place, rung_plan *plan)
{
    RUNGI_ASSERT(place >= 0 && place < RUNGI_PLANS_KEPT && plan);
    for (; place > 0; place--)
        queue->plans[place] = queue->plans[place - 1];
    queue->plans[0] = plan;
}

/* Most calls request no number. */
static inline bool suits_threads(const rung_plan *plan, int64_t threads)
{
    return plan->threads_asked == threads || rungi_plan_suits_threads(plan, threads);
}

static bool suits(const rung_plan *plan, const rung_problem *problem, int64_t threads)
{
    return suits_threads(plan, threads) && rungi_plan_suits(plan, problem);
}

/* Making a plan takes longer than a small multiply, and programs make the same ones again and
 * again: a queue keeps the plans that were used last on it. A new one takes the place of that
 * which was used the longest ago. */
static rung_status take_plan(rung_queue *queue, const rung_problem *problem, int64_t threads, rung_plan **plan)
{
    rung_plan_options choice = rung_plan_options_default();
    choice.max_workspace_bytes = rungi_workspace_max;
    choice.threads = threads;
    int place = 0, last = RUNGI_PLANS_KEPT - 1;
    while (place < last && queue->plans[place] && !suits(queue->plans[place], problem, threads))
        place++;
    *plan = queue->plans[place];
    if (!*plan || (place == last && !suits(*plan, problem, threads))) {
        rung_problem given = rungi_problem_given(problem);
        rung_status status = rung_plan_create(queue->device, &given, &choice, plan);
        if (status != RUNG_OK)
            return status;
        rung_plan_destroy(queue->plans[place]);
    }
    bring_forward(queue, place, *plan);
    return RUNG_OK;
}

/* A problem like one before, with nothing wrong that could be seen at a glance, is run at once. */
static bool run_as_before(rung_context *context, const rung_problem *problem, int64_t threads, rung_status *status)
{
    static const rung_run_options no_options;
    rung_queue *queue = context->span || problem->alpha == 0 ? NULL : rungi_context_take_idle(context);
    int place = 0;
    if (!queue)
        return false;
    while (
        place < RUNGI_PLANS_KEPT && queue->plans[place] &&
        !(suits_threads(queue->plans[place], threads) && rungi_plan_sees_through(queue->plans[place], queue, problem)))
        place++;
    bool found = place < RUNGI_PLANS_KEPT && queue->plans[place];
    if (found) {
        bring_forward(queue, place, queue->plans[place]);
        *status = rungi_plan_run_seen(queue->plans[0], queue, problem, &no_options);
    }
    rungi_context_give_queue(context, queue);
    return found;
}

static rung_status run(rung_queue *queue, const rung_problem *problem, int64_t threads, rungi_spans *spans)
{
    rung_plan *plan;
    rung_run_options options = rung_run_options_default();
    rung_status status = take_plan(queue, problem, threads, &plan);
    if (status != RUNG_OK)
        return status;
    if (plan->info.workspace_bytes > 0)
        status = rung_buffer_create(queue->device, plan->info.workspace_bytes, &options.workspace);
    int64_t start = rungi_spans_now(spans);
    if (status == RUNG_OK)
        status = rungi_plan_run(plan, queue, problem, &options);
    status = finish(queue, status);
    if (status == RUNG_OK)
        status = rungi_spans_note_host(spans, plan->info.kernel, 0, start, 0);
    rung_buffer_destroy(options.workspace);
    return status;
}

static rung_status run_here(rung_context *context, rung_device *device, const rung_problem *problem, int64_t threads)
{
    rung_queue *queue;
    rungi_spans spans;
    rungi_spans_begin(&spans, device);
    rung_status status = rungi_context_take_queue(context, device, &queue);
    if (status != RUNG_OK)
        return status;
    status = run(queue, problem, threads, &spans);
    rungi_context_give_queue(context, queue);
    return rungi_spans_end(&spans, status);
}

/* Reads and checks the options of a call. */
static rung_status read_options(const rung_multiply_options *given, rung_multiply_options *options)
{
    rung_status status = rungi_struct_read(given, options, sizeof *options, "rung_multiply_options",
                                           "rung_multiply_options_default");
    return status == RUNG_OK ? rungi_threads_check(options->threads, "the context's number") : status;
}

/* Multiplies with all checks. Not inlined, so that the fast path needs little stack. */
static __attribute__((noinline)) rung_status multiply_checked(rung_context *context, const rung_problem *problem,
                                                              int64_t threads)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_device *device;
    rung_problem settled;
    rung_status status = rungi_problem_read(problem, &settled);
    if (status != RUNG_OK)
        return status;
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        if (rungi_problem_uses(&settled, i) && rungi_problem_view(&settled, i)->buffer)
            return rungi_fail(RUNG_STATUS_INVALID, "rung_gemm and rung_multiply take matrices in memory; for "
                                                   "buffers make a plan and run it on a queue");
    status = rung_problem_check(&settled);
    if (status != RUNG_OK)
        return status;
    rungi_problem_settle(&settled);
    if (settled.alpha == 0.0) /* A and B are not read, so they are not copied to the device */
        rungi_problem_drop_inputs(&settled);
    status = rungi_context_device(context, &device);
    if (status == RUNG_OK) {
        status = device->takes_data ? run_here(context, device, &settled, threads)
                                    : rungi_overlap_run(context, device, &settled);
        rung_device_close(device);
    }
    return status;
}

static rung_status multiply(rung_context *context, const rung_problem *problem, int64_t threads)
{
    rung_status status;
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    return run_as_before(context, problem, threads, &status) ? status : multiply_checked(context, problem, threads);
}

rung_status rung_multiply(rung_context *context, const rung_problem *problem, const rung_multiply_options *options)
{
    rung_multiply_options read = {.threads = 0};
    rung_status status = options ? read_options(options, &read) : RUNG_OK;
    if (!problem)
        return rungi_fail(RUNG_STATUS_INVALID, "the problem is NULL");
    return status == RUNG_OK ? multiply(context, problem, read.threads) : status;
}

rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b, double beta, rung_matrix c)
{
    rung_problem problem = rung_problem_of(a, b, c);
    problem.alpha = alpha;
    problem.beta = beta;
    return multiply(context, &problem, 0);
}
