/* SPDX-License-Identifier: Apache-2.0 */
/* class.h - the submissions of a class for one task: finds them in a folder, grades several at a time, and writes tables. */
#pragma once

#include "cli/options.h"
#include "grade/grade_result.h"

enum {
    LAB_CLASS_STUDENTS_MAX = 4096,
    LAB_CLASS_NAME_BYTES = 128,
    LAB_CLASS_JOBS_MAX = 256,
    LAB_CLASS_BINS = 11, /* of the distribution: 0 to 9 percent of the points, ..., 90 to 99 percent, all */
    LAB_CLASS_MISTAKES_MAX = 64
};

typedef struct lab_class_student {
    char name[LAB_CLASS_NAME_BYTES]; /* of the file without .cu, or of the folder; without control characters */
    char *path;                      /* of the submission; of the folder if it has none */
    char missing[256];               /* why there is no file to grade; "" if there is one */
    lab_task *variant;               /* the task of this student; NULL: that of the class */
    lab_grade_result *result;        /* in shared memory */
} lab_class_student;

typedef struct lab_class {
    const lab_task *task;
    const char *folder;
    uint64_t seed;
    double seconds; /* limit of processor time per submission; 0: none */
    int jobs;
    bool has_variants;           /* each student has a variant of the task */
    lab_class_student *students; /* in the order of their names */
    int count;
} lab_class;

/* Lists the students of a folder: each file that ends in .cu, and each folder, in which the submission is the only such file or
 * the one named after the task. Symbolic links are not followed. Returns false with a sentence. */
bool lab_class_read(lab_class *class, char *why, size_t capacity);
void lab_class_free(lab_class *class);

/* Grades all submissions. Returns an exit code: LAB_EXIT_SUCCESS, or another one after printing why the grading failed. */
int lab_class_grade(lab_class *class);

/* ---- Sums (class_summary.c) ---- */

/* A mistake that one or more students made; a student counts once. */
typedef struct lab_class_mistake {
    const char *kind; /* "problem", "results", "finding" or "metric" */
    char reason[160]; /* an obstacle, the name of a part, or the kind of a finding */
    int students;
    int example;                        /* index of a student who made it */
    int line;                           /* of the example's file; 0: none */
    char text[LAB_GRADE_PROBLEM_BYTES]; /* what the grading says about the example */
    char source[160];                   /* the line of the example, or "" */
} lab_class_mistake;

typedef struct lab_class_part {
    int students;   /* who reached it */
    int64_t points; /* of all students together */
} lab_class_part;

typedef struct lab_class_summary {
    int full;       /* students with all points */
    int64_t points; /* of all students together */
    double mean, median;
    int bins[LAB_CLASS_BINS];
    lab_class_part parts[LAB_TASK_PARTS_MAX];
    lab_class_mistake mistakes[LAB_CLASS_MISTAKES_MAX]; /* the most common one first */
    int mistake_count;
} lab_class_summary;

/* Adds up the grades. The caller frees the summary; NULL if memory is exhausted. */
lab_class_summary *lab_class_summarize(const lab_class *class);

/* Returns the percentages of a bin as "50 to 59 %". */
const char *lab_class_bin_text(int bin);

/* Writes what a student lost points for, one line per part, or the problem; "" for all points. */
void lab_class_describe_losses(const lab_class *class, const lab_class_student *student, char *text, size_t capacity);

/* Returns the task of a student. */
static inline const lab_task *lab_class_task_of(const lab_class *class, const lab_class_student *student)
{
    return student->variant ? student->variant : class->task;
}

/* ---- Output ---- */

void lab_class_print(const lab_class *class, const lab_class_summary *summary);
void lab_class_write_json(const lab_class *class, const lab_class_summary *summary, FILE *out);

/* Writes the page. Returns false with a sentence. */
bool lab_class_save_page(const lab_class *class, const lab_class_summary *summary, const char *path, char *why,
                         size_t capacity);
