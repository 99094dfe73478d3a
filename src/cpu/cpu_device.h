/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_device.h - the objects of the CPU device: device, event and buffer. cpu_backend.c puts them into the backend's
 * tables. Buffers are plain memory, and every operation has finished when its call returns. */
#pragma once

#include "base/clock.h"
#include "core/device.h"
#include "cpu/features.h"
#include "cpu/threads/pool.h"

typedef struct rungi_cpu_device {
    rung_device base;
    rungi_cpu_features features; /* what may be used: RUNG_CPU_ISA can lower it */
    rungi_pool *pool;            /* belongs to the context */
} rungi_cpu_device;

typedef struct rungi_cpu_event {
    rung_event base;
    int64_t nanoseconds; /* duration of the operation that signaled the event */
} rungi_cpu_event;

/* Signals the event of `options`, if there is one, for an operation that began at `started` of rungi_clock_ns(). */
static inline void rungi_cpu_signal(const rung_run_options *options, int64_t started)
{
    if (options->signal)
        ((rungi_cpu_event *)options->signal)->nanoseconds = rungi_clock_ns() - started;
}

/* The buffer functions of rungi_device_ops. */
rung_status rungi_cpu_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                    rung_buffer **buffer);
void rungi_cpu_buffer_destroy(rung_buffer *buffer);
void *rungi_cpu_buffer_native(const rung_buffer *buffer);
rung_status rungi_cpu_buffer_copy(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                  const void *from, void *to, const rung_run_options *options);

/* Prepares the first `bytes` of a buffer that the library allocated for a packed B: asks the system for huge pages and spreads
 * the pages between NUMA nodes. Call it before the packed B is written. Other threads may use the bytes behind it. */
void rungi_cpu_buffer_prepare_packed(const rung_buffer *buffer, int64_t bytes);

/* Returns the address of the buffer's first byte. */
char *rungi_cpu_buffer_data(const rung_buffer *buffer);

/* Returns the address of element (0, 0) of a batch item. The view has either data or a buffer. */
void *rungi_cpu_item_data(const rung_matrix *matrix, int64_t item);
