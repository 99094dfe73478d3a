/* SPDX-License-Identifier: Apache-2.0 */
/* launch_host.h - values of host variables that the statements before a launch do not give: sizes in members such as
 * dimsA.x, conditions around the launch, answers of the CUDA runtime about the GPU, and arguments of the calls of the
 * launching function. */
#pragma once

#include <stdio.h>

#include "cuda_source/launch_slice.h"
#include "cuda_source/launch_source.h"

/* A value of a variable, or of one of its members. */
typedef struct lab_host_value {
    rungi_string_view name, member; /* `member` is empty for the variable */
    char text[48];                  /* C++ expression: "values[3]" or "16" */
    bool holds_always;              /* after every assignment of the variable; otherwise after its declaration */
} lab_host_value;

enum { LAB_HOST_VALUES_MAX = 64 };

typedef struct lab_host_values {
    const lab_cuda_outline *outline;
    const lab_launch_source *source;
    lab_host_value items[LAB_HOST_VALUES_MAX];
    int count;
    char unknown
        [256]; /* "n, which scanf sets in line 7" for a variable that has no value before the program runs; or "" */
} lab_host_values;

/* Finds the values. `slice` has the names that the launch needs. */
void lab_host_values_find(lab_host_values *values, const lab_launch_slice *slice);

/* Returns whether a variable or one of its members has a value. */
bool lab_host_values_have(const lab_host_values *values, rungi_string_view name);

/* Writes the assignments of a variable's values; those that hold after the declaration only if `is_declared` is true. */
void lab_host_values_write(const lab_host_values *values, rungi_string_view name, bool is_declared, FILE *out);

/* Writes the parameters of the launching function that the slice needs and does not define, with the values of
 * conditions, template arguments or the first call of the function. */
void lab_host_values_write_parameters(const lab_host_values *values, const lab_launch_slice *slice, FILE *out);
