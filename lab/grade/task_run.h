/* SPDX-License-Identifier: Apache-2.0 */
/* task_run.h - runs the launches of a file on one case, on the emulator: results, findings and counts. */
#pragma once

#include "findings/finding_list.h"
#include "grade/task_case.h"
#include "grade/task_code.h"

/* Limits and outputs of a run. */
typedef struct lab_task_run_settings {
    bool is_checked;            /* all checks of the emulator; otherwise only those that every run has */
    int64_t until_cpu_ns;       /* the launch ends at this processor time of the process; 0: never */
    FILE *output;               /* of printf() in kernels */
    lab_finding_list *findings; /* receives findings; may be NULL */
} lab_task_run_settings;

typedef enum lab_task_run_ending {
    LAB_TASK_RUN_COMPLETE,
    LAB_TASK_RUN_FAILED,   /* a launch was refused, trapped or did not end */
    LAB_TASK_RUN_TIMED_OUT /* the processor time */
} lab_task_run_ending;

typedef struct lab_task_run_result {
    lab_task_run_ending ending;
    char stopped[512];  /* why a launch did not end */
    bool lacked_memory; /* of this machine, or the kernel needs more than the emulator allows */
    bool is_right;
    char wrong[512];                  /* which element is wrong; "" if none is */
    double metrics[LAB_METRIC_COUNT]; /* of a measured case */
} lab_task_run_result;

/* Runs the case, and compares the results with the reference. */
void lab_task_run(const lab_task_code *code, const lab_task_case *one, const lab_task_run_settings *settings,
                  lab_task_run_result *result);

/* Runs a reference.cu, and stores its results as the expected ones. Returns false with a sentence. */
bool lab_task_run_reference(const lab_task_code *code, lab_task_case *one, char *why, size_t capacity);
