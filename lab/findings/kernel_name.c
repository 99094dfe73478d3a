/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.c - see kernel_name.h. */
#include "findings/kernel_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* Reads one part of a mangled name: a length and a name. Returns the position after it; NULL if the text has no such
 * part. */
static const char *read_part(const char *at, const char **part, size_t *length)
{
    char *end;
    if (*at < '1' || *at > '9')
        return NULL;
    unsigned long count = strtoul(at, &end, 10);
    if (count > strlen(end))
        return NULL;
    *part = end;
    *length = count;
    return end + count;
}

void lab_kernel_source_name(const char *mangled, char *name, size_t capacity)
{
    const char *at = mangled, *part;
    size_t length;
    snprintf(name, capacity, "%s", mangled);
    if (strncmp(at, "_Z", 2) != 0)
        return;
    at += 2;
    bool is_nested = *at == 'N';
    at += is_nested || *at == 'L'; /* L: not visible in other files */
    at = read_part(at, &part, &length);
    if (!at)
        return;
    *name = '\0';
    for (; at; at = is_nested ? read_part(at, &part, &length) : NULL) {
        bool is_unnamed = length > 8 && strncmp(part, "_GLOBAL_", 8) == 0; /* a namespace without a name */
        if (!is_unnamed)
            lab_append(name, capacity, "%s%.*s", *name ? "::" : "", (int)length, part);
        at += is_nested && *at == 'L';
    }
}
