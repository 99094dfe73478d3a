/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the public calls on devices: find the backend, check, hand on. */
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/cancel.h"

/* ---- Listing ---------------------------------------------------------------------- */

rung_device_info *rungi_device_list_add(rungi_device_list *list, rung_device_info *spare)
{
    rung_device_info *info = list->count < list->capacity ? &list->infos[list->count] : spare;
    list->count++;
    memset(info, 0, sizeof *info);
    return info;
}

static void list_backend(rung_context *context, int index, rungi_device_list *list)
{
    const rungi_backend *backend = rungi_backends[index];
    rung_device_info spare;
    void *state;
    int64_t before = list->count;
    rung_status status = rungi_context_load(context, index, &state);
    if (status == RUNG_OK)
        status = backend->list(context, state, list);
    for (int64_t i = before; i < list->count && i < list->capacity; i++)
        snprintf(list->infos[i].backend, sizeof list->infos[i].backend, "%s", backend->name);
    if (status == RUNG_OK && list->count > before)
        return;
    rung_device_info *info = rungi_device_list_add(list, &spare);
    snprintf(info->name, sizeof info->name, "%s", backend->name);
    snprintf(info->backend, sizeof info->backend, "%s", backend->name);
    snprintf(info->missing, sizeof info->missing, "%s",
             status == RUNG_OK ? "no device of this kind is here" : rung_error_text());
}

rung_status rung_device_list(rung_context *context, rung_device_info *infos, int64_t capacity,
                             int64_t *count)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_device_list list = {.infos = infos, .capacity = infos ? capacity : 0};
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    if (!count || capacity < 0)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_list needs a place for the count");
    rungi_error before;
    rungi_error_save(&before);
    for (int i = 0; rungi_backends[i]; i++)
        list_backend(context, i, &list);
    rungi_error_restore(&before); /* a missing backend is listed; nothing has failed */
    *count = list.count;
    return RUNG_OK;
}

void rungi_part_list_add(rungi_part_list *list, const char *name, const char *purpose,
                         const char *install, const char *found)
{
    rung_dependency part = {.backend = ""};
    snprintf(part.name, sizeof part.name, "%s", name);
    snprintf(part.purpose, sizeof part.purpose, "%s", purpose);
    snprintf(part.install, sizeof part.install, "%s", install);
    snprintf(part.found, sizeof part.found, "%s", found);
    if (list->count < list->capacity)
        list->parts[list->count] = part;
    list->count++;
}

rung_status rung_dependency_list(rung_context *context, rung_dependency *parts, int64_t capacity, int64_t *count)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_part_list list = {.parts = parts, .capacity = parts ? capacity : 0};
    if (!rungi_context_of(context))
        return RUNG_STATUS_NO_MEMORY;
    if (!count || capacity < 0)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_dependency_list needs a place for the count");
    for (int i = 0; rungi_backends[i]; i++) {
        int64_t before = list.count;
        if (rungi_backends[i]->parts)
            rungi_backends[i]->parts(&list);
        for (int64_t j = before; j < list.count && j < list.capacity; j++)
            snprintf(parts[j].backend, sizeof parts[j].backend, "%s", rungi_backends[i]->name);
    }
    *count = list.count;
    return RUNG_OK;
}

/* ---- Opening ----------------------------------------------------------------------- */

void rungi_device_init(rung_device *device, rung_context *context, const rungi_backend *backend,
                       const rungi_device_ops *ops)
{
    RUNGI_ASSERT(strlen(backend->name) < sizeof device->info.backend);
    device->backend = backend;
    device->ops = ops;
    device->context = context;
    atomic_init(&device->references, 1);
    snprintf(device->info.backend, sizeof device->info.backend, "%s", backend->name);
}

/* "opencl:1" is backend "opencl", index 1; "opencl" is index -1. */
static rung_status split_name(const char *name, char *backend, size_t capacity, int64_t *index)
{
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    bool well_formed = !colon || (digits > 0 && digits < 5 && colon[1 + digits] == '\0');
    *index = colon ? atoi(colon + 1) : -1;
    if (length == 0 || length >= capacity || !well_formed)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "\"%.80s\" is no device's name; they are like \"cpu\", "
                          "\"opencl\", \"opencl:1\", \"cuda\"", name);
    memcpy(backend, name, length);
    backend[length] = '\0';
    return RUNG_OK;
}

rung_status rungi_device_open(rung_context *context, const char *name, bool hold,
                              rung_device **device)
{
    char backend_name[32];
    int64_t index;
    const rungi_backend *backend;
    void *state;
    *device = NULL;
    rung_status status = split_name(name, backend_name, sizeof backend_name, &index);
    if (status == RUNG_OK)
        status = rungi_context_backend(context, backend_name, &backend, &state);
    if (status == RUNG_OK)
        status = backend->open(context, state, index, device);
    if (status == RUNG_OK && hold) {
        rungi_context_retain(context);
        (*device)->holds_context = true;
    }
    return status;
}

rung_status rung_device_open(rung_context *context, const char *name, rung_device **device)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!device)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_open needs a place for the device");
    *device = NULL;
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    return rungi_device_open(context, name ? name : context->device_name, true, device);
}

rung_status rung_device_wrap(rung_context *context, const char *name, void *native_context,
                             void *native_device, rung_device **device)
{
    RUNGI_DISABLE_CANCELLATION;
    const rungi_backend *backend;
    void *state;
    if (device)
        *device = NULL;
    if (!device || !name)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_wrap needs a backend and a place for the device");
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_context_backend(context, name, &backend, &state);
    if (status != RUNG_OK)
        return status;
    if (!backend->wrap)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "a %s device wraps nothing; use rung_device_open", name);
    if (!native_context)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_wrap needs the context to wrap");
    status = backend->wrap(context, state, native_context, native_device, device);
    if (status == RUNG_OK) {
        rungi_context_retain(context);
        (*device)->holds_context = true;
    }
    return status;
}

rung_device *rungi_device_retain(rung_device *device)
{
    int before = atomic_fetch_add(&device->references, 1);
    RUNGI_ASSERT(before > 0);
    return device;
}

void rung_device_close(rung_device *device)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!device)
        return;
    int before = atomic_fetch_sub(&device->references, 1);
    RUNGI_ASSERT(before > 0);
    if (before != 1)
        return;
    rung_context *context = device->holds_context ? device->context : NULL;
    device->ops->close(device);
    if (context)
        rungi_context_release(context);
}

rung_context *rung_device_context(const rung_device *device)
{
    return device ? device->context : NULL;
}

const rung_device_info *rung_device_describe(const rung_device *device)
{
    return device ? &device->info : NULL;
}
