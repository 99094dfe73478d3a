/* SPDX-License-Identifier: Apache-2.0 */
/* task_case.h - one case of a task: its sizes, the random contents of its arrays, and the results of the reference. */
#pragma once

#include "grade/reference.h"
#include "grade/task.h"

/* One argument of a case. */
typedef struct lab_task_case_argument {
    int64_t count; /* elements; 1 for a number */
    int64_t bytes;
    unsigned char *data; /* of the element's type, before the launch; of a number, too. NULL for "out" */
    double *values;      /* the same as doubles */
    double *expected;    /* of a result */
    double *scale;       /* of a result; NaN: |expected| */
    int64_t roundings;
} lab_task_case_argument;

typedef struct lab_task_case {
    const lab_task *task;
    int64_t sizes[LAB_TASK_SIZES_MAX];
    bool is_hidden, is_measured;
    int64_t number; /* of the case in the run, for random numbers */
    lab_task_case_argument arguments[LAB_TASK_ARGUMENTS_MAX];
} lab_task_case;

/* What reference.c sees. */
struct lab_reference {
    lab_task_case *of;
};

/* Lists the cases of a task in the order of the file; hidden ones are drawn by the seed. Returns their number, at most
 * `capacity`. */
enum { LAB_TASK_CASES_MAX = 64 };
int lab_task_draw_cases(const lab_task *task, uint64_t seed, lab_task_case *cases, int capacity);

/* Allocates and fills the arguments. Returns false with a sentence. Call lab_task_case_free() in every case. */
bool lab_task_case_fill(lab_task_case *one, uint64_t seed, char *why, size_t capacity);
void lab_task_case_free(lab_task_case *one);

/* A comparison of one result with the reference. */
typedef struct lab_task_comparison {
    int64_t wrong, first;
    double got, expected, bound; /* of the first wrong element */
} lab_task_comparison;

/* Compares `data` with the expected result of an argument. */
lab_task_comparison lab_task_case_compare(const lab_task_case *one, int argument, const void *data);

/* Writes "n = 33". */
void lab_task_case_describe(const lab_task_case *one, char *text, size_t capacity);
