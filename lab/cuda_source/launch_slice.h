/* SPDX-License-Identifier: Apache-2.0 */
/* launch_slice.h - the statements of a host function that the values of an expression depend on.
 *
 * A launch such as kernel<<<grid, block>>>(...) uses variables of its function. The slice has the declarations and
 * assignments of these variables, so that NVRTC can compile them without the rest of the host code. */
#pragma once

#include <stdio.h>

#include "cuda_source/cuda_outline.h"

enum { LAB_SLICE_NAMES_MAX = 128, LAB_SLICE_STATEMENTS_MAX = 128 };

/* One definition: `int a = 1, b = 2;` are two, which share the type. */
typedef struct lab_slice_statement {
    lab_token_range type; /* empty for an assignment */
    lab_token_range rest; /* declarator or assignment, without ";" */
    int name;             /* token of the name that it defines */
} lab_slice_statement;

typedef struct lab_launch_slice {
    const lab_cuda_outline *outline;
    const lab_cuda_launch *launch;
    rungi_string_view needed[LAB_SLICE_NAMES_MAX]; /* names that the expressions use, directly or not */
    int needed_count;
    rungi_string_view free[LAB_CUDA_ARGUMENTS_MAX]; /* names whose values the caller gives; they are not followed */
    int free_count;
    lab_slice_statement statements[LAB_SLICE_STATEMENTS_MAX]; /* in the order of the file */
    int count;
    int member_count; /* of the first statements: constants and fields of the class that the function belongs to */
} lab_launch_slice;

/* Starts an empty slice. */
void lab_launch_slice_begin(lab_launch_slice *slice, const lab_cuda_outline *outline, const lab_cuda_launch *launch);

/* Adds a name whose value the caller gives. */
void lab_launch_slice_free(lab_launch_slice *slice, rungi_string_view name);

/* Adds an expression of the launch. */
void lab_launch_slice_need(lab_launch_slice *slice, lab_token_range expression);

/* Finds the statements, from the last to the first before the launch. */
void lab_launch_slice_find(lab_launch_slice *slice);

/* Writes one statement as C++. Returns whether the statement declares a constant. */
bool lab_launch_slice_write_statement(const lab_launch_slice *slice, int index, FILE *out);

/* Writes the statements as C++, one per line. */
void lab_launch_slice_write(const lab_launch_slice *slice, FILE *out);

/* Returns whether the slice uses a name, or has a statement that defines the name. */
bool lab_launch_slice_needs(const lab_launch_slice *slice, rungi_string_view name);
bool lab_launch_slice_defines(const lab_launch_slice *slice, rungi_string_view name);
