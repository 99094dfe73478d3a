/* SPDX-License-Identifier: Apache-2.0 */
/* check_program.h - writes the C++ text that evaluates the launches of rung check. Like the text of
 * cuda_source/launch_program.h, it is appended to the user's file, compiled with it, and runs on the emulator. So the
 * compiler converts every argument to the type of its parameter, and nothing runs natively. Launch i is evaluated by
 *
 *     rung_check_launch_i(long long *rung_results, unsigned char *rung_values) */
#pragma once

#include "check/launch_line.h"
#include "cuda_source/cuda_outline.h"

/* Indices of the results. */
enum {
    LAB_CHECK_RESULT_GRID = 0,
    LAB_CHECK_RESULT_BLOCK = 3,
    LAB_CHECK_RESULT_CLUSTER = 6,
    LAB_CHECK_RESULT_SHARED = 9,
    LAB_CHECK_RESULT_ARGUMENTS = 10, /* five for each argument: */
    LAB_CHECK_ARGUMENT_COUNT = 0,    /* elements of an array */
    LAB_CHECK_ARGUMENT_OFFSET,       /* of a field from the start of its struct */
    LAB_CHECK_ARGUMENT_BYTES,        /* of what the parameter points to; 0 for void, -1 if it is no pointer */
    LAB_CHECK_ARGUMENT_KIND,         /* lab_pointed_kind */
    LAB_CHECK_ARGUMENT_IS_CUT,       /* 1: the value has a fraction, and the parameter is an integer */
    LAB_CHECK_ARGUMENT_RESULTS,
    LAB_CHECK_RESULTS = LAB_CHECK_RESULT_ARGUMENTS + LAB_CHECK_ARGUMENT_RESULTS * LAB_LINE_ARGUMENTS_MAX,
    LAB_CHECK_VALUE_BYTES = 1024, /* room of the value of one parameter */
    LAB_CHECK_VALUES_BYTES = LAB_CHECK_VALUE_BYTES * LAB_CUDA_PARAMETERS_MAX
};

/* What a parameter points to. */
typedef enum lab_pointed_kind { LAB_POINTED_OTHER, LAB_POINTED_FLOAT, LAB_POINTED_INTEGER } lab_pointed_kind;

/* One launch of the program. */
typedef struct lab_check_program_launch {
    const lab_launch_line *line;
    int kernel;                              /* index of a function */
    const char *name;                        /* with scope and template arguments, for messages */
    const char *expression;                  /* the same for the compiler; a pointer if `is_cast` */
    bool is_cast;                            /* to the type of the function, because other functions have its name */
    int parameters[LAB_LINE_ARGUMENTS_MAX];  /* by argument: its parameter; -1: a variable of the file */
    bool is_pointer[LAB_LINE_ARGUMENTS_MAX]; /* by argument: an array, or the name of an array */
} lab_check_program_launch;

/* Returns the text, for free(); NULL if memory is exhausted. */
char *lab_check_program_write(const lab_cuda_outline *outline, const lab_check_program_launch *launches, int count);
