/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log of a context: the caller's function, or lines on standard error. */
#ifndef RUNGI_LOG_H
#define RUNGI_LOG_H

#include <stdbool.h>

#include "rung/rung.h"

typedef struct rungi_logger {
    rung_log_function function; /* NULL: standard error */
    void *user;                 /* first argument of `function` */
    int verbose;                /* level of detail: 0 logs nothing except warnings */
    bool has_warnings;          /* see rungi_logger_warn() */
} rungi_logger;

/* Logs one line if the logger is at least as verbose as `level`. */
void rungi_logger_write(const rungi_logger *logger, int level, const char *format, ...) RUNG_PRINTF(3, 4);

/* Logs a warning about the environment, for example about an invalid variable. Warnings are logged at verbose 1 and
 * above, and at verbose 0 if the caller has set a log function. */
void rungi_logger_warn(const rungi_logger *logger, const char *format, ...) RUNG_PRINTF(2, 3);

#endif /* RUNGI_LOG_H */
