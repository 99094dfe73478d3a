/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what rung bench found out: a row a contender and problem, how they compare, and
 * telling it. */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include <stdio.h>

#include "call.h"
#include "cases.h"
#include "clock.h"
#include "conditions.h"
#include "explain.h"
#include "measure.h"
#include "options.h"
#include "peers.h"
#include "probe.h"
#include "samples.h"
#include "sweep.h"

/* A line of the result. */
typedef struct lab_row {
    char kernel[64], params[RUNG_PARAMETERS_BYTES];
    rung_origin origin; /* of the parameters */
    char origin_text[256];
    bool is_vendor;    /* a library of somebody else's, */
    bool is_peer;      /* by its own name */
    bool is_call;      /* rung_gemm, whose time is no kernel's */
    bool is_packed;    /* B was packed before the runs; the kernel's name ends in ":packed" */
    bool vendor_tuned; /* the vendor that percent_of_vendor is of */
    lab_product product;
    lab_shape size;
    bool verified;
    lab_row_state state;
    char why_not[512];
    int64_t median_ns, min_ns, ci95_ns, samples, h2d_ns, d2h_ns, splits;
    rung_compute asked, compute; /* how it was to form products, and how it did, or better */
    int64_t worst_ns, outliers;  /* see samples.h */
    lab_series series;
    int64_t sets, cold_bytes; /* of A, B and C that took turns, 1 where it is hot, and their bytes */
    int64_t batch_wall_ns, calls_wall_ns;
    lab_call call; /* its sums, where the row is rung_gemm's; wall_ns is 0 elsewhere */
    double gflops;
    /* On the CPU. */
    lab_clock clock;
    int64_t threads, repeats;
    lab_probe probe;
    double probe_gflops;
    double roof_gflops; /* the best that was seen of the probe, 0 where it is no roof */
    bool is_beyond;     /* that: it has no time then, and why_not says so */
    lab_mode mode;      /* that the median is of */
    lab_spread fast, slow;
    char library[512], doubt[256]; /* see rung_plan_info */
    /* How it compares; 0 where there is nothing to compare with. */
    double percent_of_vendor, percent_of_peer, percent_of_probe, over_before, over_first;
    char best_peer[64];           /* that percent_of_peer is of */
    char asked_as[256];           /* the kernel's name or file, "" for what is not explained */
    lab_explanation *explanation; /* NULL where it is not asked for or cannot be given */
} lab_row;

/* Fills in how the rows of one problem compare. One that is faster than its own instructions can be is
 * an error of measuring, however right its result: it loses its times. A library that is in doubt, by its own word or
 * because it is far below the machine's peak where none is that is at its best, is told of in
 * its row and compared with nowhere. Times are compared within a mode, and a per cent of the
 * vendor is told only where both form products alike; the best peer is that of whatever was
 * asked for. Steps of the ladder are compared only between rows with the same number of threads. (compare.c) */
void lab_rows_compare(lab_row *rows, int count);

/* Whether it is more than ten per cent faster than the best that was seen of its instructions. */
bool lab_row_is_beyond(const lab_row *row);

/* slow over fast, 0 if one of them is. */
double lab_ratio(int64_t slow, int64_t fast);

typedef struct lab_bench {
    const lab_options *options;
    const rung_device_info *device;
    int64_t batch;
    lab_epilogue epilogue;
    bool is_cold;
    lab_inputs inputs;
    int64_t seed;          /* of inputs that are not whole */
    lab_settings settings; /* what was set for the vendors' sake */
    char pairing[64];      /* of two runs that took turns, "" of one alone */
    lab_conditions before, after;
    lab_warnings warnings; /* of those */
    lab_row *rows;
    int row_count;
    bool complete; /* nothing is missing: it was not interrupted, and is at its end */
    FILE *out;     /* output stream; set by the reporting function */
} lab_bench;

/* bench_show.c. Writes the whole result for programs: as JSON, with --csv as CSV. */
void lab_bench_print(lab_bench *bench, FILE *out);

/* Tables on standard output, as problems are done: what stands above them, and the rows from
 * `first` on. */
void lab_bench_print_head(lab_bench *bench);
void lab_bench_print_from(lab_bench *bench, int first);

/* Returns whether standard output gets tables: --output is given, or neither --json nor --csv is. */
bool lab_bench_has_tables(const lab_bench *bench);

/* bench_file.c: the result as it is so far in the file of --output, whole at any moment: it is
 * written beside it and then given its name. False after a sentence. */
bool lab_bench_save(lab_bench *bench);

/* Replaces the file with what `print` writes, complete or not at all. False after a message. */
bool lab_output_save(const char *name, void (*print)(void *data, FILE *out), void *data);

/* Whether the files of --output and --baseline-json can be written, before minutes are spent. An exit code. */
int lab_bench_check_file(const lab_options *options);

/* The JSON alone. */
void lab_bench_write_json(const lab_bench *bench, FILE *out);

#endif /* LAB_BENCH_H */
