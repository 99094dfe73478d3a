/* SPDX-License-Identifier: Apache-2.0 */
/* progress_line.h - a progress line on standard error, with the remaining time. It disappears at the end. Nothing is
 * shown if standard error is not a terminal or TERM is dumb. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct lab_progress {
    const char *what;   /* the current step */
    double done, count; /* in `units`; may be fractions */
    const char *units;
} lab_progress;

/* Starts the clock. A process has one line; callers must not show it from several threads at once. */
void lab_progress_begin(bool quiet);

/* Shows the line, at most ten times per second and never wider than the terminal. */
void lab_progress_show(const lab_progress *progress);

/* Removes the line before other output; the next lab_progress_show() shows it again. Works in a forked child too. */
void lab_progress_hide(void);
void lab_progress_end(void);

/* Writes the line, at most `width` characters: "what: 3 of 12 problems, 0:42, about 2:10 left". */
void lab_progress_format(const lab_progress *progress, double seconds, int width, char *text, size_t capacity);
