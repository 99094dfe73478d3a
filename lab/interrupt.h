/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - a signal that asks for the end is a wish: the command ends after the step in progress and reports what
 * it has. A second signal ends the process at once. */
#ifndef LAB_INTERRUPT_H
#define LAB_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP is noted; a signal that was ignored stays ignored. */
void lab_interrupt_watch(void);

/* In a child process: ignores these signals and takes `flag`, which the parent sets, instead. */
void lab_interrupt_follow(const atomic_int *flag);

/* Returns whether there was a signal. */
bool lab_interrupted(void);

/* Prints on standard error that the command was interrupted, and `what` there is nevertheless. */
void lab_interrupt_tell(const char *what);

#endif /* LAB_INTERRUPT_H */
