/* SPDX-License-Identifier: Apache-2.0 */
/* device_pool.c - see device_pool.h. The pool's members are part of struct rung_context, under the context's lock.
 * Objects are created and destroyed outside the lock. */
#include "core/device_pool.h"

#include "base/assert.h"
#include "base/try.h"
#include "core/device.h"

/* ---- Devices and queues ---------------------------------------------------------------------------- */

/* Call with the lock held. */
static rung_device *retain_pool_device(rung_context *context)
{
    return context->device ? rungi_device_retain(context->device) : NULL;
}

rung_status rungi_device_pool_acquire_device(rung_context *context, rung_device **device)
{
    pthread_mutex_lock(&context->lock);
    *device = retain_pool_device(context);
    pthread_mutex_unlock(&context->lock);
    if (*device)
        return RUNG_OK;

    /* Two threads may open the device at the same time; the second one closes its own. */
    rung_device *opened;
    TRY(rungi_device_open(context, context->device_name, false, &opened));
    pthread_mutex_lock(&context->lock);
    bool is_first = !context->device;
    if (is_first)
        context->device = opened;
    *device = retain_pool_device(context);
    pthread_mutex_unlock(&context->lock);
    if (!is_first)
        rung_device_close(opened);
    return RUNG_OK;
}

rung_status rungi_device_pool_acquire_wanted(rung_context *context, rung_device *wanted, rung_device **device)
{
    if (!wanted)
        return rungi_device_pool_acquire_device(context, device);
    if (wanted->context != context)
        return rungi_invalid("the device %s belongs to another context than the call; pass its own context, which "
                             "rung_device_context() returns",
                             wanted->info.name);
    *device = rungi_device_retain(wanted);
    return RUNG_OK;
}

static void free_pinned(rung_device *device, const rungi_pinned_memory *pinned)
{
    RUNGI_ASSERT(!pinned->memory || (device && pinned->bytes > 0));
    if (pinned->memory)
        device->ops->host_release(device, pinned->memory, pinned->handle);
}

void rungi_device_pool_drop_device(rung_context *context, rung_device *device)
{
    rung_queue *queue = NULL;
    rungi_pinned_memory pinned = {0};
    pthread_mutex_lock(&context->lock);
    bool is_pooled = context->device == device;
    if (is_pooled) {
        queue = context->idle_queues;
        pinned = context->pinned;
        context->device = NULL;
        context->idle_queues = NULL;
        context->pinned = (rungi_pinned_memory){0};
    }
    pthread_mutex_unlock(&context->lock);
    while (queue) {
        rung_queue *next = queue->next;
        rung_queue_destroy(queue);
        queue = next;
    }
    free_pinned(device, &pinned);
    if (is_pooled)
        rung_device_close(device);
}

/* Removes an idle queue from the pool: of `device`, or of any device if it is NULL. Plans in the queue's cache are
 * destroyed if the tuning records have changed since the plans were created. */
static rung_queue *pop_idle_queue(rung_context *context, const rung_device *device, int64_t *tuning_version)
{
    pthread_mutex_lock(&context->lock);
    rung_queue *queue = !device || context->device == device ? context->idle_queues : NULL;
    if (queue)
        context->idle_queues = queue->next;
    *tuning_version = context->tuning_version;
    pthread_mutex_unlock(&context->lock);
    if (queue && queue->plans_tuning_version != *tuning_version) {
        rungi_queue_clear_plan_cache(queue);
        queue->plans_tuning_version = *tuning_version;
    }
    return queue;
}

rung_queue *rungi_device_pool_acquire_idle_queue(rung_context *context)
{
    int64_t tuning_version;
    return pop_idle_queue(context, NULL, &tuning_version);
}

rung_status rungi_device_pool_acquire_queue(rung_context *context, rung_device *device, rung_queue **queue)
{
    int64_t tuning_version;
    *queue = pop_idle_queue(context, device, &tuning_version);
    if (!*queue)
        TRY(rung_queue_create(device, queue));
    (*queue)->plans_tuning_version = tuning_version;
    return RUNG_OK;
}

void rungi_device_pool_release_queue(rung_context *context, rung_queue *queue)
{
    pthread_mutex_lock(&context->lock);
    bool is_pooled = context->device == queue->device;
    if (is_pooled) {
        queue->next = context->idle_queues;
        context->idle_queues = queue;
    }
    pthread_mutex_unlock(&context->lock);
    if (!is_pooled)
        rung_queue_destroy(queue);
}

/* ---- Pinned memory ---------------------------------------------------------------------------------- */

/* Larger blocks are released after the call. */
static const int64_t pinned_cached_bytes_max = (int64_t)64 << 20;

bool rungi_device_pool_acquire_pinned(rung_context *context, rung_device *device, int64_t bytes,
                                      rungi_pinned_memory *pinned)
{
    *pinned = (rungi_pinned_memory){0};
    if (!device->ops->host_allocate || bytes == 0)
        return false;
    pthread_mutex_lock(&context->lock);
    if (context->device == device && context->pinned.bytes >= bytes) {
        *pinned = context->pinned;
        context->pinned = (rungi_pinned_memory){0};
    }
    pthread_mutex_unlock(&context->lock);
    if (pinned->memory)
        return true;
    rungi_saved_error saved = rungi_error_save();
    rung_status status = device->ops->host_allocate(device, bytes, &pinned->memory, &pinned->handle);
    if (status == RUNG_OK) {
        pinned->bytes = bytes;
        return true;
    }
    rungi_error_restore(&saved);
    *pinned = (rungi_pinned_memory){0};
    return false;
}

void rungi_device_pool_release_pinned(rung_context *context, rung_device *device, const rungi_pinned_memory *pinned)
{
    rungi_pinned_memory unused = *pinned;
    pthread_mutex_lock(&context->lock);
    if (context->device == device && pinned->bytes <= pinned_cached_bytes_max &&
        pinned->bytes > context->pinned.bytes) {
        unused = context->pinned;
        context->pinned = *pinned;
    }
    pthread_mutex_unlock(&context->lock);
    free_pinned(device, &unused);
}
