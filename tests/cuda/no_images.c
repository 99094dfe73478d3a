/* SPDX-License-Identifier: Apache-2.0 */
/* no_images.c - a library without embedded images reports that they are missing. If the log function of the caller creates the plan
 * whose kernel is being compiled, one of the two modules is unloaded. */
#include "cuda_unit.h"

/* Returns whether a dependency of the CUDA device was found. */
static bool has_dependency(const char *name)
{
    rung_context *context = fresh_context("cuda", 0);
    rung_dependency_list *list;
    const rung_dependency *dependency = NULL;
    assert_ok(rung_dependency_list_create(context, &list));
    for (int64_t i = 0; i < rung_dependency_list_count(list); i++)
        if (strcmp(rung_dependency_list_at(list, i)->name, name) == 0)
            dependency = rung_dependency_list_at(list, i);
    assert_non_null(dependency);
    bool is_found = *dependency->found != '\0';
    rung_dependency_list_destroy(list);
    rung_context_destroy(context);
    return is_found;
}

static void missing_images_are_reported(void **state)
{
    (void)state;
    assert_false(has_dependency("compiled kernels"));
}

/* ---- A log function that calls the library -------------------------------------------------------- */

static rung_device *device;
static int compilations;

static void create_plan(void)
{
    rung_matrix form = rung_matrix_of(RUNG_F32, 64, 64, NULL); /* a plan needs no data */
    rung_problem problem = rung_problem_of(form, form, form);
    rung_plan *plan;
    assert_ok(rung_plan_create(device, &problem, NULL, &plan));
    rung_plan_destroy(plan);
}

static void create_plan_at_first_compilation(void *user, const char *line)
{
    (void)user;
    if (strstr(line, " compiled ") && compilations++ == 0)
        create_plan();
}

static void module_compiled_twice_is_unloaded(void **state)
{
    rung_context *context;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cuda", .verbose = 2, .log = create_plan_at_first_compilation};
    (void)state;
    if (!has_dependency("NVRTC")) {
        puts("skipped: NVRTC is not on the library path");
        skip();
    }
    assert_ok(rung_context_create(&options, &context));
    assert_ok(rung_device_open(context, "cuda", &device));
    create_plan();
    assert_int_equal(compilations, 2);
    assert_int_equal(emulated_driver.live("modules"), 1);
    assert_int_equal(rungi_cuda_live_objects(context, RUNGI_CU_MODULE), 1);
    rung_device_close(device);
    rung_context_destroy(context);
    assert_nothing_lives();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(missing_images_are_reported, emulated_driver_reset),
        cmocka_unit_test_setup(module_compiled_twice_is_unloaded, emulated_driver_reset),
    };
    unit_clean_environment();
    if (!emulated_driver_is_loaded())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
