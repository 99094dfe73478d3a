/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - results as a page: what is read, how rows are put together into what one picture shows, and the parts
 * of the page.
 *
 * report.c reads and groups; report_bench.c draws what was measured, report_tune.c what was tried, report_explain.c
 * what was counted and predicted, report_fields.c tells every field of every file. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "chart.h"
#include "page.h"
#include "results.h"

typedef enum lab_input_kind { LAB_INPUT_BENCH, LAB_INPUT_TUNE, LAB_INPUT_EXPLAIN, LAB_INPUT_PEAK } lab_input_kind;

typedef struct lab_input {
    const char *name; /* the file's, without its folder */
    lab_input_kind kind;
    lab_results results;   /* of rung bench, */
    lab_document document; /* of the others */
    const lab_value *root, *rows;
} lab_input;

/* A row and what it is called in pictures. */
typedef struct lab_shown {
    const lab_result *row;
    char label[LAB_LABEL_MAX];
    lab_mark mark;
    bool is_library; /* somebody else's */
} lab_shown;

/* Rows that may stand in one picture: one machine, type, mode, number of threads, batch and epilogue. Those of
 * several files, as long as none of them is there twice. */
typedef struct lab_group {
    const lab_input *input; /* the first */
    const lab_result *first;
    lab_shown *rows; /* the verified ones: by problem, then by kernel */
    int count;
    char title[256], where[256];
    int main_from, main_count; /* the rows of the problem that most were tried on */
} lab_group;

typedef struct lab_report {
    lab_input *inputs;
    int input_count;
    lab_group *groups;
    int group_count;
    int64_t row_count, verified_count; /* of all files */
    lab_page page;
} lab_report;

/* False with a sentence; then nothing is to be freed. `shown_as` is the name to tell, NULL: the file's. */
bool lab_report_add(lab_report *report, const char *file, const char *shown_as, char *why, size_t capacity);
bool lab_report_group(lab_report *report); /* false if there is no memory */
void lab_report_free(lab_report *report);

/* The whole page, on report->page.out; page.why says what could not be written. */
void lab_report_write(lab_report *report, const char *title);

/* ---- Its parts ---- */

void lab_report_bench(lab_report *report);
void lab_report_tune(lab_report *report);
void lab_report_explain(lab_report *report);
void lab_report_peaks(lab_report *report);
void lab_report_machines(lab_report *report);
void lab_report_fields(lab_report *report);

/* ---- What they share ---- */

bool lab_has_kind(const lab_report *report, lab_input_kind kind);
bool lab_has_explained(const lab_report *report);
lab_mark lab_mark_of(const char *kernel);
bool lab_is_library(const char *kernel);
const char *lab_kernel_words(const char *kernel); /* "00_vendor:mkl" is mkl in a picture */
void lab_write_problem(int64_t m, int64_t n, int64_t k, char *text, size_t capacity);
double lab_flops(int64_t m, int64_t n, int64_t k);

/* Flops for each byte of A, B and C, each moved once; 0 if the type is not known. */
double lab_intensity(const lab_result *row);

/* What was measured to be the most: of this row's own probe, else of a file of rung peak; 0 if unknown. */
double lab_peak_of(const lab_report *report, const lab_group *group, const lab_result *row);

/* What rung bench held the row against, and by how many per cent it is as fast: the best other library, or the
 * vendor's. It does so within one problem and one mode of the machine alone. False if there was nothing to
 * compare with. */
bool lab_beside(const lab_result *row, const char **library, double *percent);

/* The memory of the machine that the group was measured on, by files of rung peak; how many ceilings. */
int lab_memory_of(const lab_report *report, const lab_group *group, lab_ceiling *ceilings, int most);

/* The best of a heat map, drawn from kernels' parameters as text and their speed. Nothing where nothing varies. */
typedef struct lab_tried {
    const char *params;
    double gflops;
} lab_tried;

void lab_report_heat(lab_report *report, const char *title, const char *slug, const char *caption,
                     const lab_tried *tried, int count);

#endif /* LAB_REPORT_H */
