/* SPDX-License-Identifier: Apache-2.0 */
/* large_offsets.c - places past 2^31: an int anywhere between a view and its element shows
 * here and nowhere else. The memory is mapped, not used: only the pages around a few
 * elements are ever touched. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "support/unit.h"

#include <stdio.h>
#include <sys/mman.h>

#define TWO_TO_31 INT64_C(2147483648)

enum { SIZE = 3, GUARD = 8 };

/* Small numbers into the elements, and a mark on either side of each. */
static const float mark = -77;

static void mark_around(const rung_matrix *matrix)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            for (int64_t near = -GUARD; near <= GUARD; near++)
                unit_at(matrix, i, j)[near] = mark;
}

static void fill(uint64_t *seed, const rung_matrix *matrix)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            unit_fill(seed, unit_at(matrix, i, j), 1);
}

static bool is_element(const rung_matrix *matrix, const float *place)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            if (unit_at(matrix, i, j) == place)
                return true;
    return false;
}

static void assert_neighbours_untouched(const rung_matrix *matrix)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            for (int64_t near = -GUARD; near <= GUARD; near++) {
                const float *place = unit_at(matrix, i, j) + near;
                assert_true(is_element(matrix, place) || *place == mark);
            }
}

/* ---- The CPU --------------------------------------------------------------------- */

/* 3 x 3 with rows (or columns) more than 2^31 elements apart, 2^31 elements in. */
static rung_matrix far_view(float *memory, int64_t start, bool transposed)
{
    rung_matrix view = {.type = RUNG_F32,
                        .rows = SIZE,
                        .cols = SIZE,
                        .row_stride = TWO_TO_31 + 64,
                        .col_stride = 2,
                        .data = memory,
                        .offset = TWO_TO_31 + start};
    return transposed ? rung_matrix_transpose(view) : view;
}

static void multiply_far_views(float *memory, bool transposed)
{
    uint64_t seed = 31;
    rung_matrix a = far_view(memory, 1024, transposed);
    rung_matrix b = far_view(memory, 2048, !transposed);
    rung_matrix c = far_view(memory, 3072, transposed);
    rung_context *context;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    mark_around(&a);
    mark_around(&b);
    mark_around(&c);
    fill(&seed, &a);
    fill(&seed, &b);
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    assert_int_equal(rung_gemm(context, 1.0, a, b, 0.0, c), RUNG_OK);
    assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
    assert_neighbours_untouched(&a);
    assert_neighbours_untouched(&b);
    assert_neighbours_untouched(&c);

    /* One element further on, C would meet A's neighbour; told apart across 2^31. */
    rung_matrix onto_a = a;
    assert_int_equal(rung_gemm(context, 1.0, a, b, 0.0, onto_a), RUNG_STATUS_ALIASED);
    onto_a.offset += 1; /* between A's elements */
    assert_int_equal(rung_gemm(context, 1.0, a, b, 0.0, onto_a), RUNG_OK);
    rung_context_destroy(context);
}

static const size_t map_bytes = (size_t)(3 * TWO_TO_31 + 8192) * sizeof(float);

/* Some 24 GiB of addresses; NULL where they are not to be had. */
static void *map_memory(void)
{
    void *memory = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void the_cpu_past_two_to_31(void **state)
{
    (void)state;
    void *memory = map_memory();
    assert_non_null(memory);
    multiply_far_views(memory, false);
    multiply_far_views(memory, true);
    assert_int_equal(munmap(memory, map_bytes), 0);
}

/* ---- OpenCL ---------------------------------------------------------------------- */

typedef struct large_device {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffer;
} large_device_t;

/* A buffer as large as the device has, if that is past 2^31 bytes. */
static bool open_bench(large_device_t *bench)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    memset(bench, 0, sizeof *bench);
    assert_int_equal(rung_context_create(&options, &bench->context), RUNG_OK);
    if (rung_device_open(bench->context, "opencl", &bench->device) != RUNG_OK)
        return false;
    int64_t bytes = rung_device_describe(bench->device)->max_buffer_bytes;
    return bytes > TWO_TO_31 + (1 << 20) && rung_queue_create(bench->device, &bench->queue) == RUNG_OK &&
           rung_buffer_create(bench->device, bytes, &bench->buffer) == RUNG_OK;
}

static void close_bench(large_device_t *bench)
{
    rung_buffer_destroy(bench->buffer);
    rung_queue_destroy(bench->queue);
    rung_device_close(bench->device);
    rung_context_destroy(bench->context);
}

/* Row by row to the device, or back; `host` is the rows of one view, dense. */
static void copy_rows(large_device_t *bench, const rung_matrix *there, float (*host)[SIZE], bool to_device)
{
    for (int64_t i = 0; i < SIZE; i++) {
        int64_t at = 4 * (there->offset + i * there->row_stride);
        rung_status status = to_device ? rung_buffer_write(bench->queue, bench->buffer, at, SIZE * 4, host[i], NULL)
                                       : rung_buffer_read(bench->queue, bench->buffer, at, SIZE * 4, host[i], NULL);
        assert_int_equal(status, RUNG_OK);
    }
    assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
}

static void multiply_in_one_buffer(large_device_t *bench, int64_t stride, int64_t last)
{
    uint64_t seed = 32;
    float host[3][SIZE][SIZE], marks[2 * GUARD], back[2 * GUARD];
    rung_plan *plan;
    rung_matrix views[3], dense[3];
    for (int i = 0; i < 3; i++) {
        views[i] = rung_matrix_in_buffer(RUNG_F32, SIZE, SIZE, bench->buffer,
                                         last - 64 * (3 - i) - (SIZE - 1) * stride);
        views[i].row_stride = stride;
        dense[i] = rung_matrix_of(RUNG_F32, SIZE, SIZE, host[i]);
        unit_fill(&seed, host[i][0], SIZE * SIZE);
        copy_rows(bench, &views[i], host[i], true);
    }
    /* Marks on both sides of the last row of C. */
    int64_t before = 4 * (views[2].offset + (SIZE - 1) * stride) - 4 * GUARD;
    for (int i = 0; i < 2 * GUARD; i++)
        marks[i] = mark;
    assert_int_equal(rung_buffer_write(bench->queue, bench->buffer, before, 4 * GUARD, marks, NULL), RUNG_OK);
    assert_int_equal(
        rung_buffer_write(bench->queue, bench->buffer, before + 4 * (GUARD + SIZE), 4 * GUARD, marks, NULL), RUNG_OK);

    rung_problem problem = rung_problem_of(views[0], views[1], views[2]);
    assert_int_equal(rung_plan_create(bench->device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, bench->queue, &problem, NULL), RUNG_OK);
    copy_rows(bench, &views[2], host[2], false);
    rung_plan_destroy(plan);
    assert_int_equal(unit_first_wrong(&dense[0], &dense[1], &dense[2]), -1);
    assert_int_equal(rung_buffer_read(bench->queue, bench->buffer, before, 4 * GUARD, back, NULL), RUNG_OK);
    assert_int_equal(
        rung_buffer_read(bench->queue, bench->buffer, before + 4 * (GUARD + SIZE), 4 * GUARD, back + GUARD, NULL),
        RUNG_OK);
    assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
    assert_memory_equal(back, marks, sizeof marks);
}

static void opencl_past_two_to_31(void **state)
{
    large_device_t bench;
    (void)state;
    if (!open_bench(&bench)) {
        close_bench(&bench);
        skip();
    }
    int64_t elements = rung_device_describe(bench.device)->max_buffer_bytes / 4;
    multiply_in_one_buffer(&bench, elements / 2 - 256, elements); /* rows far apart */
    multiply_in_one_buffer(&bench, 20, elements);                 /* all of it far in */
    close_bench(&bench);
}

/* ---- Elements past 2^31, which of one byte fit a buffer ------------------------------- */

static int8_t far_value(int64_t item, int64_t i, int64_t j)
{
    return (int8_t)(item * 7 + i * 3 - j * 5 - 4);
}

/* Writes a view of bytes element by element. */
static void send_bytes(large_device_t *bench, const rung_matrix *view, int64_t batch, int sign)
{
    for (int64_t item = 0; item < batch; item++)
        for (int64_t i = 0; i < SIZE; i++)
            for (int64_t j = 0; j < SIZE; j++) {
                int8_t value = (int8_t)(sign * far_value(item, i, j));
                int64_t place = view->offset + item * view->batch_stride + i * view->row_stride + j * view->col_stride;
                assert_int_equal(rung_buffer_write(bench->queue, bench->buffer, place, 1, &value, NULL), RUNG_OK);
                assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
            }
}

static int32_t far_sum(int64_t item, int64_t i, int64_t j)
{
    int32_t sum = 0;
    for (int64_t p = 0; p < SIZE; p++)
        sum -= far_value(item, i, p) * far_value(item, p, j);
    return sum;
}

/* Items, rows and columns so far apart that A's and B's last elements lie past 2^31. */
static void multiply_far_bytes(large_device_t *bench, const char *name)
{
    enum { ITEMS = 2 };
    int32_t c[ITEMS][SIZE][SIZE];
    rung_kernel *kernel;
    rung_plan *plan;
    rung_buffer *c_memory;
    rung_matrix a = rung_matrix_in_buffer(RUNG_I8, SIZE, SIZE, bench->buffer, TWO_TO_31 + 1000);
    rung_matrix b = rung_matrix_in_buffer(RUNG_I8, SIZE, SIZE, bench->buffer, 2000);
    a.row_stride = (INT64_C(1) << 29) + 100;
    a.batch_stride = 77;
    b.row_stride = 50;
    b.col_stride = 3;
    b.batch_stride = TWO_TO_31 + 5000;
    send_bytes(bench, &a, ITEMS, 1);
    send_bytes(bench, &b, ITEMS, -1);
    assert_int_equal(rung_buffer_create(bench->device, sizeof c, &c_memory), RUNG_OK);
    rung_problem problem = rung_problem_of(a, b, rung_matrix_in_buffer(RUNG_I32, SIZE, SIZE, c_memory, 0));
    problem.batch = ITEMS;
    problem.c.batch_stride = SIZE * SIZE;
    assert_int_equal(rung_kernel_find(bench->context, "opencl", name, &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .parameters = "tiny"};
    assert_int_equal(rung_plan_create(bench->device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, bench->queue, &problem, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_read(bench->queue, c_memory, 0, sizeof c, c, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(bench->queue), RUNG_OK);
    for (int64_t item = 0; item < ITEMS; item++)
        for (int64_t i = 0; i < SIZE; i++)
            for (int64_t j = 0; j < SIZE; j++)
                assert_int_equal(c[item][i][j], far_sum(item, i, j));
    rung_plan_destroy(plan);
    rung_buffer_destroy(c_memory);
}

static void bytes_past_two_to_31(void **state)
{
    static const char *const kernels[] = {"01", "02", "03", "04", "05", "06", "07", "08", "09", "10"};
    large_device_t bench;
    (void)state;
    if (!open_bench(&bench) || rung_device_describe(bench.device)->max_buffer_bytes < TWO_TO_31 + (INT64_C(3) << 29)) {
        close_bench(&bench);
        skip();
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        multiply_far_bytes(&bench, kernels[i]);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_past_two_to_31),
        cmocka_unit_test(opencl_past_two_to_31),
        cmocka_unit_test(bytes_past_two_to_31),
    };
    unit_clean_environment();
    void *memory = map_memory();
    if (!memory) {
        fprintf(stderr, "skipped: %zu bytes of addresses cannot be mapped\n", map_bytes);
        return UNIT_SKIPPED;
    }
    munmap(memory, map_bytes);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
