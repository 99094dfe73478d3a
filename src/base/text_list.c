/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.c - see text_list.h. */
#include "base/text_list.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

typedef struct rungi_text_node {
    struct rungi_text_node *previous;
    char text[];
} rungi_text_node;

char *rungi_text_list_reserve(rungi_text_list *texts, size_t length)
{
    rungi_text_node *text = NULL;
    if (length <= INT32_MAX)
        text = rungi_allocator_allocate_zeroed(texts->allocator, sizeof *text + length + 1);
    else
        rungi_fail(RUNG_STATUS_NO_MEMORY, "a text of %zu bytes is too long; the maximum is %d", length, INT32_MAX);
    if (!text) {
        texts->is_incomplete = true;
        return NULL;
    }
    text->previous = texts->last;
    texts->last = text;
    return text->text;
}

const char *rungi_text_list_add(rungi_text_list *texts, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = rungi_text_list_reserve(texts, length > 0 ? (size_t)length : 0);
    if (text && length > 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text ? text : "";
}

void rungi_text_list_free(rungi_text_list *texts)
{
    while (texts->last) {
        rungi_text_node *text = texts->last;
        texts->last = text->previous;
        rungi_allocator_release(texts->allocator, text);
    }
}

void rungi_text_append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}
