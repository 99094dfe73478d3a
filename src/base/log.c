/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void rungi_logger_write(const rungi_logger *logger, int level, const char *format, ...)
{
    char line[4096];
    va_list arguments;
    if (level == RUNGI_LOG_WARNING ? !logger->has_warnings : logger->verbose < level)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (logger->function)
        logger->function(logger->user, line);
    else
        fprintf(stderr, "%s\n", line);
}
