/* SPDX-License-Identifier: Apache-2.0 */
/* split_slices.c - how k is split into slices, and the size of their workspace, without a device. tests/opencl/split_k.c runs
 * plans with slices. */
#include "support/cpu_context.h"

#include "core/enum_counts.h"
#include "core/plan_types.h"
#include "simt/simt.h"

/* The parts of a plan that the choice of slices reads. */
typedef struct split_sketch {
    rung_device device;
    rung_plan plan;
    rung_problem problem;
} split_sketch_t;

static void sketch_problem(split_sketch_t *sketch, const char *kernel, int64_t m, int64_t n, int64_t k)
{
    rung_kernel *found;
    assert_int_equal(rung_kernel_find(context, "opencl", kernel, &found), RUNG_OK);
    memset(sketch, 0, sizeof *sketch);
    sketch->device.info.compute_units = 64;
    sketch->plan.device = &sketch->device;
    sketch->plan.kernel = found;
    sketch->problem = rung_problem_of(rung_matrix_of(RUNG_F32, m, k, NULL), rung_matrix_of(RUNG_F32, k, n, NULL),
                                      rung_matrix_of(RUNG_F32, m, n, NULL));
}

static rungi_simt_split split_of(const split_sketch_t *sketch, int64_t blocks, int64_t bk)
{
    rungi_simt_split split;
    assert_int_equal(rungi_simt_split_choose(&sketch->plan, &sketch->problem, blocks, bk, true, &split), RUNG_OK);
    return split;
}

/* As the kernels compute them: slice z begins at z * k_per_slice, and ends at the next slice or at k. */
static void check_slices(const rungi_simt_split *split, int64_t k, int64_t bk)
{
    int64_t covered = 0;
    assert_in_range(split->splits, 1, RUNGI_SIMT_GRID_YZ_MAX);
    for (int64_t slice = 0; slice < split->splits; slice++) {
        int64_t start = slice * split->k_per_slice, rest = k - start;
        assert_true(rest > 0);
        assert_int_equal(start, covered);
        covered += rest < split->k_per_slice ? rest : split->k_per_slice;
    }
    assert_int_equal(covered, k);
    if (split->splits > 1)
        assert_int_equal(split->k_per_slice % bk, 0);
}

static void slices_cover_k_once(void **state)
{
    static const int64_t steps[] = {1, 4, 8, 32}, asked[] = {1, 2, 3, 4, 7, 16, 100, INT64_MAX};
    split_sketch_t sketch;
    (void)state;
    sketch_problem(&sketch, "07", 5, 6, 0);
    for (int64_t k = 1; k < 300; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 8; j++) {
                sketch.problem.a.cols = sketch.problem.b.rows = k;
                sketch.plan.split_k_requested = asked[j];
                rungi_simt_split split = split_of(&sketch, 1, steps[i]);
                check_slices(&split, k, steps[i]);
                assert_true(split.splits <= asked[j]);
                assert_int_equal(split.workspace_bytes, split.splits > 1 ? 4 * 5 * 6 * split.splits : 0);
                if (asked[j] <= k && k % asked[j] == 0 && k / asked[j] % steps[i] == 0)
                    assert_int_equal(split.splits, asked[j]);
            }
    sketch.problem.a.cols = sketch.problem.b.rows = 1 << 20; /* more slices than a grid has blocks in z */
    sketch.plan.split_k_requested = INT64_MAX;
    rungi_simt_split split = split_of(&sketch, 1, 1);
    check_slices(&split, 1 << 20, 1);
    assert_true(split.splits > 60000);
}

static void automatic_split_k_has_limits(void **state)
{
    split_sketch_t sketch;
    int count = 0;
    (void)state;
    sketch_problem(&sketch, "07", 100, 90, 0);
    for (int64_t k = 1; k < 100000; k = k * 3 / 2 + 1)
        for (int64_t blocks = 1; blocks <= 128; blocks *= 2)
            for (int64_t offered = 0; offered <= 1 << 20; offered = 4 * offered + 36000) {
                sketch.problem.a.cols = sketch.problem.b.rows = k;
                sketch.plan.workspace_bytes_allowed = offered;
                rungi_simt_split split = split_of(&sketch, blocks, 8);
                check_slices(&split, k, 8);
                assert_true(split.workspace_bytes <= offered);
                if (split.splits == 1)
                    continue;
                count++;
                assert_true(split.splits * blocks <= 64); /* units */
                assert_int_equal(split.workspace_bytes, 4 * 100 * 90 * split.splits);
            }
    assert_true(count > 100);
}

/* A kernel without split-K, a C of several launches, a single step of k, and 1 slice as requested. */
static void problems_without_split_k(void **state)
{
    split_sketch_t sketch;
    rungi_simt_split split;
    (void)state;
    sketch_problem(&sketch, "07", 5, 6, 4096);
    sketch.plan.split_k_requested = 4;
    assert_int_equal(split_of(&sketch, 1, 8).splits, 4);
    assert_int_equal(split_of(&sketch, 1, 4096).splits, 1);
    assert_int_equal(rungi_simt_split_choose(&sketch.plan, &sketch.problem, 1, 8, false, &split), RUNG_OK);
    assert_int_equal(split.splits, 1);
    assert_int_equal(split.workspace_bytes, 0);
    sketch.plan.split_k_requested = 1;
    sketch.plan.workspace_bytes_allowed = INT64_MAX;
    assert_int_equal(split_of(&sketch, 1, 8).splits, 1);
    sketch_problem(&sketch, "01", 5, 6, 4096);
    sketch.plan.workspace_bytes_allowed = INT64_MAX;
    assert_int_equal(split_of(&sketch, 1, 8).splits, 1);
}

static void workspace_size(void **state)
{
    static const int64_t offsets[7] = {0};
    static const struct {
        rung_type in, out;
        int64_t bytes;
    } sums[] = {{RUNG_F16, RUNG_F16, 4},
                {RUNG_BF16, RUNG_F32, 4},
                {RUNG_F64, RUNG_F64, 8},
                {RUNG_F64, RUNG_F32, 8},
                {RUNG_I8, RUNG_I32, 4}};
    split_sketch_t sketch;
    (void)state;
    sketch_problem(&sketch, "07", 3, 5, 64);
    sketch.problem.batch = 7;
    sketch.plan.split_k_requested = 4;
    for (int i = 0; i < 5; i++) {
        sketch.problem.a.type = sketch.problem.b.type = sums[i].in;
        sketch.problem.c.type = sums[i].out;
        sketch.problem.a.batch_offsets = NULL;
        rungi_simt_split split = split_of(&sketch, 1, 8);
        assert_int_equal(split.partials_offset, 0);
        assert_int_equal(split.workspace_bytes, sums[i].bytes * 3 * 5 * 7 * 4);
        sketch.problem.a.batch_offsets = offsets;
        split = split_of(&sketch, 1, 8);
        assert_true(split.partials_offset >= 3 * 7 * 8 && split.partials_offset % 16 == 0);
        assert_int_equal(split.workspace_bytes, split.partials_offset + sums[i].bytes * 3 * 5 * 7 * 4);
    }
    sketch.plan.split_k_requested = 0; /* offsets need a workspace without split-K, too */
    sketch.problem.a.batch_offsets = NULL;
    sketch.problem.c.batch_offsets = offsets;
    rungi_simt_split split = split_of(&sketch, 1, 8);
    assert_int_equal(split.splits, 1);
    assert_true(split.workspace_bytes >= 3 * 7 * 8);
}

static void workspaces_past_the_address_space(void **state)
{
    static const int64_t offset = 1;
    split_sketch_t sketch;
    rungi_simt_split split;
    (void)state;
    sketch_problem(&sketch, "07", INT64_C(1) << 31, INT64_C(1) << 31, 4096);
    sketch.plan.split_k_requested = 4;
    assert_int_equal(rungi_simt_split_choose(&sketch.plan, &sketch.problem, 1, 8, true, &split), RUNG_STATUS_TOO_LARGE);
    sketch.plan.split_k_requested = 0;
    sketch.plan.workspace_bytes_allowed = INT64_MAX;
    assert_int_equal(split_of(&sketch, 1, 8).splits, 1);
    sketch_problem(&sketch, "07", 1, 1, 4096);
    sketch.problem.batch = INT64_MAX / 8;
    sketch.plan.split_k_requested = 4;
    assert_int_equal(rungi_simt_split_choose(&sketch.plan, &sketch.problem, 1, 8, true, &split), RUNG_STATUS_TOO_LARGE);
    sketch.plan.split_k_requested = 0;
    sketch.problem.c.batch_offsets = &offset;
    assert_int_equal(rungi_simt_split_choose(&sketch.plan, &sketch.problem, 1, 8, true, &split), RUNG_STATUS_TOO_LARGE);
    sketch.problem.batch = INT64_MAX / 24; /* the offsets fit, but not rounded up to 16 bytes */
    assert_int_equal(rungi_simt_split_choose(&sketch.plan, &sketch.problem, 1, 8, true, &split), RUNG_STATUS_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_cover_k_once),
        cmocka_unit_test(automatic_split_k_has_limits),
        cmocka_unit_test(problems_without_split_k),
        cmocka_unit_test(workspace_size),
        cmocka_unit_test(workspaces_past_the_address_space),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, open_context, close_context);
}
