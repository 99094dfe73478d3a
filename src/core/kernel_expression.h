/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_expression.h - evaluates integer expressions as the C preprocessor does.
 *
 * Kernel files state their tile sizes and constraints in C (`#if TILE * TILE > 1024`). The host evaluates the same text
 * before it compiles anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

/* The meaning of a name: unknown, a value, or a text that is an expression over names. */
typedef struct rungi_expression_name {
    bool is_known;
    int64_t value; /* if there is no text */
    const char *text;
    size_t length;
} rungi_expression_name;

typedef rungi_expression_name (*rungi_expression_lookup)(const void *names, const char *name, size_t length);

/* Evaluates an expression. Returns RUNG_STATUS_INVALID, with the expression in the message, if the text is not an
 * expression, a name is defined by itself, or the value overflows or divides by zero. An unknown name is an error or,
 * with `unknown_is_zero`, 0 as in an #if. */
rung_status rungi_expression_evaluate(const char *text, size_t length, rungi_expression_lookup lookup,
                                      const void *names, bool unknown_is_zero, int64_t *value);
