/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_gemm and rung_multiply: matrices in memory, multiplied in one call.
 *
 * A device that reaches this process's memory gets the views as they are. For one
 * with memory of its own each operand is brought over without its gaps, item by item
 * where it is a batch, so that nothing between the elements is read or written, and C is
 * brought back. */
#include "core/checked.h"
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
    int64_t            items;  /* that are brought over */
    int64_t            bytes;
} transfer;

/* Whether the view already stands as it would be stored without gaps. */
static bool stands_ready(const rung_matrix *view, int64_t items, int64_t elements)
{
    return rungi_matrix_is_dense(view) && !view->batch_offsets &&
           (items < 2 || view->batch_stride == elements);
}

static rung_status prepare(rung_device *device, const rung_matrix *view, int64_t batch,
                           transfer *transfer)
{
    int64_t elements;
    transfer->view = view;
    transfer->items = rungi_matrix_is_shared(view) && batch > 1 ? 1 : batch;
    if (!rungi_matrix_dense(view, &transfer->dense, &elements) ||
        !rungi_multiply(elements * rung_type_size(view->type), transfer->items, &transfer->bytes))
        return rungi_fail(RUNG_TOO_LARGE, "a matrix of %lld x %lld, %lld times, does not fit the address "
                          "space", (long long)view->rows, (long long)view->cols,
                          (long long)transfer->items);
    transfer->dense.batch_stride = transfer->items > 1 ? elements : 0;
    transfer->staged = transfer->dense;
    if (stands_ready(view, transfer->items, elements)) {
        transfer->staged.data = rungi_matrix_is_empty(view) ? NULL : rungi_matrix_first(view);
    } else {
        transfer->stage = rungi_allocate(device->context, transfer->bytes, 64);
        if (!transfer->stage)
            return RUNG_NO_MEMORY;
        transfer->staged.data = transfer->stage;
    }
    return rung_buffer_create(device, transfer->bytes, &transfer->dense.buffer);
}

static void copy_items(const rung_matrix *from, const rung_matrix *to, int64_t items)
{
    for (int64_t i = 0; i < items; i++) {
        rung_matrix source = rungi_matrix_item(from, i), target = rungi_matrix_item(to, i);
        rungi_matrix_copy(&source, &target);
    }
}

static rung_status send(rung_queue *queue, transfer *transfer)
{
    if (transfer->stage)
        copy_items(transfer->view, &transfer->staged, transfer->items);
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

/* As much as a call may take besides its operands. */
static const int64_t workspace_max = (int64_t)64 << 20;

static rung_status run(rung_device *device, rung_queue *queue, const rung_problem *problem)
{
    rung_plan *plan;
    rung_plan_options choice = {.workspace = workspace_max};
    rung_status status = rung_plan_create(device, problem, &choice, &plan);
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
    transfer transfers[RUNGI_OPERANDS] = {{0}}, *c = &transfers[RUNGI_C];
    rung_problem there = *problem;
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        if (rungi_matrix_is_empty(view))
            continue; /* no memory to bring over */
        status = prepare(device, view, problem->batch, &transfers[i]);
        *rungi_problem_place(&there, i) = transfers[i].dense;
        if (status == RUNG_OK && (i != RUNGI_C || problem->beta != 0.0))
            status = send(queue, &transfers[i]);
    }
    if (status == RUNG_OK)
        status = run(device, queue, &there);
    if (status == RUNG_OK && c->view)
        status = fetch(queue, c);
    status = finish(queue, status);
    if (status == RUNG_OK && c->stage)
        copy_items(&c->staged, &problem->c, c->items);
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        clean_up(device->context, &transfers[i]);
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

rung_status rung_multiply(rung_context *context, const rung_problem *problem)
{
    rung_device *device;
    context = rungi_context_of(context);
    if (!context)
        return RUNG_NO_MEMORY;
    if (!problem)
        return rungi_fail(RUNG_INVALID, "the problem is NULL");
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        if (rungi_problem_view(problem, i)->buffer)
            return rungi_fail(RUNG_INVALID, "rung_gemm and rung_multiply take matrices in memory; for "
                              "buffers make a plan and run it on a queue");
    rung_status status = rung_problem_check(problem);
    if (status != RUNG_OK)
        return status;
    rung_problem settled = rungi_problem_settled(problem);
    if (settled.alpha == 0.0) { /* what is not read is not brought over either */
        settled.a.cols = 0;
        settled.b.rows = 0;
        settled = rungi_problem_settled(&settled);
    }
    status = rungi_context_device(context, &device);
    if (status == RUNG_OK) {
        status = run_on(context, device, &settled);
        rung_device_close(device);
    }
    return status;
}

rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b, double beta,
                      rung_matrix c)
{
    rung_problem problem = rung_problem_of(a, b, c);
    problem.alpha = alpha;
    problem.beta = beta;
    return rung_multiply(context, &problem);
}
