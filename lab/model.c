/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - see model.h for what is modelled and what is not. */
#include "model.h"

#include <math.h>

static const struct {
    const char *name, *words, *help;
} bounds[] = {
#define X(name, word, words, help) {word, words, help},
    LAB_STATION_LIST(X)
#undef X
};

const char *lab_station_name(lab_station bound)
{
    return bound < LAB_STATION_COUNT ? bounds[bound].name : "?";
}

const char *lab_station_words(lab_station bound)
{
    return bound < LAB_STATION_COUNT ? bounds[bound].words : "?";
}

const char *lab_station_help(lab_station bound)
{
    return bound < LAB_STATION_COUNT ? bounds[bound].help : "?";
}

double lab_queue(double customers, double busy, double wait)
{
    double queue = 0, turn = busy;
    for (double r = 1; r <= customers; r++) {
        turn = busy * (1 + queue);
        queue = r * turn / (turn + wait);
    }
    return (turn + wait) / customers;
}

/* The clocks of each station for one block; the largest of those is `busy`. */
static void count_clocks(const lab_machine *machine, const lab_load *load, lab_prediction *prediction)
{
    double *clocks = prediction->clocks;
    double fetched = machine->caches != 0 ? load->distinct_sectors : load->sectors;
    clocks[LAB_AT_MATH] = load->macs / load->lanes;
    clocks[LAB_AT_ISSUE] = load->instructions / machine->issue;
    clocks[LAB_AT_LSU] = load->requests * 32 / machine->lsu;
    /* One array serves both, a wavefront or a line at a time. */
    clocks[LAB_AT_SHARED] = load->wavefronts * 128 / machine->shared +
                            fmax(load->lines, load->sectors * 32 / machine->l1);
    clocks[LAB_AT_L2] = fetched * 32 / machine->l2;
    prediction->bound = LAB_AT_MATH;
    for (int i = LAB_AT_MATH; i <= LAB_AT_L2; i++)
        if (clocks[i] > clocks[prediction->bound])
            prediction->bound = (lab_station)i;
    prediction->busy = clocks[prediction->bound];
}

/* What a block, or without barriers a warp, waits for while its own work stands still. Behind
 * every other barrier something is read from shared memory first. What no block shares through
 * shared memory it has in L1, where there is one. */
static double wait_of(const lab_machine *machine, const lab_load *load, double busy)
{
    double chain = fmax(0, load->chain * machine->lat_fma - busy);
    if (load->barriers > 0)
        return load->barriers * (machine->lat_bar + machine->lat_shared / 2) + load->waits * machine->lat_dram + chain;
    return load->waits * (machine->caches != 0 ? machine->lat_l1 : machine->lat_l2) + chain;
}

/* Clocks from one block's end to the next's where `held` of them share a multiprocessor. */
static double block_clocks(const lab_load *load, double held, double busy, double wait)
{
    if (load->barriers > 0)
        return lab_queue(held, busy, wait);
    return lab_queue(held * load->warps, busy / load->warps, wait) * load->warps;
}

/* Clocks of the whole launch: waves, and a last one that is not full. */
static double launch_clocks(const lab_machine *machine, const lab_load *load, double wait, lab_prediction *prediction)
{
    double here = load->blocks / machine->units; /* blocks of one multiprocessor, on average */
    double held = fmin(load->held, ceil(here)), wave = machine->units * held, busy = prediction->busy;
    double steady = block_clocks(load, held, busy, wait);
    prediction->waves = floor(load->blocks / wave);
    prediction->tail = load->blocks / wave - prediction->waves;
    double last = ceil(prediction->tail * held - 1e-9); /* blocks that some multiprocessor still has */
    double clocks = prediction->waves * held * steady;
    if (last > 0)
        clocks += last * block_clocks(load, last, busy, wait);
    prediction->clocks[LAB_AT_LATENCY] = steady - busy;
    prediction->clocks[LAB_AT_TAIL] = clocks / here - steady; /* 0, were the last wave full */
    return clocks;
}

/* What stands out: a station, or what keeps the stations from being busy. */
static void name_bound(double seconds, double dram_seconds, double launch, lab_prediction *prediction)
{
    if (prediction->clocks[LAB_AT_LATENCY] > prediction->busy)
        prediction->bound = LAB_AT_LATENCY;
    if (prediction->clocks[LAB_AT_TAIL] > launch / 4)
        prediction->bound = LAB_AT_TAIL;
    if (dram_seconds > seconds)
        prediction->bound = LAB_AT_DRAM;
}

lab_prediction lab_predict(const lab_machine *machine, const lab_load *load)
{
    lab_prediction prediction = {.peak_gflops = lab_machine_peak(machine, load->lanes)};
    if (load->held < 1 || load->blocks < 1 || !(load->lanes > 0))
        return prediction;
    prediction.runs = true;
    count_clocks(machine, load, &prediction);
    double hertz = machine->clock_mhz * 1e6, here = load->blocks / machine->units;
    double clocks = launch_clocks(machine, load, wait_of(machine, load, prediction.busy), &prediction);
    double dram_seconds = load->dram_bytes / (machine->dram_gbs * 1e9);
    prediction.clocks[LAB_AT_DRAM] = dram_seconds * hertz / here;
    name_bound(clocks / hertz, dram_seconds, clocks / here, &prediction);
    prediction.seconds = fmax(clocks / hertz, dram_seconds);
    prediction.gflops = load->flops / prediction.seconds * 1e-9;
    return prediction;
}

double lab_dram_bytes(const lab_machine *machine, const lab_panels *panels)
{
    double across = ceil(panels->n / panels->bn), down = ceil(panels->m / panels->bm);
    double wave = fmin(panels->wave, across * down), waves = ceil(across * down / wave);
    double together = fmin(panels->rows_in_order, down);
    double rows = fmin(fmax(together, ceil(wave / across)), down);
    double cols = rows > together ? across : fmin(ceil(wave / rows), across); /* more rows: it went all across */
    double row_bytes = panels->k * panels->in_bytes, kept = machine->l2_kib * 1024 / 2;
    double a = panels->m * row_bytes, b = panels->n * row_bytes;
    if (a > kept)
        a = fmax(a, waves * fmin(rows * panels->bm, panels->m) * row_bytes);
    if (b > kept)
        b = fmax(b, waves * fmin(cols * panels->bn, panels->n) * row_bytes);
    return a + b + panels->m * panels->n * panels->out_bytes;
}

/* ---- Ranks --------------------------------------------------------------------------------- */

/* Counted from 1; what is equal shares the mean of its ranks. */
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
