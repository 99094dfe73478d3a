/* SPDX-License-Identifier: Apache-2.0 */
/* string_view.h - a part of a longer text, without a terminating 0. The view does not own the text. */
#ifndef RUNGI_STRING_VIEW_H
#define RUNGI_STRING_VIEW_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* Returns whether a C identifier may contain the character. */
static inline bool rungi_is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

#endif /* RUNGI_STRING_VIEW_H */
