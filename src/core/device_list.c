/* SPDX-License-Identifier: Apache-2.0 */
/* device_list.c - lists the devices and the dependencies of every backend. */
#include "core/device_list.h"

#include <string.h>

#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/context.h"

/* ---- Lists ------------------------------------------------------------------------- */

void *rungi_list_create(rung_context *context, size_t list_bytes, size_t entry_bytes)
{
    context = rungi_context_or_default(context);
    rungi_list *list = context ? rungi_allocate_zeroed(context, list_bytes) : NULL;
    if (list)
        *list = (rungi_list){.context = rungi_context_retain(context),
                             .texts = {.allocator = &context->allocator},
                             .entry_bytes = entry_bytes};
    return list;
}

/* Makes room for one more entry. Returns false after rungi_fail(); then the list is unchanged. */
static bool grow_list(rungi_list *list)
{
    int64_t grown = list->count + 8, bytes;
    if (list->count < list->capacity)
        return true;
    if (!rungi_checked_multiply(grown, (int64_t)list->entry_bytes, &bytes)) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "a list of %lld entries is too long", (long long)grown);
        return false;
    }
    void *larger = rungi_allocate(list->context, bytes, sizeof(void *));
    if (!larger)
        return false;
    if (list->count > 0)
        memcpy(larger, list->entries, (size_t)list->count * list->entry_bytes);
    rungi_release(list->context, list->entries);
    list->entries = larger;
    list->capacity = grown;
    return true;
}

void *rungi_list_insert(rungi_list *list, int64_t index)
{
    if (!grow_list(list)) {
        list->texts.is_incomplete = true;
        return NULL;
    }
    char *entry = list->entries + (size_t)index * list->entry_bytes;
    memmove(entry + list->entry_bytes, entry, (size_t)(list->count++ - index) * list->entry_bytes);
    return memset(entry, 0, list->entry_bytes);
}

int64_t rungi_list_count(const void *list)
{
    return list ? ((const rungi_list *)list)->count : 0;
}

const void *rungi_list_at(const void *list, int64_t index)
{
    const rungi_list *own = list;
    return index >= 0 && index < rungi_list_count(own) ? own->entries + (size_t)index * own->entry_bytes : NULL;
}

void rungi_list_destroy(void *list)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_list *own = list;
    if (!own)
        return;
    rung_context *context = own->context;
    rungi_text_list_free(&own->texts);
    rungi_release(context, own->entries);
    rungi_release(context, own);
    rungi_context_release(context);
}

/* ---- Devices ----------------------------------------------------------------------- */

void rungi_device_info_init(rung_device_info *info, const char *backend)
{
    *info = (rung_device_info){
        .name = "", .backend = backend, .title = "", .platform = "", .driver = "", .missing = ""};
}

rung_device_info *rungi_device_list_add(rung_device_list *list)
{
    rung_device_info *info = rungi_list_insert(&list->list, list->list.count);
    if (info)
        rungi_device_info_init(info, list->list.backend);
    return info;
}

static void add_missing_backend(rung_device_list *list, const char *reason)
{
    rung_device_info *info = rungi_device_list_add(list);
    if (!info)
        return;
    info->name = list->list.backend;
    info->missing = rungi_text_list_add(&list->list.texts, "%s", reason);
}

/* Lists the devices of one backend. A backend without a device is listed itself; out of memory is the only failure. */
static rung_status list_backend(int index, rung_device_list *list)
{
    const rungi_backend *backend = rungi_backends[index];
    void *state;
    int64_t before = list->list.count;
    list->list.backend = backend->name;
    rung_status status = rungi_context_load_backend_at(list->list.context, index, &state);
    if (status == RUNG_OK)
        status = backend->list(list->list.context, state, list);
    if (status == RUNG_STATUS_NO_MEMORY)
        return status;
    if (status != RUNG_OK)
        add_missing_backend(list, rung_error_text());
    else if (list->list.count == before)
        add_missing_backend(list, "no device was found");
    return list->list.texts.is_incomplete ? RUNG_STATUS_NO_MEMORY : RUNG_OK;
}

rung_status rung_device_list_create(rung_context *context, rung_device_list **list)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(list, true, "rung_device_list_create: list is NULL; pass the address of a pointer"));
    rung_device_list *created = rungi_list_create(context, sizeof *created, sizeof(rung_device_info));
    TRY(rungi_allocated(created));
    rung_status status = RUNG_OK;
    rungi_saved_error saved = rungi_error_save();
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
    return rungi_list_count(list);
}

const rung_device_info *rung_device_list_at(const rung_device_list *list, int64_t index)
{
    return rungi_list_at(list, index);
}

void rung_device_list_destroy(rung_device_list *list)
{
    rungi_list_destroy(list);
}

/* ---- Dependencies -------------------------------------------------------------------- */

void rungi_dependency_list_add(rung_dependency_list *list, const char *name, const char *purpose, const char *install,
                               const char *found)
{
    rungi_text_list *texts = &list->list.texts;
    rung_dependency *dependency = rungi_list_insert(&list->list, list->list.count);
    if (dependency)
        *dependency = (rung_dependency){
            .backend = list->list.backend,
            .name = rungi_text_list_add(texts, "%s", name),
            .found = rungi_text_list_add(texts, "%s", found),
            .purpose = rungi_text_list_add(texts, "%s", purpose),
            .install = rungi_text_list_add(texts, "%s", install),
        };
}

rung_status rung_dependency_list_create(rung_context *context, rung_dependency_list **list)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(list, true, "rung_dependency_list_create: list is NULL; pass the address of a pointer"));
    rung_dependency_list *created = rungi_list_create(context, sizeof *created, sizeof(rung_dependency));
    TRY(rungi_allocated(created));
    for (int i = 0; rungi_backends[i]; i++) {
        created->list.backend = rungi_backends[i]->name;
        if (rungi_backends[i]->list_dependencies)
            rungi_backends[i]->list_dependencies(created);
    }
    if (created->list.texts.is_incomplete) {
        rung_dependency_list_destroy(created);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for the list of dependencies");
    }
    *list = created;
    return RUNG_OK;
}

int64_t rung_dependency_list_count(const rung_dependency_list *list)
{
    return rungi_list_count(list);
}

const rung_dependency *rung_dependency_list_at(const rung_dependency_list *list, int64_t index)
{
    return rungi_list_at(list, index);
}

void rung_dependency_list_destroy(rung_dependency_list *list)
{
    rungi_list_destroy(list);
}
