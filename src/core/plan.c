/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - creates plans and packs B for them. choose/choose_kernel.c chooses the kernel, plan_run.c runs plans. */
#include "core/plan.h"

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

static bool is_operand_aligned(const rung_problem *problem, rungi_operand operand, int64_t elements)
{
    return rungi_matrix_is_aligned(rungi_problem_view(problem, operand), rungi_problem_items(problem), elements);
}

/* Returns whether every item of a B of another type than A begins at a multiple of eight elements, in aligned memory. Blocks
 * of Q8_0 and Q4_0 are always aligned enough. */
static bool is_narrow_b_aligned(const rung_matrix *b, int64_t items)
{
    if (rungi_type_has_scales(b->type))
        return true;
    if (rungi_matrix_base_address(b) % 4 != 0 || b->offset % 8 != 0)
        return false;
    if (!b->batch_offsets)
        return items < 2 || b->batch_stride % 8 == 0;
    for (int64_t i = 0; i < items; i++)
        if (b->batch_offsets[i] % 8 != 0)
            return false;
    return true;
}

/* Returns the alignment of a problem whose B has another type than A. In the first flag, only A and C count. */
static unsigned alignment_with_narrow_b(const rung_problem *normalized)
{
    bool is_aligned = is_operand_aligned(normalized, RUNGI_A, 4) && is_operand_aligned(normalized, RUNGI_C, 4);
    return (is_aligned ? RUNGI_ALIGNED_4_ELEMENTS : 0) |
           (is_narrow_b_aligned(&normalized->b, rungi_problem_items(normalized)) ? RUNGI_NARROW_B_ALIGNED : 0);
}

/* Returns whether every item of a matrix of narrow elements begins at a multiple of 16 bytes. */
static bool is_narrow_aligned_16(const rung_matrix *matrix, int64_t items)
{
    int64_t elements = rungi_type_is_4_bit(matrix->type) ? 32 : 16;
    if (rungi_matrix_base_address(matrix) % 16 != 0 || matrix->offset % elements != 0)
        return false;
    if (!matrix->batch_offsets)
        return items < 2 || matrix->batch_stride % elements == 0;
    for (int64_t i = 0; i < items; i++)
        if (matrix->batch_offsets[i] % elements != 0)
            return false;
    return true;
}

/* Returns the alignment of a problem whose A and B are quantized. */
static unsigned alignment_with_quantized_a(const rung_problem *normalized)
{
    int64_t items = rungi_problem_items(normalized);
    return is_narrow_aligned_16(&normalized->a, items) && is_narrow_aligned_16(&normalized->b, items)
               ? RUNGI_INPUTS_ALIGNED_16_BYTES
               : 0;
}

unsigned rungi_plan_alignment_of(const rung_problem *normalized)
{
    unsigned alignment = 0;
    bool is_packed = rung_type_size(normalized->a.type) == 0; /* two elements per byte, for example */
    if (rungi_problem_has_quantized_a(normalized) || is_packed)
        return alignment_with_quantized_a(normalized);
    if (normalized->b.type != normalized->a.type)
        return alignment_with_narrow_b(normalized);
    int64_t elements = 16 / rung_type_size(normalized->a.type);
    if (is_operand_aligned(normalized, RUNGI_A, elements) && is_operand_aligned(normalized, RUNGI_B, elements))
        alignment |= RUNGI_INPUTS_ALIGNED_16_BYTES;
    if (is_operand_aligned(normalized, RUNGI_A, 4) && is_operand_aligned(normalized, RUNGI_B, 4)) {
        alignment |= RUNGI_INPUTS_ALIGNED_4_ELEMENTS;
        if (is_operand_aligned(normalized, RUNGI_C, 4))
            alignment |= RUNGI_ALIGNED_4_ELEMENTS;
    }
    return alignment;
}

/* Copies the form of scales and zero points into the plan. They were checked. */
static void set_quantization(const rung_quantization **given, rung_quantization *copy)
{
    rung_matrix *const views[] = {&copy->scales, &copy->zero_points};
    if (!*given)
        return;
    (void)rungi_quantization_read(*given, copy);
    for (int i = 0; i < 2; i++) {
        static const int64_t placeholder_offsets[1] = {0};
        views[i]->data = NULL;
        views[i]->buffer = NULL;
        views[i]->offset = 0;
        views[i]->batch_offsets = views[i]->batch_offsets ? placeholder_offsets : NULL;
    }
    *given = copy;
}

void rungi_plan_set_problem(rung_plan *plan, const rung_problem *problem)
{
    rung_problem normalized = *problem;
    rungi_problem_normalize(&normalized);
    plan->problem = rungi_problem_form(&normalized);
    set_quantization(&plan->problem.a_quantization, &plan->a_quantization);
    set_quantization(&plan->problem.b_quantization, &plan->b_quantization);
    plan->alignment = rungi_plan_alignment_of(&normalized);
}

bool rungi_plan_matches(const rung_plan *plan, const rung_problem *normalized)
{
    return rungi_problem_has_same_form(&plan->problem, normalized) &&
           plan->alignment == rungi_plan_alignment_of(normalized);
}

bool rungi_plan_matches_threads(const rung_plan *plan, int64_t threads)
{
    int64_t device_threads = plan->device->threads;
    if (device_threads == 0)
        return true;
    int64_t planned = plan->threads_requested > 0 ? plan->threads_requested : device_threads;
    threads = threads > 0 ? threads : device_threads;
    return planned == threads || (plan->info.threads < planned && plan->info.threads <= threads);
}

/* Sets whether runs may use the fast path; see rungi_plan_can_run_fast(). */
static void set_fast_path(rung_plan *plan)
{
    const rung_problem *problem = &plan->problem;
    plan->has_fast_path = plan->device->reads_host_memory && problem->batch == 1 &&
                          !rungi_problem_has_epilogue(problem) && !rungi_problem_has_batch_offsets(problem) &&
                          plan->info.workspace_bytes == 0 && plan->required_alignment == 0 &&
                          !problem->a_quantization && !problem->b_quantization &&
                          !rungi_type_is_4_bit(problem->a.type) && !rungi_type_is_4_bit(problem->b.type);
    for (int i = RUNGI_A; i <= RUNGI_C && plan->has_fast_path; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        plan->has_fast_path = !rungi_matrix_is_empty(view) && rungi_matrix_span(view, &plan->spans[i]);
    }
}

/* Creates a plan for runs with alpha = 0 with one kernel of the ladder. */
static rung_status try_zero_alpha_kernel(const rung_plan *plan, const rung_problem *problem, int64_t index,
                                         rung_plan **zero_alpha_plan)
{
    rung_kernel *kernel;
    TRY(rung_kernel_at(plan->device->context, plan->device->backend->name, index, &kernel));
    rung_plan_options options = {.size = sizeof options, .kernel = kernel, .threads = plan->threads_requested};
    TRY(rung_plan_create(plan->device, problem, &options, zero_alpha_plan));
    RUNGI_ASSERT((*zero_alpha_plan)->info.workspace_bytes == 0); /* k is 0: there is nothing to split */
    if ((*zero_alpha_plan)->required_alignment == 0)
        return RUNG_OK;
    rung_plan_destroy(*zero_alpha_plan); /* a run may have any alignment */
    *zero_alpha_plan = NULL;
    return RUNG_STATUS_UNSUPPORTED;
}

/* Vendor libraries do not guarantee to leave A and B unread if alpha is 0. So the first kernel of the ladder that
 * supports the problem computes such runs. Its plan is created here, since runs neither compile nor allocate. If no
 * kernel supports the problem, runs with alpha = 0 fail. */
static rung_status create_zero_alpha_plan(rung_plan *plan)
{
    const rungi_backend *backend = plan->device->backend;
    rung_problem problem = plan->problem;
    RUNGI_ASSERT(!problem.c.batch_offsets);                               /* the plan has only placeholders */
    RUNGI_ASSERT(rungi_matrix_is_absent(rungi_problem_addend(&problem))); /* no vendor library supports an addend */
    rungi_saved_error saved = rungi_error_save();
    rungi_problem_drop_inputs(&problem);
    rung_status status = RUNG_STATUS_UNSUPPORTED;
    for (int64_t i = 0; i < backend->ladder_count && rungi_choose_is_rejection(status); i++)
        if (!backend->ladder[i].is_vendor)
            status = try_zero_alpha_kernel(plan, &problem, i, &plan->zero_alpha_plan);
    if (status != RUNG_OK && !rungi_choose_is_rejection(status))
        return status;
    rungi_error_restore(&saved);
    return RUNG_OK;
}

/* Chooses the kernel and fills the plan's description. */
static rung_status choose_and_create(rung_plan *plan, const rung_plan_options *options)
{
    TRY(rungi_choose_kernel(plan, options, NULL));
    RUNGI_ASSERT(plan->kernel);
    bool is_vendor = plan->kernel->step && plan->kernel->step->is_vendor;
    rung_status status = is_vendor ? create_zero_alpha_plan(plan) : RUNG_OK;
    if (status != RUNG_OK) {
        plan->device->ops->plan_destroy(plan);
        return status;
    }
    rungi_kernel_retain(plan->kernel);
    rungi_kernel_format_parameters(plan->kernel, &plan->values, plan->parameters, sizeof plan->parameters);
    plan->info.kernel = plan->kernel->info.name;
    plan->info.parameters = plan->parameters;
    plan->info.origin_text = plan->origin_text;
    plan->info.rejected = plan->rejected;
    set_fast_path(plan);
    return RUNG_OK;
}

static rung_status check_options(const rung_plan_options *options, const rung_problem *problem)
{
    if (options->shared_carveout_percent < 0 || options->shared_carveout_percent > 100)
        return rungi_invalid("shared_carveout_percent is %lld; it must be 1 to 100, or 0 for the driver's choice",
                             (long long)options->shared_carveout_percent);
    if (options->split_k < 0 || options->max_workspace_bytes < 0)
        return rungi_invalid("split_k is %lld and max_workspace_bytes is %lld; neither may be negative",
                             (long long)options->split_k, (long long)options->max_workspace_bytes);
    if (options->packed_b && problem->batch > 1 && !rungi_matrix_is_batch_invariant(&problem->b))
        return rungi_invalid("a packed B must be the same for every item of a batch; set the batch stride of B to 0");
    if (options->packed_b && problem->b_quantization && !rungi_type_has_scales(problem->b.type))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "a packed B cannot have a rung_quantization in this version; multiply without packed_b, or "
                          "quantize B to q8_0 or q4_0, which hold their scales");
    if (options->packed_b && rungi_type_is_narrow(problem->a.type) && !rungi_type_is_integer(problem->c.type))
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "a packed B is not multiplied by a quantized A in this version; multiply without packed_b, or "
            "dequantize A");
    return rungi_threads_check(options->threads, "the context's number");
}

rung_status rungi_plan_create_without_kernel(rung_device *device, const rung_problem *problem,
                                             const rung_plan_options *options, rung_plan **out)
{
    TRY(rungi_problem_check_form(problem));
    TRY(check_options(options, problem));
    rung_plan *plan = rungi_allocate_zeroed(device->context, sizeof *plan);
    TRY(rungi_allocated(plan));
    *plan = (rung_plan){.device = device,
                        .split_k_requested = options->split_k,
                        .workspace_bytes_allowed = options->max_workspace_bytes,
                        .carveout = options->shared_carveout_percent,
                        .threads_requested = options->threads,
                        .packed_b = options->packed_b != 0,
                        .info = {.library = "", .warning = ""}};
    rungi_plan_set_problem(plan, problem);
    *out = plan;
    return RUNG_OK;
}

/* Creates a plan for a problem and options of this version's size. */
static rung_status create_plan(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                               bool ignores_tuning, rung_plan **out)
{
    rung_plan *plan;
    TRY(rungi_plan_create_without_kernel(device, problem, options, &plan));
    plan->ignores_tuning = ignores_tuning;
    rung_status status = choose_and_create(plan, options);
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
    rung_plan_options read_options;
    TRY(rungi_clear_result(
        out, device && problem,
        "rung_plan_create needs a device, a problem and a pointer for the plan; one of them is NULL"));
    TRY(rungi_problem_read(problem, &read));
    TRY(rungi_plan_options_read(options, &read_options));
    return create_plan(device, &read, &read_options, false, out);
}

rung_status rungi_plan_create_untuned(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **out)
{
    *out = NULL;
    return create_plan(device, problem, options, true, out);
}

rung_status rungi_plan_create_for_group(rung_device *device, const rung_problem *typical, const rungi_group *group,
                                        unsigned alignment, rung_plan **out)
{
    rung_plan_options options = {.size = sizeof options, .split_k = 1};
    rung_plan *plan;
    *out = NULL;
    TRY(rungi_plan_create_without_kernel(device, typical, &options, &plan));
    plan->group = group;
    plan->alignment = alignment;
    rung_status status = choose_and_create(plan, &options);
    if (status != RUNG_OK) {
        rungi_release(device->context, plan);
        return status;
    }
    rungi_device_retain(device);
    *out = plan;
    return RUNG_OK;
}

rung_plan_options rungi_plan_options(const rung_kernel *kernel, const char *parameters)
{
    return (rung_plan_options){.size = sizeof(rung_plan_options),
                               .kernel = kernel,
                               .parameters = parameters,
                               .max_workspace_bytes = rungi_workspace_bytes_max};
}

rung_status rungi_plan_create_normalized(rung_device *device, const rung_problem *normalized,
                                         const rung_plan_options *options, rung_plan **plan)
{
    rung_problem given = rungi_problem_denormalize(normalized);
    return rung_plan_create(device, &given, options, plan);
}

void rung_plan_destroy(rung_plan *plan)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!plan)
        return;
    rung_device *device = plan->device;
    rung_plan_destroy(plan->zero_alpha_plan);
    device->ops->plan_destroy(plan);
    rung_kernel_destroy((rung_kernel *)(uintptr_t)plan->kernel);
    rungi_release(device->context, plan);
    rung_device_close(device);
}

const rung_plan_info *rung_plan_describe(const rung_plan *plan)
{
    return plan ? &plan->info : NULL;
}

/* ---- Packed B -------------------------------------------------------------------------------------- */

rung_status rungi_plan_check_packed_buffer(const rung_plan *plan, const rung_buffer *packed)
{
    if (packed && packed->device == plan->device && packed->bytes >= plan->info.packed_b_bytes &&
        packed->address % 64 == 0)
        return RUNG_OK;
    return rungi_invalid(
        "a packed B of this plan needs a buffer of at least %lld bytes on the plan's device, aligned to 64 bytes",
        (long long)plan->info.packed_b_bytes);
}

rung_status rungi_plan_check_packing(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed)
{
    if (!plan->packed_b)
        return rungi_invalid("the plan does not use a packed B; create it with rung_plan_options.packed_b = 1");
    if (queue->device != plan->device)
        return rungi_invalid("the queue belongs to another device than the plan");
    return packed ? rungi_plan_check_packed_buffer(plan, packed) : RUNG_OK;
}

/* Checks that the matrix has the form of the plan's B. */
static rung_status check_b(const rung_plan *plan, const rung_matrix *b)
{
    const rung_matrix *form = &plan->problem.b;
    if (b->batch_offsets)
        return rungi_invalid(
            "rung_plan_pack_b: B uses batch offsets; a packed B must be the same for every item (batch_stride 0)");
    if (b->type != form->type)
        return rungi_invalid("rung_plan_pack_b: the type of B is %s; the plan was created for %s",
                             rung_type_name(b->type), rung_type_name(form->type));
    if (b->rows != form->rows || b->cols != form->cols)
        return rungi_invalid("rung_plan_pack_b: B is %lld x %lld; the plan was created for %lld x %lld",
                             (long long)b->rows, (long long)b->cols, (long long)form->rows, (long long)form->cols);
    bool is_along_n = rungi_matrix_has_blocks_in_rows(b), is_form_along_n = rungi_matrix_has_blocks_in_rows(form);
    if (rungi_type_has_scales(b->type) && !rungi_matrix_is_empty(b) && is_along_n != is_form_along_n)
        return rungi_invalid("rung_plan_pack_b: the blocks of B lie along %s; the plan was created for blocks along %s",
                             is_along_n ? "n" : "k", is_form_along_n ? "n" : "k");
    return RUNG_OK;
}

rung_status rung_plan_pack_b(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                             const rung_run_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_run_options run_options;
    if (!plan || !queue || !b || !packed)
        return rungi_invalid("rung_plan_pack_b needs a plan, a queue, a matrix and a buffer; one of them is NULL");
    rung_problem only_b = rung_problem_of(rung_matrix_of(plan->problem.a.type, 0, b->rows, NULL), *b,
                                          rung_matrix_of(plan->problem.c.type, 0, b->cols, NULL));
    TRY(rungi_plan_check_packing(plan, queue, NULL));
    TRY(check_b(plan, b));
    TRY(rungi_run_options_check(queue, options, &run_options));
    TRY(rungi_plan_check_view(plan, "B", b));
    TRY(rungi_plan_check_packed_buffer(plan, packed));
    TRY(rung_problem_check(&only_b));
    if (rungi_problem_overlaps_buffer(&only_b, packed, plan->info.packed_b_bytes))
        return rungi_fail(RUNG_STATUS_ALIASED, "the buffer for the packed B overlaps B; use a separate buffer");
    return plan->device->ops->plan_pack(plan, queue, b, packed, &run_options);
}
