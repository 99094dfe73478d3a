/* SPDX-License-Identifier: Apache-2.0 */
/* ranked_presets.c - the order in which a plan tries tuning records, presets that its device ranks, and the ladder. The
 * device is made up: it ranks what a test tells it to, and supports what a test tells it to. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "core/choose/choose_kernel.h"
#include "core/choose/tuning_store.h"
#include "core/plan.h"
#include "cuda/cuda_device.h"

static rung_context *context;

/* ---- The device ---- */

static rungi_ranked_preset ranking[RUNGI_RANKED_PRESETS_MAX];
static int ranked_count;
static const char *unsupported; /* parameters with which no plan can be created; NULL: none */
static int attempts;

static int rank_presets(const rung_plan *plan, rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX])
{
    (void)plan;
    memcpy(ranked, ranking, sizeof ranking);
    return ranked_count;
}

static rung_status plan_create(rung_plan *plan)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rungi_kernel_format_parameters(plan->kernel, &plan->values, parameters, sizeof parameters);
    attempts++;
    if (unsupported && strstr(parameters, unsupported))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "made up");
    plan->info.split_k = plan->split_k_ranked;
    return RUNG_OK;
}

static void plan_destroy(rung_plan *plan)
{
    (void)plan;
}

static const rungi_device_ops ops = {
    .rank_presets = rank_presets, .plan_create = plan_create, .plan_destroy = plan_destroy};

static rung_device device;

static void set_up_device(void)
{
    memset(&device, 0, sizeof device);
    rungi_device_init(&device, context, &rungi_cuda_backend, &ops);
    device.architecture = "sm_86";
    device.info.name = "made up";
    device.info.compute_units = 40;
    ranked_count = attempts = 0;
    unsupported = NULL;
}

static void rank(const char *kernel, const char *preset, int64_t splits)
{
    ranking[ranked_count++] = (rungi_ranked_preset){kernel, preset, splits};
}

static rung_problem square(rung_type in, int64_t size)
{
    return rung_problem_of(rung_matrix_of(in, size, size, NULL), rung_matrix_of(in, size, size, NULL),
                           rung_matrix_of(RUNG_F32, size, size, NULL));
}

/* Chooses a kernel for a problem. */
static void choose(rung_plan *plan, const rung_problem *problem, const rung_plan_options *options)
{
    *plan = (rung_plan){.device = &device};
    rungi_plan_set_problem(plan, problem);
    if (rungi_choose_kernel(plan, options, NULL) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

static void assert_chosen(const rung_plan *plan, const char *kernel, const char *parameter, const char *origin)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rungi_kernel_format_parameters(plan->kernel, &plan->values, parameters, sizeof parameters);
    assert_string_equal(plan->kernel->info.name, kernel);
    assert_non_null(strstr(parameters, parameter));
    assert_string_equal(plan->origin_text, origin);
}

static int open_context(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    (void)state;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return -1;
    set_up_device();
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    rung_context_destroy(context);
    return 0;
}

/* ---- Tests ---- */

static void takes_the_first_ranked_preset(void **state)
{
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan plan;
    (void)state;
    rank("10_pipeline", "wide", 3);
    rank("10_pipeline", "", 1);
    choose(&plan, &problem, NULL);
    assert_chosen(&plan, "10_pipeline", "BM=128,BN=256,BK=8", "preset wide, predicted");
    assert_int_equal(plan.info.origin, RUNG_ORIGIN_PRESET);
    assert_int_equal(plan.info.split_k, 3);
    assert_int_equal(attempts, 1);
}

static void takes_the_next_one_if_the_first_is_not_supported(void **state)
{
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan plan;
    (void)state;
    rank("10_pipeline", "wide", 3);
    rank("12_matrix", "tall", 1); /* computes in TF32, which is less precise */
    rank("10_pipeline", "", 1);
    unsupported = "BN=256";
    choose(&plan, &problem, NULL);
    assert_chosen(&plan, "10_pipeline", "BM=128,BN=128,BK=16", "defaults, predicted");
    assert_int_equal(plan.info.origin, RUNG_ORIGIN_DEFAULTS);
    assert_int_equal(plan.info.split_k, 1);
    assert_string_equal(rung_error_text(), "");
}

static void falls_back_to_the_ladder(void **state)
{
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan plan;
    (void)state;
    rank("10_pipeline", "wide", 3);
    unsupported = "BN=256";
    choose(&plan, &problem, NULL);
    assert_chosen(&plan, "10_pipeline", "BM=128,BN=128,BK=16", "defaults");
    assert_int_equal(plan.split_k_ranked, 0);
    ranked_count = 0;
    choose(&plan, &problem, NULL);
    assert_chosen(&plan, "10_pipeline", "BM=128,BN=128,BK=16", "defaults");
}

static void a_named_kernel_is_not_ranked(void **state)
{
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan_options options = rung_plan_options_default();
    rung_kernel *kernel;
    rung_plan plan;
    (void)state;
    rank("10_pipeline", "wide", 3);
    assert_int_equal(rung_kernel_find(context, "cuda", "10", &kernel), RUNG_OK);
    options.kernel = kernel;
    choose(&plan, &problem, &options);
    assert_chosen(&plan, "10_pipeline", "BM=128,BN=128,BK=16", "defaults");
    assert_int_equal(plan.split_k_ranked, 0);
}

/* Writes a tuning file with one record for the problem. */
static void write_record(const char *path, const rung_problem *problem)
{
    rungi_tuning_key key;
    char line[RUNGI_TUNING_LINE_BYTES];
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    rungi_tuning_key_of(&device, problem, &key);
    rungi_tuning_record_format(&key, "10_pipeline", "BM=64,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,STAGES=3,CHECKED=0", 1000,
                               line);
    fprintf(file, "%s\n%s", RUNGI_TUNING_FILE_HEADER, line);
    assert_int_equal(fclose(file), 0);
}

static void a_tuning_record_comes_first(void **state)
{
    char path[] = "/tmp/rung-ranked-XXXXXX";
    int file = mkstemp(path);
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan plan;
    (void)state;
    assert_true(file >= 0 && close(file) == 0);
    rank("10_pipeline", "wide", 3);
    write_record(path, &problem);
    setenv("RUNG_TUNING", path, 1);
    choose(&plan, &problem, NULL);
    setenv("RUNG_TUNING", "off", 1);
    unlink(path);
    assert_int_equal(plan.info.origin, RUNG_ORIGIN_TUNING);
    assert_int_equal(plan.split_k_ranked, 0);
    assert_non_null(strstr(plan.origin_text, path));
}

/* ---- Candidates ---- */

typedef struct seen {
    char first[64];
    int count, pipelines;
} seen_t;

static rung_status see(void *user, const rung_plan *plan, const rungi_attempt *attempt)
{
    seen_t *seen = user;
    if (seen->count++ == 0)
        snprintf(seen->first, sizeof seen->first, "%s", plan->origin_text);
    seen->pipelines += strcmp(attempt->kernel, "10_pipeline") == 0;
    return RUNG_OK;
}

static void a_ranked_preset_is_the_first_candidate(void **state)
{
    rung_problem problem = square(RUNG_F32, 4096);
    rung_plan plan = {.device = &device};
    seen_t seen = {.count = 0};
    (void)state;
    rank("10_pipeline", "wide", 3);
    rank("10_pipeline", "", 1);
    rungi_plan_set_problem(&plan, &problem);
    assert_int_equal(rungi_choose_kernel(&plan, NULL, &(rungi_attempt_visitor){see, &seen}), RUNG_OK);
    assert_string_equal(seen.first, "preset wide, predicted");
    assert_int_equal(seen.pipelines, 1); /* each kernel once */
    assert_true(seen.count >= 12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(takes_the_first_ranked_preset), TEST(takes_the_next_one_if_the_first_is_not_supported),
        TEST(falls_back_to_the_ladder),      TEST(a_named_kernel_is_not_ranked),
        TEST(a_tuning_record_comes_first),   TEST(a_ranked_preset_is_the_first_candidate),
    };
#undef TEST
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
