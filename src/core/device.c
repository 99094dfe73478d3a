/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the public functions on devices: they find the backend, validate arguments and count references. */
#include "core/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/try.h"
#include "core/device_list.h"

/* ---- Opening ----------------------------------------------------------------------- */

void rungi_device_init(rung_device *device, rung_context *context, const rungi_backend *backend,
                       const rungi_device_ops *ops)
{
    device->backend = backend;
    device->ops = ops;
    device->context = context;
    atomic_init(&device->references, 1);
    device->texts.allocator = &context->allocator;
    rungi_device_info_init(&device->info, backend->name);
}

void rungi_device_free(rung_device *device)
{
    rungi_text_list_free(&device->texts);
    rungi_release(device->context, device);
}

/* Completes a new device. Fails, and closes the device, if memory ran out for one of its texts. */
static rung_status complete_device(rung_device **device, bool holds_context)
{
    if ((*device)->texts.is_incomplete) {
        rung_device_close(*device);
        *device = NULL;
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for the description of a device");
    }
    if (holds_context)
        rungi_context_retain((*device)->context);
    (*device)->holds_context = holds_context;
    return RUNG_OK;
}

/* Splits "opencl:1" into the backend "opencl" and the index 1; "opencl" has the index -1. */
static rung_status split_name(const char *name, char *backend, size_t capacity, int64_t *index)
{
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    bool is_valid = !colon || (digits > 0 && digits < 5 && colon[1 + digits] == '\0');
    *index = -1;
    if (length == 0 || length >= capacity || !is_valid)
        return rungi_fail(
            RUNG_STATUS_NO_DEVICE,
            "\"%.80s\" is not the name of a device; valid names are, for example, cpu, opencl, opencl:1 and cuda",
            name);
    memcpy(backend, name, length);
    backend[length] = '\0';
    if (colon)
        *index = strtol(colon + 1, NULL, 10);
    return RUNG_OK;
}

rung_status rungi_device_open(rung_context *context, const char *name, bool holds_context, rung_device **device)
{
    char backend_name[32];
    int64_t index;
    const rungi_backend *backend;
    void *state;
    *device = NULL;
    TRY(split_name(name, backend_name, sizeof backend_name, &index));
    TRY(rungi_context_load_backend(context, backend_name, &backend, &state));
    TRY(backend->open(context, state, index, device));
    return complete_device(device, holds_context);
}

rung_status rung_device_open(rung_context *context, const char *name, rung_device **device)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(device, true, "rung_device_open: device is NULL; pass the address of a pointer"));
    context = rungi_context_or_default(context);
    TRY(rungi_allocated(context));
    return rungi_device_open(context, name ? name : context->device_name, true, device);
}

rung_status rung_device_wrap(rung_context *context, const char *name, void *native_context, void *native_device,
                             rung_device **device)
{
    RUNGI_DISABLE_CANCELLATION;
    const rungi_backend *backend;
    void *state;
    TRY(rungi_clear_result(device, name, "rung_device_wrap: backend or device is NULL"));
    context = rungi_context_or_default(context);
    TRY(rungi_allocated(context));
    TRY(rungi_context_load_backend(context, name, &backend, &state));
    if (!backend->wrap)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the %s backend has no native devices to wrap; use rung_device_open()", name);
    if (!native_context)
        return rungi_invalid("rung_device_wrap: native_context is NULL; pass the context to wrap");
    TRY(backend->wrap(context, state, native_context, native_device, device));
    return complete_device(device, true);
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
