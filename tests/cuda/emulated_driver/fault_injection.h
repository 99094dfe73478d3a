/* SPDX-License-Identifier: Apache-2.0 */
/* fault_injection.h - errors to be planted, as an environment variable lists them:
 *
 *   RUNG_EMULATED_FAULT="cuMemAlloc_v2:3:2,cuLaunchKernel:*:719"
 *
 * makes the third call of cuMemAlloc_v2 from now return 2, and every cuLaunchKernel 719.
 * The variable is read at every call; counting starts anew when its text changes. */
#ifndef FAULT_INJECTION_H
#define FAULT_INJECTION_H

enum { FAULTS_TEXT = 512, FAULTS_MAX = 16 };

typedef struct fault {
    char symbol[64];
    int at; /* which call, 0 for every one */
    int code;
    int seen;
} fault_t;

typedef struct faults {
    const char *variable;
    char text[FAULTS_TEXT];
    int count;
    fault_t list[FAULTS_MAX];
} faults_t;

/* Counts a call of this symbol and returns what it must fail with, or 0. */
int faults_next(faults_t *faults, const char *symbol);

#endif /* FAULT_INJECTION_H */
