/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - rung_plan_pack_b: a B that is packed once gives the bits that it gives where it stands, for every
 * m, with threads, in batches and under epilogues; and what is refused. */
#include "support/unit.h"

#include "base/aligned_memory.h"
#include "rung/rung.h"

enum { M = 61, N = 75, K = 1100 };

static float a_memory[2 * M * K], b_memory[K * N], transposed_memory[K * N], c_memory[2 * M * N], expected[2 * M * N];
static rung_device *device;
static rung_queue *queue;

static rung_plan *plan_of(const rung_problem *problem, int packed_b, int64_t threads)
{
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options), .packed_b = packed_b, .threads = threads};
    if (rung_plan_create(device, problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

static rung_buffer *packed_by(rung_plan *plan, rung_matrix b)
{
    rung_buffer *buffer;
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    assert_true(bytes >= K * (int64_t)sizeof(float));
    assert_int_equal(rung_buffer_create(device, bytes, &buffer), RUNG_OK);
    if (rung_plan_pack_b(plan, queue, &b, buffer, NULL) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return buffer;
}

static rung_problem problem_of(int64_t m, float *c)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, m, K, a_memory), rung_matrix_of(RUNG_F32, K, N, b_memory),
                           rung_matrix_of(RUNG_F32, m, N, c));
}

/* B by rows, or by columns; then run without its memory. */
static void assert_same_bits(rung_problem problem, rung_matrix b, int64_t threads, rung_buffer *packed)
{
    size_t bytes = (size_t)(problem.batch * problem.c.rows * N) * sizeof(float);
    rung_problem without = problem;
    rung_plan *plain = plan_of(&problem, 0, 1), *plan;
    problem.c.data = expected;
    memcpy(expected, c_memory, bytes);
    assert_int_equal(rung_plan_run(plain, queue, &problem, NULL), RUNG_OK);
    rung_plan_destroy(plain);
    without.b = b;
    without.b.data = NULL;
    plan = plan_of(&without, 1, threads);
    rung_buffer *own = packed ? NULL : packed_by(plan, b);
    rung_run_options options = {.size = sizeof(rung_run_options), .packed_b = packed ? packed : own};
    if (rung_plan_run(plan, queue, &without, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_memory_equal(c_memory, expected, bytes);
    rung_buffer_destroy(own);
    rung_plan_destroy(plan);
}

static void packed_gives_the_same_bits(void **state)
{
    static const int64_t rows[] = {29, 30, M};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int64_t threads = 1; threads <= 3; threads++) {
            rung_problem problem = problem_of(rows[i], c_memory);
            assert_same_bits(problem, problem.b, threads, NULL);
            problem.alpha = 0.75;
            problem.beta = -1.25;
            assert_same_bits(problem, rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, K, transposed_memory)), threads,
                             NULL);
        }
}

/* One packed B for several m: the few rows are summed as many are, within the same bound, so the bits are
 * those of a larger problem. */
static void m_may_differ(void **state)
{
    (void)state;
    rung_problem large = problem_of(M, c_memory);
    rung_plan *plan = plan_of(&large, 1, 1);
    rung_buffer *packed = packed_by(plan, large.b);
    rung_run_options options = {.size = sizeof(rung_run_options), .packed_b = packed};
    assert_int_equal(rung_plan_run(plan, queue, &large, &options), RUNG_OK);
    memcpy(expected, c_memory, sizeof c_memory / 2);
    for (int64_t m = 1; m <= 33; m += 8) {
        rung_problem small = problem_of(m, c_memory);
        rung_plan *other = plan_of(&small, 1, 2);
        assert_int_equal(rung_plan_describe(other)->packed_b_bytes, rung_plan_describe(plan)->packed_b_bytes);
        memset(c_memory, 0xff, sizeof c_memory);
        assert_int_equal(rung_plan_run(other, queue, &small, &options), RUNG_OK);
        assert_memory_equal(c_memory, expected, (size_t)(m * N) * sizeof(float));
        rung_plan_destroy(other);
    }
    rung_plan_destroy(plan); /* before what it packed */
    rung_buffer_destroy(packed);
}

/* A few panels of rows pass over a large packed B one tile at a time. */
static void few_rows_by_a_large_b(void **state)
{
    enum { FEW_ROWS = 40, WIDE = 700, DEEP = 1500 };
    float *a = malloc(FEW_ROWS * DEEP * sizeof *a), *b = malloc(DEEP * WIDE * sizeof *b),
          *c = malloc(FEW_ROWS * WIDE * sizeof *c);
    uint64_t seed = 11;
    (void)state;
    unit_fill(&seed, a, FEW_ROWS * DEEP);
    unit_fill(&seed, b, DEEP * WIDE);
    for (int64_t threads = 1; threads <= 3; threads++) {
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, FEW_ROWS, DEEP, a),
                                               rung_matrix_of(RUNG_F32, DEEP, WIDE, b),
                                               rung_matrix_of(RUNG_F32, FEW_ROWS, WIDE, c));
        rung_plan *plan = plan_of(&problem, 1, threads);
        rung_buffer *packed = packed_by(plan, problem.b);
        memset(c, 0xff, FEW_ROWS * WIDE * sizeof *c);
        assert_int_equal(rung_plan_run(plan, queue, &problem,
                                       &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = packed}),
                         RUNG_OK);
        assert_int_equal(unit_first_wrong(&problem.a, &problem.b, &problem.c), -1);
        rung_buffer_destroy(packed);
        rung_plan_destroy(plan);
    }
    free(a);
    free(b);
    free(c);
}

static void batches_and_epilogues(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory);
    problem.batch = 2;
    problem.a.batch_stride = M * K;
    problem.c.batch_stride = M * N;
    problem.activation = RUNG_ACTIVATION_RELU;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, b_memory), M, N);
    assert_same_bits(problem, problem.b, 2, NULL);
}

/* rung_plan_pack_b says what is wrong with its B. */
static void wrong_matrices_are_named(void **state)
{
    (void)state;
    static const int64_t offsets[1] = {0};
    rung_problem problem = problem_of(M, c_memory);
    rung_plan *plan = plan_of(&problem, 1, 1);
    rung_buffer *packed = packed_by(plan, problem.b);
    rung_matrix scattered = problem.b, turned = rung_matrix_transpose(problem.b);
    rung_matrix other = rung_matrix_of(RUNG_I32, K, N, b_memory);
    scattered.batch_offsets = offsets;
    assert_int_equal(rung_plan_pack_b(plan, queue, &scattered, packed, NULL), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(),
                        "rung_plan_pack_b: B uses batch offsets; a packed B must be the same for every item "
                        "(batch_stride 0)");
    assert_int_equal(rung_plan_pack_b(plan, queue, &turned, packed, NULL), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(), "rung_plan_pack_b: B is 75 x 1100; the plan was created for 1100 x 75");
    assert_int_equal(rung_plan_pack_b(plan, queue, &other, packed, NULL), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(), "rung_plan_pack_b: the type of B is i32; the plan was created for f32");
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
}

static void invalid_problems_are_rejected(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory), wrong = problem;
    rung_plan *plain = plan_of(&problem, 0, 1), *plan = plan_of(&problem, 1, 1), *none;
    rung_buffer *packed = packed_by(plan, problem.b), *small;
    rung_run_options options = {.size = sizeof(rung_run_options), .packed_b = packed};
    assert_int_equal(rung_buffer_create(device, 64, &small), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plain, queue, &problem.b, packed, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_pack_b(plan, queue, &problem.b, small, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_pack_b(plan, queue, &problem.a, packed, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_pack_b(plan, queue, NULL, packed, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    options.packed_b = small;
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_STATUS_INVALID);
    options.packed_b = packed; /* C in the packed B */
    wrong.c = rung_matrix_in_buffer(RUNG_F32, M, N, packed, 0);
    assert_int_equal(rung_plan_run(plan, queue, &wrong, &options), RUNG_STATUS_ALIASED);
    wrong = problem;
    wrong.batch = 2;
    wrong.a.batch_stride = wrong.b.batch_stride = 1;
    wrong.c.batch_stride = M * N;
    assert_int_equal(
        rung_plan_create(device, &wrong, &(rung_plan_options){.size = sizeof(rung_plan_options), .packed_b = 1}, &none),
        RUNG_STATUS_INVALID);
    rung_kernel *naive;
    assert_int_equal(rung_kernel_find(NULL, "cpu", "01", &naive), RUNG_OK);
    assert_int_equal(
        rung_plan_create(device, &problem,
                         &(rung_plan_options){.size = sizeof(rung_plan_options), .kernel = naive, .packed_b = 1},
                         &none),
        RUNG_STATUS_UNSUPPORTED);
    rung_buffer_destroy(small);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plain);
    rung_plan_destroy(plan);
}

/* ---- Layouts ------------------------------------------------------------------------------------- */

/* A problem of views without memory. */
static rung_problem form_of(rung_type type, int64_t m, int64_t n, int64_t k)
{
    return rung_problem_of(rung_matrix_of(type, m, k, NULL), rung_matrix_of(type, k, n, NULL),
                           rung_matrix_of(type, m, n, NULL));
}

static rung_plan *plan_with(rung_problem problem, const char *kernel, const char *parameters)
{
    rung_kernel *found = NULL;
    rung_plan *plan;
    if (kernel)
        assert_int_equal(rung_kernel_find(NULL, "cpu", kernel, &found), RUNG_OK);
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .packed_b = 1, .kernel = found, .parameters = parameters};
    if (rung_plan_create(device, &problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

/* Runs the plan on matrices of ones: the run is refused with a sentence that has these words, and C is
 * not written. */
static void assert_refused(rung_plan *plan, rung_problem problem, rung_buffer *packed, const char *words)
{
    size_t a_bytes = (size_t)(problem.a.rows * problem.a.cols * rung_type_size(problem.a.type));
    size_t c_bytes = (size_t)(problem.c.rows * problem.c.cols * rung_type_size(problem.c.type));
    char *before = malloc(c_bytes);
    problem.a.data = calloc(1, a_bytes);
    problem.c.data = malloc(c_bytes);
    memset(problem.c.data, 0xa5, c_bytes);
    memcpy(before, problem.c.data, c_bytes);
    assert_int_equal(
        rung_plan_run(plan, queue, &problem, &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = packed}),
        RUNG_STATUS_INVALID);
    if (!strstr(rung_error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", rung_error_text(), words);
    assert_memory_equal(problem.c.data, before, c_bytes);
    free(problem.a.data);
    free(problem.c.data);
    free(before);
}

/* Packs a B of ones for one plan and gives it to another one, which needs as many bytes. */
static void assert_layouts_differ(rung_plan *packer, rung_problem packed, rung_plan *runner, rung_problem run,
                                  const char *words)
{
    packed.b.data = calloc((size_t)(packed.b.rows * packed.b.cols), (size_t)rung_type_size(packed.b.type));
    rung_buffer *buffer = packed_by(packer, packed.b);
    assert_true(rung_plan_describe(packer)->packed_b_bytes >= rung_plan_describe(runner)->packed_b_bytes);
    assert_refused(runner, run, buffer, words);
    rung_buffer_destroy(buffer);
    rung_plan_destroy(packer);
    rung_plan_destroy(runner);
    free(packed.b.data);
}

static void other_layouts_are_refused(void **state)
{
    (void)state;
    rung_problem f32 = form_of(RUNG_F32, 8, 672, 1500), i32 = form_of(RUNG_I32, 8, 672, 1500);
    rung_problem tall = form_of(RUNG_F32, 8, 96, 1500), flat = form_of(RUNG_F32, 8, 192, 750);
    assert_layouts_differ(plan_with(f32, "10", "KC=256,NC=256"), f32, plan_with(f32, NULL, NULL), f32, "K block");
    assert_layouts_differ(plan_with(i32, "10", NULL), i32, plan_with(f32, "10", NULL), f32, "type");
    assert_layouts_differ(plan_with(tall, "10", NULL), tall, plan_with(flat, "10", NULL), flat, "k is 1500");
}

/* NC and the number of threads do not change the layout. */
static void parameters_without_effect_are_accepted(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory);
    rung_plan *packer = plan_with(problem, "10", "KC=1024,NC=256"), *plan = plan_with(problem, "10", "KC=1024,NC=512");
    rung_buffer *packed = packed_by(packer, problem.b);
    if (rung_plan_run(plan, queue, &problem,
                      &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = packed}) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_int_equal(unit_first_wrong(&problem.a, &problem.b, &problem.c), -1);
    rung_buffer_destroy(packed);
    rung_plan_destroy(packer);
    rung_plan_destroy(plan);
}

/* A buffer that rung_plan_pack_b has not filled: new, in memory that a packed B was freed from, or full of anything. */
static void unfilled_buffers_are_refused(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory);
    rung_plan *plan = plan_of(&problem, 1, 1);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    rung_buffer *buffer;
    uint64_t seed = 7;
    for (int i = 0; i < 8; i++) {
        rung_buffer_destroy(packed_by(plan, problem.b));
        assert_int_equal(rung_buffer_create(device, bytes, &buffer), RUNG_OK);
        assert_refused(plan, problem, buffer, "rung_plan_pack_b");
        rung_buffer_destroy(buffer);
    }
    char *garbage = malloc((size_t)bytes);
    for (int64_t i = 0; i < bytes; i++)
        garbage[i] = (char)unit_random(&seed, 256);
    assert_int_equal(rung_buffer_create(device, bytes, &buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, buffer, 0, bytes, garbage, NULL), RUNG_OK);
    assert_refused(plan, problem, buffer, "rung_plan_pack_b");
    rung_buffer_destroy(buffer);
    rung_plan_destroy(plan);
    free(garbage);
}

/* Every bit before the first element counts. */
static void damaged_headers_are_refused(void **state)
{
    (void)state;
    enum { HEADER = 128 };
    rung_problem problem = problem_of(1, c_memory);
    rung_plan *plan = plan_of(&problem, 1, 1);
    rung_buffer *packed = packed_by(plan, problem.b);
    unsigned char header[HEADER];
    assert_int_equal(rung_plan_describe(plan)->packed_b_bytes % 64, 0);
    assert_int_equal(rung_buffer_read(queue, packed, 0, HEADER, header, NULL), RUNG_OK);
    for (int bit = 0; bit < 8 * HEADER; bit++) {
        header[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(rung_buffer_write(queue, packed, 0, HEADER, header, NULL), RUNG_OK);
        assert_refused(plan, problem, packed, "rung_plan_pack_b");
        header[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(rung_buffer_write(queue, packed, 0, HEADER, header, NULL), RUNG_OK);
    assert_int_equal(
        rung_plan_run(plan, queue, &problem, &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = packed}),
        RUNG_OK);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
}

/* A packed B may be kept in a file and come back at another address, at a multiple of 64 bytes. */
static void alignment_is_checked(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory);
    rung_plan *plan = plan_of(&problem, 1, 1);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    rung_buffer *packed = packed_by(plan, problem.b), *wrapped;
    char *memory = rungi_aligned_allocate(64, (size_t)(bytes + 128));
    assert_int_equal(rung_buffer_read(queue, packed, 0, bytes, memory + 64, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(device, memory, 64, bytes, &wrapped), RUNG_OK);
    if (rung_plan_run(plan, queue, &problem,
                      &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = wrapped}) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_int_equal(unit_first_wrong(&problem.a, &problem.b, &problem.c), -1);
    rung_buffer_destroy(wrapped);
    assert_int_equal(rung_buffer_wrap(device, memory, 32, bytes, &wrapped), RUNG_OK);
    assert_int_equal(rung_plan_pack_b(plan, queue, &problem.b, wrapped, NULL), RUNG_STATUS_INVALID);
    assert_refused(plan, problem, wrapped, "aligned to 64");
    rung_buffer_destroy(wrapped);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    rungi_aligned_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_gives_the_same_bits),   cmocka_unit_test(m_may_differ),
        cmocka_unit_test(few_rows_by_a_large_b),        cmocka_unit_test(batches_and_epilogues),
        cmocka_unit_test(wrong_matrices_are_named),     cmocka_unit_test(invalid_problems_are_rejected),
        cmocka_unit_test(other_layouts_are_refused),    cmocka_unit_test(parameters_without_effect_are_accepted),
        cmocka_unit_test(unfilled_buffers_are_refused), cmocka_unit_test(damaged_headers_are_refused),
        cmocka_unit_test(alignment_is_checked),
    };
    uint64_t seed = 5;
    unit_clean_environment();
    unit_fill(&seed, a_memory, 2 * M * K);
    unit_fill(&seed, b_memory, K * N);
    unit_fill(&seed, c_memory, 2 * M * N);
    for (int p = 0; p < K; p++)
        for (int j = 0; j < N; j++)
            transposed_memory[j * K + p] = b_memory[p * N + j];
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return failed;
}
