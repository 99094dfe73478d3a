/* SPDX-License-Identifier: Apache-2.0 */
/* speed_model.c - the throughput model of speed_model.h, which describes its assumptions. */
#include "explain/speed_model.h"

#include <math.h>

#include "common/enum_names.h"

#define WORD(name, word, title, advice) word,
#define TITLE(name, word, title, advice) title,
#define ADVICE(name, word, title, advice) advice,
LAB_DEFINE_ENUM_TEXT(lab_bottleneck_name, lab_bottleneck, LAB_BOTTLENECK_LIST, WORD)
LAB_DEFINE_ENUM_TEXT(lab_bottleneck_title, lab_bottleneck, LAB_BOTTLENECK_LIST, TITLE)
LAB_DEFINE_ENUM_TEXT(lab_bottleneck_advice, lab_bottleneck, LAB_BOTTLENECK_LIST, ADVICE)

double lab_closed_queue_interval(double customers, double busy, double wait)
{
    double queue = 0, turn = busy;
    for (double r = 1; r <= customers; r++) {
        turn = busy * (1 + queue);
        queue = r * turn / (turn + wait);
    }
    return (turn + wait) / customers;
}

/* Computes the clocks of each station for one block. */
static void count_clocks(const lab_gpu *machine, const lab_launch_work *work, lab_prediction *prediction)
{
    double *clocks = prediction->clocks;
    double l2_sectors = machine->is_l1_caching != 0 ? work->distinct_sectors : work->sectors;
    clocks[LAB_BOTTLENECK_MATH] = work->macs / work->lanes;
    clocks[LAB_BOTTLENECK_ISSUE] = work->instructions / machine->issue;
    clocks[LAB_BOTTLENECK_LSU] = work->requests * 32 / machine->lsu;
    /* Shared memory and L1 are one array of data. The tags of L1, which look up one line per clock, work beside it. */
    clocks[LAB_BOTTLENECK_SHARED] = fmax(work->lines,
                                         work->wavefronts * 128 / machine->shared + work->sectors * 32 / machine->l1);
    clocks[LAB_BOTTLENECK_L2] = l2_sectors * 32 / machine->l2;
    prediction->bound = LAB_BOTTLENECK_MATH;
    for (int i = LAB_BOTTLENECK_MATH; i <= LAB_BOTTLENECK_L2; i++)
        if (clocks[i] > clocks[prediction->bound])
            prediction->bound = (lab_bottleneck)i;
    prediction->busy = clocks[prediction->bound];
}

/* Returns the clocks that a block, or without barriers a warp, waits without doing work. After every second barrier the
 * block first reads shared memory. Data that is not in shared memory comes from L1, if L1 caches loads. */
static double stall_clocks(const lab_gpu *machine, const lab_launch_work *work, double busy)
{
    double chain = fmax(0, work->dependent_macs * machine->lat_fma - busy);
    if (work->barriers > 0)
        return work->barriers * (machine->lat_bar + machine->lat_shared / 2) + work->waits * machine->lat_dram + chain;
    return work->waits * (machine->is_l1_caching != 0 ? machine->lat_l1 : machine->lat_l2) + chain;
}

/* Returns the clocks between the ends of two blocks, with `resident` blocks per multiprocessor. */
static double block_clocks(const lab_launch_work *work, double resident, double busy, double wait)
{
    if (work->barriers > 0)
        return lab_closed_queue_interval(resident, busy, wait);
    return lab_closed_queue_interval(resident * work->warps, busy / work->warps, wait) * work->warps;
}

double lab_resident_blocks(const lab_gpu *machine, const lab_launch_work *work)
{
    return fmin(work->resident_blocks, ceil(work->blocks / machine->sm_count));
}

double lab_last_blocks(const lab_gpu *machine, const lab_launch_work *work)
{
    double resident = lab_resident_blocks(machine, work), waves = work->blocks / (machine->sm_count * resident);
    return ceil((waves - floor(waves)) * resident - 1e-9);
}

/* Returns the clocks of the whole launch: full waves and a partial one. */
static double launch_clocks(const lab_gpu *machine, const lab_launch_work *work, double wait,
                            lab_prediction *prediction)
{
    double sm_blocks = work->blocks / machine->sm_count; /* average blocks per multiprocessor */
    double resident = lab_resident_blocks(machine, work), wave = machine->sm_count * resident;
    double busy = prediction->busy, last = lab_last_blocks(machine, work);
    /* The busiest station is a lower bound: the simulation may have left out code that it took for a rare path. */
    double steady = work->simulated_clocks > 0 ? fmax(busy, work->simulated_clocks)
                                               : block_clocks(work, resident, busy, wait);
    prediction->waves = floor(work->blocks / wave);
    prediction->tail = work->blocks / wave - prediction->waves;
    double clocks = prediction->waves * resident * steady;
    if (last > 0)
        clocks += last * (work->last_simulated_clocks > 0 ? fmax(busy, work->last_simulated_clocks)
                                                          : block_clocks(work, last, busy, wait));
    prediction->clocks[LAB_BOTTLENECK_LATENCY] = steady - busy;
    prediction->clocks[LAB_BOTTLENECK_TAIL] = clocks / sm_blocks - steady; /* 0 if the last wave is full */
    return clocks;
}

/* Selects the bottleneck: the busiest station, or what keeps the stations idle. */
static void find_bottleneck(double seconds, double dram_seconds, double sm_block_clocks, lab_prediction *prediction)
{
    if (prediction->clocks[LAB_BOTTLENECK_LATENCY] > prediction->busy)
        prediction->bound = LAB_BOTTLENECK_LATENCY;
    if (prediction->clocks[LAB_BOTTLENECK_TAIL] > sm_block_clocks / 4)
        prediction->bound = LAB_BOTTLENECK_TAIL;
    if (dram_seconds > seconds)
        prediction->bound = LAB_BOTTLENECK_DRAM;
}

lab_prediction lab_predict(const lab_gpu *machine, const lab_launch_work *work)
{
    lab_prediction prediction = {.peak_gflops = lab_gpu_peak_gflops(machine, work->lanes)};
    if (work->resident_blocks < 1 || work->blocks < 1 || !(work->lanes > 0))
        return prediction;
    prediction.runs = true;
    count_clocks(machine, work, &prediction);
    double sm_blocks = work->blocks / machine->sm_count;
    double clocks = launch_clocks(machine, work, stall_clocks(machine, work, prediction.busy), &prediction);
    prediction.clock_mhz = lab_gpu_clock_mhz(machine, work->macs / work->lanes * sm_blocks / clocks);
    double hertz = prediction.clock_mhz * 1e6;
    double dram_seconds = work->dram_bytes / (machine->dram_gbs * 1e9);
    prediction.clocks[LAB_BOTTLENECK_DRAM] = dram_seconds * hertz / sm_blocks;
    find_bottleneck(clocks / hertz, dram_seconds, clocks / sm_blocks, &prediction);
    prediction.seconds = fmax(clocks / hertz, dram_seconds) + LAB_LAUNCH_SECONDS;
    prediction.gflops = work->flops / prediction.seconds * 1e-9;
    prediction.uncertainty = work->simulated_clocks > 0 ? LAB_UNCERTAINTY_SIMULATED : LAB_UNCERTAINTY_QUEUE;
    return prediction;
}

double lab_dram_bytes(const lab_gpu *machine, const lab_launch_tiling *tiling)
{
    double tile_columns = ceil(tiling->n / tiling->bn), tile_rows = ceil(tiling->m / tiling->bm);
    double wave = fmin(tiling->wave, tile_columns * tile_rows);
    double waves = tile_columns * tile_rows / wave; /* a partial last wave loads less than a full one */
    double grouped_rows = fmin(tiling->grouped_tile_rows, tile_rows);
    double rows = fmin(fmax(grouped_rows, ceil(wave / tile_columns)), tile_rows);
    double cols = rows > grouped_rows
                      ? tile_columns
                      : fmin(ceil(wave / rows), tile_columns); /* more rows: the wave spans all columns */
    double row_bytes = tiling->k * tiling->in_bytes, l2_resident_bytes = machine->l2_kib * 1024 / 2;
    double a = tiling->m * row_bytes, b = tiling->n * row_bytes;
    if (a > l2_resident_bytes)
        a = fmax(a, waves * fmin(rows * tiling->bm, tiling->m) * row_bytes);
    if (b > l2_resident_bytes)
        b = fmax(b, waves * fmin(cols * tiling->bn, tiling->n) * row_bytes);
    return a + b + tiling->m * tiling->n * tiling->out_bytes;
}

/* ---- Rank correlation ---- */

/* Returns the rank, from 1; equal values share the mean of their ranks. */
static double rank_of(const double *values, int count, int index)
{
    int below = 0, equal = 0;
    for (int i = 0; i < count; i++) {
        below += values[i] < values[index];
        equal += values[i] == values[index];
    }
    return below + (equal + 1) / 2.0;
}

double lab_rank_correlation(const double *a, const double *b, int count)
{
    double mean = (count + 1) / 2.0, both = 0, a_square = 0, b_square = 0;
    for (int i = 0; i < count; i++) {
        double x = rank_of(a, count, i) - mean, y = rank_of(b, count, i) - mean;
        both += x * y, a_square += x * x, b_square += y * y;
    }
    return count < 2 || a_square == 0 || b_square == 0 ? NAN : both / sqrt(a_square * b_square);
}
