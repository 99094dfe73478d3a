/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_speed.c - the predicted time of a multiplication, its waves and split-K, and the ranking of presets: by the
 * arithmetic on a row made up here, and by properties that hold whatever the table says. */
#include "support/cpu_context.h"

#include <math.h>

#include "core/plan.h"
#include "cuda/cuda_device.h"
#include "simt/kernel_speed.h"
#include "simt/simt.h"

static const rungi_speed_gpu gpu = {
    .architecture = 86, .sm_count = 40, .clock_hertz = 1e9, .dram_bytes_per_second = 4e11, .l2_bytes = 4 << 20};

/* Two blocks fit a multiprocessor. One alone needs 10 clocks per k and 500, two need 6 per block and 400. */
static const rungi_speed_clocks made_up_clocks[] = {{{1140, 5620, 10740, 20980, 41460}, {0}},
                                                    {{784, 3472, 6544, 12688, 24976}, {0}}};
static const rungi_speed_row made_up = {.architecture = 86,
                                        .kernel = "10_pipeline",
                                        .preset = "",
                                        .bm = 100,
                                        .bn = 100,
                                        .bk = 10,
                                        .group = 1,
                                        .resident = 2};

static rungi_speed_problem problem_of(double m, double n, double k)
{
    return (rungi_speed_problem){
        .m = m, .n = n, .k = k, .batch = 1, .in_bytes = 4, .out_bytes = 4, .sum_bytes = 4, .workspace_bytes = 64 << 20};
}

/* Clocks without the launch, on a GPU whose DRAM does not limit. */
static double clocks_of(double m, double n, int64_t splits)
{
    rungi_speed_gpu fast = gpu;
    rungi_speed_problem problem = problem_of(m, n, 1000);
    fast.dram_bytes_per_second = 0;
    return (rungi_speed_predict(&made_up, made_up_clocks, &fast, &problem, splits).seconds -
            RUNGI_SPEED_LAUNCH_SECONDS) *
           1e9;
}

static void counts_waves(void **state)
{
    rungi_speed_problem problem = problem_of(1000, 800, 1000);
    (void)state;
    assert_true(fabs(rungi_speed_predict(&made_up, made_up_clocks, &gpu, &problem, 1).waves - 1) <
                1e-9); /* 80 blocks */
    problem.m = 100;
    assert_true(fabs(rungi_speed_predict(&made_up, made_up_clocks, &gpu, &problem, 1).waves - 0.2) <
                1e-9);                                              /* 8 of 40, one each */
    assert_true(fabs(clocks_of(100, 100, 1) - 10500) < 1);          /* one block alone */
    assert_true(fabs(clocks_of(1000, 400, 1) - 10500) < 1);         /* one on every multiprocessor */
    assert_true(fabs(clocks_of(1000, 800, 1) - 2 * 6400) < 1);      /* two on every one: a full wave */
    assert_true(fabs(clocks_of(1000, 801, 1) - 12800 - 10500) < 1); /* the last wave has one block per multiprocessor */
    assert_true(fabs(clocks_of(1000, 1300, 1) - 12800 - 12800) < 1); /* 50 more blocks: two on the fullest one */
}

/* The clocks need not be a straight line: between two lengths they are interpolated, beyond them extrapolated. */
static void interpolates_between_lengths(void **state)
{
    static const rungi_speed_clocks clocks[] = {{{1000, 1000, 3000, 4000, 6000}, {0}}};
    static const double points[][2] = {{1, 1000},    {64, 1000},   {300, 1000},  {512, 1000},  {768, 2000},
                                       {1024, 3000}, {1536, 3500}, {3072, 5000}, {4096, 6000}, {8192, 10000}};
    rungi_speed_gpu fast = gpu;
    (void)state;
    fast.dram_bytes_per_second = 0;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        rungi_speed_problem problem = problem_of(100, 100, points[i][0]);
        double seconds = rungi_speed_predict(&made_up, clocks, &fast, &problem, 1).seconds - RUNGI_SPEED_LAUNCH_SECONDS;
        assert_true(fabs(seconds * 1e9 - points[i][1]) < 1);
    }
}

static void limits_by_dram(void **state)
{
    rungi_speed_gpu slow = gpu;
    rungi_speed_problem problem = problem_of(1000, 1000, 100);
    (void)state;
    slow.dram_bytes_per_second = 1e6;
    double bytes = 4 * (1000 * 100 + 1000 * 100 + 1000 * 1000);
    assert_true(fabs(rungi_speed_predict(&made_up, made_up_clocks, &slow, &problem, 1).seconds - bytes / 1e6) < 0.001);
    slow.dram_bytes_per_second = 0; /* unknown */
    assert_true(rungi_speed_predict(&made_up, made_up_clocks, &slow, &problem, 1).seconds < 0.001);
}

/* Blocks in one row of tiles share A only. Blocks in a square share both operands, and less comes from DRAM. */
static void adds_clocks_for_what_l2_does_not_have(void **state)
{
    /* One block alone: 10 clocks per k and 500, and 8 per k if L2 has no operand. */
    static const rungi_speed_clocks clocks[] = {{{1140, 5620, 10740, 20980, 41460}, {512, 4096, 8192, 16384, 32768}}};
    rungi_speed_problem square = problem_of(1000, 400, 1000), one_row = problem_of(100, 4000, 1000);
    rungi_speed_gpu fast = gpu;
    (void)state;
    fast.dram_bytes_per_second = 0; /* DRAM does not limit */
    assert_true(fabs(rungi_speed_missed(&made_up, &gpu, &square, 1000) - 1400.0 / 8000) < 1e-9);
    assert_true(fabs(rungi_speed_missed(&made_up, &gpu, &one_row, 1000) - 4100.0 / 8000) < 1e-9);
    double seconds = rungi_speed_predict(&made_up, clocks, &fast, &one_row, 1).seconds - RUNGI_SPEED_LAUNCH_SECONDS;
    assert_true(fabs(seconds * 1e9 - (10 + 8 * 4100.0 / 8000) * 1000 - 500) < 1);
}

/* A group of rows of tiles loads each column of B once, in however many waves. */
static void loads_b_once_for_one_group(void **state)
{
    rungi_speed_gpu slow = gpu;
    rungi_speed_problem problem = problem_of(100, 8100, 1000); /* 81 tiles: a wave of 80 and one of 1 */
    (void)state;
    slow.dram_bytes_per_second = 1e6;
    double bytes = 4 * (100e3 + 8100e3 + 100 * 8100);
    assert_true(fabs(rungi_speed_predict(&made_up, made_up_clocks, &slow, &problem, 1).seconds - bytes / 1e6) < 0.001);
}

static void splits_into_whole_steps(void **state)
{
    rungi_speed_problem problem = problem_of(100, 100, 1000);
    (void)state;
    assert_int_equal(rungi_speed_predict(&made_up, made_up_clocks, &gpu, &problem, 10).splits, 10);
    assert_int_equal(rungi_speed_predict(&made_up, made_up_clocks, &gpu, &problem, 60).splits,
                     50); /* steps of 10: slices of 20 */
    /* Ten blocks with k = 100, and a launch that adds the slices. */
    double reduced = clocks_of(100, 100, 10) - (10 * 100 + 500);
    assert_true(reduced > 3000 && reduced < 3400);
}

/* ---- The table ---- */

static const rungi_speed_kernel kernels[] = {{"12_matrix", true, true, RUNGI_SPEED_F32, false},
                                             {"10_pipeline", true, true, RUNGI_SPEED_F32, false}};

static int rank(const rungi_speed_gpu *on, rungi_speed_problem problem, rungi_speed_type type,
                rungi_speed_choice *choices, int capacity)
{
    problem.type = type;
    return rungi_speed_rank(on, &problem, kernels, 2, choices, capacity);
}

static void assert_sensible_clocks(const rungi_speed_clocks *clocks)
{
    for (int i = 0; i < RUNGI_SPEED_LENGTHS; i++)
        assert_true(clocks->hit[i] > 0 && clocks->missed[i] >= 0);
}

static void has_sensible_rows(void **state)
{
    int count = 0; /* of clocks */
    (void)state;
    assert_true(rungi_speed_row_count > 100);
    for (int i = 0; i < rungi_speed_row_count; i++) {
        const rungi_speed_row *row = &rungi_speed_rows[i];
        assert_true(row->bm >= 1 && row->bn >= 16 && row->bk >= 4 && row->group >= 1);
        assert_int_equal(row->first_clocks, count);
        for (int r = 0; r < row->resident && r < RUNGI_SPEED_RESIDENT_MAX; r++)
            assert_sensible_clocks(&rungi_speed_all_clocks[row->first_clocks + r]);
        count += row->resident < 1                          ? 1
                 : row->resident < RUNGI_SPEED_RESIDENT_MAX ? row->resident
                                                            : RUNGI_SPEED_RESIDENT_MAX;
    }
}

static void uses_the_nearest_older_architecture(void **state)
{
    static const int pairs[][2] = {{86, 86}, {87, 86}, {88, 86}, {103, 100}, {121, 120}, {999, 120}, {52, 0}, {0, 0}};
    rungi_speed_choice choice;
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        rungi_speed_gpu other = gpu;
        other.architecture = pairs[i][0];
        assert_int_equal(rungi_speed_architecture(pairs[i][0]), pairs[i][1]);
        assert_int_equal(rank(&other, problem_of(512, 512, 512), RUNGI_SPEED_F32, &choice, 1), pairs[i][1] > 0);
    }
}

static void ranks_the_fastest_first(void **state)
{
    static const double sizes[] = {1, 30, 64, 100, 512, 1000, 4096, 20000};
    enum { SIZES = sizeof sizes / sizeof *sizes, ALL = 32 };
    rungi_speed_choice all[ALL], few[3];
    (void)state;
    for (int i = 0; i < SIZES * SIZES * SIZES; i++) {
        rungi_speed_problem problem = problem_of(sizes[i % SIZES], sizes[i / SIZES % SIZES], sizes[i / SIZES / SIZES]);
        int count = rank(&gpu, problem, RUNGI_SPEED_F32, all, ALL);
        assert_in_range(count, 4, ALL - 1);
        for (int j = 2; j < count; j++)
            assert_true(all[j - 1].seconds <= all[j].seconds);
        assert_true(all[0].seconds <= 1.03 * all[1].seconds); /* the first may be one that loads less */
        for (int j = 0; j < count; j++)                       /* none is faster with one slice more or less */
            assert_true(all[j].seconds <=
                        rungi_speed_predict(all[j].row, rungi_speed_all_clocks, &gpu, &problem, 1).seconds);
        assert_int_equal(rank(&gpu, problem, RUNGI_SPEED_F32, few, 3), 3);
        for (int j = 0; j < 3; j++)
            assert_true(few[j].row == all[j].row && few[j].splits == all[j].splits);
    }
}

/* Elements that all blocks load per step along k. */
static double load_of(const rungi_speed_choice *choice, const rungi_speed_problem *problem)
{
    const rungi_speed_row *row = choice->row;
    return ceil(problem->m / row->bm) * ceil(problem->n / row->bn) *
           (fmin(row->bm, problem->m) + fmin(row->bn, problem->n));
}

static void prefers_less_traffic_among_equals(void **state)
{
    enum { ALL = 32 };
    rungi_speed_choice all[ALL];
    int moved = 0;
    (void)state;
    for (double size = 64; size <= 8192; size += 64) {
        rungi_speed_problem problem = problem_of(size, size, 2048);
        int count = rank(&gpu, problem, RUNGI_SPEED_F16, all, ALL);
        double fastest = fmin(all[0].seconds, all[1].seconds);
        moved += all[0].seconds > fastest;
        for (int i = 0; i < count; i++)
            if (all[i].seconds <= 1.03 * fastest)
                assert_true(load_of(&all[i], &problem) >= 0.9 * load_of(&all[0], &problem));
    }
    assert_true(moved > 0);
}

static void splits_within_the_workspace(void **state)
{
    rungi_speed_problem problem = problem_of(128, 128, 65536);
    rungi_speed_choice choice;
    (void)state;
    assert_int_equal(rank(&gpu, problem, RUNGI_SPEED_F32, &choice, 1), 1);
    assert_true(choice.splits > 4);
    problem.workspace_bytes = 128 * 128 * 4 * 3 + 100;
    assert_int_equal(rank(&gpu, problem, RUNGI_SPEED_F32, &choice, 1), 1);
    assert_in_range(choice.splits, 2, 3);
    problem.workspace_bytes = 0;
    assert_int_equal(rank(&gpu, problem, RUNGI_SPEED_F32, &choice, 1), 1);
    assert_int_equal(choice.splits, 1);
    problem.splits = 5; /* requested */
    assert_int_equal(rank(&gpu, problem, RUNGI_SPEED_F32, &choice, 1), 1);
    assert_int_equal(choice.splits, 5);
}

/* ---- Plans ---- */

/* Ranks presets for a problem on a GPU that is not there. */
static int rank_problem(const rung_problem *problem, const char *architecture, rungi_ranked_preset *ranked)
{
    rung_device device = {.backend = &rungi_cuda_backend, .context = context, .architecture = architecture};
    rung_plan plan = {.device = &device, .workspace_bytes_allowed = 64 << 20};
    device.info.compute_units = 40;
    device.info.clock_khz = 1600000;
    device.info.memory_bytes_per_second = (int64_t)448e9;
    device.info.last_level_cache_bytes = 4 << 20;
    rungi_plan_set_problem(&plan, problem);
    return rungi_simt_rank_presets(&plan, ranked);
}

static int rank_plan(rung_type in, rung_compute compute, int64_t size, const char *architecture,
                     rungi_ranked_preset *ranked)
{
    rung_type out = in == RUNG_I8 ? RUNG_I32 : in;
    rung_problem problem = rung_problem_of(rung_matrix_of(in, size, size, NULL), rung_matrix_of(in, size, size, NULL),
                                           rung_matrix_of(out, size, size, NULL));
    problem.compute = compute;
    return rank_problem(&problem, architecture, ranked);
}

static void ranks_kernels_that_support_the_plan(void **state)
{
    static const struct {
        rung_type in;
        rung_compute compute;
        const char *architecture, *kernel; /* kernel NULL: none is ranked */
    } plans[] = {{RUNG_F32, RUNG_COMPUTE_STRICT, "sm_86", "10_pipeline"},
                 {RUNG_F16, RUNG_COMPUTE_STRICT, "sm_86", "12_matrix"},
                 {RUNG_BF16, RUNG_COMPUTE_STRICT, "sm_80", "12_matrix"},
                 {RUNG_BF16, RUNG_COMPUTE_STRICT, "sm_75", "10_pipeline"}, /* its engine has no BF16 */
                 {RUNG_F16, RUNG_COMPUTE_STRICT, "sm_61", "10_pipeline"},
                 {RUNG_F64, RUNG_COMPUTE_STRICT, "sm_80", "12_matrix"},
                 {RUNG_F64, RUNG_COMPUTE_STRICT, "sm_75", "10_pipeline"},
                 {RUNG_I8, RUNG_COMPUTE_STRICT, "sm_89", "12_matrix"},
                 {RUNG_I32, RUNG_COMPUTE_STRICT, "sm_89", NULL},
                 {RUNG_F32, RUNG_COMPUTE_STRICT, "sm_52", NULL},
                 {RUNG_F32, RUNG_COMPUTE_STRICT, NULL, NULL}};
    rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        int count = rank_plan(plans[i].in, plans[i].compute, 1024, plans[i].architecture, ranked);
        assert_int_equal(count > 0, plans[i].kernel != NULL);
        for (int j = 0; j < count; j++) {
            rung_kernel *kernel;
            assert_string_equal(ranked[j].kernel, plans[i].kernel);
            assert_int_equal(rung_kernel_find(context, "cuda", ranked[j].kernel, &kernel), RUNG_OK);
            assert_true(*ranked[j].preset == '\0' || rungi_kernel_has_preset(kernel, ranked[j].preset));
        }
    }
    assert_true(rank_plan(RUNG_F32, RUNG_COMPUTE_TF32, 1024, "sm_80", ranked) > 0);
    assert_string_equal(ranked[0].kernel, "12_matrix"); /* its rate is eight times that of FP32 */
}

/* Ranks presets for m x n x k, with B as k x n or transposed, n x k. */
static int rank_shape(rung_type in, int64_t m, int64_t n, int64_t k, bool is_b_transposed, rungi_ranked_preset *ranked)
{
    rung_matrix b = is_b_transposed ? rung_matrix_transpose(rung_matrix_of(in, n, k, NULL))
                                    : rung_matrix_of(in, k, n, NULL);
    rung_problem problem = rung_problem_of(rung_matrix_of(in, m, k, NULL), b,
                                           rung_matrix_of(in == RUNG_I8 ? RUNG_I32 : in, m, n, NULL));
    return rank_problem(&problem, "sm_86", ranked);
}

static bool is_ranked(const char *kernel, const rungi_ranked_preset *ranked, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(ranked[i].kernel, kernel) == 0)
            return true;
    return false;
}

/* A row or a column of C takes the time in which DRAM delivers the other operand, and 14_skinny is as fast as that. */
static void chooses_the_kernel_for_few_rows(void **state)
{
    static const rung_type types[] = {RUNG_F32, RUNG_F64, RUNG_F16, RUNG_BF16, RUNG_I8};
    rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX], other[RUNGI_RANKED_PRESETS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_true(rank_shape(types[i], 1, 4096, 4096, false, ranked) > 0);
        assert_string_equal(ranked[0].kernel, "14_skinny");
        assert_string_equal(ranked[0].preset, "");
        assert_true(rank_shape(types[i], 1, 4096, 4096, true, ranked) > 0);
        assert_string_equal(ranked[0].kernel, "14_skinny");
        /* A column of C is a row of its transpose. */
        assert_true(rank_shape(types[i], 4096, 1, 4096, false, other) > 0);
        assert_string_equal(other[0].kernel, "14_skinny");
        assert_string_equal(other[0].preset, ranked[0].preset);
        assert_int_equal(other[0].splits, ranked[0].splits);
    }
    int count = rank_shape(RUNG_F32, 16, 4096, 4096, false, ranked);
    assert_true(is_ranked("14_skinny", ranked, count));
    count = rank_shape(RUNG_F32, 4096, 16, 4096, false, ranked);
    assert_true(is_ranked("14_skinny", ranked, count));
    count = rank_shape(RUNG_F32, 17, 4096, 4096, false, ranked);
    assert_true(count > 0 && !is_ranked("14_skinny", ranked, count));
    count = rank_shape(RUNG_F32, 4096, 17, 4096, false, ranked);
    assert_true(count > 0 && !is_ranked("14_skinny", ranked, count));
}

/* The table has no rows of 13_wgmma. It comes first on sm_90, unless its tiles are too few or mostly outside of C. */
static void prefers_the_instructions_of_hopper(void **state)
{
    static const struct {
        rung_type in;
        int64_t m, n;
        const char *architecture;
        bool is_first;
    } cases[] = {{RUNG_F16, 4096, 4096, "sm_90", true},   {RUNG_BF16, 4096, 4096, "sm_90", true},
                 {RUNG_F16, 4096, 4096, "sm_89", false},  {RUNG_F16, 4096, 4096, "sm_100", false},
                 {RUNG_F32, 4096, 4096, "sm_90", false},  {RUNG_F16, 256, 256, "sm_90", false},
                 {RUNG_F16, 16, 1 << 20, "sm_90", false}, {RUNG_F16, 1 << 20, 1, "sm_90", false},
                 {RUNG_F16, 128, 1 << 20, "sm_90", true}};
    rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_problem problem = rung_problem_of(rung_matrix_of(cases[i].in, cases[i].m, 1024, NULL),
                                               rung_matrix_of(cases[i].in, 1024, cases[i].n, NULL),
                                               rung_matrix_of(cases[i].in, cases[i].m, cases[i].n, NULL));
        int count = rank_problem(&problem, cases[i].architecture, ranked);
        assert_true(count > 1);
        assert_int_equal(strcmp(ranked[0].kernel, "13_wgmma") == 0, cases[i].is_first);
        assert_false(is_ranked("13_wgmma", ranked + 1, count - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_waves),
        cmocka_unit_test(interpolates_between_lengths),
        cmocka_unit_test(limits_by_dram),
        cmocka_unit_test(adds_clocks_for_what_l2_does_not_have),
        cmocka_unit_test(loads_b_once_for_one_group),
        cmocka_unit_test(splits_into_whole_steps),
        cmocka_unit_test(has_sensible_rows),
        cmocka_unit_test(uses_the_nearest_older_architecture),
        cmocka_unit_test(ranks_the_fastest_first),
        cmocka_unit_test(prefers_less_traffic_among_equals),
        cmocka_unit_test(splits_within_the_workspace),
        cmocka_unit_test_setup_teardown(ranks_kernels_that_support_the_plan, open_context, close_context),
        cmocka_unit_test_setup_teardown(chooses_the_kernel_for_few_rows, open_context, close_context),
        cmocka_unit_test_setup_teardown(prefers_the_instructions_of_hopper, open_context, close_context),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
