/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - group [DEVICE [FILTER [WORDS]]]: groups of problems on a device with its own memory ("opencl" unless named),
 * computed by one launch: types, layouts, epilogues, scalars, separate outputs, empty problems, many problems, failures,
 * and what is computed one problem after another. Elements are small whole numbers, so every result must be exact, whatever
 * the order of sums. WORDS are those that the log must have instead of "one launch of". */
#include "support/unit.h"

#include <stdio.h>

enum { PROBLEMS_MAX = 600, OPERANDS = 6, A = 0, B, C, BIAS, RESIDUAL, D };

static const char *device_name = "opencl", *expected = "one launch of";
static rung_context *context, *cpu;
static char logged[1 << 14];

static void log_line(void *user, const char *line)
{
    size_t used = strlen(logged);
    (void)user;
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

/* ---- Groups in memory -------------------------------------------------------------------------------------------- */

/* How the matrices of a group lie in memory, and what the problems have. */
typedef struct {
    rung_type in, out;
    bool a_by_columns, b_by_columns, c_by_columns; /* of every problem */
    bool mixes_layouts;                            /* of every third problem: the other layouts */
    int64_t gap;                                   /* elements between rows or columns; -1: varies */
    bool is_stacked;                               /* A, B and C of all problems adjoin each other */
    bool has_bias, has_residual, has_d;
    rung_activation activation;
    double beta;
} form_t;

typedef struct {
    int count;
    rung_problem problems[PROBLEMS_MAX];
    char *memory[OPERANDS], *before[OPERANDS];
    int64_t used[OPERANDS], bytes; /* of each operand's memory */
} group_t;

static void set_element(rung_type type, char *memory, int64_t index, int value)
{
    switch (type) {
    case RUNG_F32: ((float *)(void *)memory)[index] = (float)value; break;
    case RUNG_F64: ((double *)(void *)memory)[index] = value; break;
    case RUNG_F16: ((uint16_t *)(void *)memory)[index] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)(void *)memory)[index] = rung_bf16_from_f32((float)value); break;
    case RUNG_I8: ((int8_t *)memory)[index] = (int8_t)value; break;
    default: ((int32_t *)(void *)memory)[index] = value; break;
    }
}

static void begin(group_t *group, const form_t *form, int64_t bytes)
{
    uint64_t seed = 17;
    memset(group, 0, sizeof *group);
    group->bytes = bytes;
    for (int i = 0; i < OPERANDS; i++) {
        rung_type type = i == A || i == B ? form->in : form->out;
        group->memory[i] = aligned_alloc(64, (size_t)bytes);
        group->before[i] = malloc((size_t)bytes);
        assert_true(group->memory[i] && group->before[i]);
        for (int64_t j = 0; j < bytes / rung_type_size(type); j++)
            set_element(type, group->memory[i], j, (int)unit_random(&seed, 5) - 2);
        memcpy(group->before[i], group->memory[i], (size_t)bytes);
    }
}

static void end(group_t *group)
{
    for (int i = 0; i < OPERANDS; i++) {
        free(group->memory[i]);
        free(group->before[i]);
    }
}

/* Takes a view from the memory of an operand. */
static rung_matrix new_view(group_t *group, const form_t *form, int which, int64_t rows, int64_t cols,
                            bool is_by_columns)
{
    rung_type type = which == A || which == B ? form->in : form->out;
    int64_t gap = form->gap < 0 ? group->count % 3 : form->gap, lines = is_by_columns ? cols : rows;
    int64_t length = (is_by_columns ? rows : cols) + gap, size = rung_type_size(type);
    rung_matrix view = rung_matrix_of(type, rows, cols, group->memory[which]);
    view.row_stride = is_by_columns ? 1 : length;
    view.col_stride = is_by_columns ? length : 1;
    view.offset = group->used[which];
    group->used[which] += lines * length;
    if (!form->is_stacked) /* apart, and aligned for vectors */
        group->used[which] = (group->used[which] / 16 + 2) * 16;
    assert_true(group->used[which] * size <= group->bytes);
    return view;
}

static rung_problem *add(group_t *group, const form_t *form, int64_t m, int64_t n, int64_t k)
{
    bool is_other = form->mixes_layouts && group->count % 3 == 1;
    rung_problem *problem = &group->problems[group->count];
    assert_true(group->count < PROBLEMS_MAX);
    *problem = rung_problem_of(new_view(group, form, A, m, k, form->a_by_columns ^ is_other),
                               new_view(group, form, B, k, n, form->b_by_columns ^ is_other),
                               new_view(group, form, C, m, n, form->c_by_columns ^ is_other));
    problem->alpha = 1 + group->count % 3;
    problem->beta = group->count % 2 == 0 ? form->beta : 0;
    problem->activation = form->activation;
    if (form->has_bias) {
        problem->bias = new_view(group, form, BIAS, 1, n, false);
        problem->bias = rung_matrix_broadcast(problem->bias, m, n);
    }
    if (form->has_residual)
        problem->residual = new_view(group, form, RESIDUAL, m, n, is_other);
    if (form->has_d)
        problem->d = new_view(group, form, D, m, n, form->c_by_columns);
    group->count++;
    return problem;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static rung_status multiply(group_t *group)
{
    rung_group given = rung_group_of(group->problems, group->count);
    *logged = '\0';
    return rung_group_multiply(context, &given, NULL);
}

/* Compares every byte, gaps included, with the result of single multiplications on the CPU. */
static void check_result(group_t *group)
{
    for (int i = 0; i < OPERANDS; i++) {
        char *result = malloc((size_t)group->bytes);
        assert_non_null(result);
        memcpy(result, group->memory[i], (size_t)group->bytes);
        memcpy(group->memory[i], group->before[i], (size_t)group->bytes);
        memcpy(group->before[i], result, (size_t)group->bytes); /* now the results */
        free(result);
    }
    for (int i = 0; i < group->count; i++)
        assert_int_equal(rung_multiply(cpu, &group->problems[i], NULL), RUNG_OK);
    for (int i = 0; i < OPERANDS; i++)
        if (memcmp(group->memory[i], group->before[i], (size_t)group->bytes) != 0) {
            int64_t at = 0;
            while (group->memory[i][at] == group->before[i][at])
                at++;
            fail_msg("operand %d differs at byte %lld; log: %s", i, (long long)at, logged);
        }
}

static void check(group_t *group, const char *words)
{
    rung_status status = multiply(group);
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
    if (words && !strstr(logged, words))
        fail_msg("the log has no \"%s\": %s", words, logged);
    check_result(group);
}

/* Sizes at the edges of tiles and vectors, and empty ones. */
static void check_sizes(const form_t *form)
{
    static const int64_t sizes[][3] = {{3, 5, 7},    {16, 16, 16}, {0, 8, 8},   {130, 12, 20}, {64, 136, 4},
                                       {12, 12, 0},  {17, 33, 9},  {8, 0, 8},   {1, 1, 1},     {128, 128, 32},
                                       {4, 260, 64}, {1, 64, 36},  {129, 1, 3}, {32, 64, 128}, {0, 0, 0}};
    static group_t group;
    begin(&group, form, 1 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add(&group, form, sizes[i][0], sizes[i][1], sizes[i][2]);
    check(&group, expected);
    end(&group);
}

/* Sizes for which vectors can be loaded. */
static void check_aligned_sizes(const form_t *form)
{
    static group_t group;
    begin(&group, form, 1 << 20);
    for (int64_t i = 0; i < 12; i++)
        add(&group, form, 16 * (i % 5), 32 + 16 * (i % 3), 16 * (i % 4));
    check(&group, expected);
    end(&group);
}

static const form_t plain = {.in = RUNG_F32, .out = RUNG_F32};

static void all_types(void **state)
{
    static const rung_type types[][2] = {{RUNG_F32, RUNG_F32},  {RUNG_F64, RUNG_F64},   {RUNG_F16, RUNG_F16},
                                         {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32},    {RUNG_I32, RUNG_I32},
                                         {RUNG_F16, RUNG_F32},  {RUNG_BF16, RUNG_BF16}, {RUNG_F64, RUNG_F32},
                                         {RUNG_F32, RUNG_BF16}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        form_t form = {.in = types[i][0], .out = types[i][1], .gap = -1, .beta = i % 2 == 0 ? 2 : 0};
        check_sizes(&form);
    }
}

static void all_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        form_t form = plain;
        form.a_by_columns = i & 1;
        form.b_by_columns = i & 2;
        form.c_by_columns = i & 4;
        check_aligned_sizes(&form);
        form.is_stacked = true;
        check_aligned_sizes(&form);
        check_sizes(&form);
    }
}

static void mixed_layouts(void **state)
{
    form_t form = plain;
    (void)state;
    form.mixes_layouts = true;
    check_aligned_sizes(&form);
    form.gap = -1;
    form.beta = -1;
    check_sizes(&form);
}

static void epilogues(void **state)
{
    (void)state;
    for (int i = 1; i < 16; i++) {
        form_t form = plain;
        form.has_bias = i & 1;
        form.has_residual = i & 2;
        form.activation = i & 4 ? RUNG_ACTIVATION_RELU : RUNG_ACTIVATION_NONE;
        form.has_d = i & 8;
        form.beta = i & 8 ? 3 : i % 3 - 1;
        form.c_by_columns = i == 7;
        form.gap = i % 2;
        check_sizes(&form);
    }
}

/* alpha = 0 leaves A and B unread, and beta = 0 leaves C unread. */
static void unread_operands(void **state)
{
    static group_t group;
    (void)state;
    for (int beta = 0; beta < 2; beta++) {
        begin(&group, &plain, 1 << 16);
        for (int i = 0; i < 5; i++) {
            rung_problem *problem = add(&group, &plain, 9 + i, 8, 12);
            problem->alpha = i % 2;
            problem->beta = beta;
        }
        if (beta == 0)
            for (int i = 0; i < 512; i++) {
                unsigned not_a_number = 0x7fc00000;
                memcpy(group.memory[C] + 4 * i, &not_a_number, 4);
                memcpy(group.before[C] + 4 * i, &not_a_number, 4);
            }
        check(&group, expected);
        end(&group);
    }
}

/* All experts share one B, which is copied once, and C is one array. */
static void experts(void **state)
{
    static group_t group;
    form_t form = plain;
    uint64_t seed = 3;
    (void)state;
    form.is_stacked = true;
    begin(&group, &form, 4 << 20);
    for (int i = 0; i < 64; i++) {
        add(&group, &form, unit_random(&seed, 60), 64, 96);
        if (i > 0)
            group.problems[i].b = group.problems[0].b;
    }
    check(&group, expected);
    end(&group);
}

static void many_problems(void **state)
{
    static group_t group;
    uint64_t seed = 9;
    (void)state;
    begin(&group, &plain, 4 << 20);
    for (int i = 0; i < 512; i++)
        add(&group, &plain, unit_random(&seed, 20), unit_random(&seed, 20), unit_random(&seed, 20));
    check(&group, expected);
    end(&group);
}

static void one_huge_and_many_tiny(void **state)
{
    static group_t group;
    (void)state;
    begin(&group, &plain, 4 << 20);
    for (int i = 0; i < 40; i++)
        add(&group, &plain, i == 20 ? 900 : 1 + i % 3, i == 20 ? 700 : 1 + i % 5, 33);
    check(&group, expected);
    end(&group);
}

static void empty_groups(void **state)
{
    static group_t group;
    (void)state;
    begin(&group, &plain, 1 << 16);
    check(&group, NULL);
    end(&group);
    begin(&group, &plain, 1 << 16);
    for (int i = 0; i < 5; i++)
        add(&group, &plain, i % 2 ? 0 : 5, i % 2 ? 5 : 0, 7);
    check(&group, NULL);
    assert_string_equal(logged, "");
    end(&group);
}

/* Groups that no launch computes at once, and the reason in the log. */
static void one_after_another(void **state)
{
    static group_t group;
    (void)state;
    begin(&group, &plain, 1 << 16);
    add(&group, &plain, 5, 6, 7);
    check(&group, "one after another: a single problem");
    end(&group);
    begin(&group, &plain, 1 << 16);
    for (int i = 0; i < 3; i++) {
        rung_problem *problem = add(&group, &plain, 5, 6, 7);
        problem->multiplier = problem->c;
        problem->multiplier.data = group.memory[D];
    }
    assert_int_equal(multiply(&group), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(logged, "one after another: the problems have multipliers"));
    for (int i = 0; i < OPERANDS; i++)
        assert_memory_equal(group.memory[i], group.before[i], (size_t)group.bytes);
    end(&group);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static long allocations_left = -1; /* until one fails; negative: none fails */

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    if (allocations_left >= 0 && allocations_left-- == 0)
        return NULL;
    return aligned_alloc(alignment < 16 ? 16 : alignment, (bytes + 4095) / 4096 * 4096);
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void begin_small_group(group_t *group)
{
    form_t form = plain;
    form.gap = 1;
    form.beta = 2;
    begin(group, &form, 1 << 14);
    for (int i = 0; i < 4; i++)
        add(group, &form, 3 + i, 5, 7);
}

/* Multiplies while something fails. A success must be right; before the launch, a failure must leave everything as it
 * was. Returns the status. */
static rung_status multiply_failing(group_t *group, bool is_before_launch)
{
    rung_status status = multiply(group);
    allocations_left = -1;
    unsetenv("RUNG_EMULATED_FAULT");
    if (status == RUNG_OK)
        check_result(group);
    else if (is_before_launch)
        for (int i = 0; i < OPERANDS; i++)
            assert_memory_equal(group->memory[i], group->before[i], (size_t)group->bytes);
    return status;
}

/* Each allocation of a call fails once. Single multiplications need less memory and often succeed. */
static void failing_allocations(void **state)
{
    static group_t group;
    rung_context *before = context;
    rung_context_options options = {.size = sizeof options,
                                    .device = device_name,
                                    .verbose = 1,
                                    .log = log_line,
                                    .allocate = allocate,
                                    .release = release};
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    begin_small_group(&group);
    check(&group, expected);
    end(&group);
    bool has_failed = true;
    for (int n = 0; has_failed; n++) {
        assert_true(n < 2000);
        begin_small_group(&group);
        allocations_left = n;
        rung_status status = multiply(&group);
        has_failed = allocations_left < 0;
        allocations_left = -1;
        if (status == RUNG_OK)
            check_result(&group);
        else
            assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
        end(&group);
    }
    begin_small_group(&group);
    check(&group, expected);
    end(&group);
    rung_context_destroy(context);
    context = before;
}

/* On the emulated CUDA driver: a function of the driver fails once. */
static void failing_driver(void **state)
{
    static const struct {
        const char *fault;
        bool is_before_launch, is_one_by_one;
    } faults[] = {
        {"cuMemAllocAsync:1:2", true, true},        {"cuMemAllocAsync:2:2", true, true},
        {"cuMemAllocAsync:3:2", true, true},        {"cuMemAllocAsync:*:2", true, false},
        {"cuMemcpyHtoDAsync_v2:1:2", true, true},   {"cuMemcpyHtoDAsync_v2:2:1", true, false},
        {"cuMemcpyHtoDAsync_v2:3:1", true, false},  {"cuLaunchKernel:1:2", true, true},
        {"cuLaunchKernel:1:1", true, false},        {"cuLaunchKernel:*:2", true, false},
        {"cuMemcpyDtoHAsync_v2:1:1", false, false}, {"cuMemcpyDtoHAsync_v2:1:2", false, false},
        {"cuStreamSynchronize:1:1", false, false},
    };
    static group_t group;
    (void)state;
    if (strcmp(device_name, "cuda") != 0)
        skip();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        begin_small_group(&group);
        setenv("RUNG_EMULATED_FAULT", faults[i].fault, 1);
        rung_status status = multiply_failing(&group, faults[i].is_before_launch);
        if ((status == RUNG_OK) != faults[i].is_one_by_one)
            fail_msg("%s: %s: %s; log: %s", faults[i].fault, rung_status_name(status), rung_error_text(), logged);
        if (faults[i].is_one_by_one && !strstr(logged, "one after another"))
            fail_msg("%s: the log is %s", faults[i].fault, logged);
        end(&group);
        begin_small_group(&group);
        check(&group, expected);
        end(&group);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),           cmocka_unit_test(all_layouts),
        cmocka_unit_test(mixed_layouts),       cmocka_unit_test(epilogues),
        cmocka_unit_test(unread_operands),     cmocka_unit_test(experts),
        cmocka_unit_test(many_problems),       cmocka_unit_test(one_huge_and_many_tiny),
        cmocka_unit_test(empty_groups),        cmocka_unit_test(one_after_another),
        cmocka_unit_test(failing_allocations), cmocka_unit_test(failing_driver),
    };
    unit_clean_environment();
    device_name = count > 1 ? words[1] : device_name;
    if (count > 2)
        cmocka_set_test_filter(words[2]);
    expected = count > 3 ? words[3] : expected;
    rung_context_options options = {.size = sizeof options, .device = device_name, .verbose = 1, .log = log_line};
    rung_device *device;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return 1;
    options = (rung_context_options){.size = sizeof options, .device = "cpu", .verbose = -1};
    if (rung_context_create(&options, &cpu) != RUNG_OK)
        return 1;
    if (rung_device_open(context, NULL, &device) != RUNG_OK) {
        printf("%s\n", rung_error_text());
        return UNIT_SKIPPED;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_device_close(device);
    rung_context_destroy(context);
    rung_context_destroy(cpu);
    return failed;
}
