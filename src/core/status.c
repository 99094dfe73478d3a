/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - names and texts of statuses, and this thread's last sentence. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Long enough for a sentence and the first screen of a compiler's log; what is
 * longer is cut. It is the thread's own, so that failures need no lock. */
static _Thread_local char last_error[sizeof(rungi_error)];

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

const char *rung_status_name(rung_status status)
{
    switch (status) {
    case RUNG_OK: return "RUNG_OK";
    case RUNG_STATUS_INVALID: return "RUNG_STATUS_INVALID";
    case RUNG_STATUS_ALIASED: return "RUNG_STATUS_ALIASED";
    case RUNG_STATUS_TOO_LARGE: return "RUNG_STATUS_TOO_LARGE";
    case RUNG_STATUS_NO_MEMORY: return "RUNG_STATUS_NO_MEMORY";
    case RUNG_STATUS_NO_DEVICE: return "RUNG_STATUS_NO_DEVICE";
    case RUNG_STATUS_UNSUPPORTED: return "RUNG_STATUS_UNSUPPORTED";
    case RUNG_STATUS_COMPILE_FAILED: return "RUNG_STATUS_COMPILE_FAILED";
    case RUNG_STATUS_DEVICE_LOST: return "RUNG_STATUS_DEVICE_LOST";
    case RUNG_STATUS_NOT_FOUND: return "RUNG_STATUS_NOT_FOUND";
    case RUNG_STATUS_IO: return "RUNG_STATUS_IO";
    case RUNG_STATUS_CANCELLED: return "RUNG_STATUS_CANCELLED";
    }
    return "RUNG_STATUS_?";
}

const char *rung_status_text(rung_status status)
{
    switch (status) {
    case RUNG_OK: return "success";
    case RUNG_STATUS_INVALID: return "an argument is out of range";
    case RUNG_STATUS_ALIASED: return "the output overlaps itself or an input";
    case RUNG_STATUS_TOO_LARGE: return "a size or a stride overflows the address space";
    case RUNG_STATUS_NO_MEMORY: return "out of memory";
    case RUNG_STATUS_NO_DEVICE: return "no such device, or its driver is not installed";
    case RUNG_STATUS_UNSUPPORTED: return "no kernel on this device supports the problem";
    case RUNG_STATUS_COMPILE_FAILED: return "a kernel did not compile";
    case RUNG_STATUS_DEVICE_LOST: return "the device failed and must be opened again";
    case RUNG_STATUS_NOT_FOUND: return "no kernel, parameter or file has that name";
    case RUNG_STATUS_IO: return "a file could not be read or written";
    case RUNG_STATUS_CANCELLED: return "a callback of the caller stopped the call";
    }
    return "unknown status";
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

rung_status rung_error_set(rung_status status, const char *format, ...)
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
