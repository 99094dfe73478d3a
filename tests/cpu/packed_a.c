/* SPDX-License-Identifier: Apache-2.0 */
/* packed_a.c - 10_pipeline packs A if C is wide. The cases reach every way to do so: on the fly, from rows that compete for the
 * same cache sets, from a transposed A, cached for several blocks of B, with panels of 7 to 9 rows, and with every rest of k.
 * Numbers are small and whole, so every result is exact. */
#include "support/unit.h"

#include <stdio.h>

static rung_device *device;
static rung_queue *queue;

typedef struct packed_a_case {
    int64_t m, n, k, a_padding;
    bool is_a_transposed;
    const char *parameters;
    double alpha, beta;
} packed_a_case_t;

/* clang-format off */
static const packed_a_case_t cases[] = {
    {72, 256, 64, 0, false, NULL, 1, 0}, /* panels of 9 rows */
    {64, 300, 65, 3, false, NULL, 2, 0}, /* 8 rows, and each rest of k */
    {100, 317, 66, 0, false, NULL, 1, -1},
    {145, 290, 67, 5, false, NULL, 1, 3},
    {31, 260, 130, 0, false, NULL, 1, 0}, /* 7 and 8 rows: A is not packed */
    {90, 256, 512, 0, false, NULL, 1, 1}, /* rows that compete for cache sets */
    {90, 400, 300, 0, true, NULL, 1, 0},
    {260, 300, 300, 0, false, "KC=101,NC=96", 1, 2}, /* cached, several K blocks */
    {260, 300, 512, 0, false, "KC=128,NC=96", -1, 0},
    {261, 385, 270, 2, false, "KC=64,NC=48", 1, 0}, /* last block narrower than a tile */
    {300, 256, 260, 0, true, "KC=100,NC=100", 1, 1},
};
/* clang-format on */

static int64_t element(rung_type type, const void *data, int64_t i)
{
    return type == RUNG_F64 ? (int64_t)((const double *)data)[i] : (int64_t)((const float *)data)[i];
}

static void set_element(rung_type type, void *data, int64_t i, int64_t value)
{
    if (type == RUNG_F64)
        ((double *)data)[i] = (double)value;
    else
        ((float *)data)[i] = (float)value;
}

static rung_matrix new_matrix(rung_type type, int64_t rows, int64_t cols, int64_t padding, uint64_t *seed)
{
    int64_t stride = cols + padding;
    void *data = malloc((size_t)(rows * stride * rung_type_size(type)));
    assert_non_null(data);
    for (int64_t i = 0; i < rows * stride; i++)
        set_element(type, data, i, unit_random(seed, 9) - 4);
    rung_matrix matrix = rung_matrix_of(type, rows, cols, data);
    matrix.row_stride = stride;
    return matrix;
}

static int64_t expected_at(const packed_a_case_t *one, const rung_problem *problem, const void *c_before, int64_t i,
                           int64_t j)
{
    const rung_matrix *a = &problem->a, *b = &problem->b;
    int64_t sum = 0;
    for (int64_t p = 0; p < one->k; p++)
        sum += element(a->type, a->data, i * a->row_stride + p * a->col_stride) *
               element(b->type, b->data, p * b->row_stride + j);
    return (int64_t)one->alpha * sum + (int64_t)one->beta * element(b->type, c_before, i * one->n + j);
}

static void run_case(const packed_a_case_t *one, rung_type type)
{
    uint64_t seed = 7;
    rung_kernel *kernel;
    rung_plan *plan;
    rung_matrix a = one->is_a_transposed ? rung_matrix_transpose(new_matrix(type, one->k, one->m, 0, &seed))
                                         : new_matrix(type, one->m, one->k, one->a_padding, &seed);
    rung_problem problem = rung_problem_of(a, new_matrix(type, one->k, one->n, 0, &seed),
                                           new_matrix(type, one->m, one->n, 0, &seed));
    size_t c_bytes = (size_t)(one->m * one->n * rung_type_size(type));
    void *c_before = malloc(c_bytes);
    memcpy(c_before, problem.c.data, c_bytes);
    problem.alpha = one->alpha;
    problem.beta = one->beta;
    assert_int_equal(rung_kernel_find(NULL, "cpu", "10", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof options, .kernel = kernel, .parameters = one->parameters, .threads = 1};
    if (rung_plan_create(device, &problem, &options, &plan) != RUNG_OK ||
        rung_plan_run(plan, queue, &problem, &(rung_run_options){.size = sizeof(rung_run_options)}) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    for (int64_t i = 0; i < one->m; i++)
        for (int64_t j = 0; j < one->n; j++)
            if (element(type, problem.c.data, i * one->n + j) != expected_at(one, &problem, c_before, i, j))
                fail_msg("%lld x %lld x %lld, %s: element (%lld, %lld) is wrong", (long long)one->m, (long long)one->n,
                         (long long)one->k, rung_type_name(type), (long long)i, (long long)j);
    rung_plan_destroy(plan);
    free(problem.a.data);
    free(problem.b.data);
    free(problem.c.data);
    free(c_before);
}

static void results_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_case(&cases[i], RUNG_F32);
        run_case(&cases[i], RUNG_F64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_exact)};
    unit_clean_environment();
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return failed;
}
