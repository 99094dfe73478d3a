/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a plan for a problem, and running it. The choice is choose.c's. */
#include "core/cancel.h"
#include "core/checked.h"
#include "core/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/choose.h"
#include "core/growth.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/run.h"
#include "core/trace.h"

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

/* The normalized problem without its memory. */
static rung_problem problem_form(const rung_problem *settled)
{
    rung_problem form = *settled;
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        *rungi_problem_place(&form, i) = form_of(*rungi_problem_view(&form, i));
    return form;
}

static bool begins_at(const rung_problem *problem, rungi_operand operand, int64_t elements)
{
    return rungi_matrix_is_aligned(rungi_problem_view(problem, operand), rungi_problem_items(problem), elements);
}

static unsigned alignment_of(const rung_problem *problem)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type);
    bool inputs_at_fours = begins_at(problem, RUNGI_A, 4) && begins_at(problem, RUNGI_B, 4);
    bool at_fours = inputs_at_fours && begins_at(problem, RUNGI_C, 4);
    bool at_16_bytes = begins_at(problem, RUNGI_A, chunk) && begins_at(problem, RUNGI_B, chunk);
    return (at_fours ? RUNGI_AT_FOURS : 0u) | (at_16_bytes ? RUNGI_AT_16_BYTES : 0u) |
           (inputs_at_fours ? RUNGI_INPUTS_AT_FOURS : 0u);
}

void rungi_plan_begin(rung_plan *plan, const rung_problem *problem)
{
    rung_problem settled = *problem;
    rungi_problem_settle(&settled);
    plan->problem = problem_form(&settled);
    plan->aligned = alignment_of(&settled);
}

bool rungi_plan_suits(const rung_plan *plan, const rung_problem *settled)
{
    return rungi_problem_same_form(&plan->problem, settled) && plan->aligned == alignment_of(settled);
}

bool rungi_plan_suits_threads(const rung_plan *plan, int64_t threads)
{
    int64_t planned = plan->threads_asked, ours = plan->device->threads;
    if (ours == 0)
        return true;
    planned = planned > 0 ? planned : ours;
    threads = threads > 0 ? threads : ours;
    return planned == threads || (plan->info.threads < planned && plan->info.threads <= threads);
}

/* For runs that are seen at a glance to be sound: see rungi_plan_sees_through. */
static void note_plain(rung_plan *plan)
{
    const rung_problem *problem = &plan->problem;
    plan->is_plain = plan->device->takes_data && problem->batch == 1 && !rungi_problem_has_epilogue(problem) &&
                     !problem->c.batch_offsets && !problem->a.batch_offsets && !problem->b.batch_offsets &&
                     plan->info.workspace_bytes == 0 && plan->needs_aligned == 0;
    for (int i = RUNGI_A; i <= RUNGI_C && plan->is_plain; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        plan->is_plain = !rungi_matrix_is_empty(view) && rungi_matrix_span(view, &plan->spans[i]);
    }
}

/* Vendors do not promise to leave A and B unread where alpha is 0, so such runs are given to a kernel of the library,
 * the first of the ladder that takes the problem. It is made with the plan, since a run neither compiles nor
 * allocates. */
static rung_status make_unread(rung_plan *plan, rung_plan **unread)
{
    const rungi_backend *backend = plan->device->backend;
    rung_problem problem = plan->problem;
    rungi_error before;
    RUNGI_ASSERT(!problem.c.batch_offsets);                               /* a form has no real ones */
    RUNGI_ASSERT(rungi_matrix_is_absent(rungi_problem_addend(&problem))); /* no vendor takes one */
    rungi_error_save(&before);
    rungi_problem_drop_inputs(&problem);
    rung_status status = RUNG_STATUS_UNSUPPORTED;
    for (int64_t i = 0;
         i < backend->ladder_count && (status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_COMPILE_FAILED);
         i++) {
        rung_plan_options options = {.size = sizeof(rung_plan_options), .threads = plan->threads_asked};
        rung_kernel *kernel;
        if (backend->ladder[i].is_vendor)
            continue;
        status = rung_kernel_at(plan->device->context, backend->name, i, &kernel);
        options.kernel = kernel;
        if (status == RUNG_OK)
            status = rung_plan_create(plan->device, &problem, &options, unread);
        RUNGI_ASSERT(status != RUNG_OK || (*unread)->info.workspace_bytes == 0); /* k is 0: there is nothing to split */
        if (status == RUNG_OK && (*unread)->needs_aligned != 0) {                /* a run may have any alignment */
            rung_plan_destroy(*unread);
            *unread = NULL;
            status = RUNG_STATUS_UNSUPPORTED;
        }
    }
    if (status != RUNG_STATUS_UNSUPPORTED && status != RUNG_STATUS_COMPILE_FAILED && status != RUNG_OK)
        return status;
    rungi_error_restore(&before); /* that none takes it matters to runs with alpha = 0 alone */
    return RUNG_OK;
}

static rung_status fill_plan(rung_plan *plan, const rung_plan_options *options)
{
    rung_status status = rungi_choose(plan, options, NULL);
    if (status != RUNG_OK)
        return status;
    RUNGI_ASSERT(plan->kernel);
    if (plan->kernel->step && plan->kernel->step->is_vendor) {
        status = make_unread(plan, &plan->unread);
        if (status != RUNG_OK) {
            plan->device->ops->plan_destroy(plan);
            return status;
        }
    }
    rungi_kernel_retain(plan->kernel);
    rungi_kernel_values_text(plan->kernel, &plan->values, plan->parameters, sizeof plan->parameters);
    plan->info.kernel = plan->kernel->info.name;
    plan->info.parameters = plan->parameters;
    plan->info.origin_text = plan->origin_text;
    plan->info.rejected = plan->rejected;
    note_plain(plan);
    return RUNG_OK;
}

static rung_status check_options(const rung_plan_options *options, const rung_problem *problem)
{
    if (options->shared_carveout_percent < 0 || options->shared_carveout_percent > 100)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "a carve-out of %lld per cent cannot be; it is 1 to 100, or 0 for "
                          "the driver's choice",
                          (long long)options->shared_carveout_percent);
    if (options->split_k < 0 || options->max_workspace_bytes < 0)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "a plan is cut into %lld shares and offered %lld bytes; neither "
                          "may be negative",
                          (long long)options->split_k, (long long)options->max_workspace_bytes);
    if (options->packed_b && problem->batch > 1 && !rungi_matrix_is_shared(&problem->b))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "B is packed once for all items of a batch; give it a batch stride of 0");
    return rungi_threads_check(options->threads, "the context's number");
}

rung_status rungi_plan_prepare(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                               rung_plan **out)
{
    rung_status status = rungi_problem_check_form(problem);
    if (status == RUNG_OK)
        status = check_options(options, problem);
    if (status != RUNG_OK)
        return status;
    rung_plan *plan = rungi_new(device->context, sizeof *plan);
    if (!plan)
        return RUNG_STATUS_NO_MEMORY;
    plan->device = device;
    rungi_plan_begin(plan, problem);
    plan->splits_asked = options->split_k;
    plan->workspace_offered = options->max_workspace_bytes;
    plan->carveout = options->shared_carveout_percent;
    plan->threads_asked = options->threads;
    plan->packed_b = options->packed_b != 0;
    plan->info.library = plan->info.warning = "";
    *out = plan;
    return RUNG_OK;
}

/* Creates a plan for a problem and options of this version's size. */
static rung_status create_plan(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                               bool skips_records, rung_plan **out)
{
    rung_plan *plan;
    rung_status status = rungi_plan_prepare(device, problem, options, &plan);
    if (status != RUNG_OK)
        return status;
    plan->skips_records = skips_records;
    status = fill_plan(plan, options);
    if (status != RUNG_OK) {
        rungi_log(device->context, 1, "rung: %s %lldx%lldx%lld %s was rejected: %s", device->info.name,
                  (long long)plan->problem.c.rows, (long long)plan->problem.c.cols, (long long)problem->a.cols,
                  rung_type_name(plan->problem.c.type), rung_error_text());
        rungi_release(device->context, plan);
        return status;
    }
    rungi_device_retain(device);
    *out = plan;
    return RUNG_OK;
}

rung_status rung_plan_create(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                             rung_plan **out)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_problem read;
    rung_plan_options choice;
    if (out)
        *out = NULL;
    if (!device || !problem || !out)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_plan_create needs a device, a problem and a place for "
                                               "the plan");
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = rungi_plan_options_read(options, &choice);
    return status == RUNG_OK ? create_plan(device, &read, &choice, false, out) : status;
}

rung_status rungi_plan_create_untuned(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **out)
{
    *out = NULL;
    return create_plan(device, problem, options, true, out);
}

void rung_plan_destroy(rung_plan *plan)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!plan)
        return;
    rung_device *device = plan->device;
    rung_plan_destroy(plan->unread);
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

static const rung_run_options no_options = {.size = sizeof(rung_run_options)};

static rung_status check_view(const rung_device *device, const char *name, const rung_matrix *view)
{
    if (rungi_matrix_is_empty(view))
        return RUNG_OK;
    if (view->buffer && view->buffer->device != device)
        return rungi_fail(RUNG_STATUS_INVALID, "%s lies in a buffer of another device than the plan's", name);
    if (view->data && !device->takes_data)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s lies in this process's memory, which %s cannot reach; copy "
                          "it to a buffer, or call rung_gemm",
                          name, device->info.name);
    return RUNG_OK;
}

static rung_status check_packed_buffer(const rung_plan *plan, const rung_buffer *packed)
{
    if (packed && packed->device == plan->device && packed->bytes >= plan->info.packed_b_bytes &&
        packed->place % 64 == 0)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_INVALID,
                      "the plan needs a buffer of %lld bytes on its device for a packed B, at a multiple "
                      "of 64 bytes",
                      (long long)plan->info.packed_b_bytes);
}

/* A problem whose B has a form alone. */
static rung_status check_packed(const rung_plan *plan, const rung_problem *problem, const rung_run_options *options)
{
    rung_problem rest = *problem;
    rung_status status = rungi_problem_check_form(problem);
    if (status == RUNG_OK)
        status = check_packed_buffer(plan, options->packed_b);
    if (status != RUNG_OK)
        return status;
    rest.b.rows = rest.b.cols = 0;
    if (rungi_problem_meets(&rest, options->packed_b, plan->info.packed_b_bytes))
        return rungi_fail(RUNG_STATUS_ALIASED, "the packed B is memory of A, C or the epilogue; give it its own");
    return rungi_problem_check_memory(&rest);
}

/* Whether the plan serves a problem: it has the plan's form, or that form without the addend, since beta is 0. */
static bool has_plan_form(const rung_plan *plan, const rung_problem *settled)
{
    if (settled->beta != 0 || rungi_matrix_is_absent(rungi_problem_addend(&plan->problem)))
        return rungi_problem_same_form(&plan->problem, settled);
    rung_problem form = plan->problem;
    form.d = (rung_matrix){.type = RUNG_TYPE_NONE};
    return rungi_problem_same_form(&form, settled);
}

static rung_status check_run(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem,
                             const rung_problem *settled, const rung_run_options *options)
{
    if (queue->device != plan->device)
        return rungi_fail(RUNG_STATUS_INVALID, "the queue is of another device than the plan");
    if (rungi_matrix_is_absent(rungi_problem_addend(&plan->problem)) &&
        !rungi_matrix_is_absent(rungi_problem_addend(settled)))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "beta is %g and D is another matrix than C, and the plan was created with beta 0 or "
                          "without such a D; create a plan with a problem like this one",
                          problem->beta);
    if (!has_plan_form(plan, settled))
        return rungi_fail(RUNG_STATUS_INVALID, "the problem has other types, sizes, strides, items or another "
                                               "epilogue than the one the plan was made for");
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++)
        if ((i != RUNGI_B || !plan->packed_b) && rungi_problem_uses(problem, i))
            status = check_view(plan->device, rungi_operand_name(i), rungi_problem_view(problem, i));
    if (status == RUNG_OK)
        status = plan->packed_b ? check_packed(plan, problem, options) : rung_problem_check(problem);
    if (status != RUNG_OK)
        return status;
    if (plan->needs_aligned & ~alignment_of(settled))
        return rungi_fail(
            RUNG_STATUS_INVALID,
            "A, B or C is less aligned than in the problem that the plan was created for, whose views begin at "
            "multiples of %s; create the plan with a problem like this one",
            plan->needs_aligned & RUNGI_AT_16_BYTES ? "16 bytes" : "four elements");
    if (plan->info.workspace_bytes > 0 &&
        (!options->workspace || options->workspace->device != plan->device ||
         options->workspace->bytes < plan->info.workspace_bytes || options->workspace->place % 16 != 0))
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the plan needs a workspace of %lld bytes on its device, at a "
                          "multiple of 16 bytes",
                          (long long)plan->info.workspace_bytes);
    if (plan->info.workspace_bytes > 0 && rungi_problem_meets(settled, options->workspace, plan->info.workspace_bytes))
        return rungi_fail(RUNG_STATUS_ALIASED, "the workspace is memory of A, B, C or the epilogue; give it its own");
    return RUNG_OK;
}

/* Addresses of bytes in this process's memory. */
typedef struct byte_range {
    uintptr_t first, end;
} byte_range_t;

static bool are_apart(byte_range_t x, byte_range_t y)
{
    return x.end <= y.first || y.end <= x.first;
}

static bool has_form(const rung_matrix *view, const rung_matrix *form)
{
    return view->type == form->type && view->rows == form->rows && view->cols == form->cols &&
           view->row_stride == form->row_stride && view->col_stride == form->col_stride && !view->batch_offsets;
}

/* Whether a view in this process's memory has the plan's form; `range` is its bytes. */
static bool is_at_hand(const rung_matrix *view, const rung_matrix *form, int64_t span, byte_range_t *range)
{
    uintptr_t size = (uintptr_t)rung_type_size(form->type);
    if (!has_form(view, form) || view->buffer || !view->data || view->offset < 0 ||
        view->offset > INT64_MAX / 16 - span)
        return false;
    range->first = (uintptr_t)view->data + (uintptr_t)view->offset * size;
    range->end = range->first + (uintptr_t)span * size;
    return (range->first & (size - 1)) == 0 && range->end > range->first; /* sizes are powers of two */
}

/* As it is, in the type of the sums. */
static bool is_held(const rung_plan *plan, double scalar)
{
    rung_type out = plan->problem.c.type;
    if (out == RUNG_I32 || out == RUNG_I8)
        return rungi_is_int32(scalar);
    return (double)(float)scalar == scalar || plan->problem.a.type == RUNG_F64;
}

/* Whether a packed B in this process's memory suits the plan; `range` is its bytes. */
static bool is_packed_at_hand(const rung_plan *plan, const rung_matrix *b, const rung_buffer *packed,
                              byte_range_t *range)
{
    if (!has_form(b, &plan->problem.b) || packed->device != plan->device || packed->bytes < plan->info.packed_b_bytes ||
        packed->place % 64 != 0)
        return false;
    range->first = packed->place;
    range->end = packed->place + (uintptr_t)plan->info.packed_b_bytes;
    return true;
}

/* This is what most runs on the CPU are. Nothing that is asked the long way could be refused then,
 * and asking would take as long as multiplying small matrices. `packed` is the packed B, or NULL. */
static bool sees_through(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem,
                         const rung_buffer *packed)
{
    const rung_problem *form = &plan->problem;
    byte_range_t a, b, c;
    return problem->size == sizeof *problem && plan->is_plain && plan->packed_b == (packed != NULL) &&
           plan->device->context->verbose == 0 && queue->device == plan->device && rungi_problem_items(problem) == 1 &&
           problem->compute == form->compute && problem->activation == RUNG_ACTIVATION_NONE &&
           rungi_matrix_is_empty(&problem->bias) && rungi_matrix_is_empty(&problem->residual) &&
           rungi_matrix_is_absent(&problem->d) && !problem->a_quantization && !problem->b_quantization &&
           !problem->d_quantization && is_held(plan, problem->alpha) && is_held(plan, problem->beta) &&
           is_at_hand(&problem->a, &form->a, plan->spans[RUNGI_A], &a) &&
           (packed ? is_packed_at_hand(plan, &problem->b, packed, &b)
                   : is_at_hand(&problem->b, &form->b, plan->spans[RUNGI_B], &b)) &&
           is_at_hand(&problem->c, &form->c, plan->spans[RUNGI_C], &c) && are_apart(c, a) && are_apart(c, b) &&
           (!packed || are_apart(a, b));
}

bool rungi_plan_sees_through(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem)
{
    return sees_through(plan, queue, problem, NULL);
}

/* Whether options have no more than a packed B and a valid number of threads. */
static bool are_plain(const rung_run_options *options)
{
    return options->size == sizeof *options && options->wait_count == 0 && !options->wait && !options->signal &&
           !options->workspace && (uint64_t)options->threads <= RUNGI_THREADS_MAX;
}

static rungi_sizes sizes_of(const rung_problem *problem, double alpha)
{
    return (rungi_sizes){problem->c.rows, problem->c.cols, alpha == 0.0 ? 0 : problem->a.cols,
                         rungi_problem_items(problem)};
}

/* Whether a run is not the vendor's: there is something to compute, and A and B are not to be read. */
static bool goes_unread(const rung_plan *plan, rungi_sizes sizes)
{
    return plan->kernel->step && plan->kernel->step->is_vendor && sizes.k == 0 && sizes.m > 0 && sizes.n > 0 &&
           sizes.batch > 0;
}

static rung_status run(rung_plan *plan, rung_queue *queue, const rung_problem *given, const rung_problem *settled,
                       const rung_run_options *options);

static rung_status run_unread(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                              const rung_problem *settled, const rung_run_options *options)
{
    rung_problem rest = *settled;
    if (!plan->unread)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s does not promise to leave A and B unread where alpha is 0, and %s has "
                          "no kernel of the library that takes such a problem",
                          plan->info.kernel, plan->device->info.name);
    rungi_problem_drop_inputs(&rest);
    return run(plan->unread, queue, given, &rest, options);
}

rung_status rungi_plan_run_seen(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                const rung_run_options *options)
{
    rungi_sizes sizes = sizes_of(problem, problem->alpha);
    if (!goes_unread(plan, sizes))
        return plan->device->ops->plan_run(plan, queue, problem, sizes, options);
    rung_problem settled = *problem;
    rungi_problem_settle(&settled);
    return run_unread(plan, queue, problem, &settled, options);
}

/* The problem as it was given, for the log, and as it is run. */
static rung_status run(rung_plan *plan, rung_queue *queue, const rung_problem *given, const rung_problem *settled,
                       const rung_run_options *options)
{
    rungi_sizes sizes = sizes_of(settled, settled->alpha);
    const rungi_device_ops *ops = plan->device->ops;
    if (goes_unread(plan, sizes))
        return run_unread(plan, queue, given, settled, options);
    RUNGI_ASSERT(queue->device == plan->device && has_plan_form(plan, settled));
    RUNGI_ASSERT(plan->info.workspace_bytes == 0 ||
                 (options->workspace && options->workspace->bytes >= plan->info.workspace_bytes));
    if (plan->device->context->verbose > 0 && !(ops->queue_is_captured && ops->queue_is_captured(queue)))
        return rungi_trace_run(plan, queue, given, settled, sizes, options);
    return ops->plan_run(plan, queue, settled, sizes, options);
}

rung_status rungi_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *settled,
                           const rung_run_options *options)
{
    if (rungi_matrix_is_absent(rungi_problem_addend(settled)))
        return run(plan, queue, settled, settled, options);
    rung_problem given = rungi_problem_given(settled);
    return run(plan, queue, &given, settled, options);
}

/* Runs with all checks. Not inlined, so that the fast path needs little stack. */
static __attribute__((noinline)) rung_status run_checked(rung_plan *plan, rung_queue *queue,
                                                         const rung_problem *problem, const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_problem read;
    rung_run_options run_options;
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = rungi_run_check(queue, options, &run_options);
    if (status != RUNG_OK)
        return status;
    /* Settling reads as many batch offsets as there are items. */
    if (rungi_problem_items(&read) != plan->problem.batch)
        return rungi_fail(RUNG_STATUS_INVALID, "batch is %lld; the plan was created for %lld", (long long)read.batch,
                          (long long)plan->problem.batch);
    rung_problem settled = read;
    rungi_problem_settle(&settled);
    status = check_run(plan, queue, &read, &settled, &run_options);
    return status == RUNG_OK ? run(plan, queue, &read, &settled, &run_options) : status;
}

rung_status rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                          const rung_run_options *options)
{
    if (!plan || !queue || !problem)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_plan_run needs a plan, a queue and a problem");
    if (!options && sees_through(plan, queue, problem, NULL))
        return rungi_plan_run_seen(plan, queue, problem, &no_options);
    if (options && are_plain(options) && sees_through(plan, queue, problem, options->packed_b))
        return rungi_plan_run_seen(plan, queue, problem, options);
    return run_checked(plan, queue, problem, options);
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* Checks that a matrix can be packed for the plan. */
static rung_status check_pack_form(const rung_plan *plan, const rung_matrix *b)
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

rung_status rungi_plan_check_packing(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed)
{
    if (!plan->packed_b)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "the plan does not use a packed B; create it with rung_plan_options.packed_b = 1");
    if (queue->device != plan->device)
        return rungi_fail(RUNG_STATUS_INVALID, "the queue belongs to another device than the plan");
    return packed ? check_packed_buffer(plan, packed) : RUNG_OK;
}

rung_status rung_plan_pack_b(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                             const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options run_options;
    if (!plan || !queue || !b || !packed)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_plan_pack_b needs a plan, a queue, a matrix and a buffer");
    rung_problem alone = rung_problem_of(rung_matrix_of(b->type, 0, b->rows, NULL), *b,
                                         rung_matrix_of(plan->problem.c.type, 0, b->cols, NULL));
    rung_status status = rungi_plan_check_packing(plan, queue, NULL);
    if (status == RUNG_OK)
        status = check_pack_form(plan, b);
    if (status == RUNG_OK)
        status = rungi_run_check(queue, options, &run_options);
    if (status == RUNG_OK)
        status = check_view(plan->device, "B", b);
    if (status == RUNG_OK)
        status = check_packed_buffer(plan, packed);
    if (status == RUNG_OK)
        status = rung_problem_check(&alone);
    if (status == RUNG_OK && rungi_problem_meets(&alone, packed, plan->info.packed_b_bytes))
        status = rungi_fail(RUNG_STATUS_ALIASED, "the buffer for the packed B is memory of B; give it its own");
    return status == RUNG_OK ? plan->device->ops->plan_pack(plan, queue, b, packed, &run_options) : status;
}
