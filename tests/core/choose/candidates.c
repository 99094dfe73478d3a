/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - the list of candidates agrees with what plans select: on the CPU and on an OpenCL device, with and
 * without a tuning record, with a packed B, and with a given kernel. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

static rung_context *context;
static rung_device *device;
static const char *backend;
static char path[64];

static int set_up(void **state)
{
    rung_context_options options = rung_context_options_default();
    options.verbose = -1;
    backend = *state;
    strcpy(path, "/tmp/rung-candidates-XXXXXX");
    int file = mkstemp(path);
    if (file < 0 || close(file) != 0 || unlink(path) != 0)
        return -1;
    return rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, backend, &device) == RUNG_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    char lock[80];
    (void)state;
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(path);
    unlink(lock);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

static rung_problem square(rung_type in, rung_type out, int64_t size)
{
    return rung_problem_of(rung_matrix_of(in, size, size, NULL), rung_matrix_of(in, size, size, NULL),
                           rung_matrix_of(out, size, size, NULL));
}

static rung_candidate_list *list_of(const rung_problem *problem, const rung_plan_options *options)
{
    rung_candidate_list *list;
    if (rung_candidate_list_create(device, problem, options, &list) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return list;
}

/* Checks every entry: accepted candidates come first, and only rejected ones have a reason. */
static void assert_is_consistent(const rung_candidate_list *list)
{
    bool rejected = false;
    for (int64_t i = 0; i < rung_candidate_list_count(list); i++) {
        const rung_candidate *candidate = rung_candidate_list_at(list, i);
        rejected = rejected || candidate->status != RUNG_OK;
        assert_true((candidate->status != RUNG_OK) == rejected);
        assert_true((*candidate->reason != '\0') == rejected);
        assert_true(*candidate->kernel && *candidate->origin_text);
    }
    assert_null(rung_candidate_list_at(list, -1));
    assert_null(rung_candidate_list_at(list, rung_candidate_list_count(list)));
}

/* Checks that the first candidate is what a plan selects, and that every other one can be had by name. */
static void assert_agrees(const rung_problem *problem, const rung_plan_options *options)
{
    rung_candidate_list *list = list_of(problem, options);
    rung_plan *plan;
    assert_is_consistent(list);
    assert_int_equal(rung_plan_create(device, problem, options, &plan), RUNG_OK);
    const rung_plan_info *info = rung_plan_describe(plan);
    const rung_candidate *first = rung_candidate_list_at(list, 0);
    assert_string_equal(first->kernel, info->kernel);
    assert_string_equal(first->parameters, info->parameters);
    assert_string_equal(first->origin_text, info->origin_text);
    assert_int_equal(first->origin, info->origin);
    assert_int_equal(first->threads_per_block, strcmp(backend, "cpu") == 0 ? 0 : info->threads);
    rung_plan_destroy(plan);
    for (int64_t i = 0; rung_candidate_list_at(list, i) && rung_candidate_list_at(list, i)->status == RUNG_OK; i++) {
        const rung_candidate *candidate = rung_candidate_list_at(list, i);
        rung_plan_options named = options ? *options : rung_plan_options_default();
        rung_kernel *kernel;
        assert_int_equal(rung_kernel_find(context, backend, candidate->kernel, &kernel), RUNG_OK);
        named.kernel = kernel;
        named.parameters = candidate->parameters;
        assert_int_equal(rung_plan_create(device, problem, &named, &plan), RUNG_OK);
        rung_plan_destroy(plan);
    }
    rung_candidate_list_destroy(list);
}

static const rung_candidate *candidate_of(const rung_candidate_list *list, const char *kernel)
{
    for (int64_t i = 0; i < rung_candidate_list_count(list); i++)
        if (strcmp(rung_candidate_list_at(list, i)->kernel, kernel) == 0)
            return rung_candidate_list_at(list, i);
    fail_msg("%s is not listed", kernel);
    return NULL;
}

static int64_t ladder_count(void)
{
    rung_kernel *kernel;
    int64_t count = 0;
    while (rung_kernel_at(context, backend, count, &kernel) == RUNG_OK)
        count++;
    return count;
}

static void agrees_with_plans(void **state)
{
    static const struct {
        rung_type in, out;
        int64_t size;
    } problems[] = {{RUNG_F32, RUNG_F32, 7},
                    {RUNG_F32, RUNG_F32, 200},
                    {RUNG_F64, RUNG_F64, 100},
                    {RUNG_BF16, RUNG_BF16, 64},
                    {RUNG_I8, RUNG_I32, 64}};
    size_t count = strcmp(backend, "cpu") == 0 ? sizeof problems / sizeof *problems : 2; /* compiling takes time */
    (void)state;
    for (size_t i = 0; i < count; i++) {
        rung_problem problem = square(problems[i].in, problems[i].out, problems[i].size);
        rung_candidate_list *list = list_of(&problem, NULL);
        assert_int_equal(rung_candidate_list_count(list), ladder_count());
        rung_candidate_list_destroy(list);
        assert_agrees(&problem, NULL);
    }
    rung_problem batch = square(RUNG_F32, RUNG_F32, 40);
    batch.batch = 3;
    batch.a.batch_stride = batch.b.batch_stride = batch.c.batch_stride = 1600;
    batch.activation = RUNG_ACTIVATION_RELU;
    assert_agrees(&batch, NULL);
}

static void vendor_kernels_are_rejected_by_default(void **state)
{
    rung_problem problem = square(RUNG_F32, RUNG_F32, 50);
    rung_candidate_list *list = list_of(&problem, NULL);
    const rung_candidate *vendor = candidate_of(list, "00_vendor");
    (void)state;
    assert_int_equal(vendor->status, RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(vendor->reason, "selected only by name"));
    assert_string_equal(vendor->parameters, "");
    rung_candidate_list_destroy(list);
}

static void unsupported_types_have_reasons(void **state)
{
    rung_problem problem = square(RUNG_F32, RUNG_I32, 50);
    rung_candidate_list *list = list_of(&problem, NULL);
    const rung_candidate *naive = candidate_of(list, "01_naive");
    (void)state;
    assert_is_consistent(list);
    assert_int_equal(rung_candidate_list_count(list), ladder_count());
    assert_int_equal(rung_candidate_list_at(list, 0)->status, RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(naive->reason, "f32 x f32 into i32"));
    rung_candidate_list_destroy(list);
}

/* A record comes first, and the kernel with the library's own parameters is listed too. */
static void records_come_first(void **state)
{
    rung_problem problem = square(RUNG_F32, RUNG_F32, 200);
    rung_tuning tuning = rung_tuning_default();
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_find(context, backend, "07", &kernel), RUNG_OK);
    tuning.kernel = "07_tile2d";
    tuning.parameters = rung_kernel_describe(kernel)->defaults;
    assert_int_equal(rung_tuning_save(device, &problem, &tuning, path), RUNG_OK);
    assert_agrees(&problem, NULL);
    rung_candidate_list *list = list_of(&problem, NULL);
    assert_int_equal(rung_candidate_list_count(list), ladder_count() + 1);
    const rung_candidate *first = rung_candidate_list_at(list, 0);
    assert_string_equal(first->kernel, "07_tile2d");
    assert_int_equal(first->origin, RUNG_ORIGIN_TUNING);
    assert_non_null(strstr(first->origin_text, path));
    assert_int_not_equal(rung_candidate_list_at(list, 1)->origin, RUNG_ORIGIN_TUNING);
    rung_candidate_list_destroy(list);

    /* For a problem that the record's kernel does not support, the record is rejected, with its reason. */
    rung_plan_options options = rung_plan_options_default();
    options.split_k = 2;
    list = list_of(&problem, &options);
    const rung_candidate *record = candidate_of(list, "07_tile2d");
    if (rung_candidate_list_at(list, 0)->status == RUNG_OK && record->status != RUNG_OK)
        assert_non_null(strstr(record->reason, "split-K"));
    rung_candidate_list_destroy(list);
}

static void options_count(void **state)
{
    rung_problem problem = square(RUNG_F32, RUNG_F32, 200);
    rung_plan_options options = rung_plan_options_default();
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_find(context, backend, "07", &kernel), RUNG_OK);
    options.kernel = kernel;
    assert_agrees(&problem, &options);
    rung_candidate_list *list = list_of(&problem, &options);
    assert_int_equal(rung_candidate_list_count(list), 1);
    rung_candidate_list_destroy(list);

    options.parameters = "NONSENSE=1";
    list = list_of(&problem, &options);
    assert_int_equal(rung_candidate_list_count(list), 1);
    assert_int_not_equal(rung_candidate_list_at(list, 0)->status, RUNG_OK);
    assert_non_null(strstr(rung_candidate_list_at(list, 0)->reason, "NONSENSE"));
    rung_candidate_list_destroy(list);

    options = rung_plan_options_default();
    options.packed_b = 1;
    if (strcmp(backend, "cpu") == 0) {
        assert_agrees(&problem, &options);
        return;
    }
    list = list_of(&problem, &options);
    assert_int_equal(rung_candidate_list_at(list, 0)->status, RUNG_STATUS_UNSUPPORTED);
    rung_candidate_list_destroy(list);
}

/* Lists a kernel of the caller's own, which is destroyed before the list is read. */
static rung_candidate_list *list_of_file(const rung_problem *problem, const char *text)
{
    rung_plan_options options = rung_plan_options_default();
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_from_source(context, backend, "file.cu", text, &kernel), RUNG_OK);
    options.kernel = kernel;
    rung_candidate_list *list = list_of(problem, &options);
    rung_kernel_destroy(kernel);
    assert_int_equal(rung_candidate_list_count(list), 1);
    return list;
}

/* A file that does not compile is an entry; a problem that is invalid is a failure. */
static void failures(void **state)
{
    rung_problem problem = square(RUNG_F32, RUNG_F32, 20);
    rung_plan_options options = rung_plan_options_default();
    rung_candidate_list *list = (rung_candidate_list *)(void *)&problem;
    (void)state;
    options.parameters = "TILE=8"; /* of no kernel */
    assert_int_equal(rung_candidate_list_create(device, &problem, &options, &list), RUNG_STATUS_INVALID);
    assert_null(list);
    problem.b.rows = 21;
    assert_int_equal(rung_candidate_list_create(device, &problem, NULL, &list), RUNG_STATUS_INVALID);
    assert_int_equal(rung_candidate_list_create(NULL, &problem, NULL, &list), RUNG_STATUS_INVALID);
    assert_int_equal(rung_candidate_list_create(device, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    rung_candidate_list_destroy(NULL);
    assert_int_equal(rung_candidate_list_count(NULL), 0);
    if (strcmp(backend, "cpu") == 0)
        return;
    problem = square(RUNG_F32, RUNG_F32, 20);
    list = list_of_file(&problem, "#define BM 1\n#define BN 1\nKERNEL(1) broken(this is no list)\n{\n}\n");
    assert_int_equal(rung_candidate_list_at(list, 0)->status, RUNG_STATUS_COMPILE_FAILED);
    assert_string_equal(rung_candidate_list_at(list, 0)->kernel, "file.cu");
    rung_candidate_list_destroy(list);
    list = list_of_file(&problem, "#define BM 1\n#define BN 1\nKERNEL(999999) large(int x)\n{\n}\n");
    assert_int_equal(rung_candidate_list_at(list, 0)->status, RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_candidate_list_at(list, 0)->threads_per_block, 999999);
    rung_candidate_list_destroy(list);
}

static bool is_here(const char *name)
{
    rung_device *opened;
    if (rung_device_open(NULL, name, &opened) != RUNG_OK) {
        fprintf(stderr, "skipped: %s\n", rung_error_text());
        return false;
    }
    rung_device_close(opened);
    return true;
}

int main(int count, char **arguments)
{
    char *name = count > 1 ? arguments[1] : (char *)"cpu";
    const struct CMUnitTest tests[] = {
#define ON_DEVICE(test) cmocka_unit_test_prestate_setup_teardown(test, set_up, tear_down, name)
        ON_DEVICE(agrees_with_plans),
        ON_DEVICE(vendor_kernels_are_rejected_by_default),
        ON_DEVICE(unsupported_types_have_reasons),
        ON_DEVICE(records_come_first),
        ON_DEVICE(options_count),
        ON_DEVICE(failures),
    };
    unit_clean_environment();
    if (!is_here(name))
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
