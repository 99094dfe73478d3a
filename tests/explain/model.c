/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the model does its sums as speed_model.h says, each case worked out by hand; and
 * machines are what their descriptions say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain/gpus.h"
#include "explain/speed_model.h"

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

static lab_gpu machine_of(const char *name)
{
    lab_gpu machine;
    char why[256];
    assert_true(lab_gpu_find(name, &machine, why, sizeof why));
    return machine;
}

/* Returns the speed without the time of the launch itself. */
static double speed_of(const lab_launch_work *load, const lab_prediction *prediction)
{
    return load->flops / (prediction->seconds - LAB_LAUNCH_SECONDS) * 1e-9;
}

/* ---- The queue ---------------------------------------------------------------------------- */

static void one_block_waits_in_full(void **state)
{
    (void)state;
    assert_near(lab_closed_queue_interval(1, 30, 70), 100);
}

/* By hand: alone a turn takes 2, and half of the time the customer is there, so a second one
 * finds 0.5 before it: a turn of 3, and both come round every 5. */
static void two_blocks_hide_each_others_latency(void **state)
{
    (void)state;
    assert_near(lab_closed_queue_interval(2, 2, 2), 2.5);
}

static void without_latency_the_unit_is_the_bound(void **state)
{
    (void)state;
    assert_near(lab_closed_queue_interval(3, 7, 0), 7);
    assert_true(lab_closed_queue_interval(64, 10, 100) < 10.01); /* and with many customers, too */
}

/* ---- Predictions -------------------------------------------------------------------------- */

/* Nothing but multiply-adds: 16.6 TFLOPS, as the document says of this GPU. */
static void peak_is_the_lanes(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    lab_launch_work load = {
        .blocks = 4000, .resident_blocks = 2, .warps = 8, .macs = 1e6, .lanes = machine.fp32, .flops = 4000 * 2e6};
    lab_prediction prediction = lab_predict(&machine, &load);
    (void)state;
    assert_true(prediction.runs);
    assert_int_equal(prediction.bound, LAB_BOTTLENECK_MATH);
    assert_near(prediction.peak_gflops, 2e-3 * 128 * 40 * 1620);
    assert_near(speed_of(&load, &prediction), prediction.peak_gflops);
    assert_true(prediction.gflops < prediction.peak_gflops); /* the launch itself takes time */
}

/* 01_naive: for 32 multiply-adds a warp touches 32 lines of A and one of B: 33 clocks. */
static void scattered_lines_bound_the_naive_kernel(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    double k = 8192, warps = 32, steps = k * warps;
    lab_launch_work load = {.blocks = 65536,
                            .resident_blocks = 1,
                            .warps = warps,
                            .macs = steps * 32,
                            .lanes = machine.fp32,
                            .requests = 2 * steps,
                            .lines = 33 * steps,
                            .sectors = 33 * steps,
                            .flops = 65536 * steps * 64};
    lab_prediction prediction = lab_predict(&machine, &load);
    (void)state;
    assert_int_equal(prediction.bound, LAB_BOTTLENECK_SHARED);
    assert_near(prediction.clocks[LAB_BOTTLENECK_SHARED], 33 * steps);
    assert_true(prediction.gflops < 2e-3 * 32 * 40 * 1620 / 33 * (1 + 1e-9));
    assert_true(prediction.gflops > 0.99 * 2e-3 * 32 * 40 * 1620 / 33); /* 65,536 blocks leave a short tail */
}

/* 02_coalesced: two requests a multiply-add, whose addresses 16 units take in two clocks each. */
static void load_store_units_bound_the_coalesced_kernel(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    double steps = 8192 * 32;
    lab_launch_work load = {.blocks = 40000,
                            .resident_blocks = 1,
                            .warps = 32,
                            .macs = steps * 32,
                            .lanes = machine.fp32,
                            .requests = 2 * steps,
                            .lines = 2 * steps,
                            .sectors = 5 * steps,
                            .flops = 40000 * steps * 64};
    lab_prediction prediction = lab_predict(&machine, &load);
    (void)state;
    assert_int_equal(prediction.bound, LAB_BOTTLENECK_LSU);
    assert_near(prediction.clocks[LAB_BOTTLENECK_LSU], 4 * steps);
}

/* One block held, which waits as long as it works: half the speed, and latency is told when it
 * is more than that. */
static void latency_with_one_block_is_not_hidden(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    double busy = 1000 * machine.lat_dram;
    lab_launch_work load = {.blocks = 4000,
                            .resident_blocks = 1,
                            .warps = 8,
                            .macs = busy * 128,
                            .lanes = machine.fp32,
                            .barriers = 1e-9,
                            .waits = 1000,
                            .flops = 4000 * busy * 256};
    lab_prediction half = lab_predict(&machine, &load);
    (void)state;
    assert_true(fabs(speed_of(&load, &half) / half.peak_gflops - 0.5) < 1e-6); /* the barriers are as good as none */
    load.waits = 2000;
    assert_int_equal(lab_predict(&machine, &load).bound, LAB_BOTTLENECK_LATENCY);
    load.resident_blocks = 8;
    assert_int_equal(lab_predict(&machine, &load).bound, LAB_BOTTLENECK_MATH);
}

static void a_wave_that_is_not_full_counts(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    lab_launch_work load = {
        .blocks = 41, .resident_blocks = 1, .warps = 8, .macs = 1e6, .lanes = machine.fp32, .flops = 41 * 2e6};
    lab_prediction prediction = lab_predict(&machine, &load); /* 40 multiprocessors: two waves */
    (void)state;
    assert_near(prediction.waves, 1);
    assert_near(speed_of(&load, &prediction), prediction.peak_gflops * 41 / 80);
    load.blocks = 10;
    load.flops = 10 * 2e6;
    prediction = lab_predict(&machine, &load);
    assert_near(speed_of(&load, &prediction), prediction.peak_gflops / 4);
    assert_int_equal(prediction.bound, LAB_BOTTLENECK_TAIL);
}

/* A simulation replaces the queue: 3 clocks per block where the busiest unit needs 1. */
static void a_simulated_loop_decides(void **state)
{
    lab_gpu machine = machine_of("rtx3070-laptop");
    lab_launch_work load = {.blocks = 4000,
                            .resident_blocks = 1,
                            .warps = 8,
                            .macs = 1e6,
                            .lanes = machine.fp32,
                            .flops = 4000 * 2e6,
                            .simulated_clocks = 3e6 / 128};
    lab_prediction prediction = lab_predict(&machine, &load);
    (void)state;
    assert_near(speed_of(&load, &prediction), prediction.peak_gflops / 3);
    assert_near(prediction.uncertainty, LAB_UNCERTAINTY_SIMULATED);
    load.simulated_clocks = 0;
    assert_near(lab_predict(&machine, &load).uncertainty, LAB_UNCERTAINTY_QUEUE);
}

/* Full load lowers the clock by the cube root of the utilisation; a light kernel runs at the boost clock. */
static void load_lowers_the_clock(void **state)
{
    lab_gpu machine = {.clock_mhz = 1700, .loaded_clock_mhz = 1500};
    (void)state;
    assert_near(lab_gpu_clock_mhz(&machine, 0.78), 1500);
    assert_near(lab_gpu_clock_mhz(&machine, 0.78 / 1.331), 1650);
    assert_near(lab_gpu_clock_mhz(&machine, 0.1), 1700);
    assert_near(lab_gpu_clock_mhz(&machine, 0), 1700);
    machine.loaded_clock_mhz = 1700; /* no limit is known */
    assert_near(lab_gpu_clock_mhz(&machine, 1), 1700);
}

static void a_block_too_large_for_an_sm_does_not_run(void **state)
{
    lab_gpu machine = machine_of("p100");
    lab_launch_work load = {.blocks = 1, .resident_blocks = 0, .lanes = machine.fp32, .macs = 1};
    (void)state;
    assert_false(lab_predict(&machine, &load).runs);
}

/* 1024 in tiles of 128: 64 blocks at once are all of them, so A, B and C once each. */
static void traffic_of_one_wave_is_each_matrix_once(void **state)
{
    lab_gpu machine = machine_of("p100");
    lab_launch_tiling traffic = {1024, 1024, 1024, 128, 128, 4, 4, 64, 1};
    (void)state;
    assert_near(lab_dram_bytes(&machine, &traffic), 3 * 4.0 * 1024 * 1024);
}

/* One row of 64 tiles in waves of 48: the last wave loads the columns that are left, so B is loaded once. */
static void a_partial_wave_loads_its_share(void **state)
{
    lab_gpu machine = machine_of("p100");
    lab_launch_tiling traffic = {128, 8192, 1024, 128, 128, 4, 4, 48, 1};
    (void)state;
    assert_near(lab_dram_bytes(&machine, &traffic), 4.0 * (128 * 1024 + 8192 * 1024 + 128 * 8192));
}

/* 8192 in tiles of 128 are 64 x 64 blocks. A wave of 64 is one row of them: 64 times all of B,
 * which L2 does not keep, and A once. In groups of 8 rows a wave has 8 x 8: each brings 8
 * panels of A and 8 of B. */
static void traffic_of_waves_depends_on_the_order(void **state)
{
    lab_gpu machine = machine_of("p100");
    lab_launch_tiling traffic = {8192, 8192, 8192, 128, 128, 4, 4, 64, 1};
    double matrix = 4.0 * 8192 * 8192, panel = 4.0 * 128 * 8192;
    (void)state;
    assert_near(lab_dram_bytes(&machine, &traffic), 64 * matrix + matrix + matrix);
    traffic.grouped_tile_rows = 8;
    assert_near(lab_dram_bytes(&machine, &traffic), 64 * (8 + 8) * panel + matrix);
    traffic.grouped_tile_rows = 1; /* 80 blocks are a row and a part of the next: still all of B */
    traffic.wave = 80;
    assert_near(lab_dram_bytes(&machine, &traffic), 51.2 * (2 * panel + matrix) + matrix);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

static void ranks_correlate(void **state)
{
    const double up[] = {1, 20, 300, 4000}, down[] = {9, 7, 5, 1}, swapped[] = {1, 3, 2, 4};
    const double tied[] = {1, 1, 2, 3};
    (void)state;
    assert_near(lab_rank_correlation(up, up, 4), 1);
    assert_near(lab_rank_correlation(up, down, 4), -1);
    assert_near(lab_rank_correlation(up, swapped, 4), 1 - 6.0 * 2 / (4 * 15)); /* 1 - 6 sum d^2 / (n (n^2 - 1)) */
    assert_near(lab_rank_correlation(tied, tied, 4), 1);
    assert_true(isnan(lab_rank_correlation(up, up, 1)));
}

/* ---- Machines ------------------------------------------------------------------------------ */

static void every_machine_has_every_field(void **state)
{
    lab_gpu machine;
    (void)state;
    for (int i = 0; lab_gpu_at(i, &machine); i++) {
        assert_true(machine.sm_count > 0 && machine.clock_mhz > 0 && machine.dram_gbs > 0 && machine.l2_kib > 0);
        assert_true(machine.fp32 > 0 && machine.issue > 0 && machine.lat_bar > 0); /* rates were found */
        assert_true(strlen(machine.source) > 0);
    }
    machine = machine_of("p100");
    assert_true(fabs(lab_gpu_peak_gflops(&machine, machine.fp32) - 9300) < 93); /* as its document says */
}

static bool read_text(const char *text, lab_gpu *machine, char *why)
{
    char name[] = "/tmp/rung_machine_XXXXXX";
    int file = mkstemp(name);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    bool good = lab_gpu_find(name, machine, why, 256);
    unlink(name);
    return good;
}

static void a_file_describes_another(void **state)
{
    lab_gpu machine;
    char why[256] = "";
    (void)state;
    assert_true(lab_gpu_find("P100", &machine, why, sizeof why)); /* upper and lower case are the same */
    assert_string_equal(machine.name, "p100");
    assert_true(read_text("like = RTX3090\n", &machine, why));
    assert_true(
        read_text("# mine\nlike = rtx3090\nunits = 46\ntitle = RTX 3070\n\nclock_mhz = 1725 # boost\n", &machine, why));
    assert_near(machine.sm_count, 46);
    assert_near(machine.clock_mhz, 1725);
    assert_near(machine.fp32, 128);
    assert_string_equal(machine.title, "RTX 3070");
    assert_string_equal(machine.arch, "sm_86");
}

static void errors_in_a_machine_file_have_a_line(void **state)
{
    lab_gpu machine;
    char why[256] = "";
    (void)state;
    assert_false(read_text("units = 46\n", &machine, why));
    assert_non_null(strstr(why, ":1: the first line"));
    assert_false(read_text("like = rtx3090\nunit = 46\n", &machine, why));
    assert_non_null(strstr(why, ":2: unknown field"));
    assert_false(read_text("like = rtx3090\nunits = -1\n", &machine, why));
    assert_non_null(strstr(why, ":2: the value must be a number above 0"));
    assert_false(read_text("like = nothing\n", &machine, why));
    assert_false(read_text("like = rtx3090\nunits = 4\nlike = p100\n", &machine, why));
    assert_non_null(strstr(why, ":3: \"like\" may be given only once"));
    assert_false(read_text("", &machine, why));
    assert_false(read_text(
        "like = p100\ntitle = a machine whose title is longer than the sixty-three letters there is room for\n",
        &machine, why));
    assert_non_null(strstr(why, ":2: the title is too long"));
    assert_false(lab_gpu_find("no-such-gpu", &machine, why, sizeof why));
    assert_non_null(strstr(why, "p4000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_waits_in_full),
        cmocka_unit_test(two_blocks_hide_each_others_latency),
        cmocka_unit_test(without_latency_the_unit_is_the_bound),
        cmocka_unit_test(peak_is_the_lanes),
        cmocka_unit_test(a_simulated_loop_decides),
        cmocka_unit_test(load_lowers_the_clock),
        cmocka_unit_test(scattered_lines_bound_the_naive_kernel),
        cmocka_unit_test(load_store_units_bound_the_coalesced_kernel),
        cmocka_unit_test(latency_with_one_block_is_not_hidden),
        cmocka_unit_test(a_wave_that_is_not_full_counts),
        cmocka_unit_test(a_block_too_large_for_an_sm_does_not_run),
        cmocka_unit_test(traffic_of_one_wave_is_each_matrix_once),
        cmocka_unit_test(a_partial_wave_loads_its_share),
        cmocka_unit_test(traffic_of_waves_depends_on_the_order),
        cmocka_unit_test(ranks_correlate),
        cmocka_unit_test(every_machine_has_every_field),
        cmocka_unit_test(a_file_describes_another),
        cmocka_unit_test(errors_in_a_machine_file_have_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
