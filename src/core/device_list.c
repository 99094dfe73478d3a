/* SPDX-License-Identifier: Apache-2.0 */
/* device_list.c - lists the devices and the dependencies of every backend. Each list owns the texts of its entries
 * and keeps its context alive. */
#include "core/device_list.h"

#include <string.h>

#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "core/context.h"

/* Returns an array with room for one entry more than `count`: the same array, or a larger copy. NULL after
 * rungi_fail(), and then the old array is still valid. */
static void *grow_array(rung_context *context, void *entries, int64_t count, int64_t *capacity, size_t entry_bytes)
{
    int64_t grown = count + 8, bytes;
    if (count < *capacity)
        return entries;
    if (!rungi_checked_multiply(grown, (int64_t)entry_bytes, &bytes)) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "a list of %lld entries is too long", (long long)grown);
        return NULL;
    }
    void *larger = rungi_allocate(context, bytes, sizeof(void *));
    if (!larger)
        return NULL;
    if (count > 0)
        memcpy(larger, entries, (size_t)count * entry_bytes);
    rungi_release(context, entries);
    *capacity = grown;
    return larger;
}

/* ---- Devices ----------------------------------------------------------------------- */

void rungi_device_info_init(rung_device_info *info, const char *backend)
{
    *info = (rung_device_info){
        .name = "", .backend = backend, .title = "", .platform = "", .driver = "", .missing = ""};
}

rung_device_info *rungi_device_list_add(rung_device_list *list)
{
    rung_device_info *infos = grow_array(list->context, list->infos, list->count, &list->capacity, sizeof *infos);
    if (!infos) {
        list->texts.is_incomplete = true;
        return NULL;
    }
    list->infos = infos;
    rung_device_info *info = &infos[list->count++];
    rungi_device_info_init(info, list->backend);
    return info;
}

static void add_missing_backend(rung_device_list *list, const char *reason)
{
    rung_device_info *info = rungi_device_list_add(list);
    if (!info)
        return;
    info->name = list->backend;
    info->missing = rungi_text_list_add(&list->texts, "%s", reason);
}

/* Lists the devices of one backend. A backend without a device is listed itself; out of memory is the only failure. */
static rung_status list_backend(int index, rung_device_list *list)
{
    const rungi_backend *backend = rungi_backends[index];
    void *state;
    int64_t before = list->count;
    list->backend = backend->name;
    rung_status status = rungi_context_load_backend_at(list->context, index, &state);
    if (status == RUNG_OK)
        status = backend->list(list->context, state, list);
    if (status == RUNG_STATUS_NO_MEMORY)
        return status;
    if (status != RUNG_OK)
        add_missing_backend(list, rung_error_text());
    else if (list->count == before)
        add_missing_backend(list, "no device was found");
    return list->texts.is_incomplete ? RUNG_STATUS_NO_MEMORY : RUNG_OK;
}

rung_status rung_device_list_create(rung_context *context, rung_device_list **list)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!list)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_list_create: list is NULL; pass the address of a pointer");
    *list = NULL;
    context = rungi_context_or_default(context);
    rung_device_list *created = context ? rungi_allocate_zeroed(context, sizeof *created) : NULL;
    if (!created)
        return RUNG_STATUS_NO_MEMORY;
    created->context = rungi_context_retain(context);
    created->texts.allocator = &context->allocator;
    rung_status status = RUNG_OK;
    rungi_saved_error saved;
    rungi_error_save(&saved);
    for (int i = 0; status == RUNG_OK && rungi_backends[i]; i++)
        status = list_backend(i, created);
    if (status != RUNG_OK) {
        rung_device_list_destroy(created);
        return status;
    }
    rungi_error_restore(&saved); /* a missing backend is an entry of the list, not a failure */
    *list = created;
    return RUNG_OK;
}

int64_t rung_device_list_count(const rung_device_list *list)
{
    return list ? list->count : 0;
}

const rung_device_info *rung_device_list_at(const rung_device_list *list, int64_t index)
{
    return list && index >= 0 && index < list->count ? &list->infos[index] : NULL;
}

void rung_device_list_destroy(rung_device_list *list)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!list)
        return;
    rung_context *context = list->context;
    rungi_text_list_free(&list->texts);
    rungi_release(context, list->infos);
    rungi_release(context, list);
    rungi_context_release(context);
}

/* ---- Dependencies -------------------------------------------------------------------- */

void rungi_dependency_list_add(rung_dependency_list *list, const char *name, const char *purpose, const char *install,
                               const char *found)
{
    rung_dependency *dependencies = grow_array(list->context, list->dependencies, list->count, &list->capacity,
                                               sizeof *dependencies);
    if (!dependencies) {
        list->texts.is_incomplete = true;
        return;
    }
    list->dependencies = dependencies;
    dependencies[list->count++] = (rung_dependency){
        .backend = list->backend,
        .name = rungi_text_list_add(&list->texts, "%s", name),
        .found = rungi_text_list_add(&list->texts, "%s", found),
        .purpose = rungi_text_list_add(&list->texts, "%s", purpose),
        .install = rungi_text_list_add(&list->texts, "%s", install),
    };
}

rung_status rung_dependency_list_create(rung_context *context, rung_dependency_list **list)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!list)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "rung_dependency_list_create: list is NULL; pass the address of a pointer");
    *list = NULL;
    context = rungi_context_or_default(context);
    rung_dependency_list *created = context ? rungi_allocate_zeroed(context, sizeof *created) : NULL;
    if (!created)
        return RUNG_STATUS_NO_MEMORY;
    created->context = rungi_context_retain(context);
    created->texts.allocator = &context->allocator;
    for (int i = 0; rungi_backends[i]; i++) {
        created->backend = rungi_backends[i]->name;
        if (rungi_backends[i]->list_dependencies)
            rungi_backends[i]->list_dependencies(created);
    }
    if (created->texts.is_incomplete) {
        rung_dependency_list_destroy(created);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for the list of dependencies");
    }
    *list = created;
    return RUNG_OK;
}

int64_t rung_dependency_list_count(const rung_dependency_list *list)
{
    return list ? list->count : 0;
}

const rung_dependency *rung_dependency_list_at(const rung_dependency_list *list, int64_t index)
{
    return list && index >= 0 && index < list->count ? &list->dependencies[index] : NULL;
}

void rung_dependency_list_destroy(rung_dependency_list *list)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!list)
        return;
    rung_context *context = list->context;
    rungi_text_list_free(&list->texts);
    rungi_release(context, list->dependencies);
    rungi_release(context, list);
    rungi_context_release(context);
}
