/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - how the rows of one problem compare: see bench.h. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

/* A library at its best comes to two thirds of the peak and more where the matrices are this
 * large; at less than this part something is wrong with it, whatever it says of itself. */
static const double LEAST = 0.3;
enum { LARGE = 512, LARGE_SIDE = 256 };

double lab_ratio(int64_t slow, int64_t fast)
{
    return slow > 0 && fast > 0 ? (double)slow / (double)fast : 0;
}

/* The median in that mode; 0 where too little was seen of it. */
static int64_t time_in(const lab_row *row, lab_mode mode)
{
    if (mode == LAB_MODE_ANY)
        return row->mode == LAB_MODE_ANY ? row->median_ns : 0;
    const lab_spread *spread = mode == LAB_MODE_FAST ? &row->fast : &row->slow;
    return spread->samples >= LAB_SAMPLES_MIN ? spread->median_ns : 0;
}

/* How many of the probe's products make one of the row's; 0 where it uses other instructions. */
static int parts_of(const lab_row *row)
{
    bool is_f32 = row->product.in == RUNG_F32;
    bool is_fma = row->probe == LAB_PROBE_FMA_F32 || row->probe == LAB_PROBE_FMA_F64;
    if (!is_f32 || is_fma)
        return 1;
    return row->compute == RUNG_COMPUTE_BF16X3 ? 6 : row->compute == RUNG_COMPUTE_BF16X1 ? 1 : 0;
}

static void compare_with_probe(lab_row *row)
{
    if (row->probe_gflops > 0)
        row->percent_of_probe = 100 * row->gflops * parts_of(row) / row->probe_gflops;
}

static bool is_large(const lab_row *row)
{
    const lab_shape *size = &row->size;
    return size->m >= LARGE_SIDE && size->n >= LARGE_SIDE && size->k >= LARGE_SIDE &&
           (double)size->m * (double)size->n * (double)size->k >= (double)LARGE * LARGE * LARGE;
}

static bool has_time(const lab_row *row)
{
    return row->verified && !row->is_beyond;
}

/* By its shortest time, which a busy machine leaves alone. */
static void doubt_by_speed(lab_row *row)
{
    bool is_fma = row->probe == LAB_PROBE_FMA_F32 || row->probe == LAB_PROBE_FMA_F64;
    double percent = row->percent_of_probe * lab_ratio(row->median_ns, row->min_ns);
    if (row->is_vendor && has_time(row) && !*row->doubt && is_fma && is_large(row) && percent > 0 &&
        percent < 100 * LEAST)
        snprintf(row->doubt, sizeof row->doubt,
                 "it comes to %.0f %% of this machine's peak: it leaves "
                 "instructions unused, or the machine is busy",
                 percent);
}

/* Ten per cent are for a probe that was disturbed whenever it ran. */
bool lab_row_is_beyond(const lab_row *row)
{
    return row->verified && row->roof_gflops > 0 && row->gflops * parts_of(row) > 1.1 * row->roof_gflops;
}

static void refuse_beyond(lab_row *row)
{
    double products = row->gflops * parts_of(row);
    if (!lab_row_is_beyond(row))
        return;
    snprintf(row->why_not, sizeof row->why_not,
             "beyond the roof: %.0f GFLOPS, where %s came to %.0f at best: it was "
             "measured wrongly",
             products, lab_probe_name(row->probe), row->roof_gflops);
    row->is_beyond = true;
    row->state = LAB_ROW_IMPLAUSIBLE;
    row->median_ns = row->min_ns = row->ci95_ns = row->worst_ns = row->samples = row->outliers = 0;
    row->series.count = 0;
    row->gflops = 0;
    row->mode = LAB_MODE_ANY;
    row->fast = row->slow = (lab_spread){0};
}

static bool counts(const lab_row *row)
{
    return has_time(row) && row->is_vendor && !*row->doubt;
}

/* The fastest of them in that mode, NULL if there is none. */
static const lab_row *best_peer(const lab_row *rows, int count, lab_mode mode)
{
    const lab_row *best = NULL;
    for (int i = 0; i < count; i++)
        if (counts(&rows[i]) && rows[i].is_peer && time_in(&rows[i], mode) > 0 &&
            (!best || time_in(&rows[i], mode) < time_in(best, mode)))
            best = &rows[i];
    return best;
}

static void compare_with_vendors(lab_row *row, const lab_row *vendor, const lab_row *rows, int count)
{
    const lab_row *best = best_peer(rows, count, row->mode);
    if (vendor && row->compute == vendor->compute)
        row->percent_of_vendor = 100 * lab_ratio(time_in(vendor, row->mode), row->median_ns);
    if (!best)
        return;
    snprintf(row->best_peer, sizeof row->best_peer, "%s", best->kernel);
    row->percent_of_peer = 100 * lab_ratio(time_in(best, row->mode), row->median_ns);
}

/* How many times as fast a row is as one before it; 0 where that is none, or had another number of threads. */
static double step_from(const lab_row *before, const lab_row *row)
{
    return before && before->threads == row->threads ? lab_ratio(time_in(before, row->mode), row->median_ns) : 0;
}

void lab_rows_compare(lab_row *rows, int count)
{
    const lab_row *vendor = NULL, *before = NULL, *first = NULL;
    for (int i = 0; i < count; i++) {
        refuse_beyond(&rows[i]);
        compare_with_probe(&rows[i]);
        doubt_by_speed(&rows[i]);
        if (counts(&rows[i]) && !rows[i].is_peer)
            vendor = &rows[i];
    }
    for (int i = 0; i < count; i++) {
        lab_row *row = &rows[i];
        row->vendor_tuned = vendor && vendor->origin == RUNG_ORIGIN_TUNING;
        if (!has_time(row) || row->is_call)
            continue;
        if (!(row->is_vendor && *row->doubt))
            compare_with_vendors(row, vendor, rows, count);
        if (row->is_vendor)
            continue; /* steps are counted on our own ladder */
        row->over_before = step_from(before, row);
        row->over_first = step_from(first, row);
        before = row;
        first = first ? first : row;
    }
}
