/* SPDX-License-Identifier: Apache-2.0 */
/* row_ratios.c - which rows of a benchmark may be compared, and what comes of it. A comparison
 * that should not have been made is the bug here. */
#include "bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/baseline.h"
#include "io/bench_results.h"
#include "cli/table.h"

enum { VENDOR, MKL, OPENBLAS, OURS, ROWS };

/* FP32 of 1024 cubed by FMA, at a peak of 160 GFLOPS. */
static lab_bench_row row_of(const char *kernel, int64_t ms)
{
    lab_bench_row row = {.product = {RUNG_F32, RUNG_F32, RUNG_TYPE_NONE},
                         .size = {1024, 1024, 1024},
                         .verified = true,
                         .probe = LAB_CPU_PROBE_FMA_F32,
                         .median_ns = ms * 1000000,
                         .min_ns = ms * 1000000,
                         .samples = 9,
                         .probe_gflops = 160};
    row.is_vendor = strncmp(kernel, "00_vendor", 9) == 0;
    row.is_peer = row.is_vendor && strchr(kernel, ':');
    row.gflops = 2.0 * 1024 * 1024 * 1024 / (double)row.median_ns;
    snprintf(row.kernel, sizeof row.kernel, "%s", kernel);
    return row;
}

static void fill(lab_bench_row rows[ROWS])
{
    rows[VENDOR] = row_of("00_vendor", 15);
    rows[MKL] = row_of("00_vendor:mkl", 15);
    rows[OPENBLAS] = row_of("00_vendor:openblas", 18);
    rows[OURS] = row_of("10_pipeline", 20);
}

static void is_about(double value, double expected)
{
    assert_true(value > 0.999 * expected && value < 1.001 * expected);
}

static void plain_times(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    lab_bench_rows_compare(rows, ROWS);
    is_about(rows[OURS].percent_of_vendor, 75);
    is_about(rows[OURS].percent_of_peer, 75);
    assert_string_equal(rows[OURS].best_peer, "00_vendor:mkl");
    is_about(rows[OPENBLAS].percent_of_peer, 100.0 * 15 / 18);
    is_about(rows[MKL].percent_of_peer, 100);
    is_about(rows[OURS].percent_of_probe, 100 * rows[OURS].gflops / 160);
    for (int i = 0; i < ROWS; i++) {
        assert_string_equal(rows[i].warning, "");
        assert_false(rows[i].vendor_tuned);
    }
    assert_true(rows[OURS].over_before == 0); /* it is the first of ours */
}

/* What a library says against itself, and what its speed says. */
static void peers_with_warnings(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    snprintf(rows[MKL].warning, sizeof rows[MKL].warning, "it takes this processor for another");
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OURS].best_peer, "00_vendor:openblas");
    is_about(rows[OURS].percent_of_peer, 90);
    assert_true(rows[MKL].percent_of_peer == 0 && rows[MKL].percent_of_vendor == 0);

    fill(rows);
    snprintf(rows[VENDOR].warning, sizeof rows[VENDOR].warning, "it takes this processor for another");
    lab_bench_rows_compare(rows, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_true(rows[i].percent_of_vendor == 0);

    /* A sixth of the peak where the others have nearly all. */
    fill(rows);
    rows[OPENBLAS] = row_of("00_vendor:openblas", 80);
    rows[MKL].verified = false;
    rows[VENDOR].verified = false;
    lab_bench_rows_compare(rows, ROWS);
    assert_non_null(strstr(rows[OPENBLAS].warning, "17 % of this machine's peak"));
    assert_true(rows[OURS].percent_of_peer == 0);
    assert_string_equal(rows[OURS].best_peer, "");

    /* But not for one slow sample among fast ones, nor where matrices are small. */
    fill(rows);
    rows[OPENBLAS] = row_of("00_vendor:openblas", 80);
    rows[OPENBLAS].min_ns = 15000000;
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OPENBLAS].warning, "");
    fill(rows);
    for (int i = 0; i < ROWS; i++)
        rows[i].size = (lab_shape){1, 1024, 1024};
    rows[OPENBLAS].percent_of_probe = rows[OPENBLAS].gflops = 1;
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OPENBLAS].warning, "");

    /* Ours is as slow as it is. */
    fill(rows);
    rows[OURS] = row_of("01_naive", 2000);
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OURS].warning, "");
}

static void set_modes(lab_bench_row *row, int64_t fast, int64_t slow)
{
    row->fast = (lab_sample_summary){
        .median_ns = fast * 1000000, .min_ns = fast * 1000000, .samples = fast > 0 ? 9 : 0};
    row->slow = (lab_sample_summary){
        .median_ns = slow * 1000000, .min_ns = slow * 1000000, .samples = slow > 0 ? 9 : 0};
    row->mode = fast > 0 ? LAB_SPEED_MODE_FAST : slow > 0 ? LAB_SPEED_MODE_SLOW : LAB_SPEED_MODE_ANY;
    row->median_ns = 1000000 * (fast > 0 ? fast : slow);
    row->probe = LAB_CPU_PROBE_AMX_BF16;
    row->product = lab_type_pair_of(RUNG_BF16, RUNG_F32);
}

/* A time of the fast mode is never held against one of the slow. */
static void within_a_mode(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    set_modes(&rows[VENDOR], 2, 4);
    set_modes(&rows[MKL], 2, 4);
    set_modes(&rows[OPENBLAS], 0, 3);
    set_modes(&rows[OURS], 4, 6);
    lab_bench_rows_compare(rows, ROWS);
    is_about(rows[OURS].percent_of_vendor, 50);
    is_about(rows[OURS].percent_of_peer, 50);
    assert_string_equal(rows[OURS].best_peer, "00_vendor:mkl");

    set_modes(&rows[OURS], 0, 6);
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OURS].best_peer, "00_vendor:openblas");
    is_about(rows[OURS].percent_of_peer, 50);
    is_about(rows[OURS].percent_of_vendor, 100.0 * 4 / 6);

    fill(rows);
    set_modes(&rows[VENDOR], 0, 4);
    set_modes(&rows[MKL], 0, 4);
    set_modes(&rows[OPENBLAS], 0, 3);
    set_modes(&rows[OURS], 4, 0);
    lab_bench_rows_compare(rows, ROWS);
    assert_true(rows[OURS].percent_of_vendor == 0 && rows[OURS].percent_of_peer == 0);

    /* Where nothing is clear, all samples count, and only against others of the kind. */
    fill(rows);
    set_modes(&rows[MKL], 2, 4);
    rows[VENDOR].mode = rows[OPENBLAS].mode = rows[OURS].mode = LAB_SPEED_MODE_ANY;
    lab_bench_rows_compare(rows, ROWS);
    assert_string_equal(rows[OURS].best_peer, "00_vendor:openblas");
}

/* FP32 by parts: its peers are those that compute strictly, its peak that of six products. */
static void across_compute_modes(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i].requested_compute = RUNG_COMPUTE_BF16X3;
        rows[i].probe = LAB_CPU_PROBE_AMX_BF16;
        rows[i].probe_gflops = 2400;
    }
    rows[OURS].compute = RUNG_COMPUTE_BF16X3;
    lab_bench_rows_compare(rows, ROWS);
    assert_true(rows[OURS].percent_of_vendor == 0);
    is_about(rows[OURS].percent_of_peer, 75);
    is_about(rows[OURS].percent_of_probe, 100 * 6 * rows[OURS].gflops / 2400);
    assert_true(rows[MKL].percent_of_probe == 0); /* it does not use that engine */
    assert_string_equal(rows[MKL].warning, "");
}

static void kernels_and_calls(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    rows[MKL] = row_of("01_naive", 80);
    rows[OPENBLAS] = row_of("04_shared", 40);
    rows[VENDOR].origin = RUNG_ORIGIN_TUNING;
    lab_bench_rows_compare(rows, ROWS);
    is_about(rows[OPENBLAS].over_before, 2);
    is_about(rows[OURS].over_before, 2);
    is_about(rows[OURS].over_first, 4);
    assert_true(rows[VENDOR].over_first == 0);
    assert_true(rows[OURS].vendor_tuned);

    fill(rows);
    rows[OURS].is_call = true;
    lab_bench_rows_compare(rows, ROWS);
    assert_true(rows[OURS].percent_of_vendor == 0 && rows[OURS].percent_of_peer == 0);
    assert_true(lab_ratio(0, 5) == 0 && lab_ratio(5, 0) == 0);
}

/* A step of the ladder is not told by rows of different numbers of threads; the library had what it was given. */
static void threads_differ(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    rows[MKL] = row_of("07_tile2d", 80);
    rows[OPENBLAS] = row_of("09_warptile", 40);
    rows[VENDOR].threads = rows[OURS].threads = 2;
    rows[MKL].threads = rows[OPENBLAS].threads = 1;
    lab_bench_rows_compare(rows, ROWS);
    is_about(rows[OPENBLAS].over_before, 2);
    assert_true(rows[OURS].over_before == 0 && rows[OURS].over_first == 0);
    is_about(rows[OURS].percent_of_vendor, 75);
}

static void says_kernel(const char *kernel, const char *library, const char *expected)
{
    char text[64];
    lab_result_format_kernel(kernel, library, text, sizeof text);
    assert_string_equal(text, expected);
}

/* A library is called by its own name and version. */
static void names(void **state)
{
    (void)state;
    says_kernel("10_pipeline", "", "10_pipeline");
    says_kernel("00_vendor", "", "00_vendor");
    says_kernel("00_vendor", "OpenBLAS 0.3.21 (Cooperlake), /lib/libopenblas.so.0", "OpenBLAS 0.3.21");
    says_kernel("00_vendor:mkl", "MKL 2026.2-Product Build 20260915, /x/libmkl_rt.so.3", "MKL 2026.2");
    says_kernel("00_vendor:onednn", "oneDNN 3.2.0, /x/libdnnl.so.3", "oneDNN 3.2.0");
    says_kernel("00_vendor", "CLBlast", "CLBlast");
    says_kernel("00_vendor", "/opt/libblas.so", "/opt/libblas.so");
}

/* A cell or a row too many is marked, not lost. */
static void tables(void **state)
{
    lab_table *table = calloc(1, sizeof *table);
    char wide[2 * LAB_TABLE_CELL_BYTES], *text = NULL;
    size_t length = 0;
    (void)state;
    assert_non_null(table);
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    lab_table_add(table, 1, (const char *[]){wide});
    assert_int_equal(strlen(table->cells[0][0]), LAB_TABLE_CELL_BYTES - 1);
    assert_string_equal(table->cells[0][0] + LAB_TABLE_CELL_BYTES - 5, "x...");
    for (int i = 0; i < LAB_TABLE_ROWS_MAX + 1; i++)
        lab_table_add(table, 1, (const char *[]){"row"});
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    lab_table_print(table, "l", out);
    fclose(out);
    assert_non_null(strstr(text, "(2 more rows)\n"));
    free(text);
    free(table);
}

static void times(void **state)
{
    char text[32];
    (void)state;
    lab_format_ms(2680, text, sizeof text);
    assert_string_equal(text, "0.00268");
    lab_format_ms(1234567, text, sizeof text);
    assert_string_equal(text, "1.235");
    lab_format_ms(12345678901, text, sizeof text);
    assert_string_equal(text, "12346");
}

/* A right result in less time than its instructions take was measured wrongly. */
static void faster_than_the_peak(void **state)
{
    lab_bench_row rows[ROWS];
    (void)state;
    fill(rows);
    rows[VENDOR] = row_of("00_vendor", 12); /* 179 GFLOPS */
    rows[MKL] = row_of("00_vendor:mkl", 13);
    for (int i = 0; i < ROWS; i++)
        rows[i].peak_gflops = 162;
    rows[VENDOR].series.count = 5;
    rows[VENDOR].worst_ns = 1;
    lab_bench_rows_compare(rows, ROWS);
    assert_true(rows[VENDOR].exceeds_peak && rows[VENDOR].verified);
    assert_non_null(strstr(rows[VENDOR].why_not, "implausible: 179 GFLOPS"));
    assert_non_null(strstr(rows[VENDOR].why_not, "the peak of fma f32, 162 GFLOPS"));
    assert_true(rows[VENDOR].median_ns == 0 && rows[VENDOR].min_ns == 0 && rows[VENDOR].gflops == 0);
    assert_true(rows[VENDOR].samples == 0 && rows[VENDOR].worst_ns == 0 && rows[VENDOR].series.count == 0);
    assert_false(rows[MKL].exceeds_peak);           /* 165: within ten per cent */
    assert_true(rows[OURS].percent_of_vendor == 0); /* nothing is held against it */
    assert_string_equal(rows[OURS].best_peer, "00_vendor:mkl");

    /* Six products of the engine's make one; one that uses other instructions has no roof here. */
    fill(rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i].probe = LAB_CPU_PROBE_AMX_BF16;
        rows[i].requested_compute = RUNG_COMPUTE_BF16X3;
        rows[i].peak_gflops = 6 * 90;
    }
    rows[OURS].compute = RUNG_COMPUTE_BF16X3; /* 107 GFLOPS */
    lab_bench_rows_compare(rows, ROWS);
    assert_true(rows[OURS].exceeds_peak);
    assert_false(rows[MKL].exceeds_peak);
    rows[OURS] = row_of("12_matrix", 20);
    rows[OURS].compute = RUNG_COMPUTE_BF16X3;
    rows[OURS].probe = LAB_CPU_PROBE_AMX_BF16;
    rows[OURS].peak_gflops = 6 * 100;
    lab_bench_rows_compare(rows, ROWS);
    assert_false(rows[OURS].exceeds_peak);
}

/* ---- Several runs in one file ---------------------------------------------------------------------------- */

#define RUN(fields)                                                                                                          \
    "{\"schema\": \"rung-bench/1\", \"complete\": true, \"results\": [{\"device\": \"cpu\", \"kernel\": \"07\", \"dtype\": " \
    "\"f32\", \"m\": 8, \"n\": 8, \"k\": 8, " fields "}]}"
#define TIMED(median, least)                                                                               \
    RUN("\"verified\": true, \"state\": \"ok\", \"why_not\": \"\", \"gflops\": 1, \"median_ns\": " #median \
        ", \"min_ns\": " #least)
static const char skipped_run[] = RUN(
    "\"verified\": false, \"state\": \"skipped\", \"why_not\": \"skipped\", \"median_ns\": 0, "
    "\"min_ns\": 0, \"gflops\": 0");
static const char wrong_run[] = RUN(
    "\"verified\": false, \"state\": \"wrong\", \"why_not\": \"WRONG\", \"median_ns\": 0, "
    "\"min_ns\": 0, \"gflops\": 0");
static const char implausible_run[] = RUN(
    "\"verified\": true, \"state\": \"implausible\", \"why_not\": \"beyond the roof\", "
    "\"median_ns\": 0, \"min_ns\": 0, \"gflops\": 0");

/* Merges three runs of one row. */
static lab_results merge_three(const char *first, const char *second, const char *third)
{
    const char *texts[] = {first, second, third};
    lab_results runs[3], found;
    char why[256], *text = NULL;
    size_t length = 0;
    for (int i = 0; i < 3; i++)
        assert_true(lab_results_parse(texts[i], strlen(texts[i]), "a run", &runs[i], why, sizeof why));
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    lab_bench_merge_write(&(lab_bench_merge){.runs = runs, .count = 3, .is_complete = true}, out);
    fclose(out);
    assert_true(lab_results_parse(text, length, "the result", &found, why, sizeof why));
    assert_int_equal(found.count, 1);
    for (int i = 0; i < 3; i++)
        lab_results_free(&runs[i]);
    free(text);
    return found;
}

static int64_t number_in(const lab_results *results, const char *name)
{
    return lab_json_get_integer(results->rows[0].fields, name, -1);
}

/* A wrong result in any run is not lost, and a run without a time is not a time of 0. */
static void merged_states(void **state)
{
    (void)state;
    lab_results found = merge_three(TIMED(100, 90), TIMED(110, 80), wrong_run);
    assert_int_equal(found.rows[0].state, LAB_ROW_WRONG);
    assert_false(found.rows[0].verified);
    assert_int_equal(found.rows[0].median_ns, 0);
    lab_results_free(&found);
    found = merge_three(implausible_run, TIMED(110, 80), TIMED(100, 90));
    assert_int_equal(found.rows[0].state, LAB_ROW_IMPLAUSIBLE);
    assert_int_equal(found.rows[0].median_ns, 0);
    lab_results_free(&found);
    found = merge_three(implausible_run, wrong_run, TIMED(100, 90));
    assert_int_equal(found.rows[0].state, LAB_ROW_WRONG);
    lab_results_free(&found);
    found = merge_three(skipped_run, TIMED(110, 80), TIMED(90, 70));
    assert_int_equal(found.rows[0].state, LAB_ROW_OK);
    assert_true(found.rows[0].verified);
    assert_int_equal(found.rows[0].min_ns, 70);
    assert_int_equal(number_in(&found, "runs"), 2);
    assert_string_equal(lab_json_get_text(found.rows[0].fields, "why_not", "?"), "");
    lab_results_free(&found);
    found = merge_three(skipped_run, skipped_run, skipped_run);
    assert_int_equal(found.rows[0].state, LAB_ROW_SKIPPED);
    assert_int_equal(number_in(&found, "runs"), 0);
    lab_results_free(&found);
}

#define CALL(wall, kernel, hidden)                                                                       \
    RUN("\"verified\": true, \"state\": \"ok\", \"gflops\": 1, \"median_ns\": " #wall                    \
        ", \"min_ns\": 1, \"kernel_ns\": " #kernel ", \"call_wall_ns\": " #wall ", \"up_ns\": 1" #kernel \
        ", \"hidden_percent\": " #hidden ", \"batch_wall_ns\": 2" #kernel                                \
        ", \"fast_median_ns\": 0, \"slow_median_ns\": " #kernel)

/* The parts of a call are medians of their own. */
static void merged_calls(void **state)
{
    (void)state;
    lab_results found = merge_three(CALL(1000, 500, 10), CALL(1100, 700, 30), CALL(1200, 600, 20));
    assert_int_equal(found.rows[0].median_ns, 1100);
    assert_int_equal(number_in(&found, "kernel_ns"), 600);
    assert_int_equal(number_in(&found, "call_wall_ns"), 1100);
    assert_int_equal(number_in(&found, "up_ns"), 1600);
    assert_int_equal(number_in(&found, "hidden_percent"), 20);
    assert_int_equal(number_in(&found, "batch_wall_ns"), 2600);
    assert_int_equal(number_in(&found, "fast_median_ns"), 0);
    assert_int_equal(number_in(&found, "slow_median_ns"), 600);
    lab_results_free(&found);
}

/* Where the probe is not of a product's fastest instructions, it says nothing against it. */
static void roofs(void **state)
{
    (void)state;
    assert_true(lab_cpu_probe_is_upper_bound(LAB_CPU_PROBE_AMX_BF16, lab_type_pair_of(RUNG_BF16, RUNG_F32)));
    assert_false(lab_cpu_probe_is_upper_bound(LAB_CPU_PROBE_FMA_F32, lab_type_pair_of(RUNG_I8, RUNG_I32)));
    assert_false(lab_cpu_probe_is_upper_bound(LAB_CPU_PROBE_NONE, lab_type_pair_of(RUNG_F32, RUNG_F32)));
    assert_true(lab_cpu_probe_is_upper_bound(LAB_CPU_PROBE_FMA_F32, lab_type_pair_of(RUNG_F32, RUNG_F32)) ==
                (lab_cpu_fma_bits() > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_times),
        cmocka_unit_test(peers_with_warnings),
        cmocka_unit_test(within_a_mode),
        cmocka_unit_test(across_compute_modes),
        cmocka_unit_test(kernels_and_calls),
        cmocka_unit_test(threads_differ),
        cmocka_unit_test(names),
        cmocka_unit_test(tables),
        cmocka_unit_test(times),
        cmocka_unit_test(faster_than_the_peak),
        cmocka_unit_test(roofs),
        cmocka_unit_test(merged_states),
        cmocka_unit_test(merged_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
