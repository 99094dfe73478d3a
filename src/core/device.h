/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - devices, queues, events and buffers as the core and the backends share them. device.c and queue.c have the
 * functions. */
#pragma once

#include <stdatomic.h>

#include "base/text_list.h"
#include "core/context.h"

typedef struct rungi_trace_entry rungi_trace_entry;
typedef struct rungi_group rungi_group;

typedef struct rungi_gemm_sizes {
    int64_t m, n, k, batch;
} rungi_gemm_sizes;

/* A kernel and one of its presets, with the number of split-K slices. */
typedef struct rungi_ranked_preset {
    const char *kernel, *preset; /* preset "": the defaults of the kernel's file */
    int64_t splits;
} rungi_ranked_preset;

enum { RUNGI_RANKED_PRESETS_MAX = 8 };

enum { RUNGI_PACKED_HEADER_BYTES = 128 }; /* at the start of a packed operand; the device defines the contents */

/* The functions of a device. The core validates sizes, ownership and bounds before it calls them. A `native` other than
 * NULL is an object of the caller that is wrapped. */
typedef struct rungi_device_ops {
    void (*close)(rung_device *device);
    /* Optional: calls work(job, part) for all parts on at most `threads` threads of the host (0: the device's number). */
    void (*run_parts)(rung_device *device, int64_t threads, int64_t parts, void (*work)(void *job, int64_t part),
                      void *job);

    rung_status (*queue_create)(rung_device *device, void *native, rung_queue **queue);
    rung_status (*queue_finish)(rung_queue *queue);
    void (*queue_destroy)(rung_queue *queue);
    void *(*queue_native)(const rung_queue *queue);
    /* Optional: returns whether the queue only records work for later (CUDA graphs), so that runs have no time. */
    bool (*queue_is_captured)(const rung_queue *queue);

    rung_status (*event_create)(rung_device *device, void *native, rung_event **event);
    rung_status (*event_wait)(rung_event *event);
    rung_status (*event_time)(rung_event *event, int64_t *nanoseconds);
    /* Optional: returns when the event's work started and ended, in nanoseconds after the end of the work of `origin`.
     * Both are complete. */
    rung_status (*event_span)(rung_event *event, const rung_event *origin, int64_t *start, int64_t *end);
    bool (*event_is_done)(rung_event *event);
    /* Makes `to` an event of the same work as `from`. */
    rung_status (*event_copy)(const rung_event *from, rung_event *to);
    void (*event_destroy)(rung_event *event);
    void *(*event_native)(const rung_event *event);

    rung_status (*buffer_create)(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                 rung_buffer **buffer);
    /* Optional: creates memory that is allocated and freed in the order of the queue. It is destroyed after the queue
     * was finished. */
    rung_status (*buffer_create_on_queue)(rung_queue *queue, int64_t bytes, rung_buffer **buffer);
    void (*buffer_destroy)(rung_buffer *buffer);
    void *(*buffer_native)(const rung_buffer *buffer);
    /* Copies host memory at `from` to the buffer or, if `from` is NULL, the buffer to `to`. */
    rung_status (*buffer_copy)(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, const void *from,
                               void *to, const rung_run_options *options);

    /* Optional: allocate and release pinned host memory, which the device copies from and to asynchronously. */
    rung_status (*host_allocate)(rung_device *device, int64_t bytes, void **memory, void **handle);
    void (*host_release)(rung_device *device, void *memory, void *handle);

    /* Optional: adapts default parameters, in the kernel's order, to this device. Returns whether any changed. The result
     * satisfies the kernel's constraints. */
    bool (*fit_defaults)(const rung_device *device, const rung_kernel *kernel, rung_type sum, int64_t *parameters);

    /* Optional: ranks kernels and presets for a plan without a kernel by their predicted time, fastest first. Returns their
     * number. */
    int (*rank_presets)(const rung_plan *plan, rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX]);

    /* Fills plan->info except kernel, parameters, origin and rejected. After RUNG_STATUS_UNSUPPORTED or
     * RUNG_STATUS_COMPILE_FAILED, an automatic choice tries the next kernel. */
    rung_status (*plan_create)(rung_plan *plan);
    /* Runs the plan. With a size of 0 there is nothing to compute, but events to wait for and to signal. k is 0 if A and
     * B must not be read. */
    rung_status (*plan_run)(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                            const rung_run_options *options);
    /* On devices that read host memory: runs plans[i], which matches problem i of the group, for each i in one pass of at
     * most `threads` threads (0: the device's number). No problem is a batch, and no output is empty. */
    rung_status (*plans_run)(rung_queue *queue, rung_plan *const *plans, const rungi_group *group, int64_t threads);
    /* Optional: computes all problems of plan->group. `table` is host memory of plan->info.workspace_bytes bytes, aligned
     * to 64 bytes, which the device uses until the queue was finished. */
    rung_status (*group_run)(rung_plan *plan, rung_queue *queue, void *table, const rung_run_options *options);
    /* Optional: packs B into plan->info.packed_b_bytes bytes. */
    rung_status (*plan_pack)(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                             const rung_run_options *options);
    /* With plan_pack: checks the first RUNGI_PACKED_HEADER_BYTES bytes of a packed B. Returns RUNG_STATUS_INVALID, with
     * each difference in the message, if the plan cannot use it. */
    rung_status (*packed_check)(const rung_plan *plan, const void *header);
    /* Optional: prepares a new buffer before a packed B of `bytes` bytes is copied into it. */
    void (*packed_prepare)(const rung_buffer *packed, int64_t bytes);
    void (*plan_destroy)(rung_plan *plan);
} rungi_device_ops;

struct rung_device {
    const rungi_backend *backend;
    const rungi_device_ops *ops;
    rung_context *context;
    bool holds_context;
    atomic_int references;
    bool reads_host_memory;   /* views may point into this process's memory */
    int64_t threads;          /* CPU: threads of a plan that is created without a number; other devices: 0 */
    const char *preset;       /* presets of kernels for this kind of device, */
    const char *architecture; /* and for this architecture; NULL if there are none */
    rung_device_info info;
    rungi_text_list texts; /* memory of the texts of info */
};

enum { RUNGI_QUEUE_CACHED_PLANS_MAX = 8 }; /* forms of problems between which calls may alternate without new plans */

struct rung_queue {
    rung_device *device;
    rung_queue *next;                               /* in the context's list of idle queues */
    rung_plan *plans[RUNGI_QUEUE_CACHED_PLANS_MAX]; /* of rung_gemm(), most recently used first */
    struct rungi_plan_table *group_plans;           /* of rung_group_multiply(); NULL before the first group */
    int64_t plans_tuning_version;                   /* the context's tuning_version when the plans were created */
    rungi_trace_entry *trace_entries;               /* runs that are not logged yet, oldest first */
    rungi_trace_entry *last_trace_entry;
};

struct rung_event {
    rung_device *device;
};

/* The backend sets `address_space`, `address` and `kernel_offset`, the core all other members. The core compares
 * addresses within one address space to detect overlapping operands. */
struct rung_buffer {
    rung_device *device;
    int64_t offset; /* bytes into the caller's memory; 0 if the library allocated the memory */
    int64_t bytes;
    const void *address_space; /* identifies the memory that `address` refers to; NULL: memory of this process */
    uintptr_t address;         /* of the first byte */
    int64_t kernel_offset;     /* bytes from the pointer that a kernel receives to the first byte */
};

/* For backends: initialises the members that every device has. */
void rungi_device_init(rung_device *device, rung_context *context, const rungi_backend *backend,
                       const rungi_device_ops *ops);
rung_device *rungi_device_retain(rung_device *device);

/* For backends: releases the memory of a device that rungi_device_init() filled. */
void rungi_device_free(rung_device *device);

/* Waits for the queue, so that memory of its work can be freed. Returns `status` with its error text if that is a
 * failure, and otherwise the status of the wait. */
rung_status rungi_queue_finish_after(rung_queue *queue, rung_status status);

enum { RUNGI_WAIT_EVENTS_MAX = 64 }; /* a bound, so that devices need no allocation for a wait list */

/* Copies and validates the options of work on this queue. NULL selects the defaults. */
rung_status rungi_run_options_check(const rung_queue *queue, const rung_run_options *given, rung_run_options *options);

/* Checks a number of threads that a caller requests. `automatic` is what 0 selects, for the message. */
rung_status rungi_threads_check(int64_t threads, const char *automatic);

/* Destroys the cached plans of a queue. */
void rungi_queue_clear_plan_cache(rung_queue *queue);

/* Creates a buffer for work on this queue and on queues that wait for it. The caller destroys it after all of them were
 * finished. */
rung_status rungi_buffer_create_on_queue(rung_queue *queue, int64_t bytes, rung_buffer **buffer);

/* Opens a device. `holds_context` is false for the device that the context itself owns. */
rung_status rungi_device_open(rung_context *context, const char *name, bool holds_context, rung_device **device);
