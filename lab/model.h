/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - how fast a kernel can be on a machine, from what was counted of it, and what
 * stops it there.
 *
 * A multiprocessor is a set of stations: the lanes that multiply, the slots that issue, the
 * load/store units, what shared memory and L1 deliver, the path from L2. Each block brings
 * each station an amount of work, in clocks; blocks that are held at once overlap, so the
 * busiest station is the floor:
 *
 *     busy = max over stations (work of a block / what the station does in a clock)
 *
 * Between its pieces of work a block also waits, for a barrier and for loads that nothing
 * was done to fetch ahead; that time only other blocks can fill. `held` blocks that alternate
 * between one busiest station and such a wait are a closed queue, whose throughput mean value
 * analysis gives exactly for random times:
 *
 *     queue(0) = 0,  turn(r) = busy (1 + queue(r - 1)),  queue(r) = r turn(r) / (turn(r) + wait)
 *
 * Sums are added to in order, so a block is at work no less than its k multiply-adds take one
 * after the other. Without barriers warps, not blocks, are what alternates. The whole launch is as many waves
 * of blocks as there are, a last one that is not full, and no less than DRAM takes for what L2
 * does not keep. Nothing here is fitted to a measurement. */
#ifndef LAB_MODEL_H
#define LAB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* What a kernel's launch consists of. */
typedef struct lab_load {
    double blocks, flops;    /* of the launch; 2 m n k */
    double dram_bytes;       /* of the launch */
    double held;             /* blocks that a multiprocessor holds; 0: it cannot run */
    double warps;            /* of a block, as all that follows, over its whole k */
    double macs;             /* thread-level multiply-adds, those of padding too */
    double lanes;            /* multiply-adds a clock that serve them */
    double instructions;     /* issued by warps */
    double requests;         /* of warps to memory, global and shared */
    double wavefronts;       /* of 128 bytes, of shared memory */
    double lines, sectors;   /* that global requests touch */
    double distinct_sectors; /* the same, each counted once a block: what L1 fetches */
    double barriers;
    double waits; /* for global memory, with nothing fetched ahead; without barriers, a warp's */
    double chain; /* multiply-adds that must follow each other */
} lab_load;

/* What may bound a kernel: name, words, and what would help. */
/* clang-format off */
#define LAB_STATION_LIST(X)                                                                         \
    X(MATH, "math", "the lanes that multiply",                                                      \
      "nothing else is in the way of the peak for this type: only fewer or other multiply-adds help") \
    X(ISSUE, "issue", "issue slots",                                                                \
      "fewer instructions a multiply-add: wider loads, more outputs a thread, addresses found before the loop") \
    X(LSU, "load_store", "load/store units",                                                        \
      "fewer memory instructions a multiply-add: reuse in registers, wider loads")                  \
    X(SHARED, "shared_memory", "shared memory and L1",                                              \
      "fewer bytes a multiply-add, no bank conflicts, no scattered lines: reuse in registers, padding or " \
      "a swizzle where wavefronts exceed the ideal")                                                \
    X(L2, "l2", "the path from L2", "larger tiles, so that a block fetches less")                   \
    X(DRAM, "dram", "DRAM bandwidth", "larger tiles, or a block order that keeps panels in L2")     \
    X(LATENCY, "latency", "waiting, for memory and barriers",                                       \
      "loads that are fetched ahead, or more warps an SM")                                          \
    X(TAIL, "tail", "a last wave that is mostly empty",                                             \
      "smaller tiles or shares of k, so that all multiprocessors have work")
/* clang-format on */

typedef enum lab_station {
#define X(name, word, words, help) LAB_AT_##name,
    LAB_STATION_LIST(X)
#undef X
        LAB_STATION_COUNT
} lab_station;

typedef struct lab_prediction {
    bool runs;                        /* false: no multiprocessor holds a block */
    double clocks[LAB_STATION_COUNT]; /* of a block, by station; of LATENCY and TAIL, those
                                       * that they add; of DRAM, a block's part */
    double busy;                      /* the largest station's */
    double block_clocks;              /* from one block's end to the next's, on one multiprocessor */
    double seconds, gflops;
    double peak_gflops; /* of the lanes that serve */
    lab_station bound;
    double waves, tail; /* whole waves, and how full the last one is (0: there is none) */
} lab_prediction;

lab_prediction lab_predict(const lab_machine *machine, const lab_load *load);

/* Clocks from one customer's leaving the busy station to the next's: `customers` that need it
 * for `busy` and then wait. */
double lab_queue(double customers, double busy, double wait);

/* What a launch brings from DRAM: panels that a wave of blocks shares are brought once a wave,
 * an operand that L2 keeps once. */
typedef struct lab_panels {
    double m, n, k, bm, bn; /* the problem and the tile of a block */
    double in_bytes, out_bytes;
    double wave;          /* blocks at once on the whole machine */
    double rows_in_order; /* rows of tiles that consecutive blocks go through together, 1: row by row */
} lab_panels;

double lab_dram_bytes(const lab_machine *machine, const lab_panels *panels);

const char *lab_station_name(lab_station bound);  /* "shared_memory" */
const char *lab_station_words(lab_station bound); /* "shared memory and L1" */
const char *lab_station_help(lab_station bound);

/* Spearman's rank correlation of two lists; ties share their ranks. NAN for fewer than two. */
double lab_rank_correlation(const double *a, const double *b, int count);

#endif /* LAB_MODEL_H */
