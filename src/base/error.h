/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - error messages inside the library.
 *
 * Every failing path ends in rungi_fail(): it stores the message for this thread's rung_error_text() and returns the
 * status:
 *
 *     return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", path, strerror(errno));
 *     return rungi_invalid("m is %lld; sizes must not be negative", m);
 */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

/* Formats the message and returns `status`. This is the public function, because the message of a thread exists only once,
 * in librung, and the other libraries and the lab use src/base, too. */
#define rungi_fail rung_error_set

/* Fails because an argument is invalid, the most frequent failure. */
#define rungi_invalid(...) rungi_fail(RUNG_STATUS_INVALID, __VA_ARGS__)

/* Begins a public function that creates an object: sets *result, the pointer that the function returns, to NULL. Fails with
 * the message if `result` is NULL or not all arguments are given. librung only. */
rung_status rungi_clear_result(void *result, bool are_given, const char *message);

/* Puts text in front of the current message, to say where the error happened. librung only. */
rung_status rungi_fail_prepend(rung_status status, const char *format, ...) RUNG_PRINTF(2, 3);

/* A saved message, for code that calls failing functions while it cleans up, or whose failures do not fail the call.
 * librung only. */
typedef struct rungi_saved_error {
    char text[4096];
} rungi_saved_error;

rungi_saved_error rungi_error_save(void);
void rungi_error_restore(const rungi_saved_error *error);
