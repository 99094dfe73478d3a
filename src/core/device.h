/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - devices and what stands on them, as the core sees them. */
#ifndef RUNGI_DEVICE_H
#define RUNGI_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/context.h"

typedef struct rungi_trace_line rungi_trace_line;

typedef struct rungi_sizes {
    int64_t m, n, k, batch;
} rungi_sizes;

/* A packed operand begins with a header of so many bytes, whose contents are the device's own. */
enum { RUNGI_PACKED_HEADER = 128 };

/* What a device can do. A `native` that is not NULL is the caller's object, to be
 * wrapped. Sizes, ownership and bounds are checked before these are called. */
typedef struct rungi_device_ops {
    void (*close)(rung_device *device);

    rung_status (*queue_create)(rung_device *device, void *native, rung_queue **queue);
    rung_status (*queue_finish)(rung_queue *queue);
    void (*queue_destroy)(rung_queue *queue);
    void *(*queue_native)(const rung_queue *queue);
    /* Whether work is only written down for later, and has no time of its own; NULL where
     * there is no such thing. */
    bool (*queue_is_captured)(const rung_queue *queue);

    rung_status (*event_create)(rung_device *device, void *native, rung_event **event);
    rung_status (*event_wait)(rung_event *event);
    rung_status (*event_time)(rung_event *event, int64_t *nanoseconds);
    /* When its work started and ended, in nanoseconds from the end of origin's; both are
     * done. NULL where a device cannot tell. */
    rung_status (*event_span)(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end);
    bool (*event_is_done)(rung_event *event);
    /* Both then stand for the same piece of work. */
    rung_status (*event_copy)(const rung_event *from, rung_event *to);
    void (*event_destroy)(rung_event *event);
    void *(*event_native)(const rung_event *event);

    rung_status (*buffer_create)(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                 rung_buffer **buffer);
    /* Memory that is taken and freed in that queue's order; it is destroyed after the
     * queue was finished. NULL where that is no different. */
    rung_status (*buffer_create_on)(rung_queue *queue, int64_t bytes, rung_buffer **buffer);
    void (*buffer_destroy)(rung_buffer *buffer);
    void *(*buffer_native)(const rung_buffer *buffer);
    rung_status (*buffer_write)(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, const void *from,
                                const rung_run_options *options);
    rung_status (*buffer_read)(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                               const rung_run_options *options);

    /* Memory of this process that the device copies from and to by itself, while the
     * processor does something else. NULL where there is none. */
    rung_status (*host_allocate)(rung_device *device, int64_t bytes, void **memory, void **handle);
    void (*host_release)(rung_device *device, void *memory, void *handle);

    /* Optional: adapts default parameters, in the kernel's order, to this device, and returns whether
     * any changed. The result meets the kernel's constraints. */
    bool (*fit_defaults)(const rung_device *device, const rung_kernel *kernel, rung_type sum, int64_t *parameters);

    /* Fills plan->info but for kernel, parameters, origin and rejected. RUNG_STATUS_UNSUPPORTED and
     * RUNG_STATUS_COMPILE_FAILED pass an open choice on to the next kernel. */
    rung_status (*plan_create)(rung_plan *plan);
    /* Sizes that are 0 leave nothing to compute but events to wait for and signal;
     * k is 0 where A and B are not to be read. */
    rung_status (*plan_run)(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                            const rung_run_options *options);
    /* Optional: B into plan->info.packed_b_bytes bytes, for plans whose kernels take it so. */
    rung_status (*plan_pack)(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                             const rung_run_options *options);
    /* With plan_pack: compares the first RUNGI_PACKED_HEADER bytes of a packed B with what the plan expects.
     * RUNG_STATUS_INVALID and a sentence that names each difference if the plan cannot use it. */
    rung_status (*packed_check)(const rung_plan *plan, const void *header);
    /* Optional: prepares a new buffer for the packed B that is about to be copied into it. */
    void (*packed_prepare)(const rung_buffer *packed);
    void (*plan_destroy)(rung_plan *plan);
} rungi_device_ops;

struct rung_device {
    const rungi_backend *backend;
    const rungi_device_ops *ops;
    rung_context *context;
    bool holds_context;
    atomic_int references;
    bool takes_data;          /* views may point into this process's memory */
    int64_t threads;          /* CPU: threads of a plan that is created without a number; else 0 */
    const char *preset;       /* parameters for its kind, where a kernel has them, */
    const char *architecture; /* and for its architecture; NULL if there are none */
    rung_device_info info;
    rungi_texts texts; /* of info */
};

/* So many forms a program's calls may alternate between and find their plans again. */
enum { RUNGI_PLANS_KEPT = 8 };

struct rung_queue {
    rung_device *device;
    rung_queue *next;                   /* among a context's idle ones */
    rung_plan *plans[RUNGI_PLANS_KEPT]; /* of rung_gemm's calls, the last used first */
    int64_t plans_tuning;               /* the context's tuning_changes when they were made */
    rungi_trace_line *lines;            /* runs to be told of when they are done */
    rungi_trace_line *last_line;
};

struct rung_event {
    rung_device *device;
};

/* `space` and `place` say where the first byte stands, for telling overlap: at an address in
 * this process's memory, with `space` NULL, or so far into the memory that `space` names.
 * The backend sets them and `start`; the rest is the core's. */
struct rung_buffer {
    rung_device *device;
    int64_t offset; /* bytes into the caller's memory, 0 if it is ours */
    int64_t bytes;
    const void *space;
    uintptr_t place;
    int64_t start; /* bytes from what a kernel gets for it to its first byte */
};

/* For backends: the parts that every object has in common. */
void rungi_device_init(rung_device *device, rung_context *context, const rungi_backend *backend,
                       const rungi_device_ops *ops);
rung_device *rungi_device_retain(rung_device *device);

/* For backends: releases the memory of a device that rungi_device_init() filled. */
void rungi_device_free(rung_device *device);

/* Destroys the plans that a queue keeps. */
void rungi_queue_forget_plans(rung_queue *queue);

/* A buffer for work on that queue and on those that wait for it, destroyed after all of
 * them were finished. */
rung_status rungi_buffer_create_on(rung_queue *queue, int64_t bytes, rung_buffer **buffer);

/* Backs rung_device_open; `hold` is false for the context's own device. */
rung_status rungi_device_open(rung_context *context, const char *name, bool hold, rung_device **device);

#endif /* RUNGI_DEVICE_H */
