/* SPDX-License-Identifier: Apache-2.0 */
/* soak_run.h - computes a case on its devices and checks the results. */
#pragma once

#include "soak_case.h"

typedef enum soak_outcome {
    SOAK_RIGHT,
    SOAK_REFUSED, /* the device does not support the problem, and has changed nothing */
    SOAK_WRONG,
    SOAK_SKIPPED, /* the matrices are too large for this test */
} soak_outcome;

typedef struct soak_result {
    soak_outcome outcomes[SOAK_DEVICES]; /* of the devices of the case */
    double seconds[SOAK_DEVICES];        /* processor time, with the checks */
    bool is_wrong;
    char message[1024]; /* what is wrong */
} soak_result;

/* Opens the devices of a mask. Returns false and prints why if one is missing. */
bool soak_open(unsigned devices);
void soak_close(void);

/* Computes the case on each of its devices. On the CPU, every problem is computed by 1, 2 and 3 threads, whose results must
 * have equal bits. Elements must lie within their error bounds on each device, so that devices differ by at most two bounds;
 * integers and sums of small integers are exact and therefore equal. */
void soak_case_run(const soak_case *subject, soak_result *result);
