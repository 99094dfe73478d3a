/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - names and texts of statuses, and the error message of each thread. In librung only: see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Long enough for a message and the first screen of a compiler's log; longer texts are truncated. Thread-local, so that
 * failures need no lock. */
static _Thread_local char last_error[sizeof(rungi_saved_error)];

#define RUNGI_TEXT_OF(x) #x
#define RUNGI_DOTTED(a, b, c) RUNGI_TEXT_OF(a) "." RUNGI_TEXT_OF(b) "." RUNGI_TEXT_OF(c)

int rung_version(void)
{
    return RUNG_VERSION;
}

const char *rung_version_text(void)
{
    return RUNGI_DOTTED(RUNG_VERSION_MAJOR, RUNG_VERSION_MINOR, RUNG_VERSION_PATCH);
}

#define STATUS(status, text) [-(int)(status)] = {#status, text}

static const struct {
    const char *name, *text;
} statuses[] = {
    STATUS(RUNG_OK, "success"),
    STATUS(RUNG_STATUS_INVALID, "an argument is out of range"),
    STATUS(RUNG_STATUS_ALIASED, "the output overlaps itself or an input"),
    STATUS(RUNG_STATUS_TOO_LARGE, "a size or a stride overflows the address space"),
    STATUS(RUNG_STATUS_NO_MEMORY, "out of memory"),
    STATUS(RUNG_STATUS_NO_DEVICE, "no such device, or its driver is not installed"),
    STATUS(RUNG_STATUS_UNSUPPORTED, "no kernel on this device supports the problem"),
    STATUS(RUNG_STATUS_COMPILE_FAILED, "a kernel did not compile"),
    STATUS(RUNG_STATUS_DEVICE_LOST, "the device failed and must be opened again"),
    STATUS(RUNG_STATUS_NOT_FOUND, "no kernel, parameter or file has that name"),
    STATUS(RUNG_STATUS_IO, "a file could not be read or written"),
    STATUS(RUNG_STATUS_CANCELLED, "a callback of the caller stopped the call"),
    STATUS(RUNG_STATUS_CORRUPTED, "a checked product is wrong and could not be corrected"),
};

static bool is_status(rung_status status)
{
    return status <= 0 && -(int64_t)status < (int64_t)(sizeof statuses / sizeof *statuses);
}

const char *rung_status_name(rung_status status)
{
    return is_status(status) ? statuses[-status].name : "RUNG_STATUS_?";
}

const char *rung_status_text(rung_status status)
{
    return is_status(status) ? statuses[-status].text : "unknown status";
}

const char *rung_error_text(void)
{
    return last_error;
}

rungi_saved_error rungi_error_save(void)
{
    rungi_saved_error saved;
    memcpy(saved.text, last_error, sizeof last_error);
    return saved;
}

void rungi_error_restore(const rungi_saved_error *error)
{
    memcpy(last_error, error->text, sizeof last_error);
}

rung_status rung_error_set(rung_status status, const char *format, ...)
{
    rungi_saved_error next;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(next.text, sizeof next.text, format, arguments);
    va_end(arguments);
    rungi_error_restore(&next);
    return status;
}

rung_status rungi_clear_result(void *result, bool are_given, const char *message)
{
    if (result)
        memcpy(result, &(void *){NULL}, sizeof(void *));
    return result && are_given ? RUNG_OK : rungi_invalid("%s", message);
}

rung_status rungi_fail_prepend(rung_status status, const char *format, ...)
{
    rungi_saved_error cause = rungi_error_save();
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof last_error)
        snprintf(last_error + used, sizeof last_error - (size_t)used, ": %s", cause.text);
    return status;
}
