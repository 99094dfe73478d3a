/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the public calls on devices: find the backend, check, hand on. */
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/cancel.h"

/* ---- Opening ----------------------------------------------------------------------- */

void rungi_device_init(rung_device *device, rung_context *context, const rungi_backend *backend,
                       const rungi_device_ops *ops)
{
    device->backend = backend;
    device->ops = ops;
    device->context = context;
    atomic_init(&device->references, 1);
    device->texts.context = context;
    rungi_device_info_init(&device->info, backend->name);
}

void rungi_device_free(rung_device *device)
{
    rungi_texts_release(&device->texts);
    rungi_release(device->context, device);
}

/* Fails if memory ran out for a text of the new device, and closes the device then. */
static rung_status check_texts(rung_device **device)
{
    if (!(*device)->texts.is_incomplete)
        return RUNG_OK;
    rung_device_close(*device);
    *device = NULL;
    return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for the description of a device");
}

/* "opencl:1" is backend "opencl", index 1; "opencl" is index -1. */
static rung_status split_name(const char *name, char *backend, size_t capacity, int64_t *index)
{
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    bool well_formed = !colon || (digits > 0 && digits < 5 && colon[1 + digits] == '\0');
    *index = -1;
    if (length == 0 || length >= capacity || !well_formed)
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "\"%.80s\" is no device's name; they are like \"cpu\", "
                          "\"opencl\", \"opencl:1\", \"cuda\"",
                          name);
    memcpy(backend, name, length);
    backend[length] = '\0';
    if (colon)
        *index = strtol(colon + 1, NULL, 10);
    return RUNG_OK;
}

rung_status rungi_device_open(rung_context *context, const char *name, bool hold, rung_device **device)
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
    if (status == RUNG_OK)
        status = check_texts(device);
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

rung_status rung_device_wrap(rung_context *context, const char *name, void *native_context, void *native_device,
                             rung_device **device)
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
    if (status == RUNG_OK)
        status = check_texts(device);
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
