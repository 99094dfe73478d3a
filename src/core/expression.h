/* SPDX-License-Identifier: Apache-2.0 */
/* expression.h - the value of an integer expression as C's preprocessor has it.
 *
 * Kernel files state their tile sizes and constraints in C (`#if TILE * TILE >
 * 1024`); this reads the same text on the host, before anything is compiled. */
#ifndef RUNGI_EXPRESSION_H
#define RUNGI_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

/* What a name stands for: nothing, a value, or a text that is itself an
 * expression over names. */
typedef struct rungi_name {
    bool known;
    int64_t value; /* where there is no text */
    const char *text;
    size_t length;
} rungi_name;

typedef rungi_name (*rungi_name_lookup)(const void *names, const char *name, size_t length);

/* RUNG_STATUS_INVALID, with the place, where the text is no expression, a name is defined
 * by itself, or the value overflows or divides by zero. An unknown name is an error
 * or, as in an #if, zero. */
rung_status rungi_expression_value(const char *text, size_t length, rungi_name_lookup lookup, const void *names,
                                   bool unknown_is_zero, int64_t *value);

#endif /* RUNGI_EXPRESSION_H */
