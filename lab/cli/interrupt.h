/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - SIGINT, SIGTERM and SIGHUP end a command after the current step, so that it can report its results so
 * far. A second signal ends the process at once. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* Starts to record the first signal. Signals that are ignored stay ignored. */
void lab_interrupt_watch(void);

/* In a child process: ignores the signals and uses `flag`, which the parent sets, instead. */
void lab_interrupt_follow_flag(const atomic_int *flag);

/* Returns whether a signal was received. */
bool lab_is_interrupted(void);

/* Prints to standard error that the command was interrupted, and what the results are. */
void lab_interrupt_report(const char *what);
