/* SPDX-License-Identifier: Apache-2.0 */
/* row_ratios.c - compares the rows of one problem with each other: see bench_result.h. */
#include "bench/bench_result.h"

#include <stdio.h>
#include <string.h>

/* A library reaches two thirds of the peak and more on matrices as large as this. A library that reaches less than this
 * fraction does not use the processor's instructions. */
static const double LIBRARY_PEAK_FRACTION_MIN = 0.3;
enum { LARGE_CUBE = 512, LARGE_SIDE_MIN = 256 };

double lab_ratio(int64_t slow, int64_t fast)
{
    return slow > 0 && fast > 0 ? (double)slow / (double)fast : 0;
}

/* Returns the median in a mode; 0 if the mode has too few samples. */
static int64_t median_in_mode(const lab_bench_row *row, lab_speed_mode mode)
{
    if (mode == LAB_SPEED_MODE_ANY)
        return row->mode == LAB_SPEED_MODE_ANY ? row->median_ns : 0;
    const lab_sample_summary *spread = mode == LAB_SPEED_MODE_FAST ? &row->fast : &row->slow;
    return spread->samples >= LAB_SAMPLES_MIN ? spread->median_ns : 0;
}

/* Returns how many of the probe's products one product of the row takes; 0 if the row uses other instructions. */
static int probe_products_per_product(const lab_bench_row *row)
{
    if (lab_type_pair_is_mixed(row->product)) /* a library may have a faster mode than the requested one */
        return row->compute == row->requested_compute ||
               (lab_cpu_probe_is_fma(row->probe) && row->compute == RUNG_COMPUTE_STRICT);
    if (row->product.in != RUNG_F32 || lab_cpu_probe_is_fma(row->probe))
        return 1;
    return row->compute == RUNG_COMPUTE_BF16X3 ? 6 : row->compute == RUNG_COMPUTE_BF16X1 ? 1 : 0;
}

static bool is_large(const lab_bench_row *row)
{
    const lab_shape *size = &row->size;
    return size->m >= LARGE_SIDE_MIN && size->n >= LARGE_SIDE_MIN && size->k >= LARGE_SIDE_MIN &&
           (double)size->m * (double)size->n * (double)size->k >= (double)LARGE_CUBE * LARGE_CUBE * LARGE_CUBE;
}

static bool has_time(const lab_bench_row *row)
{
    return row->verified && !row->exceeds_peak;
}

/* Warns about a library far below the peak. Uses its shortest time, which a busy machine affects least. */
static void warn_if_slow(lab_bench_row *row)
{
    double percent = row->percent_of_probe * lab_ratio(row->median_ns, row->min_ns);
    if (row->is_vendor && has_time(row) && !*row->warning && lab_cpu_probe_is_fma(row->probe) && is_large(row) &&
        percent > 0 && percent < 100 * LIBRARY_PEAK_FRACTION_MIN)
        snprintf(
            row->warning, sizeof row->warning,
            "it reaches only %.0f %% of this machine's peak: it does not use all instructions, or the machine is busy",
            percent);
}

/* Allows 10 % for probes that were all disturbed. */
bool lab_bench_row_exceeds_peak(const lab_bench_row *row)
{
    return row->verified && row->peak_gflops > 0 &&
           row->gflops * probe_products_per_product(row) > 1.1 * row->peak_gflops;
}

static void reject_above_peak(lab_bench_row *row)
{
    if (!lab_bench_row_exceeds_peak(row))
        return;
    snprintf(row->why_not, sizeof row->why_not,
             "implausible: %.0f GFLOPS exceed the peak of %s, %.0f GFLOPS; the measurement is wrong",
             row->gflops * probe_products_per_product(row), lab_cpu_probe_name(row->probe), row->peak_gflops);
    row->exceeds_peak = true;
    row->state = LAB_ROW_IMPLAUSIBLE;
    row->median_ns = row->min_ns = row->ci95_ns = row->worst_ns = row->samples = row->outliers = 0;
    row->series.count = 0;
    row->gflops = 0;
    row->mode = LAB_SPEED_MODE_ANY;
    row->fast = row->slow = (lab_sample_summary){0};
}

static bool is_comparable_library(const lab_bench_row *row)
{
    return has_time(row) && row->is_vendor && !*row->warning;
}

/* Returns the fastest peer in a mode, or NULL. */
static const lab_bench_row *best_peer(const lab_bench_row *rows, int count, lab_speed_mode mode)
{
    const lab_bench_row *best = NULL;
    for (int i = 0; i < count; i++)
        if (is_comparable_library(&rows[i]) && rows[i].is_peer && median_in_mode(&rows[i], mode) > 0 &&
            (!best || median_in_mode(&rows[i], mode) < median_in_mode(best, mode)))
            best = &rows[i];
    return best;
}

static void compare_with_vendors(lab_bench_row *row, const lab_bench_row *vendor, const lab_bench_row *rows, int count)
{
    const lab_bench_row *best = best_peer(rows, count, row->mode);
    if (vendor && row->compute == vendor->compute)
        row->percent_of_vendor = 100 * lab_ratio(median_in_mode(vendor, row->mode), row->median_ns);
    if (!best)
        return;
    snprintf(row->best_peer, sizeof row->best_peer, "%s", best->kernel);
    row->percent_of_peer = 100 * lab_ratio(median_in_mode(best, row->mode), row->median_ns);
}

/* Returns how many times as fast a row is as an earlier one; 0 if there is none, or if it used other threads. */
static double speedup_over(const lab_bench_row *before, const lab_bench_row *row)
{
    return before && before->threads == row->threads ? lab_ratio(median_in_mode(before, row->mode), row->median_ns) : 0;
}

void lab_bench_rows_compare(lab_bench_row *rows, int count)
{
    const lab_bench_row *vendor = NULL, *before = NULL, *first = NULL;
    for (int i = 0; i < count; i++) {
        reject_above_peak(&rows[i]);
        if (rows[i].probe_gflops > 0)
            rows[i].percent_of_probe = 100 * rows[i].gflops * probe_products_per_product(&rows[i]) /
                                       rows[i].probe_gflops;
        warn_if_slow(&rows[i]);
        if (is_comparable_library(&rows[i]) && !rows[i].is_peer)
            vendor = &rows[i];
    }
    for (int i = 0; i < count; i++) {
        lab_bench_row *row = &rows[i];
        row->vendor_tuned = vendor && vendor->origin == RUNG_ORIGIN_TUNING;
        if (!has_time(row) || row->is_call)
            continue;
        if (!(row->is_vendor && *row->warning))
            compare_with_vendors(row, vendor, rows, count);
        if (row->is_vendor)
            continue; /* only our own kernels are steps of the ladder */
        row->over_before = speedup_over(before, row);
        row->over_first = speedup_over(first, row);
        before = row;
        first = first ? first : row;
    }
}
