/* SPDX-License-Identifier: Apache-2.0 */
/* sample_statistics.c - what samples come to, all together and by the machine's mode; and that the probe
 * that tells the modes measures something on this machine. */
#include "bench/sample_statistics.h"
#include "common/lab_clock.h"
#include "bench/cpu_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lab_samples *samples;

static int make_samples(void **state)
{
    (void)state;
    samples = calloc(1, sizeof *samples);
    return samples ? 0 : -1;
}

static int free_samples(void **state)
{
    (void)state;
    free(samples);
    return 0;
}

static void medians(void **state)
{
    int64_t odd[] = {9, 1, 5}, even[] = {4, 10, 2, 6};
    (void)state;
    assert_int_equal(lab_median(odd, 3), 5);
    assert_int_equal(lab_median(even, 4), 5);
    assert_int_equal(lab_median(odd, 0), 0);
    lab_sample_summary none = lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0);
    assert_int_equal(none.samples, 0);
    assert_int_equal(none.median_ns, 0);
    /* 100 times of 1 to 100: the ranks 40.2 and 59.8, to the outside, are 41 and 61. */
    for (int64_t i = 0; i < 100; i++)
        lab_samples_add(samples, 100 - i, 0, 0);
    lab_sample_summary all = lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0);
    assert_int_equal(all.samples, 100);
    assert_int_equal(all.median_ns, 50);
    assert_int_equal(all.min_ns, 1);
    assert_int_equal(all.ci95_ns, 10);
    assert_true(lab_samples_probe_median(samples, LAB_SPEED_MODE_ANY, 0) == 0); /* there was none */
    assert_int_equal(lab_samples_summary(samples, LAB_SPEED_MODE_FAST, 100).samples, 0);
}

static void sample_capacity(void **state)
{
    (void)state;
    for (int64_t i = 0; i < LAB_SAMPLES_MAX + 10; i++)
        lab_samples_add(samples, 7, 0, 0);
    assert_int_equal(samples->count, LAB_SAMPLES_MAX);
}

/* Above the outer fence, and no other. */
static void outliers(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 16; i++)
        lab_samples_add(samples, 1000 + 10 * (i % 5), 0, 0);
    assert_int_equal(lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0).outliers, 0);
    lab_samples_add(samples, 1131, 0, 0); /* quartiles 1010 and 1040: the fence is at 1130 */
    lab_samples_add(samples, 5000, 0, 0);
    lab_samples_add(samples, 1130, 0, 0);
    lab_samples_add(samples, 10, 0, 0); /* none is too fast */
    lab_sample_summary spread = lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0);
    assert_int_equal(spread.outliers, 2);
    assert_int_equal(spread.worst_ns, 5000);
    assert_int_equal(spread.samples, 20); /* none was dropped */
}

/* Times that are all alike have no range to speak of. */
static void outliers_of_a_coarse_clock(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 100; i++)
        lab_samples_add(samples, i < 99 ? 1000 : 1001, 0, 0);
    assert_int_equal(lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0).outliers, 0);
    lab_samples_add(samples, 1011, 0, 0);
    assert_int_equal(lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 0).outliers, 1);
}

static void add_in_round(int64_t round, int64_t time)
{
    samples->round = round;
    lab_samples_add(samples, time, 0, 0);
}

/* By the round they were taken in, whoever was left out of some. */
static void series(void **state)
{
    lab_round_medians made;
    (void)state;
    lab_samples_round_medians(samples, LAB_SPEED_MODE_ANY, 0, &made);
    assert_int_equal(made.count, 0);
    assert_int_equal(made.rounds_per_value, 1);
    add_in_round(0, 7);
    add_in_round(1, 9);
    add_in_round(3, 5);
    lab_samples_round_medians(samples, LAB_SPEED_MODE_ANY, 0, &made);
    assert_int_equal(made.rounds_per_value, 1);
    assert_int_equal(made.count, 4);
    assert_int_equal(made.times[0], 7);
    assert_int_equal(made.times[2], 0);
    assert_int_equal(made.times[3], 5);
    add_in_round(401, 6);
    lab_samples_round_medians(samples, LAB_SPEED_MODE_ANY, 0,
                              &made); /* four rounds a number: three would do, and do not divide others */
    assert_int_equal(made.rounds_per_value, 4);
    assert_int_equal(made.count, 101);
    assert_int_equal(made.times[0], 7);
    assert_int_equal(made.times[1], 0);
    assert_int_equal(made.times[100], 6);
}

static void the_longest_series(void **state)
{
    lab_round_medians made;
    (void)state;
    for (int64_t i = 0; i < LAB_SAMPLES_MAX; i++)
        add_in_round(i, 1 + i / 32);
    lab_samples_round_medians(samples, LAB_SPEED_MODE_ANY, 0, &made);
    assert_int_equal(made.rounds_per_value, 32);
    assert_int_equal(made.count, LAB_SAMPLES_MAX / 32);
    for (int64_t i = 0; i < LAB_SAMPLES_MAX / 32; i++)
        assert_int_equal(made.times[i], 1 + i);
}

/* Samples of another mode leave a gap. */
static void series_of_a_mode(void **state)
{
    lab_round_medians made;
    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        samples->round = i;
        lab_samples_add(samples, 100 + i, i == 2 ? 900 : 2000, i == 2 ? 900 : 2000);
    }
    lab_samples_round_medians(samples, LAB_SPEED_MODE_FAST, 2000, &made);
    assert_int_equal(made.count, 6);
    assert_int_equal(made.times[1], 101);
    assert_int_equal(made.times[2], 0);
}

/* Both probes count, and the best ever seen is the measure. */
static void modes(void **state)
{
    (void)state;
    assert_int_equal(lab_speed_mode_of(90, 95, 100), LAB_SPEED_MODE_FAST);
    assert_int_equal(lab_speed_mode_of(80, 80, 100), LAB_SPEED_MODE_FAST);
    assert_int_equal(lab_speed_mode_of(90, 79, 100), LAB_SPEED_MODE_ANY);
    assert_int_equal(lab_speed_mode_of(40, 90, 100), LAB_SPEED_MODE_ANY);
    assert_int_equal(lab_speed_mode_of(90, 40, 100), LAB_SPEED_MODE_ANY);
    assert_int_equal(lab_speed_mode_of(59, 40, 100), LAB_SPEED_MODE_SLOW);
    assert_int_equal(lab_speed_mode_of(60, 40, 100), LAB_SPEED_MODE_ANY);
    assert_int_equal(lab_speed_mode_of(90, 95, 200), LAB_SPEED_MODE_SLOW);
    assert_int_equal(lab_speed_mode_of(0, 0, 100), LAB_SPEED_MODE_ANY); /* nothing was probed */
    assert_int_equal(lab_speed_mode_of(90, 95, 0), LAB_SPEED_MODE_ANY);
    assert_string_equal(lab_speed_mode_name(LAB_SPEED_MODE_ANY), "-");
    assert_string_equal(lab_speed_mode_name(LAB_SPEED_MODE_FAST), "fast");
    assert_string_equal(lab_speed_mode_name(LAB_SPEED_MODE_SLOW), "slow");
}

static void machine_modes_are_separated(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        lab_samples_add(samples, 100 + i, 2000, 2100); /* fast */
        lab_samples_add(samples, 300 + i, 900, 910);   /* slow */
        lab_samples_add(samples, 5, 900, 2000);        /* it changed meanwhile */
    }
    lab_sample_summary fast = lab_samples_summary(samples, LAB_SPEED_MODE_FAST, 2200);
    lab_sample_summary slow = lab_samples_summary(samples, LAB_SPEED_MODE_SLOW, 2200);
    assert_int_equal(fast.samples, 6);
    assert_int_equal(fast.median_ns, 102);
    assert_int_equal(fast.min_ns, 100);
    assert_int_equal(slow.samples, 6);
    assert_int_equal(slow.median_ns, 302);
    assert_int_equal(lab_samples_summary(samples, LAB_SPEED_MODE_ANY, 2200).samples, 18);
    assert_true(lab_samples_probe_median(samples, LAB_SPEED_MODE_FAST, 2200) == 2050);
    assert_true(lab_samples_probe_median(samples, LAB_SPEED_MODE_SLOW, 2200) == 905);
}

/* Whatever this machine has, something comes of it, and more of two threads than nothing. */
static void probes_measure(void **state)
{
    static const struct {
        lab_type_pair product;
        rung_compute compute;
    } all[] = {{{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT},
               {{RUNG_F64, RUNG_F64, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT},
               {{RUNG_F64, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT},
               {{RUNG_BF16, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT},
               {{RUNG_I8, RUNG_I32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT},
               {{RUNG_F32, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_BF16X3},
               {{RUNG_I32, RUNG_I32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lab_cpu_probe probe = lab_cpu_probe_for(all[i].product, all[i].compute);
        assert_true(probe > LAB_CPU_PROBE_NONE && probe < LAB_CPU_PROBE_COUNT);
        assert_true(lab_cpu_probe_run(probe, 1) > 0);
        assert_true(lab_cpu_probe_run(probe, 2) > 0);
    }
    assert_int_equal(lab_cpu_probe_for(lab_type_pair_of(RUNG_F32, RUNG_F32), RUNG_COMPUTE_STRICT),
                     LAB_CPU_PROBE_FMA_F32);
    assert_int_equal(lab_cpu_probe_for(lab_type_pair_of(RUNG_F64, RUNG_F32), RUNG_COMPUTE_STRICT),
                     LAB_CPU_PROBE_FMA_F64);
    assert_int_equal(lab_cpu_probe_for(lab_type_pair_of(RUNG_F32, RUNG_F32), RUNG_COMPUTE_BF16X3),
                     lab_cpu_probe_for(lab_type_pair_of(RUNG_BF16, RUNG_F32), RUNG_COMPUTE_STRICT));
    assert_true(lab_cpu_probe_run(LAB_CPU_PROBE_NONE, 1) == 0);
    assert_false(lab_cpu_probe_has_modes(LAB_CPU_PROBE_FMA_F32));
    assert_true(lab_cpu_probe_has_modes(LAB_CPU_PROBE_AMX_I8));
    assert_string_equal(lab_cpu_probe_name(LAB_CPU_PROBE_AMX_BF16), "amx bf16");
}

/* Sleeping is wall time and no CPU time. */
static void clocks(void **state)
{
    (void)state;
    int64_t wall = lab_clock_now_ns(LAB_CLOCK_WALL), cpu = lab_clock_now_ns(LAB_CLOCK_CPU);
    lab_sleep_ns(20000000);
    wall = lab_clock_now_ns(LAB_CLOCK_WALL) - wall;
    cpu = lab_clock_now_ns(LAB_CLOCK_CPU) - cpu;
    assert_true(wall >= 20000000);
    assert_true(cpu < wall / 2);
    assert_string_equal(lab_clock_name(LAB_CLOCK_CPU), "cpu");
    assert_string_equal(lab_clock_name(LAB_CLOCK_WALL), "wall");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(medians, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(sample_capacity, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(outliers, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(outliers_of_a_coarse_clock, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(series, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(the_longest_series, make_samples, free_samples),
        cmocka_unit_test_setup_teardown(series_of_a_mode, make_samples, free_samples),
        cmocka_unit_test(modes),
        cmocka_unit_test_setup_teardown(machine_modes_are_separated, make_samples, free_samples),
        cmocka_unit_test(probes_measure),
        cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
