/* SPDX-License-Identifier: Apache-2.0 */
/* bench_result.h - the result of rung bench: one row per contender and problem, how the rows compare, and printing them. */
#pragma once

#include <stdio.h>

#include "bench/bench_problem.h"
#include "bench/call_profile.h"
#include "bench/machine_conditions.h"
#include "bench/peer_environment.h"
#include "bench/sample_statistics.h"
#include "cli/options.h"
#include "io/row_state.h"
#include "target/sweep.h"

struct lab_explanation;

/* One contender on one problem. */
typedef struct lab_bench_row {
    char kernel[64], params[RUNG_PARAMETERS_BYTES];
    rung_origin origin; /* of the parameters */
    char origin_text[256];
    bool is_vendor;    /* a library of another vendor */
    bool is_peer;      /* a vendor's library by its own name, such as 00_vendor:mkl */
    bool is_call;      /* rung_gemm: the time of a whole call */
    bool is_packed;    /* B was packed before the runs; the name of a kernel of rung ends in ":packed" */
    bool vendor_tuned; /* the vendor of percent_of_vendor runs with tuned parameters */
    lab_type_pair product;
    lab_shape size;
    bool verified;
    lab_row_state state;
    char why_not[512];
    int64_t median_ns, min_ns, ci95_ns, samples, h2d_ns, d2h_ns, splits;
    rung_compute requested_compute, compute; /* `compute` is as precise as the requested mode or more */
    int64_t worst_ns, outliers;              /* see lab_sample_summary */
    lab_round_medians series;
    int64_t copy_count, cold_bytes; /* copies of A, B and C and their bytes; 1 and 0 for --cache hot */
    int64_t batch_wall_ns, calls_wall_ns;
    lab_call_profile call; /* sums only, of rung_gemm; wall_ns is 0 for kernels */
    double gflops;
    /* On the CPU. */
    lab_clock clock;
    int64_t threads, repeats;
    lab_cpu_probe probe;
    double probe_gflops;
    double peak_gflops;  /* the best probe; 0 if the probe is no upper bound */
    bool exceeds_peak;   /* implausible: the row has no time, and why_not says so */
    lab_speed_mode mode; /* of the median */
    lab_sample_summary fast, slow;
    char library[512], warning[256]; /* see rung_plan_info */
    /* Comparisons; 0 if there is nothing to compare with. */
    double percent_of_vendor, percent_of_peer, percent_of_probe, over_before, over_first;
    char best_peer[64];                  /* the peer of percent_of_peer */
    char explain_name[256];              /* the kernel's name or file for rung explain; "" if it cannot be explained */
    struct lab_explanation *explanation; /* NULL without --arch and --machine, and after a failure */
} lab_bench_row;

/* Compares the rows of one problem with each other (row_ratios.c).
 *
 * A row that is faster than the peak of its own instructions is a measurement error: it loses its times. A library with a
 * warning of its own, or far below the machine's peak, gets a warning and is not compared with. Times are compared within a
 * speed mode. percent_of_vendor requires the same compute mode; the best peer may use any mode that satisfies the request.
 * Steps of the ladder are compared only between rows with the same number of threads. */
void lab_bench_rows_compare(lab_bench_row *rows, int count);

/* Reports whether a row is more than 10 % faster than the best probe of its instructions. */
bool lab_bench_row_exceeds_peak(const lab_bench_row *row);

/* Returns slow / fast; 0 if either is not positive. */
double lab_ratio(int64_t slow, int64_t fast);

typedef struct lab_bench_result {
    const lab_options *options;
    const rung_device_info *device;
    int64_t batch;
    lab_epilogue epilogue;
    bool is_cold;
    lab_inputs inputs;
    int64_t seed;              /* of inputs other than LAB_INPUTS_WHOLE */
    lab_env_settings settings; /* environment variables set for other libraries */
    char pairing[64];          /* identifies two interleaved runs; "" for a run alone */
    lab_conditions before, after;
    lab_warnings warnings; /* about the conditions */
    lab_bench_row *rows;
    int row_count;
    bool complete; /* all problems are measured, without an interruption */
} lab_bench_result;

/* Writes the whole result for programs (bench_json.c): as CSV with --csv, else as JSON. */
void lab_bench_print(const lab_bench_result *bench, FILE *out);

/* Writes the whole result as JSON, schema rung-bench/1. */
void lab_bench_write_json(const lab_bench_result *bench, FILE *out);

/* Prints the device and the environment settings, and the rows from `first` on, to standard output (bench_table.c). */
void lab_bench_print_device(const lab_bench_result *bench);
void lab_bench_print_tables(const lab_bench_result *bench, int first);

/* ---- Saving (bench_save.c): --output is saved after each problem, so that a later failure does not lose the results. The
 * file is replaced by a rename and is complete at any time. ---- */

/* Set to "1" in the environment of the runs that lab_bench_run_many() starts. */
#define LAB_CHILD_RUN_VARIABLE "RUNG_BENCH_PART"

/* Reports whether this process is one of several runs: then its parent compares the results and owns the output files. */
bool lab_bench_is_child_run(void);

/* Checks before the measurement that --output and --baseline-json can be written. Returns an exit code. */
int lab_bench_check_output(const lab_options *options);

/* Saves the result so far to the file of --output, if there is one. Returns false after a message. */
bool lab_bench_save(lab_bench_result *bench);

/* Replaces the file `name` by what `print` writes, completely or not at all. Returns false after a message. */
bool lab_bench_save_file(const char *name, void (*print)(void *data, FILE *out), void *data);

/* Reports whether tables go to standard output: with --output, or without both --json and --csv. */
bool lab_bench_prints_tables(const lab_bench_result *bench);

/* Reports whether the result is of the CPU, whose rows have more columns. */
bool lab_bench_is_cpu(const lab_bench_result *bench);
