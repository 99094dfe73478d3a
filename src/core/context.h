/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - what a context owns: memory, the log, backends and their kernels. */
#ifndef RUNGI_CONTEXT_H
#define RUNGI_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/backend.h"
#include "core/error.h"
#include "rung/rung.h"

enum { RUNGI_BACKENDS_MAX = 8, RUNGI_LADDER_MAX = 32 };

typedef _Atomic(rung_kernel *) rungi_kernel_place;

/* Pinned memory of a device. */
typedef struct rungi_staging {
    void *memory, *handle; /* NULL: none */
    int64_t bytes;
} rungi_staging;

/* More than any machine has processors; what is above is a mistake. */
enum { RUNGI_THREADS_MAX = 8192 };

struct rung_context {
    rung_context *next; /* among those that a fork has to wait for */
    atomic_int references;
    rung_log_function log;
    void *log_user;
    int verbose;
    bool warns; /* see rungi_warn */
    rung_allocate_function allocate;
    rung_release_function release;
    void *memory_user;
    rung_span_function span;
    void *span_user;
    int64_t overlap;      /* bytes from which a multiply is cut; 0: never */
    int64_t threads;      /* of a multiply on the CPU, at most; 0: as many as processors */
    char device_name[64]; /* of rung_gemm */

    /* Under the lock, but for the kernels: made at first use, unmade with the context. While it
     * is held nothing is called that is not the library's own, no allocator either: then whoever
     * forks may wait for it, whatever else is locked (see fork.c). */
    pthread_mutex_t lock;
    struct {
        bool loaded;
        rung_status load_status;
        char load_error[256];
        void *state;
        rungi_kernel_place kernels[RUNGI_LADDER_MAX]; /* one a ladder entry, NULL until asked for */
    } backends[RUNGI_BACKENDS_MAX];
    rung_device *device;   /* of rung_gemm; does not hold the context in turn */
    rung_queue *idle;      /* queues of that device, between calls */
    rungi_staging staging; /* and its pinned memory, which takes long to get */
    bool tuning_is_read;
    struct rungi_records *tuning; /* see store.h; the strongest first */
    int64_t tuning_changes;       /* since it was read; plans made before may not be the best */
};

/* NULL becomes the default context, made now if need be; NULL if that failed. */
rung_context *rungi_context_of(rung_context *context);

rung_context *rungi_context_retain(rung_context *context);
void rungi_context_release(rung_context *context);

/* Memory, or NULL after rungi_fail(RUNG_STATUS_NO_MEMORY); a request of no bytes gives one.
 * rungi_new's is zeroed. */
void *rungi_allocate(rung_context *context, int64_t bytes, size_t alignment);
void *rungi_new(rung_context *context, size_t bytes);
void rungi_release(rung_context *context, void *memory);

/* One line of the log, if the context is at least this verbose. */
void rungi_log(const rung_context *context, int level, const char *format, ...) RUNG_PRINTF(3, 4);

/* Logs a warning about the environment, such as an invalid variable: at verbose 1 and above, and whenever the caller
 * has a log function and has not asked for silence. */
void rungi_warn(const rung_context *context, const char *format, ...) RUNG_PRINTF(2, 3);

/* Checks a number of threads that a caller requests. `automatic` says in the message what 0 selects. */
rung_status rungi_threads_check(int64_t threads, const char *automatic);

/* The backend of that name and its state in this context, loaded at first use. */
rung_status rungi_context_backend(rung_context *context, const char *name, const rungi_backend **backend, void **state);
rung_status rungi_context_load(rung_context *context, int index, void **state);

/* The place of that name in rungi_backends; -1 after rungi_fail. */
int rungi_backend_index(const char *name);

/* The context's own device, opened at first use; the caller closes it. One that was
 * lost is forgotten, so that the next call opens it again. */
rung_status rungi_context_device(rung_context *context, rung_device **device);
void rungi_context_forget_device(rung_context *context, rung_device *device);

/* A queue of that device for one call, and back. */
rung_status rungi_context_take_queue(rung_context *context, rung_device *device, rung_queue **queue);
void rungi_context_give_queue(rung_context *context, rung_queue *queue);

/* One that is there already, to be given back; NULL if there is none. */
rung_queue *rungi_context_take_idle(rung_context *context);

/* At least so many bytes of pinned memory of that device for one call, and back. False if
 * there is none; that is no failure, and the last failure's sentence stays. */
bool rungi_context_take_staging(rung_context *context, rung_device *device, int64_t bytes, rungi_staging *staging);
void rungi_context_give_staging(rung_context *context, rung_device *device, const rungi_staging *staging);

#endif /* RUNGI_CONTEXT_H */
