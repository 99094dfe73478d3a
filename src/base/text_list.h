/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.h - strings of any length that belong to one object, such as a device, and are released with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/allocator.h"
#include "rung/rung.h"

struct rungi_text_node;

typedef struct rungi_text_list {
    const rungi_allocator *allocator;
    struct rungi_text_node *last;
    bool is_incomplete; /* an allocation failed; at least one text is "" instead */
} rungi_text_list;

/* Returns memory for a text of `length` bytes and its terminating 0, filled with zeros. NULL after rungi_fail(). */
char *rungi_text_list_reserve(rungi_text_list *texts, size_t length);

/* Returns a formatted text; "" if memory runs out. */
const char *rungi_text_list_add(rungi_text_list *texts, const char *format, ...) RUNG_PRINTF(2, 3);

void rungi_text_list_free(rungi_text_list *texts);

/* Appends to a text in an array of `capacity` bytes, and truncates what does not fit. */
void rungi_text_append(char *text, size_t capacity, const char *format, ...) RUNG_PRINTF(3, 4);
