/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - group DEVICE: random groups of problems on a device, for all types, layouts, epilogues and empty sizes. Each
 * result is checked with the error bounds of lab/verify/oracle.h, and memory between its elements must not change. On the
 * CPU, each result must also have the bits of a single multiplication, for any number of threads. */
#include "common/elements.h"
#include "common/type_pair.h"
#include "support/unit.h"
#include "verify/oracle.h"

#include <stdio.h>

enum { OPERANDS = 6, A = 0, B, C, BIAS, RESIDUAL, D, PROBLEMS_MAX = 24, LARGEST_SIZE = 70, THREADS_MAX = 4 };

static const char *device_name = "cpu";
static rung_context *context;

/* A group, and the memory of its operands before and after the multiplication. */
typedef struct fixture {
    int count;
    bool has_d;
    rung_problem problems[PROBLEMS_MAX];
    char *memory[PROBLEMS_MAX][OPERANDS], *before[PROBLEMS_MAX][OPERANDS];
    size_t bytes[PROBLEMS_MAX][OPERANDS];
} fixture_t;

static rung_matrix *operand(rung_problem *problem, int index)
{
    rung_matrix *operands[] = {&problem->a, &problem->b, &problem->c, &problem->bias, &problem->residual, &problem->d};
    return operands[index];
}

static rung_matrix *output_of(fixture_t *fixture, int index)
{
    return operand(&fixture->problems[index], fixture->has_d ? D : C);
}

/* Returns a size from 0 to LARGEST_SIZE; sizes at the edges of tiles are frequent. */
static int64_t random_size(uint64_t *seed)
{
    static const int64_t frequent[] = {0, 1, 4, 16, 32, 64};
    return unit_random(seed, 3) == 0 ? frequent[unit_random(seed, 6)] : unit_random(seed, LARGEST_SIZE + 1);
}

/* Creates a view in new memory with a random storage order, gaps and offset, and fills it. */
static rung_matrix new_view(fixture_t *fixture, int index, int which, rung_type type, int64_t rows, int64_t cols,
                            uint64_t *seed)
{
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    int64_t gap = unit_random(seed, 2) ? 0 : unit_random(seed, 9), step = unit_random(seed, 6) ? 1 : 2;
    bool is_by_columns = unit_random(seed, 3) == 0;
    view.offset = unit_random(seed, 2) ? 0 : unit_random(seed, 9);
    view.row_stride = is_by_columns ? step : cols * step + gap;
    view.col_stride = is_by_columns ? rows * step + gap : step;
    if (view.row_stride == 0)
        view.row_stride = 1;
    if (view.col_stride == 0)
        view.col_stride = 1;
    if (which == BIAS && unit_random(seed, 2))
        view.row_stride = 0; /* one number per column */
    int64_t elements = view.offset + (rows + 1) * view.row_stride + (cols + 1) * view.col_stride;
    size_t bytes = (size_t)(elements * rung_type_size(type));
    fixture->bytes[index][which] = bytes;
    fixture->memory[index][which] = view.data = calloc(1, bytes);
    fixture->before[index][which] = malloc(bytes);
    assert_true(view.data && fixture->before[index][which]);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            lab_element_set(&view, i, j,
                            lab_type_is_integer(type) ? (double)(unit_random(seed, 200) - 100)
                                                      : (double)(unit_random(seed, 2000) - 1000) / 512);
    memcpy(fixture->before[index][which], view.data, bytes);
    return view;
}

static void create(fixture_t *fixture, lab_type_pair types, int epilogue, uint64_t *seed)
{
    bool is_integer = lab_type_is_integer(types.out);
    memset(fixture, 0, sizeof *fixture);
    fixture->count = (int)unit_random(seed, PROBLEMS_MAX) + 1;
    fixture->has_d = epilogue & 8;
    rung_activation activation = epilogue & 1 ? (is_integer ? RUNG_ACTIVATION_RELU : 1 + epilogue / 16 % 4) : 0;
    for (int i = 0; i < fixture->count; i++) {
        int64_t m = random_size(seed), n = random_size(seed), k = random_size(seed);
        rung_matrix a = new_view(fixture, i, A, types.in, m, k, seed),
                    b = new_view(fixture, i, B, types.in, k, n, seed);
        rung_problem *problem = &fixture->problems[i];
        *problem = rung_problem_of(a, b, new_view(fixture, i, C, types.out, m, n, seed));
        problem->activation = activation;
        problem->alpha = unit_random(seed, 8) == 0 ? 0 : (double)(unit_random(seed, 7) - 3);
        problem->beta = unit_random(seed, 2) ? 0 : (double)(unit_random(seed, 5) - 2);
        if (epilogue & 2)
            problem->bias = new_view(fixture, i, BIAS, types.out, m, n, seed);
        if (epilogue & 4)
            problem->residual = new_view(fixture, i, RESIDUAL, types.out, m, n, seed);
        if (fixture->has_d)
            problem->d = new_view(fixture, i, D, types.out, m, n, seed);
    }
}

static void destroy(fixture_t *fixture)
{
    for (int i = 0; i < fixture->count; i++)
        for (int j = 0; j < OPERANDS; j++) {
            free(fixture->memory[i][j]);
            free(fixture->before[i][j]);
        }
}

static void restore(fixture_t *fixture)
{
    for (int i = 0; i < fixture->count; i++)
        for (int j = 0; j < OPERANDS; j++)
            if (fixture->memory[i][j])
                memcpy(fixture->memory[i][j], fixture->before[i][j], fixture->bytes[i][j]);
}

static rung_matrix before_of(const fixture_t *fixture, int index, int which)
{
    rung_problem problem = fixture->problems[index];
    rung_matrix view = *operand(&problem, which);
    view.data = fixture->before[index][which];
    return view;
}

/* Checks the result of one problem with the error bounds. */
static void check_result(fixture_t *fixture, int index)
{
    rung_problem problem = fixture->problems[index];
    rung_matrix c_before = before_of(fixture, index, C);
    problem.c = *output_of(fixture, index);
    problem.d = (rung_matrix){.type = RUNG_TYPE_NONE};
    if (problem.c.rows == 0 || problem.c.cols == 0)
        return;
    lab_oracle_result result = lab_oracle_check(
        &problem, &c_before, strcmp(device_name, "cuda") == 0 ? LAB_ACCURACY_ENGINE : LAB_ACCURACY_BOUNDED);
    if (!result.right)
        fail_msg("problem %d of %d, %lld x %lld x %lld %s: element (%lld, %lld) is %g instead of %g, bound %g", index,
                 fixture->count, (long long)problem.c.rows, (long long)problem.c.cols, (long long)problem.a.cols,
                 rung_type_name(problem.c.type), (long long)result.row, (long long)result.col, result.got,
                 result.expected, result.bound);
}

/* Checks that only the elements of the output have changed. */
static void check_gaps(fixture_t *fixture, int index)
{
    int output = fixture->has_d ? D : C;
    for (int j = 0; j < OPERANDS; j++) {
        char *memory = fixture->memory[index][j];
        size_t bytes = fixture->bytes[index][j];
        if (!memory || bytes == 0)
            continue;
        char *copy = malloc(bytes);
        assert_non_null(copy);
        memcpy(copy, memory, bytes);
        rung_matrix after = *operand(&fixture->problems[index], j), before = before_of(fixture, index, j);
        after.data = copy;
        for (int64_t row = 0; j == output && row < after.rows; row++)
            for (int64_t col = 0; col < after.cols; col++)
                lab_element_set(&after, row, col, lab_element_get(&before, row, col));
        if (memcmp(copy, fixture->before[index][j], bytes) != 0)
            fail_msg("problem %d of %d: operand %d was changed outside the result", index, fixture->count, j);
        free(copy);
    }
}

static void multiply(fixture_t *fixture, int64_t threads)
{
    rung_group group = rung_group_of(fixture->problems, fixture->count);
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    if (rung_group_multiply(context, &group, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

/* Compares the bits of all outputs with those of single multiplications. */
static void check_bits(fixture_t *fixture)
{
    int output = fixture->has_d ? D : C;
    char *results[PROBLEMS_MAX];
    for (int64_t threads = 1; threads <= THREADS_MAX; threads++) {
        restore(fixture);
        multiply(fixture, threads);
        for (int i = 0; i < fixture->count; i++) {
            results[i] = malloc(fixture->bytes[i][output] + 1);
            assert_non_null(results[i]);
            memcpy(results[i], fixture->memory[i][output], fixture->bytes[i][output]);
        }
        restore(fixture);
        for (int i = 0; i < fixture->count; i++) {
            assert_int_equal(rung_multiply(context, &fixture->problems[i], NULL), RUNG_OK);
            assert_memory_equal(results[i], fixture->memory[i][output], fixture->bytes[i][output]);
            free(results[i]);
        }
    }
}

static void check_group(lab_type_pair types, int epilogue, uint64_t *seed)
{
    static fixture_t fixture;
    create(&fixture, types, epilogue, seed);
    multiply(&fixture, 0);
    for (int i = 0; i < fixture.count; i++) {
        check_result(&fixture, i);
        check_gaps(&fixture, i);
    }
    if (strcmp(device_name, "cpu") == 0)
        check_bits(&fixture);
    destroy(&fixture);
}

static void random_groups(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < lab_type_pair_count(); i++) {
        lab_type_pair types = lab_type_pair_at(i);
        if (lab_type_is_f8(types.in)) /* no kernel of the CPU multiplies FP8 */
            continue;
        for (int epilogue = 0; epilogue < 64; epilogue += unit_random(&seed, 3) == 0 ? 5 : 3)
            check_group(types, epilogue, &seed);
    }
}

/* Problems that are large enough to be partitioned between threads. */
static void large_and_small_problems(void **state)
{
    static fixture_t fixture;
    static const int64_t sizes[][3] = {{3, 5, 7},   {600, 300, 200}, {1, 900, 64},
                                       {0, 40, 40}, {500, 2, 300},   {90, 90, 90}};
    uint64_t seed = 5;
    (void)state;
    for (int epilogue = 0; epilogue < 4; epilogue += 3) {
        memset(&fixture, 0, sizeof fixture);
        for (; fixture.count < 6; fixture.count++) {
            int i = fixture.count;
            int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            rung_matrix a = new_view(&fixture, i, A, RUNG_F32, m, k, &seed);
            rung_matrix b = new_view(&fixture, i, B, RUNG_F32, k, n, &seed);
            fixture.problems[i] = rung_problem_of(a, b, new_view(&fixture, i, C, RUNG_F32, m, n, &seed));
            fixture.problems[i].activation = epilogue & 1 ? RUNG_ACTIVATION_SILU : RUNG_ACTIVATION_NONE;
            if (epilogue & 2)
                fixture.problems[i].bias = new_view(&fixture, i, BIAS, RUNG_F32, m, n, &seed);
        }
        multiply(&fixture, 0);
        for (int i = 0; i < fixture.count; i++)
            check_result(&fixture, i);
        if (strcmp(device_name, "cpu") == 0)
            check_bits(&fixture);
        destroy(&fixture);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_groups), cmocka_unit_test(large_and_small_problems)};
    rung_context_options options = rung_context_options_default();
    rung_device *device;
    unit_clean_environment();
    device_name = count > 1 ? words[1] : "cpu";
    options.device = device_name;
    options.verbose = -1;
    options.threads = 3;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return 1;
    if (rung_device_open(context, NULL, &device) != RUNG_OK) {
        printf("%s\n", rung_error_text());
        return UNIT_SKIPPED;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_device_close(device);
    rung_context_destroy(context);
    return failed;
}
