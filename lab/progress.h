/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - a line on a terminal's standard error that says what is being done, how much of it
 * is, and how long the rest will take. It is gone when the work is. Where standard error is no
 * terminal, or a dumb one, there is none. */
#ifndef LAB_PROGRESS_H
#define LAB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* What there is to tell. */
typedef struct lab_progress {
    const char *what;   /* is under way */
    double done, count; /* in whole `units` and parts of one */
    const char *units;
} lab_progress;

/* Starts the clock. There is one line a process; who shows it takes care that threads take turns. */
void lab_progress_begin(bool quiet);

/* Ten times a second at most, whoever asks how often; never wider than the terminal. */
void lab_progress_show(const lab_progress *progress);

/* Takes the line away, before something else is written; the next lab_progress_show brings it back.
 * In a process that was forked meanwhile, too. */
void lab_progress_break(void);
void lab_progress_end(void);

/* The line itself, `width` characters at most: "what: 3 of 12 problems, 0:42, about 2:10 left". */
void lab_progress_write(const lab_progress *progress, double seconds, int width, char *text, size_t capacity);

#endif /* LAB_PROGRESS_H */
