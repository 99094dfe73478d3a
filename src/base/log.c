/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void write_line(const rungi_logger *logger, const char *format, va_list arguments)
{
    char line[4096];
    vsnprintf(line, sizeof line, format, arguments);
    if (logger->function)
        logger->function(logger->user, line);
    else
        fprintf(stderr, "%s\n", line);
}

void rungi_logger_write(const rungi_logger *logger, int level, const char *format, ...)
{
    va_list arguments;
    if (logger->verbose < level)
        return;
    va_start(arguments, format);
    write_line(logger, format, arguments);
    va_end(arguments);
}

void rungi_logger_warn(const rungi_logger *logger, const char *format, ...)
{
    va_list arguments;
    if (!logger->has_warnings)
        return;
    va_start(arguments, format);
    write_line(logger, format, arguments);
    va_end(arguments);
}
