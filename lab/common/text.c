/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "common/text.h"

#include <stdarg.h>
#include <stdio.h>

bool lab_list_next(const char **list, rungi_string_view *word)
{
    if (!*list || !**list)
        return false;
    *word = rungi_string_view_of(*list, strcspn(*list, ","));
    *list += word->length + (word->text[word->length] == ',');
    return true;
}

void lab_append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

bool lab_path_ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcmp(path + length - end, suffix) == 0;
}

const char *lab_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void lab_format_ms(int64_t nanoseconds, char *text, size_t capacity)
{
    double ms = (double)nanoseconds * 1e-6;
    int decimals = ms >= 1000 ? 0 : ms >= 10 ? 1 : ms >= 0.1 ? 3 : ms >= 0.01 ? 4 : ms >= 0.001 ? 5 : 6;
    snprintf(text, capacity, "%.*f", decimals, ms);
}

void lab_format_bytes(double bytes, char *text, size_t capacity)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, capacity, "%.4g %s", bytes, units[unit]);
}
