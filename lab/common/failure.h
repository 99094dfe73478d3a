/* SPDX-License-Identifier: Apache-2.0 */
/* failure.h - how functions of the lab report a failure: they write a sentence for the user and return false. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes why something failed. Returns false, which the caller can return in turn. */
__attribute__((format(printf, 3, 4))) static inline bool lab_set_reason(char *why, size_t capacity, const char *format,
                                                                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, capacity, format, arguments);
    va_end(arguments);
    return false;
}
