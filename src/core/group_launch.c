/* SPDX-License-Identifier: Apache-2.0 */
/* group_launch.c - see group_launch.h. docs/internals/decisions/0067-groups.md gives the reasons. */
#include "core/group_launch.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/try.h"
#include "core/device_pool.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "core/problem.h"
#include "core/quantization.h"
#include "core/staging/group_copy.h"
#include "core/staging/pipeline.h"

enum { TABLE_ALIGNMENT = 64 };

/* ---- The typical problem ----------------------------------------------------------------------------------------- */

/* A problem with a row-major C, as kernels compute it: a column-major C is transposed. */
typedef struct row_major {
    double m, n, k;
    bool a_mn_major, b_mn_major;
} row_major_t;

/* Returns whether the elements of B, or its blocks, lie along rows. Repeated columns have the stride 0, as those of an empty B
 * may have. */
static bool is_b_by_rows(const rung_matrix *b)
{
    if (rung_type_block_elements(b->type) > 1)
        return !rungi_matrix_is_empty(b) && rungi_matrix_has_blocks_in_rows(b);
    return b->col_stride < b->row_stride;
}

static row_major_t row_major_of(const rung_problem *problem)
{
    bool has_narrow_b = problem->a.type != problem->b.type; /* only B may have its type */
    bool is_transposed = problem->c.row_stride < problem->c.col_stride && !has_narrow_b;
    bool a_by_columns = problem->a.row_stride < problem->a.col_stride;
    bool b_by_rows = is_b_by_rows(&problem->b);
    double rows = (double)problem->c.rows, cols = (double)problem->c.cols, k = (double)problem->a.cols;
    return is_transposed ? (row_major_t){cols, rows, k, b_by_rows, a_by_columns}
                         : (row_major_t){rows, cols, k, a_by_columns, b_by_rows};
}

static rung_matrix form_of(rung_type type, double rows, double cols, bool is_by_columns)
{
    int64_t height = (int64_t)(rows + 0.5), width = (int64_t)(cols + 0.5);
    return is_by_columns ? rung_matrix_transpose(rung_matrix_of(type, width, height, NULL))
                         : rung_matrix_of(type, height, width, NULL);
}

/* Describes the scales and zero points of the first problem that has some, with the sizes of the typical problem. Returns
 * whether there is such a problem. */
static bool set_typical_quantization(const rungi_group *group, const rung_problem *typical,
                                     rung_quantization *quantization)
{
    const rung_problem *with = NULL;
    for (int64_t i = 0; i < group->count && !with; i++)
        with = group->problems[i].b_quantization ? &group->problems[i] : NULL;
    if (!with || rungi_quantization_read(with->b_quantization, quantization) != RUNG_OK)
        return false;
    rung_quantization sizes = *quantization;
    rungi_quantization_set_block_size(&typical->b, &sizes);
    double rows = (double)rungi_ceil_divide(typical->b.rows, sizes.block_rows);
    double cols = (double)rungi_ceil_divide(typical->b.cols, sizes.block_cols);
    rung_matrix *const views[] = {&quantization->scales, &quantization->zero_points};
    for (int i = 0; i < 2; i++)
        if (!rungi_matrix_is_empty(views[i]))
            *views[i] = form_of(views[i]->type, rows, cols, false);
    return true;
}

/* Describes the group as a batch of problems of equal size, for the choice of the kernel: as many rows in total, columns
 * averaged over rows, and k averaged over elements of C. The layout is that of the problem with most multiply-adds.
 * `quantization` gets the scales, and must live as long as the result. */
static rung_problem typical_problem(const rungi_group *group, rung_quantization *quantization)
{
    const rung_problem *first = &group->problems[0];
    double rows = 0, elements = 0, steps = 0, most = -1;
    row_major_t layout = {0};
    for (int64_t i = 0; i < group->count; i++) {
        row_major_t sizes = row_major_of(&group->problems[i]);
        double all = sizes.m * sizes.n * sizes.k;
        rows += sizes.m;
        elements += sizes.m * sizes.n;
        steps += all;
        if (all > most)
            layout = sizes;
        most = all > most ? all : most;
    }
    double m = rows / (double)group->count, n = elements / rows, k = steps / elements;
    m = m < 1 ? 1 : m;
    if (k > 0) /* whole blocks */
        k = (double)rungi_round_up((int64_t)(k + 0.5), rung_type_block_elements(first->b.type));
    rung_problem typical = rung_problem_of(form_of(first->a.type, m, k, layout.a_mn_major),
                                           form_of(first->b.type, k, n, !layout.b_mn_major),
                                           form_of(first->c.type, m, n, false));
    typical.batch = group->count;
    typical.c.batch_stride = typical.c.rows * typical.c.cols;
    typical.compute = first->compute;
    typical.activation = first->activation;
    if (set_typical_quantization(group, &typical, quantization))
        typical.b_quantization = quantization;
    if (!rungi_matrix_is_empty(&first->bias))
        typical.bias = form_of(first->bias.type, m, n, false);
    if (!rungi_matrix_is_empty(&first->residual))
        typical.residual = form_of(first->residual.type, m, n, false);
    return typical;
}

/* Returns the alignments that all problems share. */
static unsigned alignment_of(const rungi_group *group)
{
    unsigned alignment = ~0u;
    for (int64_t i = 0; i < group->count; i++)
        alignment &= rungi_plan_alignment_of(&group->problems[i]);
    return alignment;
}

/* ---- One launch -------------------------------------------------------------------------------------------------- */

typedef struct group_run {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rungi_group_copy copy;
    rung_plan *plan;
    void *table;
    rung_buffer *workspace;
    rungi_timeline timeline;
    bool is_storing; /* the caller's outputs may have changed */
} group_run_t;

/* Checks what no kernel can do for several problems at once. */
static rung_status check_group(const rung_device *device, const rungi_group *group)
{
    if (!device->ops->group_run)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s has no launches for several problems", device->info.name);
    if (group->count == 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "a single problem may have slices of k and overlapped copies");
    for (int64_t i = 0; i < group->count; i++)
        if (rungi_problem_has_quantized_a(&group->problems[i]))
            return rungi_fail(RUNG_STATUS_UNSUPPORTED, "A of problem %lld is quantized", (long long)i);
    return rungi_matrix_is_empty(&group->problems[0].multiplier)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_UNSUPPORTED, "the problems have multipliers");
}

/* Assigns the memory and creates the plan. No work is submitted. */
static rung_status prepare(group_run_t *run, const rungi_group *group)
{
    TRY(check_group(run->device, group));
    TRY(rungi_group_copy_init(run->context, group, &run->copy));
    rung_quantization quantization;
    rung_problem typical = typical_problem(&run->copy.group, &quantization);
    TRY(rungi_plan_create_for_group(run->device, &typical, &run->copy.group, alignment_of(&run->copy.group),
                                    &run->plan));
    TRY(rungi_device_pool_acquire_queue(run->context, run->device, &run->queue));
    TRY(rungi_timeline_align_clocks(&run->timeline, run->queue));
    TRY(rungi_group_copy_allocate(&run->copy, run->queue));
    TRY(rungi_buffer_create_on_queue(run->queue, run->plan->info.workspace_bytes, &run->workspace));
    run->table = rungi_allocate(run->context, run->plan->info.workspace_bytes, TABLE_ALIGNMENT);
    return rungi_allocated(run->table);
}

static rung_status launch(group_run_t *run)
{
    rung_run_options options = {.size = sizeof options, .workspace = run->workspace};
    TRY(rungi_timeline_add(&run->timeline, run->plan->info.kernel, 0, 0, &options.signal));
    return run->device->ops->group_run(run->plan, run->queue, run->table, &options);
}

static rung_status submit(group_run_t *run)
{
    TRY(rungi_group_copy_upload(&run->copy, run->queue, &run->timeline));
    TRY(launch(run));
    run->is_storing = true;
    return rungi_group_copy_download(&run->copy, run->queue, &run->timeline);
}

/* Releases everything that a run has created. Waits for the queue, unless that was done. */
static void end_run(group_run_t *run, rung_status status)
{
    if (status != RUNG_OK && run->queue)
        rung_queue_finish(run->queue);
    if (status == RUNG_STATUS_DEVICE_LOST)
        rungi_device_pool_drop_device(run->context, run->device);
    rung_plan_destroy(run->plan);
    rungi_group_copy_free(&run->copy);
    rung_buffer_destroy(run->workspace);
    rungi_release(run->context, run->table);
    if (run->queue)
        rungi_device_pool_release_queue(run->context, run->queue);
}

static void log_run(const group_run_t *run, int64_t nanoseconds)
{
    const rung_plan *plan = run->plan;
    const rungi_group *group = &run->copy.group;
    rungi_log(run->context, 1,
              "rung: %s group of %lld problems, %s into %s, one launch of %lld blocks: %s%s%s: %.3f ms",
              run->device->info.name, (long long)group->count, rung_type_name(group->problems[0].a.type),
              rung_type_name(group->problems[0].c.type), (long long)plan->info.blocks, plan->info.kernel,
              *plan->parameters ? " " : "", plan->parameters, (double)nanoseconds / 1e6);
}

static rung_status run_at_once(group_run_t *run, const rungi_group *group)
{
    int64_t start = rungi_clock_ns();
    TRY(prepare(run, group));
    TRY(submit(run));
    TRY(rung_queue_finish(run->queue));
    TRY(rungi_group_copy_unpack(&run->copy, &run->timeline));
    log_run(run, rungi_clock_ns() - start);
    return RUNG_OK;
}

/* ---- One problem after another ----------------------------------------------------------------------------------- */

static rung_status run_one_by_one(rung_context *context, rung_device *device, const rungi_group *group)
{
    for (int64_t i = 0; i < group->count; i++)
        TRY(rungi_staging_multiply(context, device, &group->problems[i]));
    return RUNG_OK;
}

/* Returns whether single multiplications may succeed where one launch failed: they need less memory, and have more
 * kernels. */
static bool may_succeed_one_by_one(rung_status status)
{
    return status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_COMPILE_FAILED ||
           status == RUNG_STATUS_TOO_LARGE || status == RUNG_STATUS_NO_MEMORY;
}

rung_status rungi_group_launch(rung_context *context, rung_device *device, const rungi_group *group)
{
    group_run_t run = {.context = context, .device = device};
    rungi_saved_error before = rungi_error_save();
    rungi_timeline_begin(&run.timeline, device);
    rung_status status = run_at_once(&run, group);
    rungi_saved_error first = rungi_error_save(); /* failures of the cleanup are not reported */
    end_run(&run, status);
    rungi_error_restore(&first);
    status = rungi_timeline_end(&run.timeline, status);
    if (run.is_storing || !may_succeed_one_by_one(status))
        return status;
    rungi_log(context, 1, "rung: %s group of %lld problems, one after another: %s", device->info.name,
              (long long)group->count, first.text);
    rungi_error_restore(&before);
    return run_one_by_one(context, device, group);
}
