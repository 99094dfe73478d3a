/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h - strings of any length that belong to one object, a device or a list, and are released with it. */
#ifndef RUNGI_TEXTS_H
#define RUNGI_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

struct rungi_text;

typedef struct rungi_texts {
    rung_context *context; /* whose allocator is used */
    struct rungi_text *last;
    bool is_incomplete; /* an allocation failed, and a text is "" instead */
} rungi_texts;

/* Returns memory for a text of `length` bytes and its terminating 0, filled with zeros. NULL after rungi_fail(). */
char *rungi_texts_room(rungi_texts *texts, size_t length);

/* Returns a formatted text; "" if memory runs out. */
const char *rungi_texts_add(rungi_texts *texts, const char *format, ...) RUNG_PRINTF(2, 3);

void rungi_texts_release(rungi_texts *texts);

#endif /* RUNGI_TEXTS_H */
