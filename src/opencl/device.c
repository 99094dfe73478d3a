/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - finding, describing, opening and wrapping OpenCL devices. */
#include <stdio.h>
#include <string.h>

#include "opencl/opencl.h"
#include "opencl/vendor.h"
#include "simt/simt.h"

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 64 };

/* ---- What a device tells ----------------------------------------------------------------------- */

/* Attributes that NVIDIA's and AMD's drivers add; their headers are not needed. */
enum {
    CAPABILITY_MAJOR_NV = 0x4000, CAPABILITY_MINOR_NV = 0x4001, REGISTERS_PER_BLOCK_NV = 0x4002,
    WARP_SIZE_NV = 0x4003, WAVEFRONT_WIDTH_AMD = 0x4043
};

static int64_t number(rungi_cl *cl, cl_device_id id, cl_device_info what, size_t size)
{
    uint64_t value = 0;
    if (cl->GetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS)
        return 0;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void text(rungi_cl *cl, cl_device_id id, cl_device_info what, char *out, size_t capacity)
{
    char value[512] = "";
    cl->GetDeviceInfo(id, what, sizeof value - 1, value, NULL);
    snprintf(out, capacity, "%.*s", (int)capacity - 1, value + strspn(value, " "));
}

static bool has_extension(rungi_cl *cl, cl_device_id id, const char *name)
{
    char extensions[8192] = "";
    cl->GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    return strstr(extensions, name) != NULL;
}

static void describe(rungi_cl *cl, cl_device_id id, int64_t index, rung_device_info *info)
{
    cl_platform_id platform = NULL;
    if (index >= 0)
        snprintf(info->name, sizeof info->name, "opencl:%lld", (long long)index);
    else
        snprintf(info->name, sizeof info->name, "opencl");
    text(cl, id, CL_DEVICE_NAME, info->title, sizeof info->title);
    text(cl, id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    cl->GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (platform)
        cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof info->platform - 1, info->platform, NULL);

    info->compute_units = number(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    info->max_threads_block = number(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    info->shared_block = number(cl, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    info->last_cache_bytes = number(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong));
    info->clock_khz = 1000 * number(cl, id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint));
    info->memory_bytes = number(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    info->max_buffer_bytes = number(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
    if (has_extension(cl, id, "cl_nv_device_attribute_query")) {
        info->warp_size = number(cl, id, WARP_SIZE_NV, sizeof(cl_uint));
        info->registers_block = number(cl, id, REGISTERS_PER_BLOCK_NV, sizeof(cl_uint));
        info->peak_f32 = 2 * rungi_simt_lanes(number(cl, id, CAPABILITY_MAJOR_NV, sizeof(cl_uint)),
                                              number(cl, id, CAPABILITY_MINOR_NV, sizeof(cl_uint))) *
                         info->compute_units * info->clock_khz * 1000;
    } else if (has_extension(cl, id, "cl_amd_device_attribute_query")) {
        info->warp_size = number(cl, id, WAVEFRONT_WIDTH_AMD, sizeof(cl_uint));
    }
}

/* ---- Finding ------------------------------------------------------------------------------------- */

static bool is_of_kind(rungi_cl *cl, cl_device_id id, cl_device_type kind)
{
    cl_device_type type = 0;
    cl->GetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & kind) != 0;
}

/* Adds the platform's GPUs, or its other devices. */
static void add_devices(rungi_cl *cl, cl_platform_id platform, bool gpus, cl_device_id *ids,
                        int64_t *count)
{
    cl_device_id found[DEVICES_MAX];
    cl_uint found_count = 0;
    if (cl->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, found, &found_count) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < found_count && i < DEVICES_MAX && *count < DEVICES_MAX; i++)
        if (is_of_kind(cl, found[i], CL_DEVICE_TYPE_GPU) == gpus)
            ids[(*count)++] = found[i];
}

/* GPUs first, else in the drivers' order, so that "opencl" is the first of all. */
static rung_status find_devices(rungi_cl *cl, cl_device_id *ids, int64_t *count)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    *count = 0;
    if (cl->GetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) != CL_SUCCESS ||
        platform_count == 0)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "libOpenCL is here, but no driver for it; install the one of "
                          "your device, or pocl-opencl-icd, which runs on any processor");
    for (int others = 0; others < 2; others++)
        for (cl_uint i = 0; i < platform_count && i < PLATFORMS_MAX; i++)
            add_devices(cl, platforms[i], !others, ids, count);
    return RUNG_OK;
}

static rung_status list_devices(rung_context *context, void *state, rungi_device_list *list)
{
    (void)context;
    cl_device_id ids[DEVICES_MAX];
    rung_device_info spare;
    int64_t count;
    rung_status status = find_devices(state, ids, &count);
    for (int64_t i = 0; status == RUNG_OK && i < count; i++)
        describe(state, ids[i], i, rungi_device_list_add(list, &spare));
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------------- */

static void close_device(rung_device *device)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    rungi_opencl_forget_programs(own);
    rungi_cl_release_context(own->cl, own->context);
    pthread_mutex_destroy(&own->lock);
    rungi_release(device->context, own);
}

static const rungi_device_ops ops = {
    .close = close_device,
    .queue_create = rungi_opencl_queue_create,
    .queue_finish = rungi_opencl_queue_finish,
    .queue_destroy = rungi_opencl_queue_destroy,
    .queue_native = rungi_opencl_queue_native,
    .event_create = rungi_opencl_event_create,
    .event_wait = rungi_opencl_event_wait,
    .event_time = rungi_opencl_event_time,
    .event_span = rungi_opencl_event_span,
    .event_is_done = rungi_opencl_event_is_done,
    .event_copy = rungi_opencl_event_copy,
    .event_destroy = rungi_opencl_event_destroy,
    .event_native = rungi_opencl_event_native,
    .buffer_create = rungi_opencl_buffer_create,
    .buffer_destroy = rungi_opencl_buffer_destroy,
    .buffer_native = rungi_opencl_buffer_native,
    .buffer_write = rungi_opencl_buffer_write,
    .buffer_read = rungi_opencl_buffer_read,
    .host_allocate = rungi_opencl_host_allocate,
    .host_release = rungi_opencl_host_release,
    .plan_create = rungi_opencl_plan_create,
    .plan_run = rungi_opencl_plan_run,
    .plan_destroy = rungi_opencl_plan_destroy,
};

/* Takes over one reference to `native`. */
static rung_status make_device(rung_context *context, rungi_cl *cl, cl_context native,
                               cl_device_id id, int64_t index, rung_device **device)
{
    rungi_cl_count(cl, RUNGI_CL_CONTEXT);
    rungi_opencl_device *made = rungi_new(context, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        rungi_release(context, made);
        rungi_cl_release_context(cl, native);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for an OpenCL device");
    }
    rungi_device_init(&made->base, context, &rungi_opencl_backend, &ops);
    made->cl = cl;
    made->context = native;
    made->id = id;
    made->base.preset = is_of_kind(cl, id, CL_DEVICE_TYPE_CPU) ? "cpu" : NULL;
    made->has_f64 = number(cl, id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_device_fp_config)) != 0;
    made->blocks_max = INT32_MAX; /* what CUDA takes in x: one shape serves both */
    describe(cl, id, index, &made->base.info);
    *device = &made->base;
    return RUNG_OK;
}

static rung_status open_device(rung_context *context, void *state, int64_t index,
                               rung_device **device)
{
    rungi_cl *cl = state;
    cl_device_id ids[DEVICES_MAX];
    int64_t count;
    cl_int error;
    rung_status status = find_devices(cl, ids, &count);
    if (status != RUNG_OK)
        return status;
    if (index < 0)
        index = 0;
    if (index >= count)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "there is no opencl:%lld; `rung devices` lists the %lld there "
                          "are", (long long)index, (long long)count);
    cl_context native = cl->CreateContext(NULL, 1, &ids[index], NULL, NULL, &error);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clCreateContext");
    return make_device(context, cl, native, ids[index], index, device);
}

/* Where a device stands in the list, so that its name is the one to open it by. */
static int64_t index_of(rungi_cl *cl, cl_device_id id)
{
    cl_device_id ids[DEVICES_MAX];
    int64_t count = 0;
    find_devices(cl, ids, &count);
    for (int64_t i = 0; i < count; i++)
        if (ids[i] == id)
            return i;
    return -1;
}

static rung_status wrap_device(rung_context *context, void *state, void *native_context,
                               void *native_device, rung_device **device)
{
    rungi_cl *cl = state;
    cl_device_id ids[DEVICES_MAX];
    size_t bytes = 0;
    bool belongs = false;
    if (!native_device)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_device_wrap needs the cl_device_id, too");
    cl_int error = cl->GetContextInfo(native_context, CL_CONTEXT_DEVICES, sizeof ids, ids, &bytes);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clGetContextInfo");
    for (size_t i = 0; i < bytes / sizeof *ids; i++)
        belongs = belongs || ids[i] == native_device;
    if (!belongs)
        return rungi_fail(RUNG_STATUS_INVALID, "the cl_device_id is not one of the cl_context's");
    error = cl->RetainContext(native_context);
    if (error != CL_SUCCESS)
        return rungi_cl_fail(error, "clRetainContext");
    return make_device(context, cl, native_context, native_device, index_of(cl, native_device), device);
}

/* ---- The backend -------------------------------------------------------------------------------------- */

static rung_status load(rung_context *context, void **state)
{
    rungi_cl *cl = rungi_new(context, sizeof *cl);
    if (!cl)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cl_load(cl);
    if (status != RUNG_OK) {
        rungi_release(context, cl);
        return status;
    }
    *state = cl;
    return RUNG_OK;
}

static void unload(rung_context *context, void *state)
{
    rungi_cl_unload(state);
    rungi_release(context, state);
}

static void list_parts(rungi_part_list *list)
{
    char where[512];
    rungi_opencl_vendor_where(where, sizeof where);
    rungi_part_list_add(list, "CLBlast", "the library to compare with, 00_vendor", "apt install libclblast1",
                        where);
}

long rungi_opencl_live(rung_context *context, rungi_cl_kind kind)
{
    const rungi_backend *backend;
    void *state;
    if (rungi_context_backend(context, "opencl", &backend, &state) != RUNG_OK)
        return -1;
    return atomic_load(&((rungi_cl *)state)->live[kind]);
}

const rungi_backend rungi_opencl_backend = {
    .name = "opencl",
    .ladder = rungi_simt_ladder,
    .ladder_count = RUNGI_SIMT_STEPS,
    .vendor_products = 1u << RUNG_F32_TO_F32 | 1u << RUNG_F64_TO_F64, /* CLBlast's */
    .source_products = RUNGI_SIMT_PRODUCTS,
    .abilities = rungi_simt_abilities,
    .needs_engine = rungi_simt_needs_engine,
    .load = load,
    .unload = unload,
    .list = list_devices,
    .open = open_device,
    .parts = list_parts,
    .wrap = wrap_device,
};
