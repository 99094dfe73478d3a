/* SPDX-License-Identifier: Apache-2.0 */
/* case_runner.h - runs one test case on one kernel and checks the result, for `rung verify`, `rung tune` and the
 * tests. */
#pragma once

#include "verify/case_data.h"

typedef enum lab_case_status {
    LAB_CASE_CORRECT,
    LAB_CASE_WRONG,
    LAB_CASE_REJECTED, /* the kernel or device does not support the problem, or there is not enough memory */
    LAB_CASE_FAILED    /* an error while compiling or running */
} lab_case_status;

/* The kind of a wrong result. */
typedef enum lab_fault {
    LAB_FAULT_NONE,
    LAB_FAULT_ELEMENT, /* an element of C is wrong */
    LAB_FAULT_OUTSIDE, /* memory between or around the elements of C has changed */
    LAB_FAULT_REPEAT,  /* a second run gives different bits */
} lab_fault;

typedef struct lab_case_result {
    lab_case_status kind;
    lab_fault fault;    /* LAB_FAULT_NONE unless the kind is LAB_CASE_WRONG */
    bool lacked_memory; /* of a rejected case: another case, or a later run, may have enough */
    char message[4096]; /* what is wrong, or why the case did not run */
} lab_case_result;

/* Checks every element of the output and the memory around it. */
void lab_case_check_result(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data,
                           lab_case_result *result);

/* Runs one case and checks every element and the memory around the output. */
void lab_case_run(const lab_tested_kernel *subject, const lab_case *problem, lab_case_result *result);

/* Runs the case `times` more times. The result is correct if every run gives the same bits. */
void lab_case_run_repeated(const lab_tested_kernel *subject, const lab_case *problem, int64_t times,
                           lab_case_result *result);

/* Writes the `rung verify` command that runs only this case. */
void lab_case_command(const lab_tested_kernel *subject, const lab_case *problem, char *text, size_t capacity);
