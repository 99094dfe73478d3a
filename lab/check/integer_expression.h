/* SPDX-License-Identifier: Apache-2.0 */
/* integer_expression.h - evaluates expressions such as (n + 255) / 256 for PTX files, where no compiler does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"

/* A name with its value. */
typedef struct lab_integer_name {
    rungi_string_view name;
    int64_t value;
} lab_integer_name;

/* Evaluates + - * / % << >> and brackets of integers and names, as C does. Returns false with a sentence: for text that is
 * no expression, for unknown names, for division by zero and for results beyond 64 bits. */
bool lab_integer_evaluate(rungi_string_view text, const lab_integer_name *names, int count, int64_t *value, char *why,
                          size_t capacity);
