/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_space.c - candidates: all of them valid, the same ones every time, presets among them, and
 * nothing that is there for checking varied. */
#include "support/unit.h"

#include <stdio.h>

#include "tune/final_comparison.h"
#include "tune/parameter_space.h"

static lab_parameter_space space_of(const char *name)
{
    lab_parameter_space space;
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_find(NULL, "opencl", name, &kernel), RUNG_OK);
    assert_true(lab_parameter_space_of(kernel, RUNG_F32, &space));
    return space;
}

static bool has_point(const lab_parameter_points *found, const lab_parameter_point *point)
{
    for (int64_t i = 0; i < found->count; i++)
        if (memcmp(&found->points[i], point, sizeof *point) == 0)
            return true;
    return false;
}

/* The plan's own door takes every one of them. */
static void check_valid(const lab_parameter_space *space, const lab_parameter_points *found)
{
    for (int64_t i = 0; i < found->count; i++) {
        char text[LAB_PARAMETERS_BYTES];
        assert_true(lab_parameter_point_format(space, &found->points[i], text));
        assert_int_equal(rung_kernel_check(space->kernel, text), RUNG_OK);
    }
}

static bool is_among(const lab_dimension *dimension, int64_t value)
{
    for (int i = 0; i < dimension->count; i++)
        if (dimension->values[i] == value)
            return true;
    return false;
}

static void test_every_kernel(void **state)
{
    rung_kernel *kernel;
    (void)state;
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++) {
        lab_parameter_space space;
        lab_parameter_points found, again;
        assert_true(lab_parameter_space_of(kernel, RUNG_F32, &space));
        assert_true(lab_parameter_space_points(&space, 7, &found));
        assert_true(lab_parameter_space_points(&space, 7, &again));
        assert_in_range(found.count, 1, LAB_PARAMETER_POINTS_MAX);
        check_valid(&space, &found);
        for (int64_t j = 0; j < found.count; j++)
            for (int d = 0; d < space.dimension_count; d++)
                assert_true(is_among(&space.dimensions[d], found.points[j].values[d]));
        assert_int_equal(found.count, again.count);
        assert_memory_equal(found.points, again.points, (size_t)found.count * sizeof *found.points);
        free(found.points);
        free(again.points);
    }
}

/* Counted by hand: of 2 x 2 x 3 x 2 x 3 values of the list, with what presets add. */
static void test_whole_product(void **state)
{
    lab_parameter_space space = space_of("07");
    lab_parameter_points found;
    const rung_kernel_info *info = rung_kernel_describe(space.kernel);
    (void)state;
    double combinations = 1;
    for (int i = 0; i < space.dimension_count; i++)
        combinations *= space.dimensions[i].count;
    assert_true(lab_parameter_space_points(&space, 1, &found));
    assert_int_equal(found.count + found.invalid_count, (int64_t)combinations);
    assert_true(found.invalid_count > 0);
    for (int64_t i = 0; i < info->preset_count; i++) {
        lab_parameter_point point;
        assert_true(lab_parameter_point_parse(&space, rung_kernel_preset(space.kernel, i)->name, &point));
        assert_true(has_point(&found, &point));
    }
    free(found.points);
}

static void test_random_sample(void **state)
{
    lab_parameter_space space = space_of("10");
    lab_parameter_points one, other;
    (void)state;
    assert_true(space.combinations > LAB_PARAMETER_POINTS_MAX);
    assert_true(lab_parameter_space_points(&space, 1, &one));
    assert_true(lab_parameter_space_points(&space, 2, &other));
    assert_true(one.count > 10);
    assert_true(one.count != other.count ||
                memcmp(one.points, other.points, (size_t)one.count * sizeof *one.points) != 0);
    for (int d = 0; d < space.dimension_count; d++)
        if (strcmp(space.dimensions[d].name, "CHECKED") == 0)
            for (int64_t i = 0; i < one.count; i++)
                assert_int_equal(one.points[i].values[d], 0);
    free(one.points);
    free(other.points);
}

static int differences(const lab_parameter_space *space, const lab_parameter_point *x, const lab_parameter_point *y)
{
    int count = 0;
    for (int d = 0; d < space->dimension_count; d++)
        count += x->values[d] != y->values[d];
    return count;
}

/* In 10_pipeline constraints tie parameters in pairs: single steps alone do not get far. */
static void test_neighbours(void **state)
{
    static const char *const names[] = {"04", "07", "10"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        lab_parameter_space space = space_of(names[i]);
        lab_parameter_point start;
        lab_parameter_points single, both;
        assert_true(lab_parameter_point_parse(&space, NULL, &start));
        assert_true(lab_parameter_space_neighbours(&space, &start, false, &single));
        assert_true(lab_parameter_space_neighbours(&space, &start, true, &both));
        check_valid(&space, &both);
        assert_true(single.count > 0);
        for (int64_t j = 0; j < both.count; j++)
            assert_int_equal(differences(&space, &start, &both.points[j]), j < single.count ? 1 : 2);
        if (i == 2)
            assert_true(both.count > single.count);
        for (int d = 0; d < space.dimension_count; d++)
            if (strcmp(space.dimensions[d].name, "CHECKED") == 0)
                for (int64_t j = 0; j < both.count; j++)
                    assert_int_equal(both.points[j].values[d], start.values[d]);
        free(single.points);
        free(both.points);
    }
}

/* What is twice the largest value already is not doubled again: no record may have it. */
static void test_neighbour_limits(void **state)
{
    lab_parameter_space space = space_of("07");
    lab_parameter_point start;
    lab_parameter_points found;
    (void)state;
    assert_true(lab_parameter_point_parse(&space, "BM=256,BN=8,BK=8,TM=8,TN=8", &start));
    assert_true(lab_parameter_space_neighbours(&space, &start, true, &found));
    for (int64_t i = 0; i < found.count; i++) {
        assert_in_range(found.points[i].values[0], 8, 256);
        assert_in_range(found.points[i].values[1], 8, 256);
    }
    free(found.points);
}

/* 48 KiB of tiles: valid in 4 bytes an element and not in 8. */
static void test_type_counts(void **state)
{
    lab_parameter_space narrow = space_of("07"), wide;
    lab_parameter_point point;
    (void)state;
    assert_true(lab_parameter_space_of(narrow.kernel, RUNG_F64, &wide));
    assert_true(lab_parameter_point_parse(&narrow, "BM=128,BN=128,BK=32,TM=8,TN=16", &point));
    assert_true(lab_parameter_point_is_valid(&narrow, &point));
    assert_false(lab_parameter_point_is_valid(&wide, &point));
}

static double rank(const lab_parameter_space *space, const char *parameters, int64_t size,
                   const rung_device_info *device)
{
    return lab_candidate_score(space->kernel, parameters, lab_type_pair_of(RUNG_F32, RUNG_F32),
                               (lab_shape){size, size, size}, device);
}

static void test_rank(void **state)
{
    lab_parameter_space space = space_of("07"), naive = space_of("01");
    rung_device_info gpu = {.backend = "cuda", .title = "", .platform = "", .compute_units = 64};
    rung_device_info processor = {.backend = "opencl", .title = "", .platform = "Portable Computing Language"};
    (void)state;
    assert_true(rank(&space, NULL, 4096, &gpu) > rank(&naive, NULL, 4096, &gpu));
    assert_true(rank(&space, "tiny", 4096, &gpu) < rank(&space, NULL, 4096, &gpu));
    assert_true(rank(&space, "small", 70, &gpu) > rank(&space, NULL, 70, &gpu)); /* edges */
    assert_true(rank(&space, "cpu", 512, &processor) > rank(&space, "tiny", 512, &processor));
    assert_true(rank(&space, NULL, 4096, &gpu) <= 1 && rank(&space, NULL, 4096, &gpu) > 0);
    assert_true(rank(&space, NULL, 4096, &gpu) == rank(&space, NULL, 4096, &gpu));
}

static void test_random_candidates(void **state)
{
    (void)state;
    assert_true(lab_sign_test_p(11, 11) > 0.000488 && lab_sign_test_p(11, 11) < 0.000489);
    assert_true(lab_sign_test_p(10, 11) > 0.00585 && lab_sign_test_p(10, 11) < 0.00587);
    assert_true(lab_sign_test_p(6, 11) > 0.4999 && lab_sign_test_p(6, 11) < 0.5001);
    assert_true(lab_sign_test_p(0, 11) > 0.9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel),
        cmocka_unit_test(test_whole_product),
        cmocka_unit_test(test_random_sample),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_neighbour_limits),
        cmocka_unit_test(test_type_counts),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_random_candidates),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
