/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - strings. */
#include <stdarg.h>
#include <stdbool.h>

#include "base/windows/windows_api.h"

char *strndup(const char *text, size_t length)
{
    size_t bytes = strnlen(text, length);
    char *copy = malloc(bytes + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

const char *strsignal(int number)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "signal %d", number);
    return text;
}

int vasprintf(char **text, const char *format, __builtin_va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (*text)
        vsnprintf(*text, (size_t)length + 1, format, again);
    va_end(again);
    return *text ? length : -1;
}

ssize_t getline(char **line, size_t *capacity, FILE *file)
{
    size_t used = 0;
    int next;
    while ((next = fgetc(file)) != EOF) {
        if (used + 2 > *capacity) {
            size_t larger = 2 * *capacity + 128;
            char *grown = realloc(*line, larger);
            if (!grown)
                return -1;
            *line = grown;
            *capacity = larger;
        }
        (*line)[used++] = (char)next;
        if (next == '\n')
            break;
    }
    if (used == 0)
        return -1;
    (*line)[used] = '\0';
    return (ssize_t)used;
}

struct tm *rungi_windows_gmtime_r(const time_t *time, struct tm *parts)
{
    return _gmtime64_s(parts, time) == 0 ? parts : NULL;
}
