/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pack.c - rung_plan_pack_b(): packs B once for many runs of a plan. */
#include "base/cancellation.h"
#include "base/try.h"
#include "core/plan.h"
#include "core/plan_internal.h"
#include "core/problem.h"
#include "core/run_options.h"

rung_status rungi_plan_check_packed_buffer(const rung_plan *plan, const rung_buffer *packed)
{
    if (packed && packed->device == plan->device && packed->bytes >= plan->info.packed_b_bytes &&
        packed->address % 64 == 0)
        return RUNG_OK;
    return rungi_fail(
        RUNG_STATUS_INVALID,
        "a packed B of this plan needs a buffer of at least %lld bytes on the plan's device, aligned to 64 "
        "bytes",
        (long long)plan->info.packed_b_bytes);
}

rung_status rungi_plan_check_packing(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed)
{
    if (!plan->packed_b)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the plan does not use a packed B; create it with rung_plan_options.packed_b = 1");
    if (queue->device != plan->device)
        return rungi_fail(RUNG_STATUS_INVALID, "the queue belongs to another device than the plan");
    return packed ? rungi_plan_check_packed_buffer(plan, packed) : RUNG_OK;
}

/* Checks that the matrix has the form of the plan's B. */
static rung_status check_form(const rung_plan *plan, const rung_matrix *b)
{
    const rung_matrix *form = &plan->problem.b;
    if (b->batch_offsets)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "rung_plan_pack_b: B uses batch offsets; a packed B must be the same for every item "
                          "(batch_stride 0)");
    if (b->type != form->type)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_plan_pack_b: the type of B is %s; the plan was created for %s",
                          rung_type_name(b->type), rung_type_name(form->type));
    if (b->rows != form->rows || b->cols != form->cols)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "rung_plan_pack_b: B is %lld x %lld; the plan was created for %lld x %lld",
                          (long long)b->rows, (long long)b->cols, (long long)form->rows, (long long)form->cols);
    return RUNG_OK;
}

rung_status rung_plan_pack_b(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                             const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options run_options;
    if (!plan || !queue || !b || !packed)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "rung_plan_pack_b needs a plan, a queue, a matrix and a buffer; one of them is NULL");
    rung_problem only_b = rung_problem_of(rung_matrix_of(b->type, 0, b->rows, NULL), *b,
                                          rung_matrix_of(plan->problem.c.type, 0, b->cols, NULL));
    TRY(rungi_plan_check_packing(plan, queue, NULL));
    TRY(check_form(plan, b));
    TRY(rungi_run_options_check(queue, options, &run_options));
    TRY(rungi_plan_check_view(plan, "B", b));
    TRY(rungi_plan_check_packed_buffer(plan, packed));
    TRY(rung_problem_check(&only_b));
    if (rungi_problem_overlaps_buffer(&only_b, packed, plan->info.packed_b_bytes))
        return rungi_fail(RUNG_STATUS_ALIASED, "the buffer for the packed B overlaps B; use a separate buffer");
    return plan->device->ops->plan_pack(plan, queue, b, packed, &run_options);
}
