/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.h - runs a command's work in a child process, with a time limit for each step.
 *
 * A kernel file may contain an endless loop or crash. An OpenCL driver that runs kernels on the CPU then never
 * returns to its caller. A command that runs such a file therefore forks before it opens a device: the child does
 * the work, and the parent ends the child when one step exceeds the limit or when a signal asks for the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LAB_STEP_TEXT_BYTES = 2048 };

typedef enum lab_child_ending {
    LAB_ENDED_EXITED,      /* with an exit code */
    LAB_ENDED_TIMED_OUT,   /* a step exceeded the limit */
    LAB_ENDED_INTERRUPTED, /* after a signal the child did not finish its step, so the parent ended it */
    LAB_ENDED_CRASHED,     /* by a signal of its own */
    LAB_ENDED_NOT_STARTED
} lab_child_ending;

typedef struct lab_supervise_result {
    lab_child_ending ending;
    int code;                       /* the exit code, the signal, or why the child was not started (errno) */
    char step[LAB_STEP_TEXT_BYTES]; /* the step that was in progress; "" between steps */
    long long steps;                /* how many steps have ended */
} lab_supervise_result;

/* Runs work(user) in a child process and waits for it. *seconds limits each step (0: no limit); the child may change it if it
 * is in shared memory. SIGINT, SIGTERM and SIGHUP make lab_is_interrupted() true in both processes; a child that does not
 * return within a few seconds is killed. The child dies with its parent. Call it before the process has a second thread. */
lab_supervise_result lab_supervise(int (*work)(void *user), void *user, const volatile double *seconds);

/* A child that works while this process does something else. */
typedef struct lab_supervised lab_supervised;

/* Starts work(user) in a child process as lab_supervise() does, and returns at once. A process may have several such
 * children. Returns NULL with an errno in *error if the child was not started. */
lab_supervised *lab_supervise_start(int (*work)(void *user), void *user, const volatile double *seconds, int *error);

/* Returns whether a child still runs, after a pause of some milliseconds. After its end, *result says how it ended, and the
 * child is freed. */
bool lab_supervise_is_running(lab_supervised *child, lab_supervise_result *result);

/* Marks the beginning and the end of a step in the child. `text` says what runs. Both do nothing without a supervisor,
 * and lab_supervise_step_end() without a step. */
void lab_supervise_step_begin(const char *text);
void lab_supervise_step_end(void);

/* Allocates zeroed memory that a supervised child shares with its parent. Returns NULL if there is none. */
void *lab_shared_memory_allocate(size_t bytes);
void lab_shared_memory_free(void *memory, size_t bytes);

/* Reads --time-limit: a number of seconds from 0 (no limit) to 1e6, `otherwise` if `text` is NULL. */
bool lab_parse_time_limit(const char *text, double otherwise, double *seconds);
#define LAB_TIME_LIMIT_USAGE "--time-limit must be a number of seconds from 0 (no limit) to 1000000"
