/* SPDX-License-Identifier: Apache-2.0 */
/* enum_names.h - defines functions that return the text of an enumerator, from a list X(NAME, "word", ...). */
#pragma once

#include <stddef.h>

/* Defines `function`, which returns the text of a value of `type`; "?" for a value that LIST does not have. COLUMN is a
 * macro with the parameters of an entry of LIST, and gives the text and a comma. */
#define LAB_DEFINE_ENUM_TEXT(function, type, LIST, COLUMN)                        \
    const char *function(type value)                                              \
    {                                                                             \
        static const char *const texts[] = {LIST(COLUMN)};                        \
        return (size_t)value < sizeof texts / sizeof *texts ? texts[value] : "?"; \
    }

/* Defines a function of one file. */
#define LAB_DEFINE_STATIC_ENUM_TEXT(function, type, LIST, COLUMN) \
    static LAB_DEFINE_ENUM_TEXT(function, type, LIST, COLUMN)

/* Defines a function for a list of X(NAME, "word"). */
#define LAB_ENUM_WORD(name, word) word,
#define LAB_DEFINE_ENUM_NAME(function, type, LIST) LAB_DEFINE_ENUM_TEXT(function, type, LIST, LAB_ENUM_WORD)
