/* SPDX-License-Identifier: Apache-2.0 */
/* checked.c - rung_outofcore_options.checked on devices that make an error in every product: blocks of sums and C0, narrow
 * results, files, a device with its own memory, inputs that change, and journals of calls with and without checks. */
#include "outofcore_unit.h"
#include "support/spoiled_device.h"

static test_devices_t fleet;

static void open_spoiled(const char *name)
{
    assert_ok(rung_device_open(NULL, name, &fleet.devices[0]));
    fleet.memory[0] = 20000;
    fleet.count = 1;
    spoil_device(fleet.devices[0]);
}

static void close_spoiled(void)
{
    repair_device(fleet.devices[0]);
    rung_device_close(fleet.devices[0]);
    fleet = (test_devices_t){.count = 0};
}

/* One error in each product is corrected, and the result is right. */
static void check_corrections(const multiply_case_t *setting)
{
    spoiled_runs = 0;
    const rung_outofcore_report *report = multiply_and_check(setting, &fleet);
    assert_true(report->blocking->panels > 1 && report->blocking->row_blocks > 1);
    assert_true(spoiled_runs > report->blocking->panels);
    assert_int_equal(report->corrected, spoiled_runs);
}

static void products_are_corrected(void **state)
{
    multiply_case_t setting = default_case;
    (void)state;
    open_spoiled("cpu");
    setting.is_checked = true;
    check_corrections(&setting);
    setting.alpha = 2;
    setting.beta = -1;
    setting.b_by_columns = setting.in_files = setting.out_file = true;
    check_corrections(&setting);
    setting.in = setting.out = RUNG_F16;
    check_corrections(&setting);
    setting.in = RUNG_I8;
    setting.out = RUNG_I32;
    check_corrections(&setting);
    close_spoiled();
}

/* Blocks and panels are in the memory of the host, and OpenCL computes the products. */
static void device_memory(void **state)
{
    multiply_case_t setting = default_case;
    rung_device *there;
    (void)state;
    if (rung_device_open(NULL, "opencl", &there) != RUNG_OK)
        skip();
    rung_device_close(there);
    open_spoiled("opencl");
    setting.is_checked = true;
    setting.beta = 1;
    check_corrections(&setting);
    close_spoiled();
}

static void calls_without_checks_correct_nothing(void **state)
{
    multiply_case_t setting = default_case;
    (void)state;
    assert_int_equal(multiply_and_check(&setting, NULL)->corrected, 0);
    setting.is_checked = true;
    assert_int_equal(multiply_and_check(&setting, NULL)->corrected, 0);
}

/* Multiplies matrices in memory, of which `a` is returned: the caller frees it. */
static rung_outofcore_problem small_problem(rung_matrix *a)
{
    static float b_data[60 * 50], c_data[40 * 50];
    rung_matrix b = rung_matrix_of(RUNG_F32, 60, 50, b_data);
    *a = new_matrix(RUNG_F32, 40, 60, false);
    fill(a, 1, 4);
    fill(&b, 2, 4);
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(*a), wrap_memory(b));
    problem.d = wrap_memory(rung_matrix_of(RUNG_F32, 40, 50, c_data));
    return problem;
}

static rung_outofcore_options on_spoiled_device(void)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.devices = fleet.devices;
    options.device_memory_bytes = fleet.memory;
    options.device_count = fleet.count;
    options.checked = 1;
    return options;
}

/* Errors that cannot be corrected end the call. The changing element is that of the first slice's buffer. */
static rung_matrix first_a;

static rung_status change_a_and_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                    rungi_gemm_sizes sizes, const rung_run_options *options)
{
    spoiled_input = (float *)problem->a.data + problem->a.offset;
    return spoiled_run(plan, queue, problem, sizes, options);
}

static void changed_panels_are_reported(void **state)
{
    const rung_outofcore_report *report;
    (void)state;
    open_spoiled("cpu");
    spoiled_ops.plan_run = change_a_and_run;
    rung_outofcore_problem problem = small_problem(&first_a);
    rung_outofcore_options options = on_spoiled_device();
    assert_int_equal(multiply_and_report(&problem, &options, &report), RUNG_STATUS_CORRUPTED);
    assert_non_null(strstr(rung_error_text(), "A or B changed during the call"));
    assert_int_equal(rung_outofcore_report_device(report, 0)->status, RUNG_STATUS_CORRUPTED);
    free(first_a.data);
    close_spoiled();
}

static void other_values_are_rejected(void **state)
{
    const rung_outofcore_report *report;
    rung_outofcore_options options = rung_outofcore_options_default();
    (void)state;
    rung_outofcore_problem problem = small_problem(&first_a);
    options.checked = 2;
    assert_int_equal(multiply_and_report(&problem, &options, &report), RUNG_STATUS_INVALID);
    assert_string_equal(rung_error_text(), "checked is 2; it must be 1, or 0 for a multiplication without checks");
    free(first_a.data);
}

static int stop_after_two_blocks(void *user, const rung_outofcore_progress *progress)
{
    (void)user;
    return progress->blocks >= 2;
}

/* Blocks that were not checked are not part of a checked result, and a checked call resumes checked blocks. */
static void journals_know_the_checks(void **state)
{
    const rung_outofcore_report *report;
    rung_matrix a = new_matrix(RUNG_F32, 150, 170, false), b = new_matrix(RUNG_F32, 170, 130, false);
    (void)state;
    fill(&a, 1, 4);
    fill(&b, 2, 4);
    save_npy("a.npy", &a);
    save_npy("b.npy", &b);
    rung_outofcore_problem problem = rung_outofcore_problem_of(open_npy("a.npy", RUNG_F32),
                                                               open_npy("b.npy", RUNG_F32));
    problem.path = result;
    for (int is_checked = 0; is_checked < 2; is_checked++) {
        rung_outofcore_options options = with_progress(20000, stop_after_two_blocks, NULL);
        options.checked = is_checked;
        assert_int_equal(multiply_and_report(&problem, &options, &report), RUNG_STATUS_CANCELLED);
        options.progress = NULL;
        options.checked = !is_checked;
        assert_int_equal(multiply_and_report(&problem, &options, &report), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "lists blocks of another problem"));
        options.checked = is_checked;
        assert_ok(multiply_and_report(&problem, &options, &report));
        assert_true(report->resumed_blocks > 0);
        rung_matrix c = load_npy("c.npy", RUNG_F32);
        check_product(&a, &b, &c, NULL, 1, 0);
        free(c.data);
    }
    free(a.data);
    free(b.data);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_corrected),
        cmocka_unit_test(device_memory),
        cmocka_unit_test(calls_without_checks_correct_nothing),
        cmocka_unit_test(changed_panels_are_reported),
        cmocka_unit_test(other_values_are_rejected),
        cmocka_unit_test(journals_know_the_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_in_folder(run);
}
