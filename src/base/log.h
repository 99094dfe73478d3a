/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log of a context: the caller's function, or lines on standard error. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

typedef struct rungi_logger {
    rung_log_function function; /* NULL: standard error */
    void *user;                 /* first argument of `function` */
    int verbose;                /* level of detail: 0 logs nothing except warnings */
    bool has_warnings;          /* see RUNGI_LOG_WARNING */
} rungi_logger;

/* The level of warnings about the environment, for example about an invalid variable. Warnings are logged at verbose 1 and
 * above, and at verbose 0 if the caller has set a log function. */
enum { RUNGI_LOG_WARNING = 0 };

/* Logs one line if the logger is at least as verbose as `level`. */
void rungi_logger_write(const rungi_logger *logger, int level, const char *format, ...) RUNG_PRINTF(3, 4);
