/* SPDX-License-Identifier: Apache-2.0 */
/* split_k.c - split-K slices, batches that need several launches, and the workspace of both, on a real OpenCL driver. Errors
 * here give wrong numbers and no message: a slice that is added twice, an epilogue that is applied to each slice, a second
 * launch that begins at the wrong item. All numbers are small integers, so that results are exact. */
#include "core/enum_counts.h"
#include "support/opencl_unit.h"

#include <math.h>
#include <pthread.h>

/* ---- A problem on the device ----------------------------------------------------- */

enum { A, B, C, BIAS, OPERANDS };

/* Operands in memory, and the same in buffers. */
typedef struct split_work {
    rung_problem here, there;
    float *data[OPERANDS];
    int64_t elements[OPERANDS];
    rung_buffer *buffers[OPERANDS];
    rung_buffer *workspace;
} split_work_t;

static rung_matrix *view_of(rung_problem *problem, int operand)
{
    rung_matrix *views[] = {&problem->a, &problem->b, &problem->c, &problem->bias};
    return views[operand];
}

/* m x k by k x n, dense, items one after the other, and a bias of one row. */
static void make_work(split_work_t *work, int64_t m, int64_t n, int64_t k, int64_t batch, uint64_t seed)
{
    const int64_t sizes[OPERANDS][2] = {{m, k}, {k, n}, {m, n}, {1, n}};
    memset(work, 0, sizeof *work);
    work->here.size = sizeof work->here;
    work->here.alpha = 1;
    work->here.batch = batch;
    for (int i = 0; i < OPERANDS; i++) {
        int64_t item = sizes[i][0] * sizes[i][1];
        work->elements[i] = i == BIAS ? item : item * batch;
        work->data[i] = malloc((size_t)work->elements[i] * sizeof(float) + 1);
        assert_non_null(work->data[i]);
        unit_fill(&seed, work->data[i], work->elements[i]);
        *view_of(&work->here, i) = rung_matrix_of(RUNG_F32, sizes[i][0], sizes[i][1], work->data[i]);
        view_of(&work->here, i)->batch_stride = i == BIAS ? 0 : item;
        assert_int_equal(rung_buffer_create(device, 4 * work->elements[i], &work->buffers[i]), RUNG_OK);
    }
    work->here.bias = (rung_matrix){0}; /* until it is asked for */
}

static void add_bias(split_work_t *work)
{
    rung_matrix row = rung_matrix_of(RUNG_F32, 1, work->here.c.cols, work->data[BIAS]);
    work->here.bias = rung_matrix_broadcast(row, work->here.c.rows, work->here.c.cols);
}

/* The problem in buffers, once `here` is as it should be. */
static void move_work(split_work_t *work)
{
    work->there = work->here;
    for (int i = 0; i < OPERANDS; i++) {
        rung_matrix *view = view_of(&work->there, i);
        if (view->rows > 0) {
            view->data = NULL;
            view->buffer = work->buffers[i];
        }
    }
}

static void upload_work(rung_queue *on, split_work_t *work)
{
    for (int i = 0; i < OPERANDS; i++)
        assert_int_equal(rung_buffer_write(on, work->buffers[i], 0, 4 * work->elements[i], work->data[i], NULL),
                         RUNG_OK);
}

static void destroy_work(split_work_t *work)
{
    for (int i = 0; i < OPERANDS; i++) {
        rung_buffer_destroy(work->buffers[i]);
        free(work->data[i]);
    }
    rung_buffer_destroy(work->workspace);
}

static float expected_of(const rung_problem *problem, int64_t item, int64_t i, int64_t j)
{
    rung_matrix views[] = {problem->a, problem->b, problem->c, problem->bias};
    float value = 0;
    for (int view = 0; view < OPERANDS; view++)
        views[view].offset += views[view].batch_offsets ? views[view].batch_offsets[item]
                                                        : item * views[view].batch_stride;
    for (int64_t p = 0; p < problem->a.cols && problem->alpha != 0; p++)
        value += *unit_at(&views[A], i, p) * *unit_at(&views[B], p, j);
    value *= (float)problem->alpha;
    if (problem->beta != 0)
        value += (float)problem->beta * *unit_at(&views[C], i, j);
    if (views[BIAS].rows > 0)
        value += *unit_at(&views[BIAS], i, j);
    return problem->activation == RUNG_ACTIVATION_RELU ? fmaxf(value, 0) : value;
}

/* Compares what was fetched with the loops over `here`, whose C is still the old one.
 * Returns the number of wrong elements: threads have nowhere to fail. */
static int64_t wrong_elements(const split_work_t *work, const float *found)
{
    rung_matrix view = work->here.c;
    int64_t wrong = 0;
    for (int64_t item = 0; item < work->here.batch; item++) {
        int64_t start = view.batch_offsets ? view.batch_offsets[item] : item * view.batch_stride;
        for (int64_t i = 0; i < view.rows; i++)
            for (int64_t j = 0; j < view.cols; j++)
                wrong += !(found[start + i * view.row_stride + j * view.col_stride] ==
                           expected_of(&work->here, item, i, j));
    }
    return wrong;
}

static rung_plan *make_plan(const split_work_t *work, const char *name, const char *parameters, int64_t splits)
{
    rung_kernel *kernel;
    rung_plan *plan;
    assert_int_equal(rung_kernel_find(context, "opencl", name, &kernel), RUNG_OK);
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .kernel = kernel, .parameters = parameters, .split_k = splits};
    if (rung_plan_create(device, &work->there, &options, &plan) != RUNG_OK)
        fail_msg("%s: %s", name, rung_error_text());
    return plan;
}

static void create_workspace(split_work_t *work, const rung_plan *plan)
{
    int64_t bytes = rung_plan_describe(plan)->workspace_bytes;
    assert_int_equal(rung_buffer_create(device, bytes, &work->workspace), RUNG_OK);
}

/* Sends all, runs once and fetches C's memory. */
static void run_work(split_work_t *work, rung_plan *plan, float *found)
{
    rung_run_options options = {.size = sizeof(rung_run_options), .workspace = work->workspace};
    upload_work(queue, work);
    if (rung_plan_run(plan, queue, &work->there, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_int_equal(rung_buffer_read(queue, work->buffers[C], 0, 4 * work->elements[C], found, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
}

/* From a problem that stands in `here` to a checked result, with so many shares. */
static void check_work(split_work_t *work, const char *kernel, const char *parameters, int64_t splits)
{
    float *found = malloc((size_t)work->elements[C] * sizeof *found + 1);
    assert_non_null(found);
    move_work(work);
    rung_plan *plan = make_plan(work, kernel, parameters, splits);
    assert_int_equal(rung_plan_describe(plan)->split_k, splits > 0 ? splits : 1);
    create_workspace(work, plan);
    run_work(work, plan, found);
    int64_t wrong = wrong_elements(work, found);
    if (wrong > 0)
        fail_msg("%s with %d shares: %d elements are wrong", kernel, (int)splits, (int)wrong);
    rung_plan_destroy(plan);
    free(found);
}

/* ---- Shares ---------------------------------------------------------------------- */

/* Every kernel that can, on sizes that divide by nothing. */
static void slices_are_summed(void **state)
{
    rung_kernel *kernel;
    int count = 0;
    (void)state;
    for (int64_t i = 0; rung_kernel_at(context, "opencl", i, &kernel) == RUNG_OK; i++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        split_work_t work;
        if (!(info->abilities & RUNG_ABILITY_SPLIT_K) || info->only_sm > 0 ||
            !rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, NULL))
            continue;
        count++;
        make_work(&work, 19, 21, 250, 1, 51);
        work.here.alpha = 2;
        work.here.beta = -3;
        work.here.compute = info->compute; /* of whole numbers nothing is lost */
        check_work(&work, info->name, "tiny", 4);
        destroy_work(&work);
        make_work(&work, 32, 16, 128, 1, 52); /* and the unguarded path */
        work.here.compute = info->compute;
        check_work(&work, info->name, "tiny", 4);
        destroy_work(&work);
    }
    assert_true(count >= 4);
}

/* Scalars, bias and relu after the shares have come together, and once. */
static void an_epilogue_is_applied_once(void **state)
{
    split_work_t work;
    (void)state;
    make_work(&work, 19, 21, 83, 1, 53);
    for (int i = A; i <= B; i++)
        memset(work.data[i], 0, (size_t)work.elements[i] * sizeof(float));
    for (int64_t i = 0; i < 21; i++)
        work.data[BIAS][i] = 1;
    add_bias(&work);
    check_work(&work, "07", "tiny", 4); /* 0 + 1, not 4 */
    destroy_work(&work);
    make_work(&work, 19, 21, 83, 1, 54);
    add_bias(&work);
    work.here.alpha = -2;
    work.here.beta = 1;
    work.here.activation = RUNG_ACTIVATION_RELU;
    check_work(&work, "07", "tiny", 4);
    destroy_work(&work);
}

/* With alpha = 0 neither A nor B is read, and what the workspace held does not count. */
static void slices_of_empty_k(void **state)
{
    split_work_t work;
    float found[19 * 21];
    (void)state;
    make_work(&work, 19, 21, 83, 1, 55);
    move_work(&work);
    rung_plan *plan = make_plan(&work, "07", "tiny", 4);
    create_workspace(&work, plan);
    run_work(&work, plan, found); /* leaves sums in the workspace */
    for (int i = A; i <= B; i++)
        for (int64_t j = 0; j < work.elements[i]; j++)
            work.data[i][j] = NAN;
    work.here.alpha = work.there.alpha = 0;
    work.here.beta = work.there.beta = 2;
    run_work(&work, plan, found);
    assert_int_equal(wrong_elements(&work, found), 0);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* With numbers that round, the order of adding up shows in the bits. */
static void the_same_bits_every_run(void **state)
{
    enum { SIZE = 24 };
    float first[SIZE * SIZE], found[SIZE * SIZE];
    uint64_t seed = 56;
    split_work_t work;
    (void)state;
    make_work(&work, SIZE, SIZE, 500, 1, 56);
    for (int i = A; i <= B; i++)
        for (int64_t j = 0; j < work.elements[i]; j++)
            work.data[i][j] = (float)unit_random(&seed, 1 << 20) / 1e6f;
    move_work(&work);
    rung_plan *plan = make_plan(&work, "07", "tiny", 5);
    assert_int_equal(rung_plan_describe(plan)->split_k, 5);
    create_workspace(&work, plan);
    run_work(&work, plan, first);
    for (int i = 0; i < 20; i++) {
        run_work(&work, plan, found);
        assert_memory_equal(found, first, sizeof found);
    }
    rung_plan_destroy(plan);
    destroy_work(&work);
}

static void a_plan_reports_its_workspace(void **state)
{
    split_work_t work;
    rung_buffer *small, *crooked;
    float memory[19 * 21];
    (void)state;
    make_work(&work, 19, 21, 83, 1, 57);
    move_work(&work);
    rung_plan *plan = make_plan(&work, "07", "tiny", 4);
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_int_equal(info->split_k, 4);
    assert_int_equal(info->workspace_bytes, 4 * 4 * 19 * 21);
    assert_int_equal(info->blocks, 2 * 2 * 4); /* tiles of 16 x 16, and shares */
    rung_run_options options = {.size = sizeof(rung_run_options)};
    assert_int_equal(rung_plan_run(plan, queue, &work.there, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "workspace"));
    assert_int_equal(rung_plan_run(plan, queue, &work.there, &options), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_create(device, info->workspace_bytes - 1, &small), RUNG_OK);
    options.workspace = small;
    assert_int_equal(rung_plan_run(plan, queue, &work.there, &options), RUNG_STATUS_INVALID);
    create_workspace(&work, plan); /* to the byte */
    run_work(&work, plan, memory);
    assert_int_equal(wrong_elements(&work, memory), 0);
    /* A workspace inside another buffer must not begin inside a sum or a place. */
    rung_buffer *large;
    assert_int_equal(rung_buffer_create(device, 2 * info->workspace_bytes, &large), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(device, rung_buffer_native(large), 4, info->workspace_bytes, &crooked), RUNG_OK);
    options.workspace = crooked;
    assert_int_equal(rung_plan_run(plan, queue, &work.there, &options), RUNG_STATUS_INVALID);
    rung_buffer_destroy(crooked);
    rung_buffer_destroy(work.workspace);
    assert_int_equal(rung_buffer_wrap(device, rung_buffer_native(large), 48, info->workspace_bytes, &work.workspace),
                     RUNG_OK);
    run_work(&work, plan, memory);
    assert_int_equal(wrong_elements(&work, memory), 0);
    rung_buffer_destroy(large);
    rung_buffer_destroy(small);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* The workspace of another device, though it be large enough. */
static void workspaces_of_another_device(void **state)
{
    split_work_t work;
    rung_device *cpu;
    rung_buffer *buffer;
    (void)state;
    make_work(&work, 19, 21, 83, 1, 57);
    move_work(&work);
    rung_plan *plan = make_plan(&work, "07", "tiny", 4);
    assert_int_equal(rung_device_open(context, "cpu", &cpu), RUNG_OK);
    assert_int_equal(rung_buffer_create(cpu, 1 << 20, &buffer), RUNG_OK);
    rung_run_options options = {.size = sizeof(rung_run_options), .workspace = buffer};
    assert_int_equal(rung_plan_run(plan, queue, &work.there, &options), RUNG_STATUS_INVALID);
    rung_buffer_destroy(buffer);
    rung_device_close(cpu);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* Partial sums over an operand would be wrong only at the second run. */
static void workspaces_that_are_operands(void **state)
{
    split_work_t work;
    (void)state;
    make_work(&work, 19, 21, 83, 1, 57);
    move_work(&work);
    rung_plan *plan = make_plan(&work, "07", "tiny", 4);
    int64_t bytes = rung_plan_describe(plan)->workspace_bytes;
    rung_buffer *large;
    assert_int_equal(rung_buffer_create(device, 2 * bytes + 4 * work.elements[1], &large), RUNG_OK);
    rung_problem problem = work.there;
    rung_run_options options = {.size = sizeof(rung_run_options), .workspace = large};
    problem.b.buffer = large;
    problem.b.offset = bytes / 4 - 1; /* its first element is the workspace's last */
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_STATUS_ALIASED);
    problem.b.offset = (bytes + 15) / 16 * 4; /* behind it, and as aligned as before */
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    rung_buffer_destroy(large);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

static void kernels_without_split_k(void **state)
{
    split_work_t work;
    rung_kernel *kernel;
    rung_plan *plan;
    (void)state;
    make_work(&work, 19, 21, 83, 1, 57);
    move_work(&work);
    assert_int_equal(rung_kernel_find(context, "opencl", "01", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .split_k = 2};
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_null(plan);
    options = (rung_plan_options){.size = sizeof(rung_plan_options), .split_k = 2}; /* then another is chosen */
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->split_k, 2);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* One call brings a workspace of its own; a plan that is offered none is not cut. */
static void split_k_is_chosen_automatically(void **state)
{
    split_work_t work;
    rung_plan *plan;
    float found[8 * 8];
    int64_t units = rung_device_describe(device)->compute_units;
    (void)state;
    make_work(&work, 8, 8, 4096, 1, 58);
    move_work(&work);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .max_workspace_bytes = 1 << 20};
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_OK);
    if (units > 1)
        assert_true(rung_plan_describe(plan)->split_k > 1);
    assert_true(rung_plan_describe(plan)->workspace_bytes <= 1 << 20);
    create_workspace(&work, plan);
    run_work(&work, plan, found);
    assert_int_equal(wrong_elements(&work, found), 0);
    rung_plan_destroy(plan);
    assert_int_equal(rung_plan_create(device, &work.there, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->split_k, 1);
    assert_int_equal(rung_plan_describe(plan)->workspace_bytes, 0);
    rung_plan_destroy(plan);
    memset(found, 0, sizeof found);
    work.here.c.data = found;
    assert_int_equal(rung_multiply(context, &work.here, NULL), RUNG_OK);
    assert_int_equal(wrong_elements(&work, found), 0);
    destroy_work(&work);
}

/* ---- Batches --------------------------------------------------------------------- */

/* Where the items of an operand stand: one after the other, or from the last to the first. */
static int64_t *make_offsets(const rung_matrix *view, int64_t batch, bool ascend)
{
    int64_t *offsets = malloc((size_t)batch * sizeof *offsets);
    assert_non_null(offsets);
    for (int64_t i = 0; i < batch; i++)
        offsets[i] = (ascend ? i : batch - 1 - i) * view->batch_stride;
    return offsets;
}

static void scatter(split_work_t *work, int64_t *offsets[3])
{
    rung_matrix *views[] = {&work->here.a, &work->here.b, &work->here.c};
    for (int i = 0; i < 3; i++) {
        offsets[i] = make_offsets(views[i], work->here.batch, i == C);
        views[i]->batch_offsets = offsets[i];
        views[i]->batch_stride = 0;
    }
}

static void batches_with_split_k(void **state)
{
    split_work_t work;
    int64_t *offsets[3];
    (void)state;
    make_work(&work, 19, 21, 83, 5, 59);
    add_bias(&work);
    work.here.beta = 2;
    check_work(&work, "07", "tiny", 4);
    destroy_work(&work);
    make_work(&work, 19, 21, 83, 5, 60);
    scatter(&work, offsets);
    check_work(&work, "07", "tiny", 4);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

/* A column-major C exchanges A and B, and their offsets with them. */
static void transposed_batches_by_offsets(void **state)
{
    split_work_t work;
    int64_t *offsets[3];
    (void)state;
    make_work(&work, 19, 21, 83, 5, 61);
    scatter(&work, offsets);
    work.here.b.batch_offsets = NULL; /* A alone is scattered */
    work.here.b.batch_stride = 21 * 83;
    work.here.c.row_stride = 1;
    work.here.c.col_stride = 19;
    add_bias(&work);
    check_work(&work, "07", "tiny", 4);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

static const int64_t many = 70000; /* more than one launch has room for */

static void many_items_by_strides(void **state)
{
    static const char *const kernels[] = {"01", "07"};
    (void)state;
    assert_true(many > RUNGI_SIMT_GRID_YZ_MAX);
    for (int i = 0; i < 2; i++) {
        split_work_t work;
        make_work(&work, 2, 2, 2, many, 62);
        check_work(&work, kernels[i], "tiny", 0);
        destroy_work(&work);
    }
}

static void many_items_by_offsets(void **state)
{
    split_work_t work;
    int64_t *offsets[3];
    (void)state;
    make_work(&work, 2, 2, 2, many, 63);
    scatter(&work, offsets);
    check_work(&work, "07", "tiny", 0);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

/* The partial sums of items in the second launch stand behind those of the first; a bias
 * of each item's own goes with it. */
static void many_items_with_split_k(void **state)
{
    split_work_t work;
    (void)state;
    make_work(&work, 1, 1, 8, many, 64);
    work.here.bias = work.here.a; /* eight elements an item, the first of them */
    work.here.bias.cols = 1;
    float *bias = work.data[BIAS];
    work.data[BIAS] = malloc((size_t)work.elements[A] * sizeof(float));
    assert_non_null(work.data[BIAS]);
    memcpy(work.data[BIAS], work.data[A], (size_t)work.elements[A] * sizeof(float));
    free(bias);
    rung_buffer_destroy(work.buffers[BIAS]);
    work.elements[BIAS] = work.elements[A];
    assert_int_equal(rung_buffer_create(device, 4 * work.elements[A], &work.buffers[BIAS]), RUNG_OK);
    work.here.bias.data = work.data[BIAS];
    check_work(&work, "07", "tiny", 2);
    destroy_work(&work);
}

static void kernels_without_batch_offsets(void **state)
{
    split_work_t work;
    rung_kernel *kernel;
    rung_plan *plan;
    int64_t *offsets[3];
    (void)state;
    make_work(&work, 2, 2, 2, 3, 65);
    scatter(&work, offsets);
    move_work(&work);
    assert_int_equal(rung_kernel_find(context, "opencl", "01", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    work.there.a.batch_offsets = work.there.b.batch_offsets = work.there.c.batch_offsets = NULL;
    work.there.c.batch_stride = 4;
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_OK);
    rung_plan_destroy(plan);
    work.there.activation = RUNG_ACTIVATION_RELU;
    assert_int_equal(rung_plan_create(device, &work.there, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

/* One call, with operands that are brought over item by item. */
static void rung_multiply_accepts_batch_offsets(void **state)
{
    split_work_t work;
    int64_t *offsets[3];
    float found[5 * 6 * 7];
    (void)state;
    make_work(&work, 6, 7, 9, 5, 66);
    scatter(&work, offsets);
    add_bias(&work);
    work.here.beta = 1;
    rung_problem problem = work.here;
    problem.c.data = memcpy(found, work.data[C], sizeof found);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_int_equal(wrong_elements(&work, found), 0);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

/* Four elements are moved at once only if every item begins where four may be; a plan
 * that was made so does not run others. */
static void wide_loads_need_every_item_aligned(void **state)
{
    static const int64_t even[] = {0, 2052}, odd[] = {0, 2050};
    split_work_t work;
    (void)state;
    make_work(&work, 32, 16, 64, 3, 68);
    move_work(&work);
    rung_plan *plan = make_plan(&work, "08", "tiny", 0);
    assert_true(plan->required_alignment);
    rung_plan_destroy(plan);
    work.here.batch = 2;
    work.here.a.batch_stride = 32 * 64 + 1;
    move_work(&work);
    plan = make_plan(&work, "08", "tiny", 0);
    assert_false(plan->required_alignment); /* first, since a wide one that runs here is killed */
    rung_plan_destroy(plan);
    check_work(&work, "08", "tiny", 0);
    rung_buffer_destroy(work.workspace);
    work.here.a.batch_stride = 0;
    work.here.a.batch_offsets = even;
    check_work(&work, "08", "tiny", 0);
    plan = make_plan(&work, "08", "tiny", 0);
    assert_true(plan->required_alignment);
    work.there.a.batch_offsets = odd;
    rung_run_options options = {.size = sizeof(rung_run_options), .workspace = work.workspace};
    assert_int_equal(rung_plan_run(plan, queue, &work.there, &options), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "aligned"));
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* An empty bias is none, whatever else its view says. */
static void empty_views_are_not_checked(void **state)
{
    split_work_t work;
    float found[6 * 7];
    (void)state;
    make_work(&work, 6, 7, 9, 1, 69);
    move_work(&work);
    work.there.bias = (rung_matrix){.type = RUNG_TYPE_NONE,
                                    .cols = 7,
                                    .row_stride = -1,
                                    .buffer = work.buffers[BIAS],
                                    .offset = INT64_MAX,
                                    .batch_stride = INT64_MAX};
    rung_plan *plan = make_plan(&work, "07", "tiny", 0);
    run_work(&work, plan, found);
    assert_int_equal(wrong_elements(&work, found), 0);
    rung_plan_destroy(plan);
    destroy_work(&work);
}

/* ---- What is left behind --------------------------------------------------------- */

static void run_and_destroy(void)
{
    split_work_t work;
    int64_t *offsets[3];
    make_work(&work, 19, 21, 83, 5, 67);
    scatter(&work, offsets);
    check_work(&work, "07", "tiny", 4);
    destroy_work(&work);
    for (int i = 0; i < 3; i++)
        free(offsets[i]);
}

/* Programs are kept until the device is closed; all else goes with the plan. */
static void no_objects_leak(void **state)
{
    long before[RUNGI_CL_KINDS];
    (void)state;
    run_and_destroy();
    for (int kind = 0; kind < RUNGI_CL_KINDS; kind++)
        before[kind] = rungi_opencl_live_objects(context, (rungi_cl_kind)kind);
    run_and_destroy();
    run_and_destroy();
    assert_live(context, before);
}

/* ---- Two threads ----------------------------------------------------------------- */

enum { THREADS = 2, REPEATS = 500 };

typedef struct split_worker {
    rung_plan *plan;
    rung_queue *queue;
    split_work_t work;
    int failures;
    char told[256];
} split_worker_t;

static bool run_once(split_worker_t *worker, float *found)
{
    split_work_t *work = &worker->work;
    rung_run_options options = {.size = sizeof(rung_run_options), .workspace = work->workspace};
    return rung_buffer_write(worker->queue, work->buffers[C], 0, 4 * work->elements[C], work->data[C], NULL) ==
               RUNG_OK &&
           rung_plan_run(worker->plan, worker->queue, &work->there, &options) == RUNG_OK &&
           rung_buffer_read(worker->queue, work->buffers[C], 0, 4 * work->elements[C], found, NULL) == RUNG_OK &&
           rung_queue_finish(worker->queue) == RUNG_OK;
}

/* The first result is compared with the loops, those after it with the first. */
static void *run_often(void *opaque)
{
    split_worker_t *worker = opaque;
    float first[2 * 19 * 21], found[2 * 19 * 21];
    bool right = run_once(worker, first) && wrong_elements(&worker->work, first) == 0;
    for (int i = 0; i < REPEATS; i++) {
        if (!right && worker->failures++ == 0)
            snprintf(worker->told, sizeof worker->told, "%.200s", rung_error_text());
        right = run_once(worker, found) && memcmp(found, first, sizeof found) == 0;
    }
    return NULL;
}

/* One plan has one kernel object, whose arguments both threads set. */
static void two_threads_run_one_plan(void **state)
{
    static split_worker_t workers[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < THREADS; i++) {
        make_work(&workers[i].work, 19, 21, 83, 2, (uint64_t)(70 + i));
        workers[i].work.here.beta = i;
        move_work(&workers[i].work);
        assert_int_equal(rung_queue_create(device, &workers[i].queue), RUNG_OK);
        upload_work(workers[i].queue, &workers[i].work);
    }
    rung_plan *plan = make_plan(&workers[0].work, "07", "tiny", 4);
    for (int i = 0; i < THREADS; i++) {
        workers[i].plan = plan;
        create_workspace(&workers[i].work, plan);
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    rung_plan_destroy(plan);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].failures > 0)
            fail_msg("thread %d failed %d times: %s", i, workers[i].failures, workers[i].told);
        rung_queue_destroy(workers[i].queue);
        destroy_work(&workers[i].work);
    }
}

/* ---- Parameters by kind, type and size ------------------------------------------- */

static const char *const preset_lines[] = {
    "#include \"dialect.h\"\n#include \"epilogue.h\"\n"
    "#ifndef BM\n#define BM 64\n#endif\n#ifndef ID\n#define ID 0\n#endif\n"
    "#define BN BM\n#define BK 1\n",
    "// preset cpu: BM=128,ID=1\n",
    "// preset cpu_f64: BM=128,ID=2\n",
    "// preset f64: BM=64,ID=3\n",
    "// preset i32: BM=64,ID=4\n",
    "// preset small: BM=8,ID=5\n",
    "// preset cpu_small: BM=8,ID=6\n",
    "// preset sm_75: BM=128,ID=7\n",
    "// preset sm_75_small: BM=8,ID=8\n",
};

/* The head of a kernel that does nothing, with the presets whose bits are set. */
static rung_kernel *kernel_with(unsigned presets)
{
    char text[2048] = "";
    rung_kernel *kernel;
    for (unsigned i = 0; i < sizeof preset_lines / sizeof *preset_lines; i++)
        if (i == 0 || presets & 1u << i)
            strcat(text, preset_lines[i]);
    strcat(text, "KERNEL(1)\nidle(index_t m, index_t n, index_t k, sum_t alpha, GLOBAL const in_t *a, "
                 "view_t av, GLOBAL const in_t *b, view_t bv, sum_t beta, GLOBAL out_t *c, view_t cv, "
                 "launch_args_t launch_args, GLOBAL const index_t *batch_offsets, GLOBAL const out_t *bias, "
                 "GLOBAL const out_t *residual, GLOBAL sum_t *partials)\n{\n}\n");
    assert_int_equal(rung_kernel_from_source(context, "opencl", "idle.cu", text, &kernel), RUNG_OK);
    return kernel;
}

/* Which preset a plan takes, as its ID. */
static int selected_preset(unsigned presets, const char *kind, rung_type type, int64_t size)
{
    const char *before = device->preset, *at;
    rung_matrix square = rung_matrix_of(type, size, size, NULL);
    rung_problem problem = rung_problem_of(square, square, square);
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel_with(presets)};
    device->preset = kind;
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    device->preset = before;
    rung_kernel_destroy((rung_kernel *)(uintptr_t)options.kernel);
    if (status != RUNG_OK)
        fail_msg("%s", rung_error_text());
    at = strstr(rung_plan_describe(plan)->parameters, "ID=");
    assert_non_null(at);
    int id = atoi(at + 3);
    rung_plan_destroy(plan);
    return id;
}

static void presets_by_kind_type_and_size(void **state)
{
    const unsigned all = 0x7e, without_cpu_f64 = all & ~(1u << 2);
    (void)state;
    assert_int_equal(selected_preset(all, NULL, RUNG_F32, 512), 0);
    assert_int_equal(selected_preset(all, NULL, RUNG_F64, 512), 3);
    assert_int_equal(selected_preset(all, NULL, RUNG_I32, 512), 4);
    assert_int_equal(selected_preset(all, NULL, RUNG_F32, 8), 5);
    assert_int_equal(selected_preset(all, "cpu", RUNG_F32, 512), 1);
    assert_int_equal(selected_preset(all, "cpu", RUNG_F64, 512), 2);
    assert_int_equal(selected_preset(all, "cpu", RUNG_I32, 512), 1); /* of its kind, if not its type */
    assert_int_equal(selected_preset(without_cpu_f64, "cpu", RUNG_F64, 512), 1);
    assert_int_equal(selected_preset(all, "cpu", RUNG_F32, 8), 6);
    assert_int_equal(selected_preset(all, "cpu", RUNG_F32, 128), 1);     /* nothing is unused */
    assert_int_equal(selected_preset(1u << 3, "cpu", RUNG_F64, 512), 3); /* of its type alone */
    assert_int_equal(selected_preset(1u << 5, "cpu", RUNG_F32, 8), 0);   /* not of its kind */
    assert_int_equal(selected_preset(0, "cpu", RUNG_F64, 8), 0);
}

static int preset_on(unsigned presets, const char *architecture, rung_type type, int64_t size)
{
    const char *before = device->architecture;
    device->architecture = architecture;
    int id = selected_preset(presets, NULL, type, size);
    device->architecture = before;
    return id;
}

static void presets_by_architecture(void **state)
{
    const unsigned all = 0x1fe, without_small = all & ~(1u << 8);
    (void)state;
    assert_int_equal(preset_on(all, "sm_75", RUNG_F32, 512), 7);
    assert_int_equal(preset_on(all, "sm_75", RUNG_I32, 512), 7); /* before that for its sums */
    assert_int_equal(preset_on(all, "sm_75", RUNG_F32, 8), 8);
    assert_int_equal(preset_on(without_small, "sm_75", RUNG_F32, 8), 5); /* anyone's */
    assert_int_equal(preset_on(all, "sm_80", RUNG_F32, 512), 0);
    assert_int_equal(preset_on(all, "sm_80", RUNG_F64, 512), 3);
    assert_int_equal(preset_on(all, "sm_80", RUNG_F32, 8), 5);
}

/* In software they are for verification, and far too slow to be taken. */
static void emulated_engines_are_not_chosen(void **state)
{
    rung_matrix square = rung_matrix_of(RUNG_F16, 64, 64, NULL);
    rung_problem problem = rung_problem_of(square, square, square);
    rung_kernel *kernel;
    rung_plan *plan;
    (void)state;
    assert_int_equal(rung_kernel_find(context, "opencl", "12", &kernel), RUNG_OK);
    assert_int_equal(rung_kernel_describe(kernel)->engine, RUNG_ENGINE_EMULATED);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_string_not_equal(info->kernel, "12_matrix");
    assert_string_not_equal(info->kernel, "11_wmma");
    rung_plan_destroy(plan);
    const char *before = device->preset;
    device->preset = NULL; /* then from the top of the ladder down */
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    device->preset = before;
    info = rung_plan_describe(plan);
    assert_string_equal(info->kernel, "10_pipeline");
    assert_non_null(strstr(info->rejected, "12_matrix emulates a matrix engine"));
    assert_non_null(strstr(info->rejected, "13_wgmma uses instructions of sm_90a"));
    rung_plan_destroy(plan);
}

static void kernels_of_one_architecture_are_rejected(void **state)
{
    rung_matrix square = rung_matrix_of(RUNG_F16, 64, 64, NULL);
    rung_problem problem = rung_problem_of(square, square, square);
    rung_plan_options options = {.size = sizeof options};
    rung_kernel *kernel;
    rung_plan *plan;
    (void)state;
    assert_int_equal(rung_kernel_find(context, "opencl", "13", &kernel), RUNG_OK);
    assert_int_equal(rung_kernel_describe(kernel)->only_sm, 90);
    options.kernel = kernel;
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_string_equal(rung_error_text(),
                        "13_wgmma uses instructions of sm_90a and runs only on sm_90 GPUs with CUDA");
}

/* Not what the preset says but what is left unused decides: 64 * 64 against 8 * 8. */
static void small_preset_where_it_halves_the_work(void **state)
{
    const unsigned small = 1u << 5;
    (void)state;
    assert_int_equal(selected_preset(small, NULL, RUNG_F32, 40), 5); /* 1600 against 4096 */
    assert_int_equal(selected_preset(small, NULL, RUNG_F32, 48), 0); /* 2304: more than half */
    assert_int_equal(selected_preset(small, NULL, RUNG_F32, 64), 0);
    assert_int_equal(selected_preset(small, NULL, RUNG_F32, 65), 5); /* 72 * 72 against 128 * 128 */
}

/* ---- Compute modes --------------------------------------------------------------- */

/* A problem gets the mode it asked for or one before it. */
static void modes_are_never_less_precise_than_requested(void **state)
{
    static const rung_compute order[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X3, RUNG_COMPUTE_TF32X3,
                                         RUNG_COMPUTE_TF32,   RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    _Static_assert(sizeof order / sizeof *order == RUNGI_COMPUTE_COUNT, "every mode is tested");
    rung_matrix square = rung_matrix_of(RUNG_F32, 4, 4, NULL);
    (void)state;
    for (int computes = 0; computes < RUNGI_COMPUTE_COUNT; computes++) {
        char text[1024];
        rung_kernel *kernel, *idle = kernel_with(0);
        snprintf(text, sizeof text, "// computes: %s\n%s", rung_compute_name(order[computes]),
                 rung_kernel_describe(idle)->source);
        assert_int_equal(rung_kernel_from_source(context, "opencl", "idle.cu", text, &kernel), RUNG_OK);
        rung_kernel_destroy(idle);
        for (int asked = 0; asked < RUNGI_COMPUTE_COUNT; asked++) {
            rung_problem problem = rung_problem_of(square, square, square);
            rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
            rung_plan *plan;
            problem.compute = order[asked];
            assert_int_equal(rung_plan_create(device, &problem, &options, &plan),
                             computes <= asked ? RUNG_OK : RUNG_STATUS_UNSUPPORTED);
            rung_plan_destroy(plan);
        }
        rung_kernel_destroy(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_summed),
        cmocka_unit_test(an_epilogue_is_applied_once),
        cmocka_unit_test(slices_of_empty_k),
        cmocka_unit_test(the_same_bits_every_run),
        cmocka_unit_test(a_plan_reports_its_workspace),
        cmocka_unit_test(workspaces_of_another_device),
        cmocka_unit_test(workspaces_that_are_operands),
        cmocka_unit_test(kernels_without_split_k),
        cmocka_unit_test(split_k_is_chosen_automatically),
        cmocka_unit_test(batches_with_split_k),
        cmocka_unit_test(transposed_batches_by_offsets),
        cmocka_unit_test(many_items_by_strides),
        cmocka_unit_test(many_items_by_offsets),
        cmocka_unit_test(many_items_with_split_k),
        cmocka_unit_test(kernels_without_batch_offsets),
        cmocka_unit_test(rung_multiply_accepts_batch_offsets),
        cmocka_unit_test(wide_loads_need_every_item_aligned),
        cmocka_unit_test(empty_views_are_not_checked),
        cmocka_unit_test(no_objects_leak),
        cmocka_unit_test(two_threads_run_one_plan),
        cmocka_unit_test(presets_by_kind_type_and_size),
        cmocka_unit_test(presets_by_architecture),
        cmocka_unit_test(emulated_engines_are_not_chosen),
        cmocka_unit_test(kernels_of_one_architecture_are_rejected),
        cmocka_unit_test(small_preset_where_it_halves_the_work),
        cmocka_unit_test(modes_are_never_less_precise_than_requested),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, open_device, close_device);
}
