/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_result.h - the result of one run of a plain kernel. */
#pragma once

#include "plain_gemm/gemm_kernel.h"

typedef enum lab_gemm_outcome {
    LAB_GEMM_RIGHT,
    LAB_GEMM_WRONG,
    LAB_GEMM_INVALID, /* the launch is invalid, for example 0 blocks */
    LAB_GEMM_STOPPED, /* the kernel trapped, or accessed memory far outside */
    LAB_GEMM_ENDLESS, /* the kernel did not end within the limit of instructions */
    LAB_GEMM_LATE,    /* the time of all runs together is over */
    LAB_GEMM_ERROR    /* of rung: out of memory, unknown parameters */
} lab_gemm_outcome;

typedef struct lab_gemm_result {
    lab_gemm_outcome outcome;
    lab_gemm_launch launch;
    const char *precision; /* "tf32", "f16" or "bf16" if only this precision explains the result; NULL otherwise */
    bool is_low_precision; /* the sums were rounded to the type of C at each step */
    int64_t batch;         /* products in the run */
    int64_t finding_count; /* of the emulator, until the next run */
    char text[512];        /* first wrong element, or the reason */
} lab_gemm_result;
