/* SPDX-License-Identifier: Apache-2.0 */
/* plain_report.h - what rung verify found out about a kernel of a plain CUDA file, as text and as JSON. */
#pragma once

#include "findings/finding_list.h"
#include "plain_gemm/gemm_meaning.h"
#include "plain_gemm/gemm_sizes.h"

/* What was found out about one kernel with one configuration of its launch. */
typedef struct lab_plain_report {
    lab_gemm_kernel kernel;
    char launch_lines[64]; /* of the host code: "40, 52" */
    char not_run[512];     /* other launches of the kernel that did not run; "" if all did */
    bool is_open;          /* otherwise `why` says why not */
    bool is_understood;    /* an interpretation explains the result */
    lab_gemm_meaning meaning;
    lab_gemm_sizes sizes;
    lab_gemm_formula formula; /* if not understood: what comes close */
    lab_gemm_result first;    /* at the base size */
    const char *precision;    /* the lower precision that a case needed; NULL if none did */
    bool is_low_precision;
    bool is_late; /* the time was over before all cases ran */
    int cases, wrong;
    int wrong_integers; /* wrong cases with small integers */
    char first_wrong[768];
    lab_finding_list findings;
    char why[2048];
} lab_plain_report;

/* Prints the report for people. `seconds` is the time limit. */
void lab_plain_report_print(const lab_plain_report *report, const lab_gemm_file *file, double seconds);

/* Writes the report as an object. The findings are not part of it. */
void lab_plain_report_write(const lab_plain_report *report, lab_json *json);
