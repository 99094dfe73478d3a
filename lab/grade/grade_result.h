/* SPDX-License-Identifier: Apache-2.0 */
/* grade_result.h - the result of grading one submission, and how it is written. It contains no pointers to the heap, so that it
 * can be in memory that the grading child shares with its parent. */
#pragma once

#include <stdint.h>

#include "findings/finding_list.h"
#include "grade/task.h"

enum { LAB_GRADE_OUTPUT_BYTES = 4096, LAB_GRADE_PROBLEM_BYTES = 2048, LAB_GRADE_TEXT_BYTES = 1536 };

typedef enum lab_grade_state {
    LAB_GRADE_UNFINISHED,  /* the child ended before it had a result */
    LAB_GRADE_DONE,        /* with points, perhaps 0 */
    LAB_GRADE_NO_COMPILER, /* nothing ran */
    LAB_GRADE_TASK_BROKEN  /* the task or its reference is at fault, or memory or files are missing */
} lab_grade_state;

typedef struct lab_grade_part {
    int64_t points;
    bool is_reached;
    bool is_decided; /* by the part's own condition; otherwise nothing ran, or the results are wrong */
    char text[LAB_GRADE_TEXT_BYTES];
} lab_grade_part;

typedef struct lab_grade_result {
    lab_grade_state state;
    int64_t points;
    char problem[LAB_GRADE_PROBLEM_BYTES]; /* why nothing was run, such as an error of the compiler; "" otherwise */
    const char *obstacle;                  /* its kind, one of LAB_OBSTACLE_...; NULL without a problem */
    lab_grade_part parts[LAB_TASK_PARTS_MAX];
    lab_finding_list findings;
    char output[LAB_GRADE_OUTPUT_BYTES]; /* of printf() in the kernels: its beginning */
    bool output_is_cut;
} lab_grade_result;

/* Why nothing was run, in a few words. */
#define LAB_OBSTACLE_FILE "no file to grade"
#define LAB_OBSTACLE_LAUNCH "no launch: the line // rung: is missing or does not fit the kernel"
#define LAB_OBSTACLE_COMPILER "the file does not compile"
#define LAB_OBSTACLE_LIMIT "the compiler reached a limit"
#define LAB_OBSTACLE_END "the grading did not end within its limits"

/* What was graded. */
typedef struct lab_grade_report {
    const lab_task *task;
    const lab_grade_result *result;
    const char *path;
    uint64_t seed;
    const char *variant; /* whose variant the task is; NULL: nobody's */
} lab_grade_report;

/* Sets the points of every part to 0. `obstacle` is one of LAB_OBSTACLE_... */
void lab_grade_fail(const lab_task *task, lab_grade_result *result, const char *obstacle, const char *problem);

/* Print the result for people and as JSON. `source` is the text of the submission, or NULL. */
void lab_grade_print(const lab_grade_report *report, const char *source);
void lab_grade_write_json(const lab_grade_report *report);

/* Writes the fields "points", "parts" and others of a result, and the variant with its values. */
void lab_grade_write_fields(const lab_task *task, const lab_grade_result *result, lab_json *json);
void lab_grade_write_variant(const lab_task *task, const char *id, lab_json *json);

/* Write the result as JUnit's XML, one test case per part, and as results.json of Gradescope. */
void lab_grade_write_junit(const lab_grade_report *report, FILE *out);
void lab_grade_write_gradescope(const lab_grade_report *report, FILE *out);
