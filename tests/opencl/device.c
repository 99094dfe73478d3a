/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the OpenCL device on a real driver: buffers, plans and events from end
 * to end, and kernels of the caller's own, those that do not compile among them. */
#include "support/opencl_unit.h"

/* ---- Buffers --------------------------------------------------------------------- */

static void copies_write_the_right_bytes(void **state)
{
    unsigned char sent[64], expected[64], received[64];
    rung_buffer *buffer;
    (void)state;
    for (int i = 0; i < 64; i++)
        sent[i] = expected[i] = (unsigned char)(i + 1);
    assert_int_equal(rung_buffer_create(device, 64, &buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, buffer, 0, 64, sent, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, buffer, 13, 7, sent + 40, NULL), RUNG_OK);
    memcpy(expected + 13, sent + 40, 7);
    memset(received, 0xEE, sizeof received);
    assert_int_equal(rung_buffer_read(queue, buffer, 3, 50, received + 3, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    assert_memory_equal(received + 3, expected + 3, 50);
    for (int i = 0; i < 64; i++)
        if (i < 3 || i >= 53)
            assert_int_equal(received[i], 0xEE);
    assert_int_equal(rung_buffer_write(queue, buffer, 60, 5, sent, NULL), RUNG_STATUS_INVALID);
    assert_non_null(rung_buffer_native(buffer));
    rung_buffer_destroy(buffer);
}

static void buffers_of_no_bytes(void **state)
{
    rung_buffer *buffer;
    rung_event *event;
    (void)state;
    assert_int_equal(rung_buffer_create(device, 0, &buffer), RUNG_OK);
    assert_int_equal(rung_event_create(device, &event), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = event};
    assert_int_equal(rung_buffer_write(queue, buffer, 0, 0, NULL, &run), RUNG_OK);
    assert_int_equal(rung_event_wait(event), RUNG_OK);
    assert_non_null(rung_event_native(event)); /* even nothing is signalled */
    assert_int_equal(rung_buffer_read(queue, buffer, 0, 0, NULL, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    rung_event_destroy(event);
    rung_buffer_destroy(buffer);
}

static void buffers_too_large(void **state)
{
    rung_buffer *buffer;
    (void)state;
    rung_status status = rung_buffer_create(device, INT64_C(1) << 60, &buffer);
    assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
    assert_null(buffer);
    assert_non_null(strstr(rung_error_text(), "clCreateBuffer"));
}

/* ---- A plan from end to end ------------------------------------------------------ */

static void a_plan_from_end_to_end(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    rung_event *sent, *done;
    int64_t time = -1;
    (void)state;
    make_operands(device, &operands);
    assert_int_equal(rung_event_create(device, &sent), RUNG_OK);
    assert_int_equal(rung_event_create(device, &done), RUNG_OK);
    assert_null(rung_event_native(done));
    assert_int_equal(rung_event_wait(done), RUNG_OK); /* never signalled */
    assert_int_equal(rung_event_time(done, &time), RUNG_OK);
    assert_int_equal(time, 0);

    rung_problem form = rung_problem_of(operands.a, operands.b, operands.c);
    form.a.data = form.b.data = form.c.data = NULL; /* a plan needs no memory */
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_true(info->blocks >= 1 && info->threads >= 1);
    assert_true(strlen(info->kernel) > 3);

    rung_run_options run = {.size = sizeof(rung_run_options), .signal = sent};
    upload_operands(queue, &operands, &run);
    run = (rung_run_options){
        .size = sizeof(rung_run_options), .wait = &sent, .wait_count = 1, .signal = done, .threads = 1};
    assert_int_equal(rung_plan_run(plan, queue, &operands.problem, &run), RUNG_OK);
    download_and_check(queue, &operands);
    assert_int_equal(rung_event_time(done, &time), RUNG_OK);
    assert_true(time > 0);
    assert_int_equal(rung_event_time(sent, &time), RUNG_OK);
    assert_true(time >= 0);
    assert_non_null(rung_event_native(done));
    assert_non_null(rung_queue_native(queue));

    rung_event_destroy(sent);
    rung_event_destroy(done);
    rung_plan_destroy(plan);
    destroy_operands(&operands);
}

/* The kernels for GPUs do not apply a multiplier yet. The message says what to do. */
static void a_multiplier_is_refused(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    rung_kernel *kernel;
    float memory[3][16] = {{0}}, multiplier[16] = {0};
    (void)state;
    make_operands(device, &operands);
    rung_problem problem = operands.problem;
    problem.multiplier = problem.c;
    assert_int_equal(rung_kernel_find(context, "opencl", "07", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "on the device \"cpu\""));
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, memory[0]), rung_matrix_of(RUNG_F32, 4, 4, memory[1]),
                              rung_matrix_of(RUNG_F32, 4, 4, memory[2]));
    problem.multiplier = rung_matrix_of(RUNG_F32, 4, 4, multiplier);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "multiplier"));
    destroy_operands(&operands);
}

/* Neither data of this process nor buffers of another device are reached. */
static void plans_reject_unreachable_operands(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    (void)state;
    make_operands(device, &operands);
    assert_int_equal(rung_plan_create(device, &operands.problem, NULL, &plan), RUNG_OK);
    rung_problem problem = operands.problem;
    problem.a = operands.a;
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_gemm"));
    problem = operands.problem;
    problem.c.offset = 64 - 29; /* one element past the end */
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    problem.c = in_buffer(operands.c, operands.a_buffer, 30); /* C meets A */
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_ALIASED);
    rung_plan_destroy(plan);
    destroy_operands(&operands);
}

/* NaN in what is not read must stay there, and k = 0 must clear C. */
static void scalars_of_zero(void **state)
{
    float a[4], c[4];
    const float nan = 0.0f / 0.0f;
    (void)state;
    for (int i = 0; i < 4; i++)
        a[i] = nan;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a), out = rung_matrix_of(RUNG_F32, 2, 2, c);
    for (int i = 0; i < 4; i++)
        c[i] = (float)i;
    assert_int_equal(rung_gemm(context, 0.0, view, view, 2.0, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == (float)(2 * i));
    for (int i = 0; i < 4; i++)
        a[i] = 1, c[i] = nan;
    assert_int_equal(rung_gemm(context, 3.0, view, view, 0.0, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 6);
    for (int i = 0; i < 4; i++)
        c[i] = nan;
    assert_int_equal(
        rung_gemm(context, 1.0, rung_matrix_of(RUNG_F32, 2, 0, NULL), rung_matrix_of(RUNG_F32, 0, 2, NULL), 0.0, out),
        RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 0);
    assert_int_equal(
        rung_gemm(context, 1.0, rung_matrix_of(RUNG_F32, 0, 2, NULL), view, 0.0, rung_matrix_of(RUNG_F32, 0, 2, NULL)),
        RUNG_OK);
}

/* The same where A and B are in a buffer, so that nothing keeps them from it. */
static void unread_operands_are_not_accessed(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    const float nan = 0.0f / 0.0f;
    (void)state;
    make_operands(device, &operands);
    for (int i = 0; i < 35; i++)
        operands.a_data[i] = nan;
    for (int i = 0; i < 30; i++)
        operands.c_data[i] = (float)i;
    upload_operands(queue, &operands, NULL);
    assert_int_equal(rung_buffer_write(queue, operands.c_buffer, 12, sizeof operands.c_data, operands.c_data, NULL),
                     RUNG_OK);
    assert_int_equal(rung_plan_create(device, &operands.problem, NULL, &plan), RUNG_OK);
    operands.problem.alpha = 0.0; /* alpha and beta are not of the plan's form */
    operands.problem.beta = 3.0;
    assert_int_equal(rung_plan_run(plan, queue, &operands.problem, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_read(queue, operands.c_buffer, 12, sizeof operands.c_data, operands.c_data, NULL),
                     RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    for (int i = 0; i < 30; i++)
        assert_true(operands.c_data[i] == (float)(3 * i));
    rung_plan_destroy(plan);
    destroy_operands(&operands);
}

/* ---- Kernels of the caller's own ------------------------------------------------- */

#define ARGUMENTS                                                                      \
    "(index_t m, index_t n, index_t k, sum_t alpha, GLOBAL const in_t *a, view_t av, " \
    "GLOBAL const in_t *b, view_t bv, sum_t beta, GLOBAL out_t *c, view_t cv)\n"
#define PLAIN_BODY                                                   \
    "{\n    index_t across = (n + BN - 1) / BN;\n"                   \
    "    index_t i = blockIdx.x / across * BM + threadIdx.x / BN;\n" \
    "    index_t j = blockIdx.x % across * BN + threadIdx.x % BN;\n" \
    "    sum_t sum = 0;\n    if (i >= m || j >= n) return;\n"        \
    "    for (index_t p = 0; p < k; p++)\n"                          \
    "        sum += a[at(av, i, p)] * b[at(bv, p, j)];\n"            \
    "    store(&c[at(cv, i, j)], alpha, sum, beta);\n}\n"

/* The status of a plan with a kernel of this text; the plan goes to `plan`. */
static rung_status plan_with(const char *text, const char *parameters, opencl_operands_t *operands, rung_plan **plan)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .parameters = parameters};
    rung_status status = rung_plan_create(device, &operands->problem, &options, plan);
    rung_kernel_destroy(kernel); /* the plan keeps what it needs */
    return status;
}

static const char valid_kernel_text[] = "#include \"dialect.h\"\n"
                                        "#ifndef BN\n#define BN 4 // 4 8\n#endif\n#define BM 2\n"
                                        "KERNEL(BM * BN)\nmine" ARGUMENTS PLAIN_BODY;

static void a_kernel_of_the_caller_s(void **state)
{
    const char *const parameters[] = {NULL, "BN=1", "BN=8", "BN=3"};
    opencl_operands_t operands;
    rung_plan *plan;
    (void)state;
    make_operands(device, &operands);
    upload_operands(queue, &operands, NULL);
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        assert_int_equal(plan_with(valid_kernel_text, parameters[i], &operands, &plan), RUNG_OK);
        assert_string_equal(rung_plan_describe(plan)->kernel, "mine.cu");
        assert_string_equal(rung_plan_describe(plan)->parameters, parameters[i] ? parameters[i] : "BN=4");
        assert_int_equal(rung_plan_run(plan, queue, &operands.problem, NULL), RUNG_OK);
        memset(operands.c_data, 0, sizeof operands.c_data);
        download_and_check(queue, &operands);
        rung_plan_destroy(plan);
    }
    assert_int_equal(plan_with(valid_kernel_text, "BN=0", &operands, &plan), RUNG_STATUS_INVALID);
    assert_int_equal(plan_with(valid_kernel_text, "NB=1", &operands, &plan), RUNG_STATUS_NOT_FOUND);
    destroy_operands(&operands);
}

/* The compiler's complaint must point into the caller's file. */
static void errors_name_file_and_line(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    (void)state;
    make_operands(device, &operands);
    rung_status status = plan_with("/* line 1 */\n#include \"dialect.h\"\n"
                                   "#define BM 1\n#define BN 1\nKERNEL(1)\nmine" ARGUMENTS "{\n    int x = ;\n}\n",
                                   NULL, &operands, &plan);
    assert_int_equal(status, RUNG_STATUS_COMPILE_FAILED);
    assert_null(plan);
    if (!strstr(rung_error_text(), "mine.cu:8"))
        fail_msg("no \"mine.cu:8\" in: %s", rung_error_text());

    status = plan_with("#error \"on line one\"\n#include \"dialect.h\"\n"
                       "#define BM 1\n#define BN 1\nKERNEL(1)\nmine" ARGUMENTS "{\n}\n",
                       NULL, &operands, &plan);
    assert_int_equal(status, RUNG_STATUS_COMPILE_FAILED);
    if (!strstr(rung_error_text(), "mine.cu:1"))
        fail_msg("no \"mine.cu:1\" in: %s", rung_error_text());
    destroy_operands(&operands);
}

static void invalid_kernels(void **state)
{
    const struct {
        const char *text;
        rung_status status;
        const char *told;
    } cases[] = {
        {"#include \"dialect.h\"\n#define BM 1\n#define BN 1\n", RUNG_STATUS_INVALID, "KERNEL("},
        {"#include \"dialect.h\"\n#define BM 1\nKERNEL(1)\nmine" ARGUMENTS "{}\n", RUNG_STATUS_INVALID, "BN"},
        {"#define BM 1\n#define BN 1\nKERNEL(1)\nmine" ARGUMENTS "{}\n", RUNG_STATUS_COMPILE_FAILED, "#include"},
        {"#include \"dialect.h\"\n#define BM 1\n#define BN 1\nKERNEL(1)\n"
         "mine(index_t m, GLOBAL out_t *c) { *c = m; }\n",
         RUNG_STATUS_INVALID, "2 arguments"},
        {"#include \"dialect.h\"\n#define BM 1\n#define BN 1\nKERNEL(1000000)\nmine" ARGUMENTS "{}\n",
         RUNG_STATUS_UNSUPPORTED, "1000000 threads"},
        {"#include \"dialect.h\"\n#define BM 1\n#define BN 1\nKERNEL(4)\nmine" ARGUMENTS
         "{\n    __shared__ sum_t all[1 << 26];\n    all[threadIdx.x * k] = alpha;\n"
         "    __syncthreads();\n    *c = all[(threadIdx.x ^ 1) * k];\n}\n",
         RUNG_STATUS_UNSUPPORTED, "shared memory"},
    };
    opencl_operands_t operands;
    (void)state;
    make_operands(device, &operands);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_plan *plan;
        rung_status status = plan_with(cases[i].text, NULL, &operands, &plan);
        if (status != cases[i].status || !strstr(rung_error_text(), cases[i].told))
            fail_msg("case %zu gave %s: %s", i, rung_status_name(status), rung_error_text());
        assert_null(plan);
    }
    destroy_operands(&operands);
}

static void kernels_of_the_other_backend(void **state)
{
    opencl_operands_t operands;
    rung_kernel *kernel;
    rung_plan *plan;
    (void)state;
    make_operands(device, &operands);
    assert_int_equal(rung_kernel_find(context, "cpu", "1", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    assert_int_equal(rung_plan_create(device, &operands.problem, &options, &plan), RUNG_STATUS_INVALID);
    destroy_operands(&operands);
}

/* A device without doubles refuses them before anything is compiled. */
static void f64_without_device_support(void **state)
{
    rung_plan *plan;
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F64, 3, 4, NULL), rung_matrix_of(RUNG_F64, 4, 5, NULL),
                                           rung_matrix_of(RUNG_F64, 3, 5, NULL));
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    long programs = rungi_opencl_live_objects(context, RUNGI_CL_PROGRAM);
    bool has_f64 = own->has_f64;
    own->has_f64 = false;
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "64-bit"));
    own->has_f64 = has_f64;
    assert_int_equal(rungi_opencl_live_objects(context, RUNGI_CL_PROGRAM), programs);
}

static void a_failed_plan_leaves_nothing(void **state)
{
    opencl_operands_t operands;
    rung_plan *plan;
    long before[RUNGI_CL_KINDS];
    (void)state;
    make_operands(device, &operands);
    for (int kind = 0; kind < RUNGI_CL_KINDS; kind++)
        before[kind] = rungi_opencl_live_objects(context, (rungi_cl_kind)kind);
    assert_int_equal(plan_with("#include \"dialect.h\"\n#define BM 1\n#define BN 1\nKERNEL(1)\n"
                               "mine" ARGUMENTS "{ no }\n",
                               NULL, &operands, &plan),
                     RUNG_STATUS_COMPILE_FAILED);
    assert_live(context, before);
    destroy_operands(&operands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_write_the_right_bytes),
        cmocka_unit_test(buffers_of_no_bytes),
        cmocka_unit_test(buffers_too_large),
        cmocka_unit_test(a_plan_from_end_to_end),
        cmocka_unit_test(a_multiplier_is_refused),
        cmocka_unit_test(plans_reject_unreachable_operands),
        cmocka_unit_test(scalars_of_zero),
        cmocka_unit_test(unread_operands_are_not_accessed),
        cmocka_unit_test(a_kernel_of_the_caller_s),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(invalid_kernels),
        cmocka_unit_test(kernels_of_the_other_backend),
        cmocka_unit_test(f64_without_device_support),
        cmocka_unit_test(a_failed_plan_leaves_nothing),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, open_device, close_device);
}
