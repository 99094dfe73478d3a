/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - see texts.h. */
#include "core/texts.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "core/context.h"

typedef struct rungi_text {
    struct rungi_text *before;
    char text[];
} rungi_text;

char *rungi_texts_room(rungi_texts *texts, size_t length)
{
    rungi_text *text = NULL;
    if (length <= INT32_MAX)
        text = rungi_new(texts->context, sizeof *text + length + 1);
    else
        rungi_fail(RUNG_STATUS_NO_MEMORY, "a text of %zu bytes is too long; the maximum is %d", length, INT32_MAX);
    if (!text) {
        texts->is_incomplete = true;
        return NULL;
    }
    text->before = texts->last;
    texts->last = text;
    return text->text;
}

const char *rungi_texts_add(rungi_texts *texts, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = rungi_texts_room(texts, length > 0 ? (size_t)length : 0);
    if (text && length > 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text ? text : "";
}

void rungi_texts_release(rungi_texts *texts)
{
    while (texts->last) {
        rungi_text *text = texts->last;
        texts->last = text->before;
        rungi_release(texts->context, text);
    }
}
