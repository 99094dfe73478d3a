/* SPDX-License-Identifier: Apache-2.0 */
/* device_pool.h - the device, the queues and the pinned memory that a context caches for rung_gemm() and
 * rung_multiply(). All functions are thread-safe. */
#pragma once

#include "core/context.h"

/* Returns the context's device, which the first call opens. The caller closes the device. */
rung_status rungi_device_pool_acquire_device(rung_context *context, rung_device **device);

/* Returns `wanted`, which must be a device of the context, or the context's device if it is NULL. The caller closes it. */
rung_status rungi_device_pool_acquire_wanted(rung_context *context, rung_device *wanted, rung_device **device);

/* Removes a device that was lost, or whose context is being destroyed, from the pool, with its queues and pinned memory.
 * The next call opens the device again. */
void rungi_device_pool_drop_device(rung_context *context, rung_device *device);

/* Acquires a queue of the device for one call; a new one if no queue is idle. */
rung_status rungi_device_pool_acquire_queue(rung_context *context, rung_device *device, rung_queue **queue);
void rungi_device_pool_release_queue(rung_context *context, rung_queue *queue);

/* Acquires an idle queue of the context's device; NULL if there is none. */
rung_queue *rungi_device_pool_acquire_idle_queue(rung_context *context);

/* Acquires at least `bytes` of pinned memory of the device for one call. Returns false if the device has none; the error
 * text is unchanged then. */
bool rungi_device_pool_acquire_pinned(rung_context *context, rung_device *device, int64_t bytes,
                                      rungi_pinned_memory *pinned);
void rungi_device_pool_release_pinned(rung_context *context, rung_device *device, const rungi_pinned_memory *pinned);
