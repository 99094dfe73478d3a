/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - references to contexts, the default context, and loading backends. */
#include "core/context.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/text_list.h"

/* ---- References ------------------------------------------------------------------------------------- */

/* The default context is the only object that the library keeps for the whole process. Two threads may create it at the
 * same time; the second one destroys its own. */
rung_context *rungi_context_or_default(rung_context *context)
{
    static _Atomic(rung_context *) default_context;
    rung_context *created;
    if (!context)
        context = atomic_load(&default_context);
    if (context || rung_context_create(NULL, &created) != RUNG_OK)
        return context;
    if (atomic_compare_exchange_strong(&default_context, &context, created))
        return created;
    rung_context_destroy(created);
    return context;
}

rung_context *rungi_context_retain(rung_context *context)
{
    int before = atomic_fetch_add(&context->references, 1);
    RUNGI_ASSERT(before > 0);
    return context;
}

void rungi_context_release(rung_context *context)
{
    int before = atomic_fetch_sub(&context->references, 1);
    RUNGI_ASSERT(before > 0);
    if (before == 1)
        context->destroy(context);
}

/* ---- Backends --------------------------------------------------------------------------------------- */

/* Loads a backend and publishes its state or its error. Not under the lock: loading calls the caller's log and libraries
 * that may do anything, such as fork. Two threads may load a backend at the same time; the second one unloads its own.
 * Only RUNG_STATUS_NO_MEMORY is returned and may be retried; a missing library stays missing. */
static rung_status load_once(rung_context *context, int index)
{
    const rungi_backend *backend = rungi_backends[index];
    void *state = NULL;
    rung_status status = backend->load(context, &state);
    if (status == RUNG_STATUS_NO_MEMORY)
        return status;
    pthread_mutex_lock(&context->lock);
    bool is_first = !context->backends[index].is_loaded;
    if (is_first) {
        context->backends[index].is_loaded = true;
        context->backends[index].load_status = status;
        context->backends[index].state = state;
        if (status != RUNG_OK)
            snprintf(context->backends[index].load_error, sizeof context->backends[index].load_error, "%s",
                     rung_error_text());
    }
    pthread_mutex_unlock(&context->lock);
    if (is_first && status != RUNG_OK)
        rungi_log(context, 2, "rung: %s: %s", backend->name, context->backends[index].load_error);
    if (!is_first && status == RUNG_OK)
        backend->unload(context, state);
    return RUNG_OK;
}

rung_status rungi_context_load_backend_at(rung_context *context, int index, void **state)
{
    RUNGI_ASSERT(index >= 0 && index < RUNGI_BACKENDS_MAX);
    pthread_mutex_lock(&context->lock);
    bool is_loaded = context->backends[index].is_loaded;
    pthread_mutex_unlock(&context->lock);
    if (!is_loaded && load_once(context, index) != RUNG_OK)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = context->backends[index].load_status;
    *state = context->backends[index].state;
    return status == RUNG_OK ? RUNG_OK : rungi_fail(status, "%s", context->backends[index].load_error);
}

int rungi_backend_index(const char *name)
{
    char valid[128] = "";
    for (int i = 0; rungi_backends[i]; i++) {
        if (strcmp(rungi_backends[i]->name, name) == 0)
            return i;
        rungi_text_append(valid, sizeof valid, "%s%s", i ? ", " : "", rungi_backends[i]->name);
    }
    rungi_fail(RUNG_STATUS_NO_DEVICE, "there is no backend \"%s\"; this library has %s", name, valid);
    return -1;
}

rung_status rungi_context_load_backend(rung_context *context, const char *name, const rungi_backend **backend,
                                       void **state)
{
    int index = rungi_backend_index(name);
    if (index < 0)
        return RUNG_STATUS_NO_DEVICE;
    *backend = rungi_backends[index];
    return rungi_context_load_backend_at(context, index, state);
}
