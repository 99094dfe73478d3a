/* SPDX-License-Identifier: Apache-2.0 */
/* speed_model.h - predicts how fast a kernel can be on a GPU from its counts, and what limits it.
 *
 * A multiprocessor is a set of stations: the lanes that multiply, the issue slots, the load/store units, shared memory
 * and L1, and the path from L2. Each block gives each station an amount of work, in clocks. Resident blocks overlap, so
 * the busiest station is the lower bound:
 *
 *     busy = max over stations (work of a block / throughput of the station per clock)
 *
 * A block also waits, for barriers and for loads that were not prefetched. Only other blocks can fill that time.
 * Resident blocks that alternate between the busiest station and such a wait are a closed queue. Mean value analysis
 * gives its exact throughput for random times:
 *
 *     queue(0) = 0,  turn(r) = busy (1 + queue(r - 1)),  queue(r) = r turn(r) / (turn(r) + wait)
 *
 * A sum is accumulated in order, so a block takes at least as long as its k dependent multiply-adds. Without barriers,
 * warps alternate instead of blocks. Where the hottest loop was simulated (issue_simulator.h), the simulation replaces
 * the queue. The launch consists of full waves of blocks and a last, partial one, and takes at least as long as DRAM
 * needs for the data that L2 does not hold. */
#pragma once

#include <stdbool.h>

#include "explain/gpus.h"

/* The work of a launch. */
typedef struct lab_launch_work {
    double blocks, flops;    /* of the launch; flops are 2 m n k */
    double dram_bytes;       /* of the launch */
    double resident_blocks;  /* per multiprocessor; 0: the kernel cannot run */
    double warps;            /* per block, as all that follows, for the whole k */
    double macs;             /* multiply-adds of all threads, including those of padding */
    double lanes;            /* multiply-adds per clock and multiprocessor */
    double instructions;     /* issued by warps */
    double requests;         /* of warps to memory, global and shared */
    double wavefronts;       /* of shared memory, 128 bytes each */
    double lines, sectors;   /* of global requests */
    double distinct_sectors; /* sectors that differ within a block: the traffic of L1 */
    double barriers;
    double waits;          /* for global memory without prefetch; without barriers, per warp */
    double dependent_macs; /* length of the chain of dependent multiply-adds */
    /* Clocks between the ends of two blocks, from a simulation of the loop; 0: the queue decides. `last`: with the blocks
     * of the last wave. */
    double simulated_clocks, last_simulated_clocks;
} lab_launch_work;

/* Bottlenecks: name in JSON, title, and advice. */
/* clang-format off */
#define LAB_BOTTLENECK_LIST(X)                                                                         \
    X(MATH, "math", "multiply-add throughput",                                                      \
      "the kernel is near the peak for this type: only fewer or other multiply-adds help") \
    X(ISSUE, "issue", "issue slots",                                                                \
      "use fewer instructions per multiply-add: wider loads, more outputs per thread, addresses computed before the loop") \
    X(LSU, "load_store", "load/store units",                                                        \
      "use fewer memory instructions per multiply-add: reuse in registers, wider loads")                  \
    X(SHARED, "shared_memory", "shared memory and L1",                                              \
      "use fewer bytes per multiply-add and avoid bank conflicts and scattered lines: reuse in registers, padding or " \
      "a swizzle where wavefronts exceed the ideal")                                                \
    X(L2, "l2", "the path from L2", "use larger tiles, so that a block loads less")                   \
    X(DRAM, "dram", "DRAM bandwidth", "use larger tiles, or a block order that keeps panels in L2")     \
    X(LATENCY, "latency", "latency of memory and barriers",                                       \
      "prefetch loads, or use more warps per SM")                                          \
    X(TAIL, "tail", "a mostly empty last wave",                                             \
      "use smaller tiles or split-K, so that all multiprocessors have work")
/* clang-format on */

typedef enum lab_bottleneck {
#define X(name, word, title, advice) LAB_BOTTLENECK_##name,
    LAB_BOTTLENECK_LIST(X)
#undef X
        LAB_BOTTLENECK_COUNT
} lab_bottleneck;

/* Seconds of a launch without its blocks. Published measurements of empty kernels are between 2 and 4 microseconds. */
#define LAB_LAUNCH_SECONDS 3e-6

/* The factor that holds nine of ten ratios of published to predicted speed, with and without a simulated loop; see
 * results/published. */
#define LAB_UNCERTAINTY_SIMULATED 1.35
#define LAB_UNCERTAINTY_QUEUE 2.0

typedef struct lab_prediction {
    bool runs; /* false: a block does not fit a multiprocessor, or the GPU lacks the matrix engine */
    double clocks[LAB_BOTTLENECK_COUNT]; /* per block and station; LATENCY and TAIL: the clocks that
                                          * they add; DRAM: the share of one block */
    double busy;                         /* clocks of the busiest station */
    double clock_mhz;                    /* under the load of this kernel */
    double seconds, gflops;
    double uncertainty; /* the speed is between gflops / uncertainty and gflops * uncertainty */
    double peak_gflops; /* of the lanes that the kernel uses */
    lab_bottleneck bound;
    double waves, tail; /* full waves, and the fraction of the last, partial one (0: none) */
} lab_prediction;

/* Returns the blocks that one multiprocessor runs at a time, and those of the fullest one in the last, partial wave. */
double lab_resident_blocks(const lab_gpu *machine, const lab_launch_work *work);
double lab_last_blocks(const lab_gpu *machine, const lab_launch_work *work);

lab_prediction lab_predict(const lab_gpu *machine, const lab_launch_work *work);

/* Returns the clocks between two departures from the busy station, with `customers` that use it for `busy` clocks and
 * then wait. */
double lab_closed_queue_interval(double customers, double busy, double wait);

/* The tiles of a launch, for its DRAM traffic: the blocks of a wave share panels, and an operand that fits L2 is loaded
 * once. */
typedef struct lab_launch_tiling {
    double m, n, k, bm, bn; /* the problem and the block tile */
    double in_bytes, out_bytes;
    double wave;              /* resident blocks of the whole GPU */
    double grouped_tile_rows; /* rows of tiles that consecutive blocks traverse together (1: row by row) */
} lab_launch_tiling;

double lab_dram_bytes(const lab_gpu *machine, const lab_launch_tiling *tiling);

const char *lab_bottleneck_name(lab_bottleneck bound);  /* "shared_memory" */
const char *lab_bottleneck_title(lab_bottleneck bound); /* "shared memory and L1" */
const char *lab_bottleneck_advice(lab_bottleneck bound);

/* Returns Spearman's rank correlation of two lists; ties share their ranks. NAN for fewer than two values. */
double lab_rank_correlation(const double *a, const double *b, int count);
