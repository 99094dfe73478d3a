/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - rung_pack: a B that is packed once gives the bits that it gives where it stands, for every
 * m, with threads, in batches and under epilogues; and what is refused. */
#include "unit.h"

#include "rung/rung.h"

enum { M = 61, N = 75, K = 1100 };

static float a_memory[2 * M * K], b_memory[K * N], turned_memory[K * N], c_memory[2 * M * N], expected[2 * M * N];
static rung_device *device;
static rung_queue *queue;

static rung_plan *plan_of(const rung_problem *problem, int packs_b, int64_t threads)
{
    rung_plan *plan;
    rung_plan_options options = {.packs_b = packs_b, .threads = threads};
    if (rung_plan_create(device, problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

static rung_buffer *packed_by(rung_plan *plan, rung_matrix b)
{
    rung_buffer *buffer;
    int64_t bytes = rung_plan_describe(plan)->packed;
    assert_true(bytes >= K * (int64_t)sizeof(float));
    assert_int_equal(rung_buffer_create(device, bytes, &buffer), RUNG_OK);
    if (rung_pack(plan, queue, &b, buffer, NULL) != RUNG_OK)
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
    rung_run_options options = {.packed = packed ? packed : own};
    if (rung_plan_run(plan, queue, &without, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_memory_equal(c_memory, expected, bytes);
    rung_buffer_destroy(own);
    rung_plan_destroy(plan);
}

static void bits_are_the_same(void **state)
{
    static const int64_t rows[] = {29, 30, M};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int64_t threads = 1; threads <= 3; threads++) {
            rung_problem problem = problem_of(rows[i], c_memory);
            assert_same_bits(problem, problem.b, threads, NULL);
            problem.alpha = 0.75;
            problem.beta = -1.25;
            assert_same_bits(problem, rung_matrix_transpose(rung_matrix_of(RUNG_F32, N, K, turned_memory)), threads,
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
    rung_run_options options = {.packed = packed};
    assert_int_equal(rung_plan_run(plan, queue, &large, &options), RUNG_OK);
    memcpy(expected, c_memory, sizeof c_memory / 2);
    for (int64_t m = 1; m <= 33; m += 8) {
        rung_problem small = problem_of(m, c_memory);
        rung_plan *other = plan_of(&small, 1, 2);
        assert_int_equal(rung_plan_describe(other)->packed, rung_plan_describe(plan)->packed);
        memset(c_memory, 0xff, sizeof c_memory);
        assert_int_equal(rung_plan_run(other, queue, &small, &options), RUNG_OK);
        assert_memory_equal(c_memory, expected, (size_t)(m * N) * sizeof(float));
        rung_plan_destroy(other);
    }
    rung_plan_destroy(plan); /* before what it packed */
    rung_buffer_destroy(packed);
}

static void batches_and_epilogues(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory);
    problem.batch = 2;
    problem.a.batch_stride = M * K;
    problem.c.batch_stride = M * N;
    problem.epilogue.activation = RUNG_RELU;
    problem.epilogue.bias = rung_matrix_repeat(rung_matrix_of(RUNG_F32, 1, N, b_memory), M, N);
    assert_same_bits(problem, problem.b, 2, NULL);
}

static void what_is_refused(void **state)
{
    (void)state;
    rung_problem problem = problem_of(M, c_memory), wrong = problem;
    rung_plan *plain = plan_of(&problem, 0, 1), *plan = plan_of(&problem, 1, 1), *none;
    rung_buffer *packed = packed_by(plan, problem.b), *small;
    rung_run_options options = {.packed = packed};
    assert_int_equal(rung_buffer_create(device, 64, &small), RUNG_OK);
    assert_int_equal(rung_pack(plain, queue, &problem.b, packed, NULL), RUNG_INVALID);
    assert_int_equal(rung_pack(plan, queue, &problem.b, small, NULL), RUNG_INVALID);
    assert_int_equal(rung_pack(plan, queue, &problem.a, packed, NULL), RUNG_INVALID);
    assert_int_equal(rung_pack(plan, queue, NULL, packed, NULL), RUNG_INVALID);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_INVALID);
    options.packed = small;
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_INVALID);
    options.packed = packed; /* C in the packed B */
    wrong.c = rung_matrix_in(RUNG_F32, M, N, packed, 0);
    assert_int_equal(rung_plan_run(plan, queue, &wrong, &options), RUNG_OVERLAP);
    wrong = problem;
    wrong.batch = 2;
    wrong.a.batch_stride = wrong.b.batch_stride = 1;
    wrong.c.batch_stride = M * N;
    assert_int_equal(rung_plan_create(device, &wrong, &(rung_plan_options){.packs_b = 1}, &none), RUNG_INVALID);
    rung_kernel *naive;
    assert_int_equal(rung_kernel_find(NULL, "cpu", "01", &naive), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, &(rung_plan_options){.kernel = naive, .packs_b = 1}, &none),
                     RUNG_UNSUPPORTED);
    rung_buffer_destroy(small);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plain);
    rung_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_the_same),
        cmocka_unit_test(m_may_differ),
        cmocka_unit_test(batches_and_epilogues),
        cmocka_unit_test(what_is_refused),
    };
    uint64_t seed = 5;
    unit_clean_environment();
    unit_fill(&seed, a_memory, 2 * M * K);
    unit_fill(&seed, b_memory, K * N);
    unit_fill(&seed, c_memory, 2 * M * N);
    for (int p = 0; p < K; p++)
        for (int j = 0; j < N; j++)
            turned_memory[j * K + p] = b_memory[p * N + j];
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return failed;
}
