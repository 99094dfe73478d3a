/* SPDX-License-Identifier: Apache-2.0 */
/* preset_model.c - predictions with cached code and counts are those of lab_explain(), and batches and split-K are predicted
 * as they should be. Needs NVRTC and nvdisasm. */
#include "support/unit.h"

#include <math.h>

#include "explain/preset_model.h"

static lab_explain_request request_of(const char *parameters)
{
    lab_explain_request request = {.kernel = "10_pipeline",
                                   .parameters = parameters,
                                   .dtype = {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f32"}};
    assert_true(lab_gpu_of_arch("sm_86", &request.machine));
    return request;
}

static lab_preset_model *model_of(const char *parameters)
{
    lab_explain_request request = request_of(parameters);
    char why[4096];
    lab_preset_model *model = lab_preset_model_create(&request, why, sizeof why);
    if (!model)
        fail_msg("%s", why);
    return model;
}

static lab_prediction predict(lab_preset_model *model, int64_t m, int64_t n, int64_t k, int64_t batch, int64_t splits)
{
    lab_model_problem problem = {m, n, k, batch, splits};
    lab_prediction prediction;
    char why[4096];
    if (!lab_preset_model_predict(model, &problem, &prediction, NULL, why, sizeof why))
        fail_msg("%s", why);
    return prediction;
}

static void is_equal_to_explain(void **state)
{
    /* Whole tiles, edges, odd strides, what is cached from the first one, a short k. */
    static const int64_t sizes[][3] = {
        {1024, 1024, 2048}, {1000, 1000, 2052}, {1001, 999, 2047}, {4096, 4096, 4096}, {512, 512, 40}};
    lab_preset_model *model = model_of("small");
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *size = sizes[i];
        lab_explain_request request = request_of("small");
        static lab_explanation explanation;
        char why[4096];
        request.m = size[0], request.n = size[1], request.k = size[2];
        assert_true(lab_explain(&request, &explanation, why, sizeof why));
        lab_prediction prediction = predict(model, size[0], size[1], size[2], 1, 1);
        double ratio = prediction.seconds / explanation.prediction.seconds;
        if (!(fabs(ratio - 1) < 1e-3))
            fail_msg("%lld x %lld x %lld: %g s instead of %g s", (long long)size[0], (long long)size[1],
                     (long long)size[2], prediction.seconds, explanation.prediction.seconds);
        lab_explanation_free(&explanation);
    }
    lab_preset_model_free(model);
}

static void predicts_batches_and_slices(void **state)
{
    lab_preset_model *model = model_of("small");
    (void)state;
    double one = predict(model, 512, 512, 4096, 1, 1).seconds - LAB_LAUNCH_SECONDS;
    double batch = predict(model, 512, 512, 4096, 40, 1).seconds - LAB_LAUNCH_SECONDS;
    assert_true(batch > 8 * one && batch < 40 * one); /* 64 blocks alone do not fill 40 multiprocessors */
    double split = predict(model, 64, 64, 65536, 1, 16).seconds - LAB_LAUNCH_SECONDS;
    double whole = predict(model, 64, 64, 65536, 1, 1).seconds - LAB_LAUNCH_SECONDS;
    assert_true(split < whole / 8);
    assert_int_equal(lab_slice_length(1000, 3, 16), 336);
    assert_int_equal(lab_slice_length(1000, 1, 16), 1000);
    lab_preset_model_free(model);
}

static void adds_slices_from_l2_or_dram(void **state)
{
    lab_gpu gpu;
    lab_type_pair f32 = {.in = RUNG_F32, .out = RUNG_F32};
    lab_model_problem small = {256, 256, 1, 1, 4}, large = {4096, 4096, 1, 1, 4};
    (void)state;
    assert_true(lab_gpu_of_arch("sm_86", &gpu));
    double bytes = 4.0 * 4096 * 4096 * 5; /* four slices are read, C is written */
    double seconds = lab_reduction_seconds(&gpu, f32, &large) - LAB_LAUNCH_SECONDS;
    assert_true(fabs(seconds / (bytes / (gpu.dram_gbs * 1e9)) - 1) < 1e-9);
    seconds = lab_reduction_seconds(&gpu, f32, &small) - LAB_LAUNCH_SECONDS;
    assert_true(seconds < 4.0 * 256 * 256 * 5 / (gpu.dram_gbs * 1e9));
}

static void rejects_a_type_of_other_kernels(void **state)
{
    lab_explain_request request = request_of("small");
    char why[4096];
    (void)state;
    request.kernel = "12_matrix";
    assert_null(lab_preset_model_create(&request, why, sizeof why));
    assert_non_null(strstr(why, "does not support f32"));
}

/* Returns whether the tools are installed. */
static bool has_tools(void)
{
    lab_explain_request request = request_of("small");
    static lab_explanation explanation;
    char why[4096];
    request.m = request.n = request.k = 128;
    bool good = lab_explain(&request, &explanation, why, sizeof why) && explanation.missing_tools == 0;
    lab_explanation_free(&explanation);
    return good;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_equal_to_explain),
        cmocka_unit_test(predicts_batches_and_slices),
        cmocka_unit_test(adds_slices_from_l2_or_dram),
        cmocka_unit_test(rejects_a_type_of_other_kernels),
    };
    unit_clean_environment();
    if (!has_tools())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
