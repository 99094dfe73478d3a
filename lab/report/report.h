/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - writes result files as an HTML page with charts. The interface of lab/report to the rest of the lab.
 *
 * report_inputs.c reads the files and report_groups.c groups their rows. The sections are section_bench.c (measured
 * speeds, with section_sizes.c and section_roofline.c), section_tune.c (tried parameters), section_explain.c (counts and
 * predictions) and section_fields.c (all fields of all files). */
#pragma once

#include "report/chart.h"
#include "report/html_page.h"
#include "io/bench_results.h"

typedef enum lab_report_input_kind {
    LAB_REPORT_INPUT_BENCH,
    LAB_REPORT_INPUT_TUNE,
    LAB_REPORT_INPUT_EXPLAIN,
    LAB_REPORT_INPUT_PEAK
} lab_report_input_kind;

typedef struct lab_report_input {
    const char *name; /* file name without folder */
    lab_report_input_kind kind;
    lab_results results;        /* of rung bench */
    lab_json_document document; /* of the other kinds */
    const lab_json_value *root, *rows;
} lab_report_input;

/* A row and its label in charts. */
typedef struct lab_report_row {
    const lab_result *row;
    char label[LAB_LABEL_MAX];
    lab_marker mark;
    bool is_library; /* MKL, OpenBLAS, cuBLAS and so on */
} lab_report_row;

/* Rows that share a chart: one machine, type, mode, number of threads, batch and epilogue. Rows of several files are
 * combined unless a row occurs twice. */
typedef struct lab_report_row_group {
    const lab_report_input *input; /* the first file */
    const lab_result *first;
    lab_report_row *rows; /* verified rows, sorted by problem and kernel */
    int count;
    char title[256];
    int main_start, main_count; /* rows of the problem with the most rows */
} lab_report_row_group;

typedef struct lab_report {
    lab_report_input *inputs;
    int input_count;
    lab_report_row_group *groups;
    int group_count;
    int64_t row_count, verified_count; /* in all files */
    lab_page page;
} lab_report;

/* Adds a result file. `shown_as` is its name on the page (NULL: the file name). Returns false with a sentence in `why`;
 * then nothing was added. */
bool lab_report_add(lab_report *report, const char *file, const char *shown_as, char *why, size_t capacity);
bool lab_report_group_rows(lab_report *report); /* returns false if memory is exhausted */
void lab_report_free(lab_report *report);

/* Writes the page to report->page.out; page.why says which file could not be written. */
void lab_report_write(lab_report *report, const char *title);

/* ---- Sections ---- */

void lab_report_bench_section(lab_report *report);
void lab_report_tune_section(lab_report *report);
void lab_report_explain_section(lab_report *report);
void lab_report_peaks_section(lab_report *report);
void lab_report_machines_section(lab_report *report);
void lab_report_fields_section(lab_report *report);

/* ---- Shared by the sections ---- */

bool lab_report_has_kind(const lab_report *report, lab_report_input_kind kind);
bool lab_report_has_explained_rows(const lab_report *report);

/* Returns the first row of input `index`, linked to the others by `next`; NULL if the input is of another kind. */
const lab_json_value *lab_report_first_row(const lab_report *report, int index, lab_report_input_kind kind);

/* Returns the marker of a kernel, which is the same in every chart. */
lab_marker lab_kernel_marker(const char *kernel);
const char *lab_kernel_chart_name(const char *kernel); /* "MKL" for "00_vendor:mkl" */

/* Returns the library of 00_vendor on the row's device: "CLBlast", "cuBLAS", or "library" if unknown. */
const char *lab_result_device_library(const lab_result *row);

/* Return the problem as "m x n x k", and its operations. */
lab_formatted lab_result_problem(const lab_result *row);
lab_formatted lab_json_problem(const lab_json_value *row);
double lab_json_flops(const lab_json_value *row);

/* Returns " The chart shows ... of ...; the table has all.", or "" if all are shown. */
lab_formatted lab_omission_note(int shown, int all);

bool lab_result_is_square(const lab_result *row);

/* Returns the end of the rows with the same problem as row `start`. */
int lab_report_problem_end(const lab_report_row_group *group, int start);

/* Returns FLOP per byte if A, B and C are moved once; 0 for an unknown type. */
double lab_intensity(const lab_result *row);

/* Returns the measured peak: of the row's own probe, else of a `rung peak` file; 0 if unknown. */
double lab_report_peak_gflops(const lab_report *report, const lab_report_row_group *group, const lab_result *row);

/* Returns the median of the peaks of rows `start` to `end`; 0 if none is known. */
double lab_report_median_peak(const lab_report *report, const lab_report_row_group *group, int start, int end);

/* Gets the best library that `rung bench` compared the row with, and the row's speed in percent of that library. Both
 * have the same problem and machine mode. Returns false without a comparison. */
bool lab_result_best_library(const lab_result *row, const char **library, double *percent);

/* Adds the memory ceilings of the group's machine from `rung peak` files. */
void lab_report_add_memory_ceilings(const lab_report *report, const lab_report_row_group *group,
                                    lab_roofline *roofline);

/* Writes a figure of measured values of a group, with the slug "NAME TITLE-OF-THE-GROUP". */
void lab_report_group_figure(lab_report *report, const lab_report_row_group *group, const char *name,
                             lab_figure figure);

/* Draw the charts over sizes (section_sizes.c) and the roofline (section_roofline.c) of the bench section. */
void lab_report_draw_size_chart(lab_report *report, const lab_report_row_group *group);
void lab_report_draw_roofline_chart(lab_report *report, const lab_report_row_group *group);

/* A sample of a heat map of speed over parameters. No map is drawn if no parameter varies. */
typedef struct lab_heat_map_sample {
    const char *params;
    double gflops;
} lab_heat_map_sample;

void lab_report_heat_map(lab_report *report, const char *title, const char *slug, const char *caption,
                         const lab_heat_map_sample *tried, int count);
