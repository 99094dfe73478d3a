/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - see model.h for what is modelled and what is not. */
#include "model.h"

#include <math.h>

static const struct { const char *name, *words, *help; } bounds[] = {
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

/* What a block waits for while its own work stands still. */
static double wait_of(const lab_machine *machine, const lab_load *load, double busy)
{
    double wait = load->barriers * machine->lat_bar + load->waits * machine->lat_dram;
    double chain = load->chain * machine->lat_fma;
    return wait + fmax(0, chain - busy);
}

/* Clocks from one block's end to the next's where `held` of them share a multiprocessor. */
static double block_clocks(const lab_load *load, double held, double busy, double wait)
{
    if (load->barriers > 0)
        return lab_queue(held, busy, wait);
    return lab_queue(held * load->warps, busy / load->warps, wait) * load->warps;
}

lab_prediction lab_predict(const lab_machine *machine, const lab_load *load)
{
    lab_prediction prediction = {.peak_gflops = lab_machine_peak(machine, load->lanes)};
    if (load->held < 1 || load->blocks < 1 || !(load->lanes > 0))
        return prediction;
    prediction.runs = true;
    count_clocks(machine, load, &prediction);
    double busy = prediction.busy, wait = wait_of(machine, load, busy);
    double here = load->blocks / machine->units; /* blocks of one multiprocessor, on average */
    double held = fmin(load->held, ceil(here));
    double steady = block_clocks(load, held, busy, wait);
    double wave = machine->units * held;
    prediction.waves = floor(load->blocks / wave);
    prediction.tail = load->blocks / wave - prediction.waves;
    double last = ceil(prediction.tail * held - 1e-9); /* blocks that some multiprocessor still has */
    double clocks = prediction.waves * held * steady;
    if (last > 0)
        clocks += last * block_clocks(load, last, busy, wait);
    double even = here * steady; /* were the last wave full */
    prediction.clocks[LAB_AT_LATENCY] = steady - busy;
    prediction.clocks[LAB_AT_TAIL] = (clocks - even) / here;
    prediction.block_clocks = steady;
    double seconds = clocks / (machine->clock_mhz * 1e6), dram = load->dram_bytes / (machine->dram_gbs * 1e9);
    prediction.clocks[LAB_AT_DRAM] = dram * machine->clock_mhz * 1e6 / here;
    if (prediction.clocks[LAB_AT_LATENCY] > busy)
        prediction.bound = LAB_AT_LATENCY;
    if (clocks - even > clocks / 2)
        prediction.bound = LAB_AT_TAIL;
    if (dram > seconds)
        prediction.bound = LAB_AT_DRAM;
    prediction.seconds = fmax(seconds, dram);
    prediction.gflops = load->flops / prediction.seconds * 1e-9;
    return prediction;
}

double lab_dram_bytes(const lab_machine *machine, const lab_panels *traffic)
{
    double across = ceil(traffic->n / traffic->bn), down = ceil(traffic->m / traffic->bm);
    double wave = fmin(traffic->wave, across * down), waves = ceil(across * down / wave);
    double rows = fmin(fmax(traffic->rows_in_order, ceil(wave / across)), down);
    double cols = fmin(ceil(wave / rows), across);
    double l2 = machine->l2_kib * 1024;
    double a = traffic->m * traffic->k * traffic->in_bytes, b = traffic->n * traffic->k * traffic->in_bytes;
    double a_waves = waves * fmin(rows * traffic->bm, traffic->m) * traffic->k * traffic->in_bytes;
    double b_waves = waves * fmin(cols * traffic->bn, traffic->n) * traffic->k * traffic->in_bytes;
    double a_brought = a <= l2 / 2 ? a : fmax(a, a_waves), b_brought = b <= l2 / 2 ? b : fmax(b, b_waves);
    return a_brought + b_brought + traffic->m * traffic->n * traffic->out_bytes;
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
