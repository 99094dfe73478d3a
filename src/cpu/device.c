/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the processor as a device: buffers are plain memory, and a queue has
 * always come past what it was given, since work is done as it is put there. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/matrix.h"
#include "core/plan.h"
#include "cpu/cpu.h"
#include "cpu/kernels/kernels.h"
#include "sources.h"

typedef struct cpu_event {
    rung_event base;
    int64_t    nanoseconds;
} cpu_event;

typedef struct cpu_buffer {
    rung_buffer base;
    char       *memory; /* where the caller's begins, if it is wrapped */
    bool        owned;
} cpu_buffer;

/* ---- What the machine tells ----------------------------------------------------------------- */

static void read_model(char *title, size_t capacity)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(title, capacity, "processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(title, capacity, "%.*s", (int)capacity - 1, colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static int64_t usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return sysconf(_SC_NPROCESSORS_ONLN);
}

/* sysconf's -1, for what it does not know, is our 0. */
static int64_t known(long value)
{
    return value > 0 ? value : 0;
}

static void describe(rung_device_info *info)
{
    snprintf(info->name, sizeof info->name, "cpu");
    snprintf(info->platform, sizeof info->platform, "this process");
    snprintf(info->driver, sizeof info->driver, "rung %s", rung_version());
    read_model(info->title, sizeof info->title);
    info->compute_units = usable_processors();
    info->memory_bytes = known(sysconf(_SC_PHYS_PAGES)) * known(sysconf(_SC_PAGESIZE));
    info->max_buffer_bytes = info->memory_bytes;
#ifdef _SC_LEVEL3_CACHE_SIZE
    info->last_cache_bytes = known(sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
}

/* ---- Queues and events ------------------------------------------------------------------------ */

int64_t rungi_cpu_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void rungi_cpu_signal(const rung_run_options *options, int64_t started)
{
    if (options->signal)
        ((cpu_event *)options->signal)->nanoseconds = rungi_cpu_now() - started;
}

static rung_status nothing_to_wrap(void *native, const char *what)
{
    return native ? rungi_fail(RUNG_UNSUPPORTED, "the CPU has no %s of the caller's to wrap", what)
                  : RUNG_OK;
}

static rung_status queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rung_status status = nothing_to_wrap(native, "queue");
    if (status != RUNG_OK)
        return status;
    *queue = rungi_new(device->context, sizeof **queue);
    return *queue ? RUNG_OK : RUNG_NO_MEMORY;
}

static rung_status queue_finish(rung_queue *queue)
{
    (void)queue;
    return RUNG_OK;
}

static void queue_destroy(rung_queue *queue)
{
    rungi_release(queue->device->context, queue);
}

static void *queue_native(const rung_queue *queue)
{
    (void)queue;
    return NULL;
}

static rung_status event_create(rung_device *device, void *native, rung_event **event)
{
    rung_status status = nothing_to_wrap(native, "event");
    if (status != RUNG_OK)
        return status;
    cpu_event *made = rungi_new(device->context, sizeof *made);
    *event = made ? &made->base : NULL;
    return made ? RUNG_OK : RUNG_NO_MEMORY;
}

static rung_status event_wait(rung_event *event)
{
    (void)event;
    return RUNG_OK;
}

static bool event_is_done(rung_event *event)
{
    (void)event;
    return true;
}

static rung_status event_time(rung_event *event, int64_t *nanoseconds)
{
    *nanoseconds = ((cpu_event *)event)->nanoseconds;
    return RUNG_OK;
}

static rung_status event_copy(const rung_event *from, rung_event *to)
{
    ((cpu_event *)to)->nanoseconds = ((const cpu_event *)from)->nanoseconds;
    return RUNG_OK;
}

static void event_destroy(rung_event *event)
{
    rungi_release(event->device->context, event);
}

static void *event_native(const rung_event *event)
{
    (void)event;
    return NULL;
}

/* ---- Buffers ------------------------------------------------------------------------------------ */

static rung_status buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                 rung_buffer **buffer)
{
    cpu_buffer *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_NO_MEMORY;
    made->owned = !native;
    made->memory = native ? native : rungi_allocate(device->context, bytes, 64);
    if (!made->memory) {
        rungi_release(device->context, made);
        return RUNG_NO_MEMORY;
    }
    made->base.place = (uintptr_t)made->memory + (uintptr_t)offset;
    *buffer = &made->base;
    return RUNG_OK;
}

static void buffer_destroy(rung_buffer *buffer)
{
    cpu_buffer *held = (cpu_buffer *)buffer;
    rung_context *context = buffer->device->context;
    if (held->owned)
        rungi_release(context, held->memory);
    rungi_release(context, held);
}

static void *buffer_native(const rung_buffer *buffer)
{
    return ((const cpu_buffer *)buffer)->memory;
}

static char *buffer_start(const rung_buffer *buffer)
{
    return ((const cpu_buffer *)buffer)->memory + buffer->offset;
}

static rung_status buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset,
                                int64_t bytes, const void *from, const rung_run_options *options)
{
    (void)queue;
    int64_t started = rungi_cpu_now();
    if (bytes > 0)
        memcpy(buffer_start(buffer) + offset, from, (size_t)bytes);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

static rung_status buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset,
                               int64_t bytes, void *to, const rung_run_options *options)
{
    (void)queue;
    int64_t started = rungi_cpu_now();
    if (bytes > 0)
        memcpy(to, buffer_start(buffer) + offset, (size_t)bytes);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

void *rungi_cpu_first(const rung_matrix *matrix)
{
    if (!matrix->buffer)
        return matrix->data ? rungi_matrix_first(matrix) : NULL;
    return buffer_start(matrix->buffer) + matrix->offset * rung_type_size(matrix->type);
}

/* ---- The tables --------------------------------------------------------------------------------------- */

static void close_device(rung_device *device)
{
    rungi_pool_destroy(((rungi_cpu_device *)device)->pool);
    rungi_release(device->context, device);
}

static const rungi_device_ops ops = {
    .close = close_device,
    .queue_create = queue_create,
    .queue_finish = queue_finish,
    .queue_destroy = queue_destroy,
    .queue_native = queue_native,
    .event_create = event_create,
    .event_wait = event_wait,
    .event_time = event_time,
    .event_is_done = event_is_done,
    .event_copy = event_copy,
    .event_destroy = event_destroy,
    .event_native = event_native,
    .buffer_create = buffer_create,
    .buffer_destroy = buffer_destroy,
    .buffer_native = buffer_native,
    .buffer_write = buffer_write,
    .buffer_read = buffer_read,
    .plan_create = rungi_cpu_plan_create,
    .plan_run = rungi_cpu_plan_run,
    .plan_destroy = rungi_cpu_plan_destroy,
};

static rung_status load(rung_context *context, void **state)
{
    (void)context;
    *state = NULL;
    return RUNG_OK;
}

static void unload(rung_context *context, void *state)
{
    (void)context;
    (void)state;
}

static rung_status list_devices(rung_context *context, void *state, rungi_device_list *list)
{
    rung_device_info spare;
    (void)context;
    (void)state;
    describe(rungi_device_list_add(list, &spare));
    return RUNG_OK;
}

static rung_status open_device(rung_context *context, void *state, int64_t index,
                               rung_device **device)
{
    (void)state;
    if (index > 0)
        return rungi_fail(RUNG_NO_DEVICE, "there is one CPU device; it is called \"cpu\"");
    rungi_cpu_device *made = rungi_new(context, sizeof *made);
    if (!made)
        return RUNG_NO_MEMORY;
    rung_status status = rungi_pool_create(context, &made->pool);
    if (status != RUNG_OK) {
        rungi_release(context, made);
        return status;
    }
    rungi_device_init(&made->base, context, &rungi_cpu_backend, &ops);
    rungi_cpu_features_find(&made->features);
    made->base.takes_data = true;
    describe(&made->base.info);
    *device = &made->base;
    return RUNG_OK;
}

static bool needs_engine(const rung_kernel *kernel)
{
    return ((const rungi_cpu_kernel *)kernel->step->function)->is_engine;
}

#define VENDOR(number, step)
#define CPU(number, step)                                       \
    {.name = #number "_" #step,                                 \
     .file = #number "_" #step ".c",                            \
     .source = rungi_source_cpu_##number##_##step,              \
     .products = (1u << RUNG_PRODUCT_COUNT) - 1,                \
     .abilities = RUNG_SCATTERED | RUNG_EPILOGUE,               \
     .function = &rungi_cpu_##number##_##step},
#define SIMT(number, step)
static const rungi_ladder_step ladder[] = {
#include "core/ladder.def"
};
#undef CPU
#undef SIMT
#undef VENDOR

const rungi_backend rungi_cpu_backend = {
    .name = "cpu",
    .ladder = ladder,
    .ladder_count = sizeof ladder / sizeof *ladder,
    .needs_engine = needs_engine,
    .has_engine = true,
    .load = load,
    .unload = unload,
    .list = list_devices,
    .open = open_device,
};
