/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.c - the CPU as a backend of the core: the ladder of kernels, and devices with their queues and events.
 *
 * A queue is always empty, because every operation has finished when its call returns. */
#include "cpu/cpu_backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/try.h"
#include "core/device_list.h"
#include "cpu/cpu_device.h"
#include "cpu/cpu_group.h"
#include "cpu/cpu_plan.h"
#include "cpu/kernels/cpu_kernels.h"
#include "cpu/peers/peer_library.h"
#include "sources.h"

/* ---- Device information --------------------------------------------------------------------- */

/* Returns the processor's name from /proc/cpuinfo, or "processor". */
static const char *read_model(rungi_text_list *texts)
{
    char line[256];
    const char *title = "processor";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        title = rungi_text_list_add(texts, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file)
        (void)fclose(file);
    return title;
}

/* Maps the -1 that sysconf returns for an unknown value to 0. */
static int64_t zero_if_negative(long value)
{
    return value > 0 ? value : 0;
}

static void describe(rung_device_info *info, rungi_text_list *texts, int64_t processors)
{
    char instruction_sets[64];
    rungi_instruction_sets_describe(instruction_sets, sizeof instruction_sets);
    info->name = "cpu";
    info->platform = "this process";
    info->driver = rungi_text_list_add(texts, "rung %s%s", rung_version_text(), instruction_sets);
    info->title = read_model(texts);
    info->compute_units = processors;
    info->memory_bytes = zero_if_negative(sysconf(_SC_PHYS_PAGES)) * zero_if_negative(sysconf(_SC_PAGESIZE));
    info->max_buffer_bytes = info->memory_bytes;
    info->last_level_cache_bytes = rungi_caches_detect().l3; /* the real size: RUNG_CPU_CACHES does not change it */
}

/* ---- Queues and events ------------------------------------------------------------------------ */

static rung_status reject_native_handle(void *native, const char *what)
{
    return native ? rungi_fail(RUNG_STATUS_UNSUPPORTED, "the CPU device has no native %s to wrap", what) : RUNG_OK;
}

static rung_status queue_create(rung_device *device, void *native, rung_queue **queue)
{
    TRY(reject_native_handle(native, "queue"));
    *queue = rungi_allocate_zeroed(device->context, sizeof **queue);
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
    TRY(reject_native_handle(native, "event"));
    rungi_cpu_event *created = rungi_allocate_zeroed(device->context, sizeof *created);
    *event = created ? &created->base : NULL;
    return created ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
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
    *nanoseconds = ((rungi_cpu_event *)event)->nanoseconds;
    return RUNG_OK;
}

static rung_status event_copy(const rung_event *from, rung_event *to)
{
    ((rungi_cpu_event *)to)->nanoseconds = ((const rungi_cpu_event *)from)->nanoseconds;
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

/* ---- Tables ----------------------------------------------------------------------------------- */

/* Returns the functions of a ladder step, or NULL for the steps of other libraries. */
static const rungi_cpu_kernel *cpu_kernel_of(const rung_kernel *kernel)
{
    return kernel->step && !kernel->step->is_vendor ? kernel->step->function : NULL;
}

static bool fit_defaults(const rung_device *device, const rung_kernel *kernel, rung_type sum, int64_t *parameters)
{
    const rungi_cpu_kernel *table = cpu_kernel_of(kernel);
    int64_t before[RUNGI_PARAMETERS_MAX];
    memcpy(before, parameters, sizeof before);
    if (table && table->fit)
        table->fit(&((const rungi_cpu_device *)device)->features.blocks, rung_type_size(sum), parameters);
    return memcmp(before, parameters, sizeof before) != 0;
}

/* Work of the core on the threads of the pool. */
typedef struct core_job {
    void (*work)(void *job, int64_t part);
    void *job;
} core_job_t;

static void run_core_part(void *user, int64_t part, char *scratch)
{
    const core_job_t *core = user;
    (void)scratch;
    core->work(core->job, part);
}

static void run_parts(rung_device *device, int64_t threads, int64_t parts, void (*work)(void *job, int64_t part),
                      void *job)
{
    rungi_pool *pool = ((rungi_cpu_device *)device)->pool;
    core_job_t core = {work, job};
    rungi_pool_run(pool, threads > 0 ? threads : rungi_pool_threads(pool), 0, parts, run_core_part, &core);
}

static const rungi_device_ops ops = {
    .close = rungi_device_free,
    .run_parts = run_parts,
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
    .buffer_create = rungi_cpu_buffer_create,
    .buffer_destroy = rungi_cpu_buffer_destroy,
    .buffer_native = rungi_cpu_buffer_native,
    .buffer_copy = rungi_cpu_buffer_copy,
    .fit_defaults = fit_defaults,
    .plan_create = rungi_cpu_plan_create,
    .plan_run = rungi_cpu_plan_run,
    .plans_run = rungi_cpu_plans_run,
    .plan_pack = rungi_cpu_plan_pack,
    .packed_check = rungi_cpu_packed_check,
    .packed_prepare = rungi_cpu_buffer_prepare_packed,
    .plan_destroy = rungi_cpu_plan_destroy,
};

/* The state is the thread pool: all CPU devices of a context use the same processors. */
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
    rungi_pool_after_fork(state);
    rungi_cpu_peer_after_fork();
}

static rung_status list_devices(rung_context *context, void *state, rung_device_list *list)
{
    rung_device_info *info = rungi_device_list_add(list);
    (void)context;
    (void)state;
    if (!info)
        return RUNG_STATUS_NO_MEMORY;
    describe(info, &list->list.texts, rungi_processors_count());
    return RUNG_OK;
}

static rung_status open_device(rung_context *context, void *state, int64_t index, rung_device **device)
{
    if (index > 0)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "cpu:%lld does not exist; the only CPU device is \"cpu\"",
                          (long long)index);
    rungi_cpu_device *created = rungi_allocate_zeroed(context, sizeof *created);
    if (!created)
        return RUNG_STATUS_NO_MEMORY;
    rungi_device_init(&created->base, context, &rungi_cpu_backend, &ops);
    rungi_cpu_features_detect(&created->features);
    created->pool = state;
    created->base.reads_host_memory = true;
    created->base.threads = rungi_pool_threads(state);
    describe(&created->base.info, &created->base.texts, rungi_pool_processors(created->pool));
    *device = &created->base;
    return RUNG_OK;
}

/* The ladder: 00_vendor, one step per library (00_vendor:mkl ...) and rung's kernels. */
static const rungi_peer_kind any_peer = RUNGI_PEER_ANY;
static const rungi_peer_kind peer_kinds[] = {
#define X(id, word, title, products, install) RUNGI_PEER_##id,
    RUNGI_PEER_LIST(X)
#undef X
};

/* Lines of a kernel's source about its types and compute modes. GGML always rounds A to 8-bit blocks. */
#define VENDOR_LINES_MKL ""
#define VENDOR_LINES_OPENBLAS ""
#define VENDOR_LINES_BLIS ""
#define VENDOR_LINES_ONEDNN ""
#define VENDOR_LINES_GGML "// takes: f32*q8_0,f32*q4_0\n// computes: q8\n"

#define VENDOR_STEP(call, idea, takes, lines, kind)  \
    {.name = call,                                   \
     .file = call,                                   \
     .source = "/* " call " - " idea ". */\n" lines, \
     .types = takes,                                 \
     .is_vendor = true,                              \
     .function = kind},
#define X(id, word, title, takes, install)                                                          \
    VENDOR_STEP("00_vendor:" word, "a GEMM of " title ", for comparison", takes, VENDOR_LINES_##id, \
                &peer_kinds[RUNGI_PEER_##id])
#define VENDOR(number, step)                                                                                           \
    VENDOR_STEP(#number "_" #step, "the GEMM of the first library that is found, for comparison", RUNGI_PEER_PRODUCTS, \
                "", &any_peer)                                                                                         \
    RUNGI_PEER_LIST(X)
#define CPU(number, step)                                             \
    {.name = #number "_" #step,                                       \
     .file = #number "_" #step ".c",                                  \
     .source = rungi_source_cpu_##number##_##step,                    \
     .types = RUNGI_GEMM_TYPES_ALL,                                   \
     .abilities = RUNG_ABILITY_BATCH_OFFSETS | RUNG_ABILITY_EPILOGUE, \
     .function = &rungi_cpu_##number##_##step},
#define SIMT(number, step)
static const rungi_ladder_step ladder[] = {
#include "core/ladder.def"
};
_Static_assert(sizeof ladder / sizeof *ladder <= RUNGI_LADDER_MAX, "the ladder fits a context");

static unsigned abilities(const rung_kernel *kernel)
{
    const rungi_cpu_kernel *table = cpu_kernel_of(kernel);
    bool is_ggml = kernel->step && kernel->step->function == &peer_kinds[RUNGI_PEER_GGML];
    return is_ggml || (table && table->pack) ? RUNG_ABILITY_PACKED_B : 0;
}

static bool needs_engine(const rung_kernel *kernel)
{
    const rungi_cpu_kernel *table = cpu_kernel_of(kernel);
    return table && table->is_engine;
}

static const rungi_environment_variable *const variables[] = {&rungi_isa_variable, &rungi_caches_variable,
                                                              &rungi_peer_variable, NULL};

const rungi_backend rungi_cpu_backend = {
    .abilities = abilities,
    .name = "cpu",
    .variables = variables,
    .ladder = ladder,
    .ladder_count = sizeof ladder / sizeof *ladder,
    .needs_engine = needs_engine,
    .has_multiplier = true,
    .has_engine = true,
    .load = load,
    .unload = unload,
    .after_fork_in_child = forked,
    .list = list_devices,
    .open = open_device,
    .list_dependencies = rungi_peer_list,
};
