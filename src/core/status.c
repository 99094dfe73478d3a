/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - names and texts of statuses, and this thread's last sentence. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Long enough for a sentence and the first screen of a compiler's log; what is
 * longer is cut. It is the thread's own, so that failures need no lock. */
static _Thread_local char last_error[sizeof(rungi_error)];

#define RUNGI_TEXT_OF(x)  #x
#define RUNGI_DOTTED(a, b, c) RUNGI_TEXT_OF(a) "." RUNGI_TEXT_OF(b) "." RUNGI_TEXT_OF(c)

const char *rung_version(void)
{
    return RUNGI_DOTTED(RUNG_VERSION_MAJOR, RUNG_VERSION_MINOR, RUNG_VERSION_PATCH);
}

const char *rung_status_name(rung_status status)
{
    switch (status) {
#define X(name, value, text) case RUNG_##name: return "RUNG_" #name;
        RUNG_STATUS_LIST(X)
#undef X
    }
    return "RUNG_?";
}

const char *rung_status_text(rung_status status)
{
    switch (status) {
#define X(name, value, text) case RUNG_##name: return text;
        RUNG_STATUS_LIST(X)
#undef X
    }
    return "no status of this library";
}

const char *rung_error_text(void)
{
    return last_error;
}

void rungi_error_save(rungi_error *error)
{
    memcpy(error->text, last_error, sizeof last_error);
}

void rungi_error_restore(const rungi_error *error)
{
    memcpy(last_error, error->text, sizeof last_error);
}

rung_status rungi_fail(rung_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

rung_status rung_fail(rung_status status, const char *format, ...)
{
    rungi_error next;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(next.text, sizeof next.text, format, arguments);
    va_end(arguments);
    rungi_error_restore(&next);
    return status;
}

rung_status rungi_fail_in(rung_status status, const char *format, ...)
{
    rungi_error cause;
    rungi_error_save(&cause);

    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof last_error)
        snprintf(last_error + used, sizeof last_error - (size_t)used, ": %s", cause.text);
    return status;
}
