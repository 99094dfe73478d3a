/* SPDX-License-Identifier: Apache-2.0 */
/* caller_structs.c - structs of callers that were compiled with an older or a newer header. tests/abi runs a real older
 * program; here every size is tried. */
#include "support/unit.h"

#include "core/caller_structs.h"

/* A struct of this version, and the same struct in a later version. */
typedef struct known {
    size_t size;
    int64_t first, second;
} known_t;

typedef struct newer {
    known_t old;
    int third, fourth; /* no padding, whose bytes would be undefined */
} newer_t;

static void a_smaller_struct_is_filled_with_zeros(void **state)
{
    known_t given = {sizeof(size_t) + sizeof(int64_t), 7, 9}, read;
    (void)state;
    memset(&read, 0xff, sizeof read);
    assert_int_equal(rungi_versioned_struct_read(&given, &read, sizeof read, "known", "known_default"), RUNG_OK);
    assert_int_equal(read.size, sizeof read);
    assert_int_equal(read.first, 7);
    assert_int_equal(read.second, 0);
}

static void a_larger_struct_must_be_zero_beyond(void **state)
{
    newer_t given = {{sizeof given, 7, 9}, 0, 0};
    known_t read;
    (void)state;
    assert_int_equal(rungi_versioned_struct_read(&given, &read, sizeof read, "known", "known_default"), RUNG_OK);
    assert_int_equal(read.size, sizeof read);
    assert_int_equal(read.second, 9);
    given.third = 1;
    assert_int_equal(rungi_versioned_struct_read(&given, &read, sizeof read, "known", "known_default"),
                     RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "known was compiled for a newer version"));
}

static void a_size_that_was_not_set_is_invalid(void **state)
{
    const size_t wrong[] = {0,         1, sizeof(size_t), sizeof(known_t) - 1, sizeof(known_t) + 4, (size_t)1 << 40,
                            (size_t)-1};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        known_t given = {wrong[i], 7, 9}, read;
        assert_int_equal(rungi_versioned_struct_read(&given, &read, sizeof read, "known", "known_default"),
                         RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "known_default()"));
    }
}

/* Every public function rejects a struct without a size, and names the function that sets it. */
static void public_calls_check_sizes(void **state)
{
    static float memory[3][4];
    rung_context_options context_options = rung_context_options_default();
    rung_plan_options plan_options = rung_plan_options_default();
    rung_run_options run_options = rung_run_options_default();
    rung_tuning tuning = rung_tuning_default();
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 2, memory[0]),
                                           rung_matrix_of(RUNG_F32, 2, 2, memory[1]),
                                           rung_matrix_of(RUNG_F32, 2, 2, memory[2]));
    rung_problem unsized = problem;
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffer;
    rung_plan *plan, *none;
    char text[1024];
    (void)state;
    unsized.size = 0;
    context_options.size = plan_options.size = run_options.size = tuning.size = 0;
    tuning.kernel = "01_naive";
    assert_int_equal(rung_context_create(&context_options, &context), RUNG_STATUS_INVALID);
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, 64, &buffer), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_problem_check(&unsized), RUNG_STATUS_INVALID);
    assert_int_equal(rung_multiply(NULL, &unsized, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_create(device, &unsized, NULL, &none), RUNG_STATUS_INVALID);
    assert_null(none);
    assert_int_equal(rung_plan_create(device, &problem, &plan_options, &none), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_plan_options_default()"));
    assert_int_equal(rung_plan_run(plan, queue, &unsized, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_run(plan, queue, &problem, &run_options), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_write(queue, buffer, 0, 16, memory, &run_options), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_read(queue, buffer, 0, 16, memory, &run_options), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_key(device, &unsized, text, sizeof text), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_save(device, &problem, &tuning, "/dev/null/none"), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_tuning_default()"));
    assert_int_equal(rung_tuning_remove(device, &unsized, "/dev/null/none", NULL), RUNG_STATUS_INVALID);
    rung_plan_destroy(plan);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
    rung_device_close(device);
}

/* A problem of a later version, with its fields all zero, runs on each path: the cached plan's too. */
static void a_newer_problem_runs(void **state)
{
    static float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4];
    struct {
        rung_problem problem;
        int64_t later[3];
    } newer;
    (void)state;
    memset(&newer, 0, sizeof newer);
    newer.problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 2, a), rung_matrix_of(RUNG_F32, 2, 2, b),
                                    rung_matrix_of(RUNG_F32, 2, 2, c));
    newer.problem.size = sizeof newer;
    for (int i = 0; i < 3; i++) {
        memset(c, 0, sizeof c);
        assert_int_equal(rung_multiply(NULL, &newer.problem, NULL), RUNG_OK);
        assert_memory_equal(c, a, sizeof a);
    }
    newer.later[2] = 1;
    assert_int_equal(rung_multiply(NULL, &newer.problem, NULL), RUNG_STATUS_UNSUPPORTED);
}

static void unimplemented_types_and_scales_say_so(void **state)
{
    static float memory[3][64];
    rung_quantization scaled = rung_quantization_default();
    (void)state;
    for (int type = RUNG_U8; type <= RUNG_Q4_0; type++) {
        rung_problem problem = rung_problem_of(rung_matrix_of((rung_type)type, 4, 4, memory[0]),
                                               rung_matrix_of(RUNG_F32, 4, 4, memory[1]),
                                               rung_matrix_of(RUNG_F32, 4, 4, memory[2]));
        bool is_implemented = type == RUNG_F8E4M3 || type == RUNG_F8E5M2; /* but not together with F32 */
        assert_int_equal(rung_problem_check(&problem), is_implemented ? RUNG_OK : RUNG_STATUS_UNSUPPORTED);
        assert_true(is_implemented || strstr(rung_error_text(), rung_type_name((rung_type)type)));
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    }
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I8, 4, 4, memory[0]),
                                           rung_matrix_of(RUNG_I8, 4, 4, memory[1]),
                                           rung_matrix_of(RUNG_I32, 4, 4, memory[2]));
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK); /* a plan of this form is cached now */
    problem.b_quantization = &scaled;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "A and B are quantized and C is i32"));
    scaled.size = 0;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_INVALID);
    problem.b_quantization = NULL;
    problem.b.type = RUNG_F16; /* a mixed pair that no kernel multiplies */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_struct_is_filled_with_zeros),
        cmocka_unit_test(a_larger_struct_must_be_zero_beyond),
        cmocka_unit_test(a_size_that_was_not_set_is_invalid),
        cmocka_unit_test(public_calls_check_sizes),
        cmocka_unit_test(a_newer_problem_runs),
        cmocka_unit_test(unimplemented_types_and_scales_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
