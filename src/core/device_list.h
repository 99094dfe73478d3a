/* SPDX-License-Identifier: Apache-2.0 */
/* device_list.h - lists of devices and dependencies that the backends fill. */
#ifndef RUNGI_DEVICE_LIST_H
#define RUNGI_DEVICE_LIST_H

#include <stdbool.h>

#include "base/text_list.h"
#include "rung/rung.h"

struct rung_device_list {
    rung_context *context;
    rungi_text_list texts; /* memory of the texts of all entries */
    const char *backend;   /* backend that adds entries now */
    rung_device_info *infos;
    int64_t count, capacity;
};

struct rung_dependency_list {
    rung_context *context;
    rungi_text_list texts;
    const char *backend;
    rung_dependency *dependencies;
    int64_t count, capacity;
};

/* Clears an info: every number is 0 and every text "", except for the backend. */
void rungi_device_info_init(rung_device_info *info, const char *backend);

/* Returns the info of one more device, valid until the next call; its texts go into list->texts. NULL after
 * rungi_fail(): out of memory. */
rung_device_info *rungi_device_list_add(rung_device_list *list);

/* Adds a dependency. `found` is "" if it was not found. All texts are copied. */
void rungi_dependency_list_add(rung_dependency_list *list, const char *name, const char *purpose, const char *install,
                               const char *found);

#endif /* RUNGI_DEVICE_LIST_H */
