/* SPDX-License-Identifier: Apache-2.0 */
/* grade_submission.h - grades one submission in a supervised child process, which compiles it in a sandbox, runs it on the
 * emulator and leaves the result in shared memory. Several gradings may run at a time. */
#pragma once

#include "grade/grade_result.h"
#include "process/supervise.h"

typedef struct lab_grading {
    const lab_task *task;
    const char *path; /* of the submission */
    uint64_t seed;
    double seconds;           /* limit of processor time; 0: none */
    lab_grade_result *result; /* zeroed, from lab_shared_memory_allocate() */
    /* Set by the functions: */
    double elapsed_seconds;
    lab_supervised *child;
    bool was_interrupted; /* then there is no result */
} lab_grading;

/* Starts the child. Returns 0, or an errno. The grading must not move until the child has ended. */
int lab_grading_start(lab_grading *grading);

/* Returns whether the child still runs, after a pause of some milliseconds. After its end the result is complete, with 0 points
 * and a sentence if the child did not survive. */
bool lab_grading_is_running(lab_grading *grading);
