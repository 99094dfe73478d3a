/* SPDX-License-Identifier: Apache-2.0 */
/* piped_child.h - runs a function in a child process and collects what the child writes to a pipe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum lab_piped_ending {
    LAB_PIPED_EXITED,      /* with an exit code */
    LAB_PIPED_CRASHED,     /* by a signal of its own */
    LAB_PIPED_TIMED_OUT,   /* SIGXCPU, or the limit of elapsed time */
    LAB_PIPED_TOO_LONG,    /* the output exceeded the limit */
    LAB_PIPED_NOT_READ,    /* this process could not read the output, or has no memory for it */
    LAB_PIPED_INTERRUPTED, /* lab_is_interrupted() */
    LAB_PIPED_NOT_STARTED  /* errno has the reason */
} lab_piped_ending;

typedef struct lab_piped_child {
    void (*work)(void *user, int output); /* runs in the child and returns or exits; output goes to the descriptor */
    void *user;
    double seconds;   /* limit of elapsed time */
    size_t bytes_max; /* limit of the output */
} lab_piped_child;

typedef struct lab_piped_result {
    lab_piped_ending ending;
    int code;     /* the exit code or the signal */
    char *output; /* with a terminating 0; the caller frees it. NULL if memory is exhausted or nothing was started */
    size_t bytes;
    long peak_kib; /* peak of resident memory */
} lab_piped_result;

/* Runs the child and waits for its end. The child leads its own process group, dies with this process, and is killed with
 * its group at a limit. */
lab_piped_result lab_piped_child_run(const lab_piped_child *child);
