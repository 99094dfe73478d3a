/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_gemm: matrices in memory, multiplied in one call.
 *
 * A device that reaches this process's memory gets the views as they are. For one
 * with memory of its own each operand is brought over without its gaps, so that
 * nothing between the elements is read or written, and C is brought back. */
#include "core/context.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "core/problem.h"

/* An operand on its way to a device. */
typedef struct transfer {
    const rung_matrix *view;   /* the caller's */
    rung_matrix        dense;  /* the same without gaps, in the buffer */
    rung_matrix        staged; /* the same without gaps, in memory; the view itself if it has none */
    void              *stage;  /* the memory of `staged` where it is ours */
    int64_t            bytes;
} transfer;

static rung_status prepare(rung_device *device, const rung_matrix *view, transfer *transfer)
{
    int64_t elements;
    transfer->view = view;
    if (!rungi_matrix_dense(view, &transfer->dense, &elements))
        return rungi_fail(RUNG_TOO_LARGE, "a matrix of %lld x %lld does not fit the address space",
                          (long long)view->rows, (long long)view->cols);
    transfer->bytes = elements * rung_type_size(view->type);
    transfer->staged = transfer->dense;
    if (rungi_matrix_is_dense(view)) {
        transfer->staged.data = rungi_matrix_is_empty(view) ? NULL : rungi_matrix_first(view);
    } else {
        transfer->stage = rungi_allocate(device->context, transfer->bytes, 64);
        if (!transfer->stage)
            return RUNG_NO_MEMORY;
        transfer->staged.data = transfer->stage;
    }
    return rung_buffer_create(device, transfer->bytes, &transfer->dense.buffer);
}

static rung_status send(rung_queue *queue, transfer *transfer)
{
    if (transfer->stage)
        rungi_matrix_copy(transfer->view, &transfer->staged);
    return rung_buffer_write(queue, transfer->dense.buffer, 0, transfer->bytes,
                             transfer->staged.data, NULL);
}

static rung_status fetch(rung_queue *queue, transfer *transfer)
{
    return rung_buffer_read(queue, transfer->dense.buffer, 0, transfer->bytes, transfer->staged.data,
                            NULL);
}

/* Whatever happened, nothing may still read or write what is freed next. The first
 * failure is the one that is told. */
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

static void clean_up(rung_context *context, transfer *transfer)
{
    rung_buffer_destroy(transfer->dense.buffer);
    rungi_release(context, transfer->stage);
}

static rung_status run(rung_device *device, rung_queue *queue, const rung_problem *problem)
{
    rung_plan *plan;
    rung_status status = rung_plan_create(device, problem, NULL, &plan);
    if (status != RUNG_OK)
        return status;
    rung_run_options options = {0};
    if (plan->info.workspace > 0)
        status = rung_buffer_create(device, plan->info.workspace, &options.workspace);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, problem, &options);
    status = finish(queue, status);
    rung_buffer_destroy(options.workspace);
    rung_plan_destroy(plan);
    return status;
}

static rung_status run_there(rung_device *device, rung_queue *queue, const rung_problem *problem)
{
    transfer a = {0}, b = {0}, c = {0};
    rung_status status = prepare(device, &problem->a, &a);
    if (status == RUNG_OK)
        status = prepare(device, &problem->b, &b);
    if (status == RUNG_OK)
        status = prepare(device, &problem->c, &c);
    if (status == RUNG_OK)
        status = send(queue, &a);
    if (status == RUNG_OK)
        status = send(queue, &b);
    if (status == RUNG_OK && problem->beta != 0.0)
        status = send(queue, &c);
    if (status == RUNG_OK) {
        rung_problem there = {problem->alpha, a.dense, b.dense, problem->beta, c.dense};
        status = run(device, queue, &there);
    }
    if (status == RUNG_OK)
        status = fetch(queue, &c);
    status = finish(queue, status);
    if (status == RUNG_OK && c.stage)
        rungi_matrix_copy(&c.staged, c.view);
    clean_up(device->context, &a);
    clean_up(device->context, &b);
    clean_up(device->context, &c);
    return status;
}

static rung_status run_on(rung_context *context, rung_device *device, const rung_problem *problem)
{
    rung_queue *queue;
    rung_status status = rungi_context_take_queue(context, device, &queue);
    if (status != RUNG_OK)
        return status;
    status = device->takes_data ? run(device, queue, problem) : run_there(device, queue, problem);
    if (status == RUNG_DEVICE_LOST) {
        rungi_error why;
        rungi_error_save(&why);
        rungi_context_forget_device(context, device);
        rungi_error_restore(&why);
    }
    rungi_context_give_queue(context, queue);
    return status;
}

rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b, double beta,
                      rung_matrix c)
{
    rung_problem problem = {alpha, a, b, beta, c};
    rung_device *device;
    context = rungi_context_of(context);
    if (!context)
        return RUNG_NO_MEMORY;
    if (a.buffer || b.buffer || c.buffer)
        return rungi_fail(RUNG_INVALID, "rung_gemm takes matrices in memory; for buffers make a plan "
                          "and run it on a queue");
    rung_status status = rung_problem_check(&problem);
    if (status != RUNG_OK)
        return status;
    problem.alpha = rungi_problem_scalar(&problem, alpha);
    problem.beta = rungi_problem_scalar(&problem, beta);
    if (problem.alpha == 0.0) { /* what is not read is not brought over either */
        problem.a.cols = 0;
        problem.b.rows = 0;
    }
    status = rungi_context_device(context, &device);
    if (status == RUNG_OK) {
        status = run_on(context, device, &problem);
        rung_device_close(device);
    }
    return status;
}
