/* SPDX-License-Identifier: Apache-2.0 */
/* string_view.h - a part of a longer text, without a terminating 0. The view does not own the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"

typedef struct rungi_string_view {
    const char *text;
    size_t length;
} rungi_string_view;

static inline rungi_string_view rungi_string_view_of(const char *text, size_t length)
{
    return (rungi_string_view){text, length};
}

/* Returns whether the view has exactly the characters of `word`. */
static inline bool rungi_string_view_equals(rungi_string_view view, const char *word)
{
    return strlen(word) == view.length && memcmp(view.text, word, view.length) == 0;
}

static inline bool rungi_string_views_equal(rungi_string_view x, rungi_string_view y)
{
    return x.length == y.length && memcmp(x.text, y.text, x.length) == 0;
}

/* Returns the text before the next `letter`. `rest` continues after the letter; its text is NULL at the end. */
static inline rungi_string_view rungi_string_view_split(rungi_string_view *rest, char letter)
{
    RUNGI_ASSERT(rest->text);
    const char *end = memchr(rest->text, letter, rest->length);
    size_t length = end ? (size_t)(end - rest->text) : rest->length;
    rungi_string_view word = {rest->text, length};
    *rest = end ? (rungi_string_view){end + 1, rest->length - length - 1} : (rungi_string_view){NULL, 0};
    return word;
}

/* Returns whether a C identifier may contain the character, in every locale. */
static inline bool rungi_is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
