/* SPDX-License-Identifier: Apache-2.0 */
/* plan_run.c - runs plans: validates a run, or takes the fast path for a problem that needs no validation. */
#include "base/assert.h"
#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/checked/checked_run.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "core/problem.h"
#include "core/quantization.h"

/* ---- Validation -------------------------------------------------------------------------------------------------- */

rung_status rungi_plan_check_view(const rung_plan *plan, const char *name, const rung_matrix *view)
{
    const rung_device *device = plan->device;
    if (rungi_matrix_is_empty(view))
        return RUNG_OK;
    if (view->buffer && view->buffer->device != device)
        return rungi_invalid("%s is in a buffer of another device than the plan's", name);
    if (view->data && !device->reads_host_memory)
        return rungi_invalid("%s is in host memory, which %s cannot read; copy it to a buffer, or call rung_gemm", name,
                             device->info.name);
    return RUNG_OK;
}

/* Checks the memory of a run with a packed B. The problem's own B has no memory. */
static rung_status check_packed_run(const rung_plan *plan, const rung_problem *problem, const rung_run_options *options)
{
    TRY(rungi_problem_check_form(problem));
    TRY(rungi_plan_check_packed_buffer(plan, options->packed_b));
    return rungi_problem_check_with_packed_b(problem, options->packed_b, plan->info.packed_b_bytes);
}

/* Returns whether the problem has the plan's form, or that form without the addend if beta is 0. */
static bool matches_form(const rung_plan *plan, const rung_problem *normalized)
{
    if (normalized->beta != 0 || rungi_matrix_is_absent(rungi_problem_addend(&plan->problem)))
        return rungi_problem_has_same_form(&plan->problem, normalized);
    rung_problem form = plan->problem;
    form.d = (rung_matrix){.type = RUNG_TYPE_NONE};
    return rungi_problem_has_same_form(&form, normalized);
}

static rung_status check_workspace(const rung_plan *plan, const rung_problem *normalized, const rung_buffer *workspace)
{
    int64_t bytes = plan->info.workspace_bytes;
    if (bytes == 0)
        return RUNG_OK;
    if (!workspace || workspace->device != plan->device || workspace->bytes < bytes || workspace->address % 16 != 0)
        return rungi_invalid(
            "the plan needs a workspace of at least %lld bytes on the plan's device, aligned to 16 bytes",
            (long long)bytes);
    if (rungi_problem_overlaps_buffer(normalized, workspace, bytes))
        return rungi_fail(
            RUNG_STATUS_ALIASED,
            "the workspace overlaps A, B, C, scales or an operand of the epilogue; use a separate buffer");
    return RUNG_OK;
}

/* Checks that the plan's device can access scales and zero points of A or B. */
static rung_status check_quantization_views(const rung_plan *plan, const rung_problem *problem, rungi_operand operand)
{
    const rung_quantization *given = rungi_problem_quantization(problem, operand);
    rung_quantization quantization;
    if (!given)
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    TRY(rungi_plan_check_view(plan, rungi_scales_name(operand, true), &quantization.scales));
    return rungi_plan_check_view(plan, rungi_scales_name(operand, false), &quantization.zero_points);
}

static rung_status check_run(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem,
                             const rung_problem *normalized, const rung_run_options *options)
{
    if (queue->device != plan->device)
        return rungi_invalid("the queue belongs to another device than the plan");
    if (rungi_matrix_is_absent(rungi_problem_addend(&plan->problem)) &&
        !rungi_matrix_is_absent(rungi_problem_addend(normalized)))
        return rungi_invalid(
            "beta is %g and D is another matrix than C, and the plan was created with beta 0 or without "
            "such a D; create a plan with a problem like this one",
            problem->beta);
    if (!matches_form(plan, normalized))
        return rungi_invalid(
            "the types, sizes, strides, scales, batch or epilogue differ from the problem that the plan was created for");
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if ((i != RUNGI_B || !plan->packed_b) && rungi_problem_uses_operand(problem, i))
            TRY(rungi_plan_check_view(plan, rungi_operand_name(i), rungi_problem_view(problem, i)));
    TRY(check_quantization_views(plan, problem, RUNGI_A));
    TRY(check_quantization_views(plan, problem, RUNGI_B));
    TRY(plan->packed_b ? check_packed_run(plan, problem, options) : rung_problem_check(problem));
    if (plan->required_alignment & ~rungi_plan_alignment_of(normalized))
        return rungi_invalid(
            "A, B or C is not aligned to %s, as in the problem that the plan was created for; create a plan "
            "with a problem like this one",
            plan->required_alignment & RUNGI_INPUTS_ALIGNED_16_BYTES ? "16 bytes" : "four elements");
    return check_workspace(plan, normalized, options->workspace);
}

/* ---- Fast path --------------------------------------------------------------------------------------------------- */

/* Host addresses. */
typedef struct byte_range {
    uintptr_t first, end;
} byte_range_t;

static bool are_disjoint(byte_range_t x, byte_range_t y)
{
    return x.end <= y.first || y.end <= x.first;
}

/* Like rungi_matrix_has_same_form() for a single item, but inline. */
static bool has_form(const rung_matrix *view, const rung_matrix *form)
{
    bool has_valid_items = view->batch_stride == 0 ||
                           (view->batch_stride > 0 && view->batch_stride % rung_type_block_elements(form->type) == 0);
    return view->type == form->type && view->rows == form->rows && view->cols == form->cols &&
           view->row_stride == form->row_stride && view->col_stride == form->col_stride && has_valid_items &&
           !view->batch_offsets;
}

/* Returns whether a view in host memory has the plan's form, and the range of its bytes. */
static bool matches_host_view(const rung_matrix *view, const rung_matrix *form, int64_t span, byte_range_t *range)
{
    uintptr_t alignment = (uintptr_t)rungi_type_alignment(form->type);
    if (!has_form(view, form) || view->buffer || !view->data || view->offset < 0 ||
        view->offset > INT64_MAX / 16 - span ||
        (rungi_type_has_scales(form->type) && view->offset % rung_type_block_elements(form->type) != 0))
        return false;
    range->first = (uintptr_t)view->data + (uintptr_t)rungi_type_bytes(form->type, view->offset);
    range->end = range->first + (uintptr_t)rungi_type_bytes(form->type, span);
    return (range->first & (alignment - 1)) == 0 && range->end > range->first; /* alignments are powers of two */
}

/* Returns whether the accumulator's type represents the scalar exactly. */
static bool is_exact_scalar(const rung_plan *plan, double scalar)
{
    if (rungi_type_is_integer(plan->problem.c.type))
        return rungi_is_int32(scalar);
    return (double)(float)scalar == scalar || plan->problem.a.type == RUNG_F64;
}

/* Returns whether a packed B in host memory fits the plan, and the range of its bytes. */
static bool matches_packed_buffer(const rung_plan *plan, const rung_matrix *b, const rung_buffer *packed,
                                  byte_range_t *range)
{
    if (!has_form(b, &plan->problem.b) || packed->device != plan->device || packed->bytes < plan->info.packed_b_bytes ||
        packed->address % 64 != 0)
        return false;
    range->first = packed->address;
    range->end = packed->address + (uintptr_t)plan->info.packed_b_bytes;
    return true;
}

/* Most runs on the CPU pass this test, and check_run() accepts every problem that does. The full validation would take
 * as long as multiplying small matrices. `packed` is the packed B, or NULL. */
static bool can_run_fast(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem,
                         const rung_buffer *packed)
{
    const rung_problem *form = &plan->problem;
    byte_range_t a, b, c;
    return problem->size == sizeof *problem && plan->has_fast_path && plan->packed_b == (packed != NULL) &&
           plan->device->context->logger.verbose == 0 && queue->device == plan->device &&
           rungi_problem_items(problem) == 1 && problem->compute == form->compute &&
           problem->activation == RUNG_ACTIVATION_NONE && rungi_matrix_is_empty(&problem->bias) &&
           rungi_matrix_is_empty(&problem->multiplier) && rungi_matrix_is_empty(&problem->residual) &&
           rungi_matrix_is_absent(&problem->d) && !problem->a_quantization && !problem->b_quantization &&
           !problem->d_quantization && is_exact_scalar(plan, problem->alpha) && is_exact_scalar(plan, problem->beta) &&
           matches_host_view(&problem->a, &form->a, plan->spans[RUNGI_A], &a) &&
           (packed ? matches_packed_buffer(plan, &problem->b, packed, &b)
                   : matches_host_view(&problem->b, &form->b, plan->spans[RUNGI_B], &b)) &&
           matches_host_view(&problem->c, &form->c, plan->spans[RUNGI_C], &c) && are_disjoint(c, a) &&
           are_disjoint(c, b) && (!packed || are_disjoint(a, b));
}

bool rungi_plan_can_run_fast(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem)
{
    return can_run_fast(plan, queue, problem, NULL);
}

/* Returns whether the options set at most a packed B and a valid number of threads. */
static bool are_fast_options(const rung_run_options *options)
{
    return options->size == sizeof *options && options->wait_count == 0 && !options->wait && !options->signal &&
           !options->workspace && !options->checked && !options->corrected &&
           (uint64_t)options->threads <= RUNGI_THREADS_MAX;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static rungi_gemm_sizes sizes_of(const rung_problem *problem)
{
    return (rungi_gemm_sizes){problem->c.rows, problem->c.cols, problem->alpha == 0.0 ? 0 : problem->a.cols,
                              rungi_problem_items(problem)};
}

/* Returns whether a vendor library must not compute the run: C is not empty, and A and B must not be read. */
static bool needs_zero_alpha_plan(const rung_plan *plan, rungi_gemm_sizes sizes)
{
    return plan->kernel->step && plan->kernel->step->is_vendor && sizes.k == 0 && sizes.m > 0 && sizes.n > 0 &&
           sizes.batch > 0;
}

/* Runs a normalized problem. The log shows it as it was given. */
static rung_status run(rung_plan *plan, rung_queue *queue, const rung_problem *given, const rung_problem *normalized,
                       const rung_run_options *options)
{
    rungi_gemm_sizes sizes = sizes_of(normalized);
    const rungi_device_ops *ops = plan->device->ops;
    if (needs_zero_alpha_plan(plan, sizes)) {
        rung_problem without_inputs = *normalized;
        if (!plan->zero_alpha_plan)
            return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                              "alpha is 0, %s does not guarantee to leave A and B unread, and no other kernel of %s "
                              "supports the problem",
                              plan->info.kernel, plan->device->info.name);
        rungi_problem_drop_inputs(&without_inputs);
        return run(plan->zero_alpha_plan, queue, given, &without_inputs, options);
    }
    RUNGI_ASSERT(queue->device == plan->device && matches_form(plan, normalized));
    RUNGI_ASSERT(plan->info.workspace_bytes == 0 ||
                 (options->workspace && options->workspace->bytes >= plan->info.workspace_bytes));
    if (plan->device->context->logger.verbose > 0 && !(ops->queue_is_captured && ops->queue_is_captured(queue)))
        return rungi_trace_run(plan, queue, given, normalized, sizes, options);
    return ops->plan_run(plan, queue, normalized, sizes, options);
}

rung_status rungi_plan_run_fast(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                const rung_run_options *options)
{
    rungi_gemm_sizes sizes = sizes_of(problem);
    if (!needs_zero_alpha_plan(plan, sizes))
        return plan->device->ops->plan_run(plan, queue, problem, sizes, options);
    rung_problem normalized = *problem;
    rungi_problem_normalize(&normalized);
    return run(plan, queue, problem, &normalized, options);
}

rung_status rungi_plan_run_normalized(rung_plan *plan, rung_queue *queue, const rung_problem *normalized,
                                      const rung_run_options *options)
{
    if (rungi_matrix_is_absent(rungi_problem_addend(normalized)))
        return run(plan, queue, normalized, normalized, options);
    rung_problem given = rungi_problem_denormalize(normalized);
    return run(plan, queue, &given, normalized, options);
}

/* Runs after a validation of all arguments. Not inlined, so that the fast path needs little stack. */
static __attribute__((noinline)) rung_status
validate_and_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_problem read;
    rung_run_options run_options;
    TRY(rungi_problem_read(problem, &read));
    TRY(rungi_run_options_check(queue, options, &run_options));
    /* Normalizing may read one batch offset per item. */
    if (rungi_problem_items(&read) != plan->problem.batch)
        return rungi_invalid("batch is %lld; the plan was created for %lld", (long long)read.batch,
                             (long long)plan->problem.batch);
    rung_problem normalized = read;
    rungi_problem_normalize(&normalized);
    TRY(check_run(plan, queue, &read, &normalized, &run_options));
    if (run_options.corrected)
        *run_options.corrected = 0;
    if (run_options.checked)
        return rungi_plan_run_checked(plan, queue, &normalized, &run_options);
    return run(plan, queue, &read, &normalized, &run_options);
}

rung_status rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                          const rung_run_options *options)
{
    static const rung_run_options no_options = {.size = sizeof(rung_run_options)};
    if (!plan || !queue || !problem)
        return rungi_invalid("rung_plan_run needs a plan, a queue and a problem; one of them is NULL");
    if (!options && can_run_fast(plan, queue, problem, NULL))
        return rungi_plan_run_fast(plan, queue, problem, &no_options);
    if (options && are_fast_options(options) && can_run_fast(plan, queue, problem, options->packed_b))
        return rungi_plan_run_fast(plan, queue, problem, options);
    return validate_and_run(plan, queue, problem, options);
}
