/* SPDX-License-Identifier: Apache-2.0 */
/* packed_types.c - a packed B of every type on every engine: one kernel and one layout for every m, the fastest kernel
 * that an unpacked B gets, right results, and the same bits for any number of threads. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

enum { N = 139, K = 300, M_MAX = 200 };

static const int64_t rows[] = {M_MAX, 1, 5, 16, 17, 33, 64, 130};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    rung_type in, out;
    rung_compute compute;
} products[] = {
    {RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT},  {RUNG_F32, RUNG_F32, RUNG_COMPUTE_BF16X3},
    {RUNG_F64, RUNG_F64, RUNG_COMPUTE_STRICT},  {RUNG_F16, RUNG_F32, RUNG_COMPUTE_STRICT},
    {RUNG_BF16, RUNG_F32, RUNG_COMPUTE_STRICT}, {RUNG_I8, RUNG_I32, RUNG_COMPUTE_STRICT},
    {RUNG_I32, RUNG_I32, RUNG_COMPUTE_STRICT},
};
enum { PRODUCTS = sizeof products / sizeof *products };

/* The words of RUNG_CPU_ISA. A processor that has less is tested with what it has. */
static const char *const levels[] = {"amx", "dot", "avx512", "avx2", "portable"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Numbers as doubles, and in the type at hand; 8 bytes hold an element of any type. */
static double a_values[M_MAX * K], b_values[K * N], exact[M_MAX * N];
static double a_memory[M_MAX * K], b_memory[K * N], c_memory[M_MAX * N], one_thread[M_MAX * N];

static rung_device *device;
static rung_queue *queue;

static void open_device(const char *level)
{
    setenv("RUNG_CPU_ISA", level, 1);
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
}

static void close_device(void)
{
    rung_queue_destroy(queue);
    rung_device_close(device);
}

static void store(rung_type type, void *to, int64_t count, const double *from)
{
    for (int64_t i = 0; i < count; i++)
        switch (type) {
        case RUNG_F32: ((float *)to)[i] = (float)from[i]; break;
        case RUNG_F64: ((double *)to)[i] = from[i]; break;
        case RUNG_F16: ((uint16_t *)to)[i] = rung_f16_from_f32((float)from[i]); break;
        case RUNG_BF16: ((uint16_t *)to)[i] = rung_bf16_from_f32((float)from[i]); break;
        case RUNG_I8: ((int8_t *)to)[i] = (int8_t)from[i]; break;
        default: ((int32_t *)to)[i] = (int32_t)from[i];
        }
}

static double load(rung_type type, const void *from, int64_t i)
{
    return type == RUNG_F32   ? (double)((const float *)from)[i]
           : type == RUNG_F64 ? ((const double *)from)[i]
                              : ((const int32_t *)from)[i];
}

static rung_problem problem_of(int product, int64_t m)
{
    rung_type in = products[product].in, out = products[product].out;
    rung_problem problem = rung_problem_of(rung_matrix_of(in, m, K, a_memory), rung_matrix_of(in, K, N, b_memory),
                                           rung_matrix_of(out, m, N, c_memory));
    problem.compute = products[product].compute;
    return problem;
}

static rung_plan *plan_of(const rung_problem *problem, int packed_b, int64_t threads)
{
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options), .packed_b = packed_b, .threads = threads};
    if (rung_plan_create(device, problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

static rung_buffer *packed_by(rung_plan *plan, const rung_problem *problem)
{
    rung_buffer *packed;
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
    if (rung_plan_pack_b(plan, queue, &problem->b, packed, NULL) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return packed;
}

/* Numbers from -4 to 4 in steps of `step`; products of whole ones are exact in every type. */
static void fill(int product, double step)
{
    uint64_t seed = 3;
    for (int64_t i = 0; i < M_MAX * K; i++)
        a_values[i] = step * (double)(unit_random(&seed, (int64_t)(8 / step) + 1)) - 4;
    for (int64_t i = 0; i < K * N; i++)
        b_values[i] = step * (double)(unit_random(&seed, (int64_t)(8 / step) + 1)) - 4;
    store(products[product].in, a_memory, M_MAX * K, a_values);
    store(products[product].in, b_memory, K * N, b_values);
}

static void multiply_exactly(void)
{
    memset(exact, 0, sizeof exact);
    for (int64_t i = 0; i < M_MAX; i++)
        for (int64_t p = 0; p < K; p++)
            for (int64_t j = 0; j < N; j++)
                exact[i * N + j] += a_values[i * K + p] * b_values[p * N + j];
}

/* Runs m rows with 1 to 3 threads. */
static void assert_m(int product, int64_t m, rung_buffer *packed, const char *kernel, bool is_whole)
{
    rung_problem problem = problem_of(product, m), without = problem;
    size_t bytes = (size_t)(m * N * rung_type_size(products[product].out));
    without.b.data = NULL;
    for (int64_t threads = 1; threads <= 3; threads++) {
        rung_plan *plan = plan_of(&problem, 1, threads);
        assert_string_equal(rung_plan_describe(plan)->kernel, kernel);
        memset(c_memory, 0xff, sizeof c_memory);
        if (rung_plan_run(plan, queue, &without,
                          &(rung_run_options){.size = sizeof(rung_run_options), .packed_b = packed}) != RUNG_OK)
            fail_msg("%s", rung_error_text());
        if (threads == 1)
            memcpy(one_thread, c_memory, bytes);
        assert_memory_equal(c_memory, one_thread, bytes);
        for (int64_t i = 0; is_whole && i < m * N; i++)
            assert_true(load(products[product].out, c_memory, i) == exact[i]);
        rung_plan_destroy(plan);
    }
}

/* One packed B, whichever m it is multiplied with. */
static void assert_every_m(int product, bool is_whole)
{
    rung_problem problem = problem_of(product, rows[0]);
    rung_plan *packer = plan_of(&problem, 1, 1);
    rung_buffer *packed = packed_by(packer, &problem);
    const char *kernel = rung_plan_describe(packer)->kernel;
    for (int i = 0; i < ROWS; i++)
        assert_m(product, rows[i], packed, kernel, is_whole);
    rung_buffer_destroy(packed);
    rung_plan_destroy(packer);
}

static void every_type_and_engine(void **state)
{
    (void)state;
    for (int product = 0; product < PRODUCTS; product++) {
        bool is_whole = products[product].in == RUNG_I8 || products[product].in == RUNG_I32;
        fill(product, 1);
        multiply_exactly();
        for (int level = 0; level < LEVELS; level++) {
            open_device(levels[level]);
            assert_every_m(product, true);
            close_device();
        }
        if (is_whole)
            continue;
        fill(product, 0.0078125);
        for (int level = 0; level < LEVELS; level++) {
            open_device(levels[level]);
            assert_every_m(product, false);
            close_device();
        }
    }
}

/* A packed B gets the kernel that B gets where it stands. */
static void the_engine_is_used(void **state)
{
    (void)state;
    for (int level = 0; level < LEVELS; level++) {
        open_device(levels[level]);
        for (int product = 0; product < PRODUCTS; product++) {
            rung_problem problem = problem_of(product, M_MAX);
            rung_plan *plain = plan_of(&problem, 0, 1), *packed = plan_of(&problem, 1, 1);
            assert_string_equal(rung_plan_describe(packed)->kernel, rung_plan_describe(plain)->kernel);
            rung_plan_destroy(plain);
            rung_plan_destroy(packed);
        }
        close_device();
    }
}

/* A tuning record is for one order of m. It does not change the layout of a packed B. */
static void records_do_not_change_the_layout(void **state)
{
    (void)state;
    char path[] = "/tmp/rung-packed-XXXXXX", lock[sizeof path + 8];
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    fill(0, 1);
    multiply_exactly();
    open_device("amx");
    rung_problem few = problem_of(0, 5);
    rung_tuning record = {
        .size = sizeof(rung_tuning), .kernel = "10_pipeline", .parameters = "KC=256,NC=256", .gflops = 1};
    assert_int_equal(rung_tuning_save(device, &few, &record, path), RUNG_OK);
    close_device();
    rung_context *context;
    setenv("RUNG_TUNING", path, 1);
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    rung_plan *plain = plan_of(&few, 0, 1), *packed = plan_of(&few, 1, 1);
    assert_string_equal(rung_plan_describe(plain)->parameters, "KC=256,NC=256");
    assert_string_not_equal(rung_plan_describe(packed)->parameters, "KC=256,NC=256");
    rung_plan_destroy(plain);
    rung_plan_destroy(packed);
    assert_every_m(0, true);
    close_device();
    rung_context_destroy(context);
    setenv("RUNG_TUNING", "off", 1);
    unlink(path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_is_used),
        cmocka_unit_test(every_type_and_engine),
        cmocka_unit_test(records_do_not_change_the_layout),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
