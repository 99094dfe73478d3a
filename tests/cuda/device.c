/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the CUDA device from end to end on a driver that poses as one card after the
 * other: what it tells of them, which code it takes for each, and that results are right. */
#include "cuda_unit.h"

#include "cuda/embedded_images.h"

static rung_device *open_emulated_gpu(rung_context *context, const char *architecture)
{
    rung_device *device;
    setenv("RUNG_EMULATED_ARCH", architecture, 1);
    assert_ok(rung_device_open(context, "cuda", &device));
    return device;
}

static void close_all(rung_context *context, rung_device *device)
{
    rung_device_close(device);
    assert_none_held(context);
    rung_context_destroy(context);
    assert_nothing_lives();
}

/* ---- What a device tells -------------------------------------------------------------------- */

/* Of tests/cuda/emulated_driver/gpu_models.def, and what follows from it. */
static const struct {
    const char *architecture, *title;
    int64_t units, shared_block, threads_unit, memory_mib, bandwidth, peak_f32;
} cards[] = {
    {"60", "Tesla P100-PCIE-16GB", 56, 49152, 2048, 16276, INT64_C(732160000000), INT64_C(9522688000000)},
    {"75", "Tesla T4", 40, 65536, 1024, 14918, INT64_C(320064000000), INT64_C(8140800000000)},
    {"86", "NVIDIA GeForce RTX 3090", 82, 101376, 1536, 24259, INT64_C(936096000000), INT64_C(35581440000000)},
    {"90", "NVIDIA H100 80GB HBM3", 132, 232448, 2048, 81079, INT64_C(3352320000000), INT64_C(66908160000000)},
    {"120", "NVIDIA GeForce RTX 5090", 170, 101376, 1536, 32109, INT64_C(1792128000000), INT64_C(104752640000000)},
    {"130", "NVIDIA Graphics Device", 192, 232448, 2048, 49140, INT64_C(2048128000000), 0},
};

static void check_properties(const rung_device_info *info, size_t card)
{
    assert_string_equal(info->name, "cuda:0");
    assert_string_equal(info->backend, "cuda");
    assert_string_equal(info->title, cards[card].title);
    assert_string_equal(info->driver, "CUDA 12.9");
    assert_string_equal(info->missing, "");
    assert_int_equal(info->compute_units, cards[card].units);
    assert_int_equal(info->warp_size, 32);
    assert_int_equal(info->max_threads_per_block, 1024);
    assert_int_equal(info->max_threads_per_unit, cards[card].threads_unit);
    assert_int_equal(info->registers_per_block, 65536);
    assert_int_equal(info->shared_bytes_per_block, cards[card].shared_block);
    assert_int_equal(info->memory_bytes, cards[card].memory_mib << 20);
    assert_int_equal(info->memory_bytes_per_second, cards[card].bandwidth);
    if (cards[card].peak_f32 > 0)
        assert_int_equal(info->peak_f32_flops_per_second, cards[card].peak_f32);
}

static void device_properties_match_the_gpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        rung_context *context = fresh_context("cuda", -1);
        rung_device_list *list;
        int64_t found = 0;
        rung_device *device = open_emulated_gpu(context, cards[i].architecture);
        check_properties(rung_device_describe(device), i);
        assert_ok(rung_device_list_create(context, &list));
        for (int64_t j = 0; j < rung_device_list_count(list); j++) {
            const rung_device_info *info = rung_device_list_at(list, j);
            if (strcmp(info->backend, "cuda") == 0) {
                check_properties(info, i);
                found++;
            }
        }
        rung_device_list_destroy(list);
        assert_int_equal(found, 1);
        close_all(context, device);
    }
}

static void several_devices_and_none(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *first, *second, *third;
    (void)state;
    setenv("RUNG_EMULATED_DEVICES", "2", 1);
    assert_ok(rung_device_open(context, "cuda", &first));
    assert_ok(rung_device_open(context, "cuda:1", &second));
    assert_string_equal(rung_device_describe(first)->name, "cuda:0");
    assert_string_equal(rung_device_describe(second)->name, "cuda:1");
    assert_fails(rung_device_open(context, "cuda:2", &third), RUNG_STATUS_NO_DEVICE, "there is no device cuda:2");
    assert_null(third);
    rung_device_close(first);
    close_all(context, second);
}

/* ---- Results ----------------------------------------------------------------------------------- */

#define PLAIN .batch = 1, .alpha = 1, .beta = 0

static const cuda_product_t products[] = {
    {RUNG_F32, RUNG_F32, 33, 29, 17, PLAIN, .kernel = "01"},
    {RUNG_F32, RUNG_F32, 40, 41, 19, .batch = 1, .alpha = 2, .beta = -1, .kernel = "04"},
    {RUNG_F64, RUNG_F64, 21, 18, 30, PLAIN, .kernel = "04", .a_by_columns = true},
    {RUNG_F32, RUNG_F32, 130, 70, 24, .batch = 1, .alpha = 3, .beta = 1, .kernel = "07"},
    {RUNG_F16, RUNG_F16, 37, 50, 33, PLAIN, .kernel = "07", .c_by_columns = true},
    {RUNG_F32, RUNG_F32, 128, 128, 32, PLAIN, .kernel = "10"},
    {RUNG_F32, RUNG_F32, 131, 66, 20, .batch = 1, .alpha = -1, .beta = 2, .kernel = "10"},
    {RUNG_F64, RUNG_F64, 67, 35, 18, PLAIN, .kernel = "10"},
    {RUNG_F16, RUNG_F16, 65, 44, 40, PLAIN, .kernel = "10"},
    {RUNG_BF16, RUNG_F32, 33, 44, 12, PLAIN, .kernel = "10", .a_by_columns = true},
    {RUNG_I8, RUNG_I32, 70, 36, 28, .batch = 1, .alpha = 3, .beta = -2, .kernel = "10"},
    {RUNG_I32, RUNG_I32, 20, 36, 7, PLAIN, .kernel = "10"},
    {RUNG_F32, RUNG_F32, 24, 20, 12, .batch = 4, .alpha = 1, .beta = 1},
    {RUNG_F32, RUNG_F32, 24, 20, 12, .batch = 4, .alpha = 1, .beta = 1, .scattered = true},
    {RUNG_F16, RUNG_F32, 24, 20, 12, .batch = 3, .alpha = 1, .beta = 0, .scattered = true, .kernel = "10"},
    {RUNG_F32, RUNG_F32, 50, 40, 16, .batch = 1, .alpha = 2, .beta = 1, .epilogue = true},
    {RUNG_F32, RUNG_F32, 50, 40, 16, PLAIN, .epilogue = true, .kernel = "07", .c_by_columns = true},
    {RUNG_I8, RUNG_I32, 30, 22, 16, .batch = 2, .alpha = 1, .beta = 1, .epilogue = true, .kernel = "10"},
    {RUNG_F32, RUNG_F32, 30, 26, 200, PLAIN, .splits = 3, .kernel = "10"},
    {RUNG_F64, RUNG_F64, 30, 26, 200, .batch = 2, .alpha = 2, .beta = 1, .splits = 4, .epilogue = true, .kernel = "08"},
    {RUNG_F32, RUNG_F32, 17, 17, 17, PLAIN},
};

static void results_are_right(void **state)
{
    static const char *const poses[] = {"86", "60", "130"};
    (void)state;
    for (size_t pose = 0; pose < sizeof poses / sizeof *poses; pose++) {
        rung_context *context = fresh_context("cuda", -1);
        rung_device *device = open_emulated_gpu(context, poses[pose]);
        for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
            rung_plan_info info;
            cuda_product_run(device, &products[i], &info);
            assert_true(info.blocks > 0 && info.threads > 0);
            if (products[i].splits > 1)
                assert_true(info.split_k > 1);
            if (products[i].epilogue) /* no image has one, and there is no compiler here */
                assert_true(info.workspace_bytes > 0);
        }
        close_all(context, device);
    }
}

static void one_call(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    float a[6 * 9], b[9 * 5], c[6 * 5];
    uint64_t seed = 4;
    (void)state;
    unit_fill(&seed, a, 54);
    unit_fill(&seed, b, 45);
    rung_matrix av = rung_matrix_of(RUNG_F32, 6, 9, a), bv = rung_matrix_of(RUNG_F32, 9, 5, b);
    rung_matrix cv = rung_matrix_of(RUNG_F32, 6, 5, c);
    for (int i = 0; i < 3; i++) {
        memset(c, 0, sizeof c);
        assert_ok(rung_gemm(context, 1.0, av, bv, 0.0, cv));
        assert_int_equal(unit_first_wrong(&av, &bv, &cv), -1);
    }
    assert_int_equal(rungi_cuda_live_objects(context, RUNGI_CU_MEMORY), 0);
    assert_int_equal(rungi_cuda_live_objects(context, RUNGI_CU_STREAM), 1);
    rung_context_destroy(context);
    assert_nothing_lives();
}

/* ---- Which code is taken ----------------------------------------------------------------------- */

/* Checks the image that a GPU of the architecture takes, by the name that was logged. The emulated driver itself runs the
 * PTX of the same name. */
static void check_image(const char *architecture, const char *kernel, const char *code)
{
    static const char ptx[] = "loaded an embedded image, compute_", of[] = ", of ";
    char name[RUNGI_CUDA_IMAGE_NAME_BYTES], found[32] = "no image";
    const char *at = strstr(logged, ptx);
    const char *start = at ? strstr(at, of) : NULL;
    if (!start || strncmp(start + strlen(of), kernel, strlen(kernel)) != 0)
        fail_msg("on %s no PTX of %s:\n%s", architecture, kernel, logged);
    start += strlen(of);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "\n"), start);
    const rungi_cuda_image *image = rungi_cuda_find_image(name, atoi(architecture), false);
    if (!image)
        image = rungi_cuda_find_image(name, atoi(architecture), true);
    if (image)
        snprintf(found, sizeof found, "%s_%d", image->is_ptx ? "compute" : "sm", image->architecture);
    if (strcmp(found, code) != 0)
        fail_msg("on %s not %s but %s of %s", architecture, code, found, name);
}

static void check_code_of(rung_type type, const char *architecture, const char *kernel, const char *code)
{
    int64_t size = type == RUNG_F32 ? 128 : 64; /* small tiles are emulated sooner */
    const cuda_product_t trial = {type, type, size, size, 17, PLAIN, .kernel = kernel};
    rung_context *context = fresh_context("cuda", 2);
    rung_device *device = open_emulated_gpu(context, architecture);
    rung_plan_info info;
    cuda_product_run(device, &trial, &info);
    check_image(architecture, kernel, code);
    close_all(context, device);
}

static void check_code(const char *architecture, const char *kernel, const char *code)
{
    check_code_of(RUNG_F32, architecture, kernel, code);
}

/* What the library takes by itself, and what it says of those it does not. */
static void check_choice(rung_type type, const char *architecture, const char *kernel, const char *refused)
{
    const cuda_product_t trial = {type, type == RUNG_I8 ? RUNG_I32 : type, 64, 64, 64, PLAIN};
    rung_context *context = fresh_context("cuda", 2);
    rung_device *device = open_emulated_gpu(context, architecture);
    rung_plan_info info;
    cuda_product_run(device, &trial, &info);
    if (strcmp(info.kernel, kernel) != 0)
        fail_msg("sm_%s takes %s for type %d: %s", architecture, info.kernel, (int)type, logged);
    if (refused && !strstr(logged, refused))
        fail_msg("on %s not \"%s\":\n%s", architecture, refused, logged);
    close_all(context, device);
}

static void matrix_engines_are_used_where_present(void **state)
{
    (void)state;
    check_choice(RUNG_F16, "90", "12_matrix", NULL);
    check_choice(RUNG_BF16, "80", "12_matrix", NULL);
    check_choice(RUNG_I8, "86", "12_matrix", NULL); /* for sm_75 there is only a cubin */
    check_choice(RUNG_F16, "75", "12_matrix", NULL);
    check_choice(RUNG_BF16, "75", "10_pipeline", NULL);
    check_choice(RUNG_F16, "70", "11_wmma", NULL);
    check_choice(RUNG_F16, "61", "10_pipeline", NULL);
    check_choice(RUNG_F32, "90", "10_pipeline", NULL);
    check_code_of(RUNG_F16, "86", "12_matrix", "sm_86");
    check_code_of(RUNG_F16, "75", "12_matrix", "sm_75");
    check_code_of(RUNG_BF16, "130", "12_matrix", "compute_80");
}

/* Checks that a plan with 13_wgmma is rejected with these words. */
static void check_wgmma_rejects(rung_device *device, const rung_problem *problem, const char *words)
{
    rung_plan *plan;
    rung_kernel *kernel;
    assert_ok(rung_kernel_find(device->context, "cuda", "13_wgmma", &kernel));
    rung_plan_options options = {.size = sizeof options, .kernel = kernel};
    assert_int_equal(rung_plan_create(device, problem, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    if (!strstr(rung_error_text(), words))
        fail_msg("not \"%s\": %s", words, rung_error_text());
}

/* What tensor maps and wgmma cannot do is refused before anything is compiled. */
static void wgmma_rejects_what_it_cannot_multiply(void **state)
{
    static const int64_t offsets[] = {0, 4096};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "90");
    rung_matrix even = rung_matrix_of(RUNG_F16, 64, 64, NULL), odd = rung_matrix_of(RUNG_F16, 64, 60, NULL);
    rung_matrix bytes = rung_matrix_of(RUNG_I8, 64, 64, NULL), sums = rung_matrix_of(RUNG_I32, 64, 64, NULL);
    rung_problem problem = rung_problem_of(odd, rung_matrix_of(RUNG_F16, 60, 64, NULL), even);
    (void)state;
    check_wgmma_rejects(device, &problem, "start at multiples of 16 bytes");
    problem = rung_problem_of(bytes, bytes, sums);
    check_wgmma_rejects(device, &problem, "only if rows of A and columns of B are contiguous");
    problem = rung_problem_of(even, even, even);
    problem.batch = 2;
    problem.a.batch_offsets = offsets;
    problem.b.batch_stride = problem.c.batch_stride = 4096;
    check_wgmma_rejects(device, &problem, "does not support batch offsets");
    problem.a.batch_offsets = NULL;
    problem.a.batch_stride = 4100;
    check_wgmma_rejects(device, &problem, "start at multiples of 16 bytes");
    rung_device_close(device);
    device = open_emulated_gpu(context, "100");
    problem = rung_problem_of(even, even, even);
    check_wgmma_rejects(device, &problem, "13_wgmma uses instructions of sm_90a and runs only on sm_90");
    close_all(context, device);
}

/* A plan, which is not run, for operands that stand so, and the code that it takes. */
static void check_wide_code(rung_device *device, rung_type type, int64_t size, bool b_along_k, const char *architecture,
                            const char *code, const char *defines)
{
    rung_type out = type == RUNG_I8 ? RUNG_I32 : type;
    rung_matrix b = rung_matrix_of(type, size, size, NULL);
    rung_problem problem = rung_problem_of(rung_matrix_of(type, size, size, NULL),
                                           b_along_k ? rung_matrix_transpose(b) : b,
                                           rung_matrix_of(out, size, size, NULL));
    rung_plan *plan;
    rung_kernel *kernel;
    assert_ok(rung_kernel_find(device->context, "cuda", "12_matrix", &kernel));
    rung_plan_options matrix = {.size = sizeof matrix, .kernel = kernel};
    problem.compute = RUNG_COMPUTE_TF32; /* of f32, for which the library may also choose 10_pipeline */
    logged[0] = '\0';
    assert_ok(rung_plan_create(device, &problem, type == RUNG_F32 ? &matrix : NULL, &plan));
    assert_string_equal(rung_plan_describe(plan)->kernel, "12_matrix");
    rung_plan_destroy(plan);
    check_image(architecture, "12_matrix", code);
    if (!strstr(logged, defines))
        fail_msg("%lld of type %d without %s:\n%s", (long long)size, (int)type, defines, logged);
}

/* Returns the number of cubins of 12_matrix for sm_75 with these defines. */
static int cubins_for_75(const char *type, const char *defines)
{
    int count = 0;
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++)
        count += !image->is_ptx && image->architecture == 75 && strncmp(image->name, "12_matrix", 9) == 0 &&
                 strstr(image->name, type) && strstr(image->name, defines);
    return count;
}

/* Without a compiler the fast path must be there for whole tiles, for others and for small
 * ones, by rows and along k, in all that the engine multiplies. */
static void fast_path_images_are_embedded(void **state)
{
    const rung_type types[] = {RUNG_F16, RUNG_I8, RUNG_BF16, RUNG_F32};
    const struct {
        const char *architecture, *code;
        int types;
    } gpus[] = {
        {"90", "sm_90", 4},
        {"130", "compute_80", 4},
    };
    (void)state;
    const int64_t sizes[] = {64, 1008, 1024};
    /* The fast path of sm_75 has cubins only, which the emulated driver does not run: for large and small tiles. */
    for (int i = 0; i < 2; i++) {
        const char *type = i == 0 ? "-DIN_F16" : "-DIN_I8";
        assert_int_equal(cubins_for_75(type, "-DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1"), 2);
        assert_int_equal(cubins_for_75(type, "-DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=0"), 2);
    }
    for (int i = 0; i < 3 * (int)(sizeof gpus / sizeof *gpus); i++) {
        int gpu = i / 3;
        rung_context *context = fresh_context("cuda", 2);
        rung_device *device = open_emulated_gpu(context, gpus[gpu].architecture); /* afresh: code is taken once */
        for (int j = 0; j < gpus[gpu].types; j++) {
            check_wide_code(device, types[j], sizes[i % 3], false, gpus[gpu].architecture, gpus[gpu].code,
                            "-DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1");
            check_wide_code(device, types[j], sizes[i % 3], true, gpus[gpu].architecture, gpus[gpu].code,
                            "-DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=0");
        }
        close_all(context, device);
    }
}

static void a_cubin_of_its_generation_and_else_ptx(void **state)
{
    (void)state;
    check_code("86", "10_pipeline", "sm_86");
    check_code("87", "10_pipeline", "sm_86"); /* later of the same generation */
    check_code("89", "10_pipeline", "sm_89");
    check_code("75", "10_pipeline", "sm_75");
    check_code("72", "10_pipeline", "sm_70");
    check_code("60", "10_pipeline", "sm_60");
    check_code("103", "10_pipeline", "sm_100");
    check_code("130", "10_pipeline", "compute_80"); /* of no known generation */
    check_code("110", "10_pipeline", "compute_80");
    check_code("86", "04_shared", "compute_60");
}

static void an_unsupported_gpu_is_reported(void **state)
{
    static cuda_product_memory_t memory;
    const cuda_product_t trial = {RUNG_F32, RUNG_F32, 33, 30, 17, PLAIN, .kernel = "10"};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "52");
    rung_plan *plan;
    (void)state;
    cuda_product_fill(&trial, &memory);
    assert_fails(cuda_product_plan(device, &trial, &memory.problem, &plan), RUNG_STATUS_UNSUPPORTED, "sm_52");
    assert_null(plan);
    close_all(context, device);
}

/* ---- Shared memory and L1 ------------------------------------------------------------------------ */

static void carveouts(void **state)
{
    static cuda_product_memory_t memory;
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "86");
    cuda_product_t trial = {RUNG_F32, RUNG_F32, 33, 30, 17, PLAIN, .kernel = "10", .carveout = 60};
    rung_plan_info info;
    rung_plan *plan;
    (void)state;
    long before = emulated_driver.calls("cuFuncSetAttribute");
    cuda_product_run(device, &trial, &info);
    assert_int_equal(emulated_driver.calls("cuFuncSetAttribute"), before + 1);
    cuda_product_fill(&trial, &memory);
    for (int i = 0; i < 2; i++) {
        trial.carveout = i == 0 ? 101 : -1;
        assert_fails(cuda_product_plan(device, &trial, &memory.problem, &plan), RUNG_STATUS_INVALID, "carve");
        assert_null(plan);
    }
    close_all(context, device);
}

/* Two tiles of TILE x TILE elements in 04_shared, and none in 01_naive. */
static void candidates_report_shared_memory(void **state)
{
    static const struct {
        const char *number, *parameters;
        int64_t bytes;
    } kernels[] = {{"01", NULL, 0}, {"04", "TILE=32", 2 * 32 * 32 * 4}};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "86");
    rung_matrix form = rung_matrix_of(RUNG_F32, 64, 64, NULL); /* candidates need no data */
    rung_problem problem = rung_problem_of(form, form, form);
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        rung_candidate_list *list;
        rung_kernel *kernel;
        assert_ok(rung_kernel_find(context, "cuda", kernels[i].number, &kernel));
        rung_plan_options options = {
            .size = sizeof(rung_plan_options), .kernel = kernel, .parameters = kernels[i].parameters};
        assert_ok(rung_candidate_list_create(device, &problem, &options, &list));
        assert_int_equal(rung_candidate_list_at(list, 0)->status, RUNG_OK);
        assert_int_equal(rung_candidate_list_at(list, 0)->shared_bytes_per_block, kernels[i].bytes);
        rung_candidate_list_destroy(list);
    }
    close_all(context, device);
}

/* The driver has the carve-out that the plan asked for, and another plan its own. */
static void carveouts_reach_the_driver(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "86");
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_cu_function functions[3];
    (void)state;
    assert_ok(rung_kernel_find(context, "cuda", "04", &kernel));
    assert_ok(rungi_kernel_parse_parameters(kernel, "", 4, &values));
    rungi_cuda_function_spec spec = {.kernel = kernel, .values = &values, .path = {.in = RUNG_F32, .out = RUNG_F32}};
    assert_ok(rungi_cuda_context_push(own));
    for (int i = 0; i < 3; i++) {
        spec.carveout = 50 * i;
        assert_ok(rungi_cuda_function_of(own, &spec, &functions[i]));
    }
    for (int i = 0; i < 3; i++) {
        int value = 0;
        assert_int_equal(
            own->cu->FuncGetAttribute(&value, RUNGI_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, functions[i]),
            0);
        assert_int_equal(value, i == 0 ? -1 : 50 * i);
    }
    rungi_cuda_context_pop(own);
    close_all(context, device);
}

/* ---- Events -------------------------------------------------------------------------------------- */

static void events_of_copies(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_emulated_gpu(context, "86");
    static char bytes[1 << 20];
    rung_queue *queue;
    rung_buffer *buffer, *too_large;
    rung_event *sent;
    int64_t time = -1;
    (void)state;
    assert_ok(rung_queue_create(device, &queue));
    assert_ok(rung_buffer_create(device, sizeof bytes, &buffer));
    assert_ok(rung_event_create(device, &sent));
    assert_ok(rung_event_wait(sent)); /* never signalled */
    assert_ok(rung_event_time(sent, &time));
    assert_int_equal(time, 0);
    rung_run_options options = {.size = sizeof(rung_run_options), .signal = sent};
    for (int i = 0; i < 3; i++) {
        assert_ok(rung_buffer_write(queue, buffer, 0, sizeof bytes, bytes, &options));
        assert_ok(rung_event_time(sent, &time));
        assert_true(time > 0);
    }
    assert_non_null(rung_event_native(sent));
    assert_int_equal(rungi_cuda_live_objects(context, RUNGI_CU_EVENT), 2);
    assert_fails(rung_buffer_create(device, INT64_C(1) << 50, &too_large), RUNG_STATUS_NO_MEMORY,
                 "CUDA_ERROR_OUT_OF_MEMORY");
    assert_null(too_large);
    rung_event_destroy(sent);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
    close_all(context, device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(device_properties_match_the_gpu, emulated_driver_reset),
        cmocka_unit_test_setup(several_devices_and_none, emulated_driver_reset),
        cmocka_unit_test_setup(results_are_right, emulated_driver_reset),
        cmocka_unit_test_setup(one_call, emulated_driver_reset),
        cmocka_unit_test_setup(a_cubin_of_its_generation_and_else_ptx, emulated_driver_reset),
        cmocka_unit_test_setup(matrix_engines_are_used_where_present, emulated_driver_reset),
        cmocka_unit_test_setup(wgmma_rejects_what_it_cannot_multiply, emulated_driver_reset),
        cmocka_unit_test_setup(fast_path_images_are_embedded, emulated_driver_reset),
        cmocka_unit_test_setup(an_unsupported_gpu_is_reported, emulated_driver_reset),
        cmocka_unit_test_setup(candidates_report_shared_memory, emulated_driver_reset),
        cmocka_unit_test_setup(carveouts, emulated_driver_reset),
        cmocka_unit_test_setup(carveouts_reach_the_driver, emulated_driver_reset),
        cmocka_unit_test_setup(events_of_copies, emulated_driver_reset),
    };
    unit_clean_environment();
    if (!emulated_driver_is_loaded())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
