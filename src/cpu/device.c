/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the processor as a device: buffers are plain memory, and a queue has
 * always come past what it was given, since work is done as it is put there. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "cpu/cpu.h"
#include "cpu/kernels/kernels.h"
#include "cpu/peer.h"
#include "cpu/processors.h"
#include "cpu/vendor.h"
#include "sources.h"

typedef struct cpu_event {
    rung_event base;
    int64_t nanoseconds;
} cpu_event_t;

typedef struct cpu_buffer {
    rung_buffer base;
    char *memory; /* where the caller's begins, if it is wrapped */
    bool owned;
} cpu_buffer_t;

/* ---- What the machine tells ----------------------------------------------------------------- */

/* Returns the processor's name. */
static const char *read_model(rungi_texts *texts)
{
    char line[256];
    const char *title = "processor";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        title = rungi_texts_add(texts, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file)
        (void)fclose(file);
    return title;
}

/* sysconf's -1, for what it does not know, is our 0. */
static int64_t known(long value)
{
    return value > 0 ? value : 0;
}

static void describe(rung_device_info *info, rungi_texts *texts, int64_t processors)
{
    info->name = "cpu";
    info->platform = "this process";
    info->driver = rungi_texts_add(texts, "rung %s", rung_version_text());
    info->title = read_model(texts);
    info->compute_units = processors;
    info->memory_bytes = known(sysconf(_SC_PHYS_PAGES)) * known(sysconf(_SC_PAGESIZE));
    info->max_buffer_bytes = info->memory_bytes;
    info->last_level_cache_bytes = rungi_caches_find().l3; /* as it is, whatever RUNG_CPU_CACHES says */
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
        ((cpu_event_t *)options->signal)->nanoseconds = rungi_cpu_now() - started;
}

static rung_status nothing_to_wrap(void *native, const char *what)
{
    return native ? rungi_fail(RUNG_STATUS_UNSUPPORTED, "the CPU device has no native %s to wrap", what) : RUNG_OK;
}

static rung_status queue_create(rung_device *device, void *native, rung_queue **queue)
{
    rung_status status = nothing_to_wrap(native, "queue");
    if (status != RUNG_OK)
        return status;
    *queue = rungi_new(device->context, sizeof **queue);
    return *queue ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
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
    cpu_event_t *made = rungi_new(device->context, sizeof *made);
    *event = made ? &made->base : NULL;
    return made ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
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
    *nanoseconds = ((cpu_event_t *)event)->nanoseconds;
    return RUNG_OK;
}

static rung_status event_copy(const rung_event *from, rung_event *to)
{
    ((cpu_event_t *)to)->nanoseconds = ((const cpu_event_t *)from)->nanoseconds;
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

static rung_status buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes, rung_buffer **buffer)
{
    cpu_buffer_t *made = rungi_new(device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->owned = !native;
    made->memory = native ? native : rungi_allocate(device->context, bytes, 64);
    if (!made->memory) {
        rungi_release(device->context, made);
        return RUNG_STATUS_NO_MEMORY;
    }
    if (made->owned) /* so that what is left of a packed B is not taken for this buffer's */
        memset(made->memory, 0, (size_t)rungi_smaller(bytes, sizeof(rungi_packed_header)));
    made->base.place = (uintptr_t)made->memory + (uintptr_t)offset;
    *buffer = &made->base;
    return RUNG_OK;
}

static void buffer_destroy(rung_buffer *buffer)
{
    cpu_buffer_t *held = (cpu_buffer_t *)buffer;
    rung_context *context = buffer->device->context;
    if (held->owned)
        rungi_release(context, held->memory);
    rungi_release(context, held);
}

static void *buffer_native(const rung_buffer *buffer)
{
    return ((const cpu_buffer_t *)buffer)->memory;
}

static char *buffer_start(const rung_buffer *buffer)
{
    return ((const cpu_buffer_t *)buffer)->memory + buffer->offset;
}

static rung_status buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, const void *from,
                                const rung_run_options *options)
{
    (void)queue;
    int64_t started = rungi_cpu_now();
    if (bytes > 0)
        memcpy(buffer_start(buffer) + offset, from, (size_t)bytes);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

static rung_status buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                               const rung_run_options *options)
{
    (void)queue;
    int64_t started = rungi_cpu_now();
    if (bytes > 0)
        memcpy(to, buffer_start(buffer) + offset, (size_t)bytes);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

char *rungi_cpu_buffer(const rung_buffer *buffer)
{
    return buffer_start(buffer);
}

/* Only whole large pages within the buffer: its neighbours are others'. */
void rungi_cpu_buffer_use_large_pages(const rung_buffer *buffer)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    const cpu_buffer_t *held = (const cpu_buffer_t *)buffer;
    uintptr_t start = (uintptr_t)held->memory, end = start + (uintptr_t)buffer->bytes;
    uintptr_t padding = (page - start % page) % page;
    if (held->owned && end - start > padding + page)
        madvise(held->memory + padding, (size_t)((end - start - padding) / page * page), MADV_HUGEPAGE);
}

void *rungi_cpu_item(const rung_matrix *matrix, int64_t item)
{
    char *start = matrix->buffer ? buffer_start(matrix->buffer) : matrix->data;
    int64_t offset = matrix->offset + (item > 0 || matrix->batch_offsets ? rungi_matrix_item_offset(matrix, item) : 0);
    return start ? start + offset * rung_type_size(matrix->type) : NULL;
}

/* ---- The tables --------------------------------------------------------------------------------------- */

/* The vendors' steps have no such table. */
static const rungi_cpu_kernel *table_of(const rung_kernel *kernel)
{
    return kernel->step && !kernel->step->is_vendor ? kernel->step->function : NULL;
}

static bool fit_defaults(const rung_device *device, const rung_kernel *kernel, rung_type sum, int64_t *parameters)
{
    const rungi_cpu_kernel *table = table_of(kernel);
    int64_t before[RUNGI_PARAMETERS_MAX];
    memcpy(before, parameters, sizeof before);
    if (table && table->fit)
        table->fit(&((const rungi_cpu_device *)device)->features.blocks, rung_type_size(sum), parameters);
    return memcmp(before, parameters, sizeof before) != 0;
}

static const rungi_device_ops ops = {
    .close = rungi_device_free,
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
    .fit_defaults = fit_defaults,
    .plan_create = rungi_cpu_plan_create,
    .plan_run = rungi_cpu_plan_run,
    .plan_pack = rungi_cpu_plan_pack,
    .packed_check = rungi_cpu_packed_check,
    .packed_prepare = rungi_cpu_buffer_use_large_pages,
    .plan_destroy = rungi_cpu_plan_destroy,
};

/* All CPU devices of a context are the same processors, and so have the same threads. */
static rung_status load(rung_context *context, void **state)
{
    rungi_pool *pool;
    rung_status status = rungi_pool_create(context, &pool);
    *state = pool;
    return status;
}

static void unload(rung_context *context, void *state)
{
    (void)context;
    rungi_pool_destroy(state);
}

static void forked(void *state)
{
    rungi_pool_forked(state);
    rungi_cpu_vendor_forked();
}

static rung_status list_devices(rung_context *context, void *state, rung_device_list *list)
{
    rung_device_info *info = rungi_device_list_add(list);
    (void)context;
    (void)state;
    if (!info)
        return RUNG_STATUS_NO_MEMORY;
    describe(info, &list->texts, rungi_processors_count());
    return RUNG_OK;
}

static rung_status open_device(rung_context *context, void *state, int64_t index, rung_device **device)
{
    if (index > 0)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "cpu:%lld does not exist; the only CPU device is \"cpu\"",
                          (long long)index);
    rungi_cpu_device *made = rungi_new(context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rungi_device_init(&made->base, context, &rungi_cpu_backend, &ops);
    rungi_cpu_features_find(&made->features);
    made->pool = state;
    made->base.takes_data = true;
    made->base.threads = rungi_pool_threads(state);
    describe(&made->base.info, &made->base.texts, rungi_pool_processors(made->pool));
    *device = &made->base;
    return RUNG_OK;
}

/* 00_vendor, and each library that it may be by a name of its own. */
static const rungi_peer_kind any_peer = RUNGI_PEER_ANY;
static const rungi_peer_kind peer_kinds[] = {
#define X(id, word, title, products, install) RUNGI_PEER_##id,
    RUNGI_PEER_LIST(X)
#undef X
};

#define VENDOR_STEP(call, idea, takes, kind)   \
    {.name = call,                             \
     .file = call,                             \
     .source = "/* " call " - " idea ". */\n", \
     .products = takes,                        \
     .is_vendor = true,                        \
     .function = kind},
#define X(id, word, title, takes, install) \
    VENDOR_STEP("00_vendor:" word, title ", one to beat", takes, &peer_kinds[RUNGI_PEER_##id])
#define VENDOR(number, step)                                                                                     \
    VENDOR_STEP(#number "_" #step, "the first of these libraries that is found", RUNGI_PEER_PRODUCTS, &any_peer) \
    RUNGI_PEER_LIST(X)
#define CPU(number, step)                                             \
    {.name = #number "_" #step,                                       \
     .file = #number "_" #step ".c",                                  \
     .source = rungi_source_cpu_##number##_##step,                    \
     .products = RUNGI_PRODUCTS_ALL,                                  \
     .abilities = RUNG_ABILITY_BATCH_OFFSETS | RUNG_ABILITY_EPILOGUE, \
     .function = &rungi_cpu_##number##_##step},
#define SIMT(number, step)
static const rungi_ladder_step ladder[] = {
#include "core/ladder.def"
};
#undef CPU
#undef SIMT
#undef VENDOR
#undef VENDOR_STEP
#undef X
_Static_assert(sizeof ladder / sizeof *ladder <= RUNGI_LADDER_MAX, "a context has place for them");

static unsigned abilities(const rung_kernel *kernel)
{
    const rungi_cpu_kernel *table = table_of(kernel);
    return table && table->pack ? RUNG_ABILITY_PACKED_B : 0;
}

static bool needs_engine(const rung_kernel *kernel)
{
    const rungi_cpu_kernel *table = table_of(kernel);
    return table && table->is_engine;
}

static const rungi_variable *const variables[] = {&rungi_isa_variable, &rungi_caches_variable, &rungi_peer_variable,
                                                  NULL};

const rungi_backend rungi_cpu_backend = {
    .abilities = abilities,
    .name = "cpu",
    .variables = variables,
    .ladder = ladder,
    .ladder_count = sizeof ladder / sizeof *ladder,
    .needs_engine = needs_engine,
    .has_engine = true,
    .load = load,
    .unload = unload,
    .forked = forked,
    .list = list_devices,
    .open = open_device,
    .list_dependencies = rungi_peer_list,
};
