/* SPDX-License-Identifier: Apache-2.0 */
/* child_process.h - starts another program as a child that cannot outlive this process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Ends the calling process when the process `parent` ends. Async-signal-safe. False if `parent` has already ended. */
bool lab_child_die_with_parent(int parent);

/* Standard input, output and error of a child; -1 keeps that of this process. */
typedef struct lab_child_streams {
    int in, out, err;
} lab_child_streams;

/* Runs `program` with these arguments and environment (NULL: this process's), as execve does. The child leads a process group of its own, so that a terminal's
 * Ctrl-C does not reach the child, and kill(-process) reaches everything that the child starts. The child handles
 * SIGINT, SIGTERM and SIGHUP by default, whatever this process does, and is killed when the calling thread ends.
 * Returns 0 and the child in *process, or an errno. */
int lab_child_start(const char *program, char *const *arguments, char *const *environment, lab_child_streams streams,
                    pid_t *process);

/* Returns what to do if a process could not be started, for an errno. */
const char *lab_child_start_advice(int error);

/* Returns whether a child still runs; then pauses first. After its end, *status is as waitpid writes it, or -1 if it is
 * unknown, which is neither an exit nor a signal. */
enum { LAB_CHILD_POLL_NS = 5000000 };
bool lab_child_is_running(pid_t process, int *status);

/* Waits for the child until the time `until` of lab_now_ns(), then kills its process group. Returns its status, as
 * waitpid writes it. An interruption of this process (lab_is_interrupted) ends the wait as the time does. */
int lab_child_wait_until(pid_t process, int64_t until);
