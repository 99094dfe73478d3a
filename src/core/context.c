/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - contexts: memory, log, and lazily everything else. */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/cancel.h"
#include "core/device.h"
#include "core/environment.h"
#include "core/fork.h"
#include "core/growth.h"
#include "core/kernel.h"
#include "core/store.h"

/* ---- Memory -------------------------------------------------------------------- */

static void *library_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *memory = NULL;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void library_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void *rungi_allocate(rung_context *context, int64_t bytes, size_t alignment)
{
    size_t wanted = bytes > 0 ? (size_t)bytes : 1;
    RUNGI_ASSERT(bytes >= 0 && alignment > 0 && (alignment & (alignment - 1)) == 0);
    void *memory = context->allocate(context->memory_user, wanted, alignment);
    if (!memory)
        rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory: %zu bytes could not be allocated", wanted);
    return memory;
}

void *rungi_new(rung_context *context, size_t bytes)
{
    void *memory = rungi_allocate(context, (int64_t)bytes, sizeof(max_align_t));
    return memory ? memset(memory, 0, bytes) : NULL;
}

void rungi_release(rung_context *context, void *memory)
{
    if (memory)
        context->release(context->memory_user, memory);
}

/* ---- Log ------------------------------------------------------------------------- */

static void write_line(const rung_context *context, const char *format, va_list arguments)
{
    char line[4096];
    vsnprintf(line, sizeof line, format, arguments);
    if (context->log)
        context->log(context->log_user, line);
    else
        fprintf(stderr, "%s\n", line);
}

void rungi_log(const rung_context *context, int level, const char *format, ...)
{
    va_list arguments;
    if (context->verbose < level)
        return;
    va_start(arguments, format);
    write_line(context, format, arguments);
    va_end(arguments);
}

void rungi_warn(const rung_context *context, const char *format, ...)
{
    va_list arguments;
    if (!context->warns)
        return;
    va_start(arguments, format);
    write_line(context, format, arguments);
    va_end(arguments);
}

/* ---- Making and unmaking ----------------------------------------------------------- */

static int verbose_level(int asked)
{
    const char *environment = getenv("RUNG_VERBOSE");
    if (asked != 0)
        return asked > 0 ? asked : 0;
    if (!environment || !*environment)
        return 0;
    if (*environment < '0' || *environment > '9')
        return 1; /* "yes" is yes */
    long level = strtol(environment, NULL, 10);
    return level > 2 ? 2 : (int)level;
}

/* Operands that take less than a few milliseconds to move are not worth cutting. */
static const int64_t overlap_default = (int64_t)32 << 20;

static int64_t overlap_asked_for(void)
{
    const char *value = rungi_environment_value("RUNG_OVERLAP");
    int64_t bytes;
    return value && rungi_read_whole(value, 0, INT64_MAX, &bytes) ? bytes : overlap_default;
}

rung_status rungi_threads_check(int64_t threads, const char *automatic)
{
    if (threads >= 0 && threads <= RUNGI_THREADS_MAX)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_INVALID, "threads is %lld; valid numbers are 1 to %d (0 selects %s)",
                      (long long)threads, RUNGI_THREADS_MAX, automatic);
}

/* What the environment says where the caller does not; 0 if neither does. */
static int64_t threads_asked_for(int64_t asked)
{
    const char *value = asked > 0 ? NULL : rungi_environment_value("RUNG_THREADS");
    int64_t threads;
    return value && rungi_read_whole(value, 1, RUNGI_THREADS_MAX, &threads) ? threads : asked;
}

/* An invalid RUNG_DEVICE is kept, so that the call fails instead of using another device unnoticed. */
static const char *device_asked_for(const char *asked)
{
    const char *environment = getenv("RUNG_DEVICE");
    if (asked)
        return asked;
    return environment && *environment ? environment : "cpu";
}

rung_status rung_context_create(const rung_context_options *options, rung_context **out)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!out)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_context_create needs a place for the context");
    *out = NULL;
    rung_context_options read = rung_context_options_default();
    rung_status status = options ? rungi_struct_read(options, &read, sizeof read, "rung_context_options",
                                                     "rung_context_options_default")
                                 : RUNG_OK;
    if (status != RUNG_OK)
        return status;
    options = &read;
    if (!options->allocate != !options->release)
        return rungi_fail(RUNG_STATUS_INVALID, "a context takes both an allocate and a release function, "
                                               "or neither");
    if (rungi_threads_check(options->threads, "the number of available CPUs") != RUNG_OK)
        return RUNG_STATUS_INVALID;
    rung_context start = {
        .log = options->log,
        .log_user = options->log_user,
        .verbose = verbose_level(options->verbose),
        .allocate = options->allocate ? options->allocate : library_allocate,
        .release = options->release ? options->release : library_release,
        .memory_user = options->memory_user,
        .span = options->span,
        .span_user = options->span_user,
        .overlap = overlap_asked_for(),
        .threads = threads_asked_for(options->threads),
    };
    start.warns = start.verbose > 0 || (options->log && options->verbose == 0);
    const char *device = device_asked_for(options->device);
    if (strlen(device) >= sizeof start.device_name)
        return rungi_fail(RUNG_STATUS_INVALID, "\"%.80s...\" is no device; see rung_device_list_create()", device);
    strcpy(start.device_name, device);

    rung_context *context = rungi_new(&start, sizeof *context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    *context = start;
    atomic_init(&context->references, 1);
    if (pthread_mutex_init(&context->lock, NULL) != 0 || !rungi_fork_watch(context)) {
        rungi_release(&start, context);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "the system has no mutex, or no place for a handler of fork, for a "
                                                 "context");
    }
    rungi_environment_report(context);
    *out = context;
    return RUNG_OK;
}

/* The default context is the one thing the library keeps for the whole process. Of two threads
 * that come here at once the second gives its own up. */
rung_context *rungi_context_of(rung_context *context)
{
    static _Atomic(rung_context *) standard;
    rung_context *made;
    if (!context)
        context = atomic_load(&standard);
    if (context || rung_context_create(NULL, &made) != RUNG_OK)
        return context;
    if (atomic_compare_exchange_strong(&standard, &context, made))
        return made;
    rung_context_destroy(made);
    return context;
}

rung_context *rungi_context_retain(rung_context *context)
{
    int before = atomic_fetch_add(&context->references, 1);
    RUNGI_ASSERT(before > 0);
    return context;
}

static void destroy_backend(rung_context *context, int index)
{
    const rungi_backend *backend = rungi_backends[index];
    RUNGI_ASSERT(index < RUNGI_BACKENDS_MAX && backend->ladder_count <= RUNGI_LADDER_MAX);
    for (int64_t i = 0; i < backend->ladder_count; i++)
        rungi_kernel_free(atomic_load(&context->backends[index].kernels[i]));
    if (context->backends[index].loaded && context->backends[index].load_status == RUNG_OK)
        backend->unload(context, context->backends[index].state);
}

static void destroy_queues(rung_queue *queue);
static void free_staging(rung_device *device, const rungi_staging *staging);

void rungi_context_release(rung_context *context)
{
    int before = atomic_fetch_sub(&context->references, 1);
    RUNGI_ASSERT(before > 0);
    if (before != 1)
        return;
    rungi_fork_forget(context);
    destroy_queues(context->idle);
    free_staging(context->device, &context->staging);
    rung_device_close(context->device);
    for (int i = 0; rungi_backends[i]; i++)
        destroy_backend(context, i);
    rungi_store_free(context, context->tuning);
    pthread_mutex_destroy(&context->lock);
    rung_context copy = *context;
    rungi_release(&copy, context);
}

void rung_context_destroy(rung_context *context)
{
    RUNGI_DISABLE_CANCELLATION;
    if (context)
        rungi_context_release(context);
}

/* ---- Backends ----------------------------------------------------------------------- */

/* Loads a backend, and keeps it if it was not there yet. Not under the lock, since that calls
 * the caller's log and libraries that may do anything, such as fork; of two threads that come here
 * at once the second gives its own up. Being out of memory passes; a missing library stays missing. */
static rung_status load(rung_context *context, int index)
{
    const rungi_backend *backend = rungi_backends[index];
    void *state = NULL;
    rung_status status = backend->load(context, &state);
    if (status == RUNG_STATUS_NO_MEMORY)
        return status;
    pthread_mutex_lock(&context->lock);
    bool first = !context->backends[index].loaded;
    if (first) {
        context->backends[index].loaded = true;
        context->backends[index].load_status = status;
        context->backends[index].state = state;
        if (status != RUNG_OK)
            snprintf(context->backends[index].load_error, sizeof context->backends[index].load_error, "%s",
                     rung_error_text());
    }
    pthread_mutex_unlock(&context->lock);
    if (first && status != RUNG_OK)
        rungi_log(context, 2, "rung: %s: %s", backend->name, context->backends[index].load_error);
    if (!first && status == RUNG_OK)
        backend->unload(context, state);
    return RUNG_OK;
}

rung_status rungi_context_load(rung_context *context, int index, void **state)
{
    RUNGI_ASSERT(index >= 0 && index < RUNGI_BACKENDS_MAX);
    pthread_mutex_lock(&context->lock);
    bool loaded = context->backends[index].loaded;
    pthread_mutex_unlock(&context->lock);
    if (!loaded && load(context, index) != RUNG_OK)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = context->backends[index].load_status;
    *state = context->backends[index].state;
    return status == RUNG_OK ? RUNG_OK : rungi_fail(status, "%s", context->backends[index].load_error);
}

int rungi_backend_index(const char *name)
{
    char known[128] = "";
    for (int i = 0; rungi_backends[i]; i++) {
        if (strcmp(rungi_backends[i]->name, name) == 0)
            return i;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", rungi_backends[i]->name);
    }
    rungi_fail(RUNG_STATUS_NO_DEVICE, "there is no backend \"%s\"; this library has %s", name, known);
    return -1;
}

rung_status rungi_context_backend(rung_context *context, const char *name, const rungi_backend **backend, void **state)
{
    int index = rungi_backend_index(name);
    if (index < 0)
        return RUNG_STATUS_NO_DEVICE;
    *backend = rungi_backends[index];
    return rungi_context_load(context, index, state);
}

/* ---- The device and the queues of rung_gemm --------------------------------------------- */

/* Under the lock. */
static rung_device *retained_device(rung_context *context)
{
    return context->device ? rungi_device_retain(context->device) : NULL;
}

rung_status rungi_context_device(rung_context *context, rung_device **device)
{
    pthread_mutex_lock(&context->lock);
    *device = retained_device(context);
    pthread_mutex_unlock(&context->lock);
    if (*device)
        return RUNG_OK;

    /* Opened outside the lock, which loading a backend takes; of two threads that
     * come here at once the second gives its own up. */
    rung_device *opened;
    rung_status status = rungi_device_open(context, context->device_name, false, &opened);
    if (status != RUNG_OK)
        return status;
    pthread_mutex_lock(&context->lock);
    bool first = !context->device;
    if (first)
        context->device = opened;
    *device = retained_device(context);
    pthread_mutex_unlock(&context->lock);
    if (!first)
        rung_device_close(opened);
    return RUNG_OK;
}

static void destroy_queues(rung_queue *queue)
{
    while (queue) {
        rung_queue *next = queue->next;
        rung_queue_destroy(queue);
        queue = next;
    }
}

void rungi_context_forget_device(rung_context *context, rung_device *device)
{
    rung_queue *idle = NULL;
    rungi_staging staging = {0};
    pthread_mutex_lock(&context->lock);
    bool ours = context->device == device;
    if (ours) {
        context->device = NULL;
        idle = context->idle;
        context->idle = NULL;
        staging = context->staging;
        context->staging = (rungi_staging){0};
    }
    pthread_mutex_unlock(&context->lock);
    destroy_queues(idle);
    free_staging(device, &staging);
    if (ours)
        rung_device_close(device);
}

/* An idle queue, of that device if it is not NULL; and plans that were made before the store of
 * tuning records changed are no longer the ones to take. */
static rung_queue *take_idle(rung_context *context, const rung_device *device, int64_t *changes)
{
    pthread_mutex_lock(&context->lock);
    rung_queue *queue = !device || context->device == device ? context->idle : NULL;
    if (queue)
        context->idle = queue->next;
    *changes = context->tuning_changes;
    pthread_mutex_unlock(&context->lock);
    if (queue && queue->plans_tuning != *changes) {
        rungi_queue_forget_plans(queue);
        queue->plans_tuning = *changes;
    }
    return queue;
}

rung_queue *rungi_context_take_idle(rung_context *context)
{
    int64_t changes;
    return take_idle(context, NULL, &changes);
}

rung_status rungi_context_take_queue(rung_context *context, rung_device *device, rung_queue **queue)
{
    int64_t changes;
    *queue = take_idle(context, device, &changes);
    rung_status status = *queue ? RUNG_OK : rung_queue_create(device, queue);
    if (status == RUNG_OK)
        (*queue)->plans_tuning = changes;
    return status;
}

void rungi_context_give_queue(rung_context *context, rung_queue *queue)
{
    pthread_mutex_lock(&context->lock);
    bool ours = context->device == queue->device;
    if (ours) {
        queue->next = context->idle;
        context->idle = queue;
    }
    pthread_mutex_unlock(&context->lock);
    if (!ours)
        rung_queue_destroy(queue);
}

/* ---- Pinned memory of rung_gemm --------------------------------------------------------- */

/* More than this is given back after the call. */
static const int64_t staging_kept = (int64_t)64 << 20;

static void free_staging(rung_device *device, const rungi_staging *staging)
{
    RUNGI_ASSERT(!staging->memory || (device && staging->bytes > 0));
    if (staging->memory)
        device->ops->host_release(device, staging->memory, staging->handle);
}

bool rungi_context_take_staging(rung_context *context, rung_device *device, int64_t bytes, rungi_staging *staging)
{
    rungi_error before;
    *staging = (rungi_staging){0};
    if (!device->ops->host_allocate || bytes == 0)
        return false;
    pthread_mutex_lock(&context->lock);
    if (context->device == device && context->staging.bytes >= bytes) {
        *staging = context->staging;
        context->staging = (rungi_staging){0};
    }
    pthread_mutex_unlock(&context->lock);
    if (staging->memory)
        return true;
    rungi_error_save(&before);
    rung_status status = device->ops->host_allocate(device, bytes, &staging->memory, &staging->handle);
    if (status == RUNG_OK) {
        staging->bytes = bytes;
        return true;
    }
    rungi_error_restore(&before);
    *staging = (rungi_staging){0};
    return false;
}

void rungi_context_give_staging(rung_context *context, rung_device *device, const rungi_staging *staging)
{
    rungi_staging free_now = *staging;
    pthread_mutex_lock(&context->lock);
    if (context->device == device && staging->bytes <= staging_kept && staging->bytes > context->staging.bytes) {
        free_now = context->staging;
        context->staging = *staging;
    }
    pthread_mutex_unlock(&context->lock);
    free_staging(device, &free_now);
}
