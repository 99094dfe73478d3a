/* SPDX-License-Identifier: Apache-2.0 */
/* device_list.h - lists with their own texts, as the public lists are, and the functions with which backends fill the
 * lists of devices and dependencies. */
#pragma once

#include "base/text_list.h"

/* The first member of every public list. The list owns the texts of its entries and keeps its context alive. */
typedef struct rungi_list {
    rung_context *context;
    rungi_text_list texts; /* memory of the texts of all entries */
    const char *backend;   /* backend that adds entries now */
    char *entries;
    size_t entry_bytes;
    int64_t count, capacity;
} rungi_list;

struct rung_device_list {
    rungi_list list;
};

struct rung_dependency_list {
    rungi_list list;
};

/* Returns an empty list of `list_bytes` bytes, a struct that begins with a rungi_list. NULL after rungi_fail(). */
void *rungi_list_create(rung_context *context, size_t list_bytes, size_t entry_bytes);

/* Inserts a zeroed entry, which is valid until the next call. NULL after rungi_fail(); then texts.is_incomplete is
 * set. */
void *rungi_list_insert(rungi_list *list, int64_t index);

/* Functions on a public list, which may be NULL. An entry outside the list is NULL. */
int64_t rungi_list_count(const void *list);
const void *rungi_list_at(const void *list, int64_t index);
void rungi_list_destroy(void *list);

/* Clears an info: every number is 0 and every text "", except for the backend. */
void rungi_device_info_init(rung_device_info *info, const char *backend);

/* Returns the info of one more device, valid until the next call; its texts go into list->list.texts. NULL after
 * rungi_fail(): out of memory. */
rung_device_info *rungi_device_list_add(rung_device_list *list);

/* Adds a dependency. `found` is "" if it was not found. All texts are copied. */
void rungi_dependency_list_add(rung_dependency_list *list, const char *name, const char *purpose, const char *install,
                               const char *found);
