/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - how the library says that something went wrong.
 *
 * Every failing path ends in rungi_fail: it keeps the sentence for this thread's
 * rung_error_text() and hands the status on, so that a failure reads
 *
 *     return rungi_fail(RUNG_STATUS_INVALID, "m is %lld; sizes are not negative", m);
 */
#ifndef RUNGI_ERROR_H
#define RUNGI_ERROR_H

#include "rung/rung.h"

/* Formats the sentence and returns `status`. */
rung_status rungi_fail(rung_status status, const char *format, ...) RUNG_PRINTF(2, 3);

/* Puts a sentence in front of the one already there: where it happened. */
rung_status rungi_fail_in(rung_status status, const char *format, ...) RUNG_PRINTF(2, 3);

/* The sentence of a failure that is being handled: kept while cleaning up, or while
 * trying what may fail without the call failing. */
typedef struct rungi_error {
    char text[4096];
} rungi_error;

void rungi_error_save(rungi_error *error);
void rungi_error_restore(const rungi_error *error);

#endif /* RUNGI_ERROR_H */
