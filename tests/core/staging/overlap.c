/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - calls in panels: where a problem is cut, that every layout comes out as the
 * naive loop has it and gaps stay as they were, that three queues take part and wait for
 * what they share, and that the spans add up. What fails on the way is in faults.c
 * and out_of_memory.c. */
#include "support/opencl_unit.h"

#include <math.h>

#include "core/staging/panels.h"
#include "core/matrix.h"
#include "core/problem.h"

/* ---- Where a problem is cut ------------------------------------------------------ */

static const int64_t MIB = (int64_t)1 << 20;

static rung_problem form(int64_t m, int64_t n, int64_t k)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, m, k, NULL), rung_matrix_of(RUNG_F32, k, n, NULL),
                           rung_matrix_of(RUNG_F32, m, n, NULL));
}

static void panel_partition(void **state)
{
    rung_problem problem = form(2048, 2048, 2048);
    rungi_panels cut = rungi_panels_of(&problem, 32 * MIB);
    (void)state;
    assert_int_equal(cut.axis, RUNGI_PANELS_ROWS);
    assert_int_equal(cut.step, 256); /* 4 MiB of A and C */
    assert_int_equal(cut.count, 8);
    problem.c = rung_matrix_transpose(problem.c);
    assert_int_equal(rungi_panels_of(&problem, 32 * MIB).axis, RUNGI_PANELS_COLS); /* as C stands */
    assert_int_equal(rungi_panels_of(&problem, 0).count, 1);
    assert_int_equal(rungi_panels_of(&problem, 48 * MIB).count, 1); /* not more than that */
    assert_true(rungi_panels_of(&problem, 48 * MIB - 1).count > 1);

    problem = form(100, 1 << 20, 100);
    cut = rungi_panels_of(&problem, 32 * MIB);
    assert_int_equal(cut.axis, RUNGI_PANELS_COLS);
    assert_int_equal(cut.step % 256, 0);
    assert_int_equal(cut.count, 64);

    problem = form(700, 600, 100000); /* not four panels of 256 */
    cut = rungi_panels_of(&problem, 32 * MIB);
    assert_int_equal(cut.axis, RUNGI_PANELS_ROWS);
    assert_true(cut.count >= 4 && cut.step % 16 == 0);

    problem = form(16, 16, 10000000);
    assert_int_equal(rungi_panels_of(&problem, 32 * MIB).count, 1); /* not worth it */

    problem = form(512, 512, 512);
    problem.batch = 100;
    problem.a.batch_stride = problem.c.batch_stride = 512 * 512;
    cut = rungi_panels_of(&problem, 32 * MIB);
    assert_int_equal(cut.axis, RUNGI_PANELS_ITEMS);
    assert_int_equal(cut.step, 2); /* 4 MiB of A and C */
    assert_true(rungi_panels_is_split(&cut, &problem, RUNGI_A));
    assert_false(rungi_panels_is_split(&cut, &problem, RUNGI_B));
}

/* ---- The knob -------------------------------------------------------------------- */

static int64_t overlap_with(const char *value)
{
    rung_context *made;
    if (value)
        setenv("RUNG_OVERLAP", value, 1);
    else
        unsetenv("RUNG_OVERLAP");
    assert_int_equal(rung_context_create(NULL, &made), RUNG_OK);
    int64_t overlap = made->overlap;
    rung_context_destroy(made);
    unsetenv("RUNG_OVERLAP");
    return overlap;
}

static void overlap_threshold_variable(void **state)
{
    (void)state;
    assert_int_equal(overlap_with(NULL), 32 * MIB);
    assert_int_equal(overlap_with(""), 32 * MIB);
    assert_int_equal(overlap_with("0"), 0);
    assert_int_equal(overlap_with("12345"), 12345);
    assert_int_equal(overlap_with("-1"), 32 * MIB);
    assert_int_equal(overlap_with("1x"), 32 * MIB);
}

/* ---- Results --------------------------------------------------------------------- */

enum { MEMORY = 1 << 16 };

/* Memory of one operand; what a view does not cover must stay as it was. */
static struct {
    float here[MEMORY], before[MEMORY];
} memory[RUNGI_OPERAND_COUNT];

/* How an operand stands. */
typedef enum panel_layout { ROWS, COLS, ROW_GAPS, COL_GAPS, LAYOUTS } panel_layout_t;

static rung_matrix view_of(panel_layout_t layout, int64_t rows, int64_t cols, float *data)
{
    rung_matrix view = rung_matrix_of(RUNG_F32, rows, cols, data);
    bool by_columns = layout == COLS || layout == COL_GAPS;
    bool gaps = layout == ROW_GAPS || layout == COL_GAPS;
    if (by_columns)
        view = rung_matrix_transpose(rung_matrix_of(RUNG_F32, cols, rows, data));
    if (gaps) {
        *(by_columns ? &view.col_stride : &view.row_stride) += 5;
        view.offset = 3;
    }
    return view;
}

static float value_at(const rung_problem *problem, rungi_operand operand, const float *data, int64_t item, int64_t i,
                      int64_t j)
{
    rung_matrix view = rungi_matrix_item(rungi_problem_view(problem, operand), item);
    return data[view.offset + i * view.row_stride + j * view.col_stride];
}

/* What element (i, j) must be; whole numbers, so that any order of adding is right. */
static float expected(const rung_problem *problem, int64_t item, int64_t i, int64_t j)
{
    float sum = 0;
    for (int64_t p = 0; problem->alpha != 0.0 && p < problem->a.cols; p++)
        sum += value_at(problem, RUNGI_A, memory[RUNGI_A].before, item, i, p) *
               value_at(problem, RUNGI_B, memory[RUNGI_B].before, item, p, j);
    sum *= (float)problem->alpha;
    if (problem->beta != 0.0)
        sum += (float)problem->beta * value_at(problem, RUNGI_C, memory[RUNGI_C].before, item, i, j);
    if (problem->bias.rows > 0)
        sum += value_at(problem, RUNGI_BIAS, memory[RUNGI_BIAS].before, item, i, j);
    if (problem->activation == RUNG_ACTIVATION_RELU && sum < 0)
        sum = 0;
    if (problem->residual.rows > 0)
        sum += value_at(problem, RUNGI_RESIDUAL, memory[RUNGI_RESIDUAL].before, item, i, j);
    return sum;
}

/* Everything that is not to be read is NaN. */
static void fill(const rung_problem *problem)
{
    uint64_t seed = 11;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        bool unread = (problem->alpha == 0.0 && i < RUNGI_C) || (i == RUNGI_C && problem->beta == 0.0);
        for (int64_t j = 0; j < MEMORY; j++)
            memory[i].here[j] = NAN;
        for (int64_t item = 0; !unread && item < problem->batch; item++) {
            rung_matrix one = rungi_matrix_item(view, item);
            one.data = memory[i].here;
            for (int64_t r = 0; r < view->rows; r++)
                for (int64_t s = 0; s < view->cols; s++)
                    unit_fill(&seed, unit_at(&one, r, s), 1);
        }
        memcpy(memory[i].before, memory[i].here, sizeof memory[i].before);
    }
}

/* Puts what is right into `before`: then all of the memory must be the same, gaps too. */
static void check(const rung_problem *problem)
{
    static float right[MEMORY];
    memcpy(right, memory[RUNGI_C].before, sizeof right);
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix c = rungi_matrix_item(&problem->c, item);
        c.data = right;
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++)
                *unit_at(&c, i, j) = expected(problem, item, i, j);
    }
    for (int64_t i = 0; i < MEMORY; i++)
        if (memcmp(&memory[RUNGI_C].here[i], &right[i], sizeof right[i]) != 0)
            fail_msg("C has %g at element %lld, not %g", (double)memory[RUNGI_C].here[i], (long long)i,
                     (double)right[i]);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (i != RUNGI_C)
            assert_memory_equal(memory[i].here, memory[i].before, sizeof memory[i].before);
}

/* The problem as it stands in `memory`, multiplied and checked. */
static void multiply(rung_context *on, rung_problem problem)
{
    fill(&problem);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (!rungi_matrix_is_empty(rungi_problem_view(&problem, i)))
            rungi_problem_operand(&problem, i)->data = memory[i].here;
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = 2; /* for the CPU; other devices ignore it */
    if (rung_multiply(on, &problem, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    check(&problem);
}

static rung_problem problem_of(int64_t m, int64_t n, int64_t k, panel_layout_t a, panel_layout_t b, panel_layout_t c)
{
    return rung_problem_of(view_of(a, m, k, NULL), view_of(b, k, n, NULL), view_of(c, m, n, NULL));
}

static rung_context *context_in_panels(rung_span_function span)
{
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "opencl", .verbose = -1, .span = span};
    rung_context *made;
    assert_int_equal(rung_context_create(&options, &made), RUNG_OK);
    made->overlap = 1;
    return made;
}

static void layouts_of(rung_context *on)
{
    static const int64_t sizes[][3] = {{70, 20, 9}, {20, 83, 9}, {64, 64, 5}, {130, 1, 33}, {1, 65, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int all = 0; all < LAYOUTS * LAYOUTS * LAYOUTS; all++) {
            rung_problem problem = problem_of(sizes[i][0], sizes[i][1], sizes[i][2], all % LAYOUTS,
                                              all / LAYOUTS % LAYOUTS, all / LAYOUTS / LAYOUTS);
            problem.beta = all % 2 ? 1.0 : 0.0;
            problem.alpha = all % 5 == 4 ? 0.0 : 2.0;
            multiply(on, problem);
        }
}

static void layouts(void **state)
{
    rung_context *on = context_in_panels(NULL);
    (void)state;
    layouts_of(on);
    rung_context_destroy(on);
}

/* Operands that repeat lines, or whose lines overlap: the last panel is another case. */
static void odd_views_of(rung_context *on)
{
    rung_problem problem = problem_of(70, 20, 9, ROWS, ROWS, ROWS);
    problem.a.row_stride = 0;
    multiply(on, problem);
    problem.a.row_stride = 1; /* col_stride is a panel's rows: dense but for the last panel */
    problem.a.col_stride = 16;
    multiply(on, problem);
    problem = problem_of(70, 20, 9, ROWS, ROWS, COLS);
    problem.b.row_stride = problem.b.col_stride = 0;
    multiply(on, problem);
    problem.b.row_stride = 1;
    multiply(on, problem);
}

static void odd_views(void **state)
{
    rung_context *on = context_in_panels(NULL);
    (void)state;
    odd_views_of(on);
    rung_context_destroy(on);
}

static void epilogues(void **state)
{
    rung_context *on = context_in_panels(NULL);
    (void)state;
    for (int tall = 0; tall < 2; tall++)
        for (int kind = 0; kind < 3; kind++) {
            int64_t m = tall ? 70 : 20, n = tall ? 20 : 70;
            rung_problem problem = problem_of(m, n, 9, ROWS, COLS, ROW_GAPS);
            rung_matrix row = view_of(ROWS, 1, n, NULL), column = view_of(ROWS, m, 1, NULL);
            problem.bias = kind == 0   ? rung_matrix_broadcast(row, m, n)
                           : kind == 1 ? rung_matrix_broadcast(column, m, n)
                                       : view_of(COL_GAPS, m, n, NULL);
            problem.activation = RUNG_ACTIVATION_RELU;
            if (kind != 1)
                problem.residual = view_of(COLS, m, n, NULL);
            multiply(on, problem);
        }
    rung_context_destroy(on);
}

static void batches(void **state)
{
    static const int64_t places[] = {7, 200, 550, 900, 1400, 1800, 2500, 3000, 3300, 4000, 4400};
    rung_context *on = context_in_panels(NULL);
    (void)state;
    for (int64_t batch = 2; batch <= 11; batch++)
        for (int kind = 0; kind < 4; kind++) {
            rung_problem problem = problem_of(11, 7, 6, ROWS, COLS, kind == 1 ? COLS : ROWS);
            problem.batch = batch;
            problem.beta = kind % 2;
            problem.a.batch_stride = kind == 2 ? 0 : 66;
            problem.b.batch_stride = kind == 3 ? 0 : 50;
            problem.c.batch_stride = 77 + kind;
            if (kind == 3) {
                problem.a.batch_offsets = places;
                problem.c.batch_offsets = places;
                problem.residual = view_of(ROWS, 11, 7, NULL);
                problem.residual.batch_stride = 80;
            }
            multiply(on, problem);
        }
    rung_context_destroy(on);
}

/* ---- Devices without what they need not have ------------------------------------- */

static rungi_device_ops other_ops;
static int ordered_buffer_count; /* buffers, by buffer_create_on_queue */

static rung_status create_on(rung_queue *on, int64_t bytes, rung_buffer **buffer)
{
    ordered_buffer_count++;
    return rungi_opencl_buffer_create(on->device, NULL, 0, bytes, buffer);
}

static void without_pinned_memory(void **state)
{
    rung_context *on = context_in_panels(NULL);
    (void)state;
    multiply(on, problem_of(70, 20, 9, ROWS, ROWS, ROWS)); /* opens the device */
    const rungi_device_ops *ops = on->device->ops;
    rungi_pinned_memory kept = on->pinned;
    on->pinned = (rungi_pinned_memory){0};
    other_ops = *ops;
    other_ops.host_allocate = NULL;
    other_ops.buffer_create_on_queue = create_on;
    on->device->ops = &other_ops;
    layouts_of(on);
    odd_views_of(on);
    assert_null(on->pinned.memory);
    assert_true(ordered_buffer_count > 0);
    on->device->ops = ops;
    on->pinned = kept;
    rung_context_destroy(on);
}

/* ---- Queues ---------------------------------------------------------------------- */

static struct {
    rungi_cl real;
    cl_command_queue queues[16];
    int launches[16], queue_count;
    int without_wait; /* launches that wait for nothing */
} launch_record;

static cl_int CL_API_CALL record_launch(cl_command_queue on, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                        const size_t *all, const size_t *group, cl_uint waits, const cl_event *wait,
                                        cl_event *event)
{
    int i = 0;
    while (i < launch_record.queue_count && launch_record.queues[i] != on)
        i++;
    assert_true(i < 16);
    launch_record.queues[i] = on;
    launch_record.queue_count += i == launch_record.queue_count;
    launch_record.launches[i]++;
    launch_record.without_wait += waits == 0;
    return launch_record.real.EnqueueNDRangeKernel(on, kernel, dimensions, offset, all, group, waits, wait, event);
}

static void three_queues(void **state)
{
    rung_context *on = context_in_panels(NULL);
    const rungi_backend *backend;
    void *cl_state;
    (void)state;
    assert_int_equal(rungi_context_load_backend(on, "opencl", &backend, &cl_state), RUNG_OK);
    rungi_cl *cl = cl_state;
    memset(&launch_record, 0, sizeof launch_record);
    launch_record.real.EnqueueNDRangeKernel = cl->EnqueueNDRangeKernel;
    cl->EnqueueNDRangeKernel = record_launch;
    multiply(on, problem_of(100, 20, 9, ROWS, ROWS, ROWS)); /* panels of 32, 32, 32 and 4 rows */
    assert_int_equal(launch_record.queue_count, 3);
    assert_int_equal(launch_record.launches[0], 2);
    assert_int_equal(launch_record.launches[1], 1);
    assert_int_equal(launch_record.launches[2], 1);
    assert_int_equal(launch_record.without_wait, 0); /* B is shared */
    cl->EnqueueNDRangeKernel = launch_record.real.EnqueueNDRangeKernel;
    const long kept[RUNGI_CL_KINDS] = {[RUNGI_CL_CONTEXT] = 1,
                                       [RUNGI_CL_QUEUE] = 3 + 1,
                                       [RUNGI_CL_BUFFER] = 1,
                                       [RUNGI_CL_PROGRAM] = rungi_opencl_live_objects(on, RUNGI_CL_PROGRAM)};
    assert_live(on, kept);
    on->overlap = 0;
    multiply(on, problem_of(100, 20, 9, ROWS, ROWS, ROWS));
    assert_live(on, kept);
    rung_context_destroy(on);
}

/* Kernels that take long: what is not waited for is not there. */
static void slow_panels(void **state)
{
    enum { M = 200, N = 24, K = 40000 };
    rung_context *on = context_in_panels(NULL);
    float *a = malloc(M * K * sizeof *a), *b = malloc(K * N * sizeof *b), c[M * N];
    uint64_t seed = 1;
    (void)state;
    assert_true(a && b);
    for (int64_t i = 0; i < M * K; i++)
        a[i] = (float)(i / K % 5);
    unit_fill(&seed, b, K * N);
    for (int round = 0; round < 3; round++) {
        memset(c, 0xff, sizeof c);
        assert_int_equal(rung_gemm(on, 1.0, rung_matrix_of(RUNG_F32, M, K, a), rung_matrix_of(RUNG_F32, K, N, b), 0.0,
                                   rung_matrix_of(RUNG_F32, M, N, c)),
                         RUNG_OK);
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t p = 0; p < K; p++)
                sum += b[p * N + j];
            for (int64_t i = 0; i < M; i++)
                assert_true(c[i * N + j] == (float)(i % 5) * sum);
        }
        for (int64_t p = 0; p < K * N; p++)
            b[p] = -b[p]; /* what was left of the round before is wrong now */
    }
    free(a);
    free(b);
    rung_context_destroy(on);
}

/* ---- Spans ----------------------------------------------------------------------- */

enum { SPANS_MAX = 512 };

static struct {
    rung_span spans[SPANS_MAX];
    int count;
} recorded;

static void note_span(void *user, const rung_span *span)
{
    (void)user;
    assert_true(recorded.count < SPANS_MAX);
    recorded.spans[recorded.count++] = *span;
}

static int64_t recorded_bytes(const char *name)
{
    int64_t bytes = 0;
    for (int i = 0; i < recorded.count; i++)
        if (strcmp(recorded.spans[i].name, name) == 0)
            bytes += recorded.spans[i].bytes;
    return bytes;
}

static bool is_kernel(const rung_span *span)
{
    return span->queue >= 0 && !strstr(span->name, " up") && !strstr(span->name, " down");
}

/* Told in the order in which it was given: on a queue, one after the other. */
static void check_order(void)
{
    int64_t end[3] = {0}, shared_end = 0;
    for (int i = 0; i < recorded.count; i++) {
        const rung_span *span = &recorded.spans[i];
        assert_true(span->start >= 0 && span->start <= span->end && span->end < (int64_t)60e9);
        assert_true(span->queue >= -1 && span->queue < 3);
        if (span->queue < 0)
            continue;
        assert_true(span->start >= end[span->queue]);
        end[span->queue] = span->end;
        if (strcmp(span->name, "B up") == 0)
            shared_end = span->end;
        if (is_kernel(span))
            assert_true(span->start >= shared_end);
    }
}

static void span_bytes_add_up(void **state)
{
    rung_context *on = context_in_panels(note_span);
    rung_problem problem = problem_of(100, 20, 9, ROW_GAPS, ROWS, COLS);
    int64_t queues = 0;
    (void)state;
    problem.beta = 1.0;
    problem.bias = rung_matrix_broadcast(view_of(ROWS, 1, 20, NULL), 100, 20);
    recorded.count = 0;
    multiply(on, problem);
    check_order();
    int64_t a = 4 * 100 * 9, b = 4 * 9 * 20, c = 4 * 100 * 20, bias = 4 * 20;
    assert_int_equal(recorded_bytes("A up"), a);
    assert_int_equal(recorded_bytes("B up"), b);
    assert_int_equal(recorded_bytes("C up"), c);
    assert_int_equal(recorded_bytes("bias up"), bias);
    assert_int_equal(recorded_bytes("C down"), c);
    assert_int_equal(recorded_bytes("pack"), a + b + c + bias);
    assert_int_equal(recorded_bytes("unpack"), c);
    for (int i = 0; i < recorded.count; i++)
        if (is_kernel(&recorded.spans[i]))
            queues |= (int64_t)1 << recorded.spans[i].queue;
    assert_int_equal(queues, 7);
    assert_int_equal(rungi_opencl_live_objects(on, RUNGI_CL_EVENT), 0);

    problem.beta = 0.0; /* whole, with nothing to pack but A */
    on->overlap = 0;
    recorded.count = 0;
    multiply(on, problem);
    check_order();
    assert_int_equal(recorded_bytes("C up"), 0);
    assert_int_equal(recorded_bytes("A up"), a);
    assert_int_equal(recorded_bytes("C down"), c);
    assert_int_equal(recorded_bytes("pack"), a);
    assert_int_equal(recorded_bytes("unpack"), 0);
    rung_context_destroy(on);
}

static void spans_of_the_cpu(void **state)
{
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cpu", .verbose = -1, .span = note_span};
    rung_context *on;
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_context_create(&options, &on), RUNG_OK);
    recorded.count = 0;
    multiply(on, problem_of(20, 20, 9, ROWS, ROWS, ROWS));
    assert_int_equal(recorded.count, 1);
    assert_int_equal(rung_kernel_find(on, "cpu", recorded.spans[0].name, &kernel), RUNG_OK);
    check_order();
    recorded.count = 0;
    assert_int_equal(rung_multiply(on, &(rung_problem){.size = sizeof(rung_problem), .batch = -1}, NULL),
                     RUNG_STATUS_INVALID);
    assert_int_equal(recorded.count, 0); /* what failed tells nothing */
    rung_context_destroy(on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panel_partition),
        cmocka_unit_test(overlap_threshold_variable),
        cmocka_unit_test(layouts),
        cmocka_unit_test(odd_views),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(batches),
        cmocka_unit_test(without_pinned_memory),
        cmocka_unit_test(three_queues),
        cmocka_unit_test(slow_panels),
        cmocka_unit_test(span_bytes_add_up),
        cmocka_unit_test(spans_of_the_cpu),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
