/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - a context: memory, log, settings, and the backends and kernels that were loaded. context_create.c creates
 * and destroys contexts; device_pool.h has the device and the queues of rung_gemm(). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/allocator.h"
#include "base/error.h"
#include "base/log.h"
#include "core/backend.h"
#include "rung/rung.h"

/* Limits that several components of the library share. */
enum {
    RUNGI_BACKENDS_MAX = 8,
    RUNGI_LADDER_MAX = 32,         /* kernels per backend */
    RUNGI_THREADS_MAX = 8192,      /* more than any machine has processors: a larger number is a mistake */
    RUNGI_TUNING_PATH_BYTES = 4096 /* path of a tuning file, including the terminating 0 */
};

/* Bytes of workspace that a call may allocate in addition to its operands. */
static const int64_t rungi_workspace_bytes_max = (int64_t)64 << 20;

typedef _Atomic(rung_kernel *) rungi_kernel_slot;

/* Pinned host memory of a device. */
typedef struct rungi_pinned_memory {
    void *memory, *handle; /* NULL: none */
    int64_t bytes;
} rungi_pinned_memory;

struct rung_context {
    rung_context *next; /* in the list of fork.c */
    atomic_int references;
    void (*destroy)(rung_context *context); /* called when the last reference is released */
    rungi_logger logger;
    rungi_allocator allocator;
    rung_span_function span;
    void *span_user;
    rung_parallel_function parallel_for; /* the caller's thread pool, or NULL */
    void *parallel_for_user;
    int64_t overlap;      /* bytes of operands from which a multiply is staged in panels; 0: never */
    int64_t threads;      /* maximum number of CPU threads per multiply; 0: the number of processors */
    char device_name[64]; /* device of rung_gemm() */

    /* The lock protects everything below except the kernels. These objects are created at first use and destroyed with
     * the context. A thread that holds the lock calls only code of this library, and no allocator: so a thread that
     * forks can always wait for the lock, whatever else is locked (see fork.c). */
    pthread_mutex_t lock;
    struct {
        bool is_loaded;
        rung_status load_status;
        char load_error[256];
        void *state;
        rungi_kernel_slot kernels[RUNGI_LADDER_MAX]; /* one per ladder entry; NULL until first use */
    } backends[RUNGI_BACKENDS_MAX];
    rung_device *device;        /* of rung_gemm(); holds no reference to the context */
    rung_queue *idle_queues;    /* queues of `device` that no call uses */
    rungi_pinned_memory pinned; /* of `device`, cached because pinning memory is slow */
    bool is_tuning_loaded;
    struct rungi_tuning_records *tuning_records; /* highest priority first; see choose/tuning_record.h */
    int64_t tuning_version;                      /* number of changes of the records; plans of older versions may be
                                                  * slower than possible */
};

/* Returns `context`, or for NULL the default context, which is created at first use. NULL after rungi_fail(). */
rung_context *rungi_context_or_default(rung_context *context);

rung_context *rungi_context_retain(rung_context *context);
void rungi_context_release(rung_context *context);

/* Protects a context (fork.c): from now on a fork waits until no thread changes it, and the context is usable in the
 * child. Returns false if the system accepts no fork handlers. */
bool rungi_fork_register(rung_context *context);
void rungi_fork_unregister(rung_context *context);

/* Allocate and release memory of the context; see base/allocator.h. */
static inline void *rungi_allocate(const rung_context *context, int64_t bytes, size_t alignment)
{
    return rungi_allocator_allocate(&context->allocator, bytes, alignment);
}

static inline void *rungi_allocate_zeroed(const rung_context *context, size_t bytes)
{
    return rungi_allocator_allocate_zeroed(&context->allocator, bytes);
}

static inline void rungi_release(const rung_context *context, void *memory)
{
    rungi_allocator_release(&context->allocator, memory);
}

/* Logs a line at a level; see base/log.h. */
#define rungi_log(context, ...) rungi_logger_write(&(context)->logger, __VA_ARGS__)

/* Find a backend by name or index and return its state in this context. The first call loads the backend. */
rung_status rungi_context_load_backend(rung_context *context, const char *name, const rungi_backend **backend,
                                       void **state);
rung_status rungi_context_load_backend_at(rung_context *context, int index, void **state);

/* Returns the index of the backend in rungi_backends, or -1 after rungi_fail(). */
int rungi_backend_index(const char *name);
