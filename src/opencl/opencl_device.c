/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_device.c - finds, describes, opens and wraps OpenCL devices. */
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/python_package.h"
#include "base/try.h"
#include "core/device_list.h"
#include "opencl/opencl_device.h"
#include "simt/simt.h"

/* ---- Device attributes ----------------------------------------------------------------------- */

/* Attributes that NVIDIA's and AMD's drivers add; their headers are not needed. */
enum {
    CAPABILITY_MAJOR_NV = 0x4000,
    CAPABILITY_MINOR_NV = 0x4001,
    REGISTERS_PER_BLOCK_NV = 0x4002,
    WARP_SIZE_NV = 0x4003,
    WAVEFRONT_WIDTH_AMD = 0x4043
};

static int64_t query_int(rungi_cl *cl, cl_device_id id, cl_device_info what, size_t size)
{
    uint64_t value = 0;
    if (cl->GetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS)
        return 0;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Returns a text of a device, without leading spaces; "" if the driver does not report it. */
static const char *query_text(rungi_cl *cl, cl_device_id id, cl_device_info what, rungi_text_list *texts)
{
    size_t bytes = 0;
    if (cl->GetDeviceInfo(id, what, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0)
        return "";
    char *value = rungi_text_list_reserve(texts, bytes);
    if (!value || cl->GetDeviceInfo(id, what, bytes, value, NULL) != CL_SUCCESS)
        return "";
    return value + strspn(value, " ");
}

static const char *platform_name(rungi_cl *cl, cl_device_id id, rungi_text_list *texts)
{
    cl_platform_id platform = NULL;
    size_t bytes = 0;
    cl->GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (!platform || cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0)
        return "";
    char *name = rungi_text_list_reserve(texts, bytes);
    if (!name || cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, bytes, name, NULL) != CL_SUCCESS)
        return "";
    return name;
}

/* The texts go into `texts`; so does the list of extensions, which is only searched. */
static void describe(rungi_cl *cl, cl_device_id id, int64_t index, rung_device_info *info, rungi_text_list *texts)
{
    const char *extensions = query_text(cl, id, CL_DEVICE_EXTENSIONS, texts);
    info->name = index >= 0 ? rungi_text_list_add(texts, "opencl:%lld", (long long)index) : "opencl";
    info->title = query_text(cl, id, CL_DEVICE_NAME, texts);
    info->driver = query_text(cl, id, CL_DRIVER_VERSION, texts);
    info->platform = platform_name(cl, id, texts);

    info->compute_units = query_int(cl, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    info->max_threads_per_block = query_int(cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    info->shared_bytes_per_block = query_int(cl, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    info->last_level_cache_bytes = query_int(cl, id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong));
    info->clock_khz = 1000 * query_int(cl, id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint));
    info->memory_bytes = query_int(cl, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    info->max_buffer_bytes = query_int(cl, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
    if (strstr(extensions, "cl_nv_device_attribute_query")) {
        info->warp_size = query_int(cl, id, WARP_SIZE_NV, sizeof(cl_uint));
        info->registers_per_block = query_int(cl, id, REGISTERS_PER_BLOCK_NV, sizeof(cl_uint));
        info->peak_f32_flops_per_second = 2 *
                                          rungi_simt_fma_per_clock(
                                              query_int(cl, id, CAPABILITY_MAJOR_NV, sizeof(cl_uint)),
                                              query_int(cl, id, CAPABILITY_MINOR_NV, sizeof(cl_uint))) *
                                          info->compute_units * info->clock_khz * 1000;
    } else if (strstr(extensions, "cl_amd_device_attribute_query")) {
        info->warp_size = query_int(cl, id, WAVEFRONT_WIDTH_AMD, sizeof(cl_uint));
    }
}

/* ---- Finding ------------------------------------------------------------------------------------- */

static bool is_of_kind(rungi_cl *cl, cl_device_id id, cl_device_type kind)
{
    cl_device_type type = 0;
    cl->GetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & kind) != 0;
}

/* Devices of all platforms, in the order of the public list. The caller of find_devices() releases `ids`. */
typedef struct found_devices {
    cl_device_id *ids;
    int64_t count;
} found_devices_t;

/* Copies at most `room` devices of a platform to `ids` and returns their number. Returns the number of all devices if
 * `ids` is NULL. */
static int64_t get_devices(rungi_cl *cl, cl_platform_id platform, cl_device_id *ids, int64_t room)
{
    cl_uint count = 0;
    if (cl->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, (cl_uint)room, ids, &count) != CL_SUCCESS)
        return 0;
    return ids ? rungi_min(count, room) : count;
}

/* Moves GPUs to the front and keeps the order of the drivers otherwise, so that "opencl" is the first GPU. */
static void put_gpus_first(rungi_cl *cl, found_devices_t *found)
{
    int64_t gpus = 0;
    for (int64_t i = 0; i < found->count; i++) {
        cl_device_id id = found->ids[i];
        if (!is_of_kind(cl, id, CL_DEVICE_TYPE_GPU))
            continue;
        memmove(&found->ids[gpus + 1], &found->ids[gpus], (size_t)(i - gpus) * sizeof id);
        found->ids[gpus++] = id;
    }
}

static rung_status find_in_platforms(rung_context *context, rungi_cl *cl, const cl_platform_id *platforms,
                                     cl_uint platform_count, found_devices_t *found)
{
    int64_t room = 0, bytes;
    for (cl_uint i = 0; i < platform_count; i++)
        room += get_devices(cl, platforms[i], NULL, 0);
    if (!rungi_checked_multiply(room, sizeof *found->ids, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "OpenCL reports %lld devices", (long long)room);
    found->ids = rungi_allocate(context, bytes, sizeof(void *));
    if (!found->ids)
        return RUNG_STATUS_NO_MEMORY;
    for (cl_uint i = 0; i < platform_count && found->count < room; i++)
        found->count += get_devices(cl, platforms[i], found->ids + found->count, room - found->count);
    put_gpus_first(cl, found);
    return RUNG_OK;
}

static rung_status no_driver(void)
{
    return rungi_fail(
        RUNG_STATUS_NO_DEVICE,
        "libOpenCL is installed, but no driver was found; install the driver of your device, or %s, which "
        "runs on any processor",
        rungi_lab_install_hint(NULL) ? "PoCL (pip install \"rung[lab]\")" : "pocl-opencl-icd");
}

static rung_status find_devices(rung_context *context, rungi_cl *cl, found_devices_t *found)
{
    cl_uint platform_count = 0;
    *found = (found_devices_t){.count = 0};
    if (cl->GetPlatformIDs(0, NULL, &platform_count) != CL_SUCCESS || platform_count == 0)
        return no_driver();
    cl_platform_id *platforms = rungi_allocate_zeroed(context, (size_t)platform_count * sizeof *platforms);
    if (!platforms)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = cl->GetPlatformIDs(platform_count, platforms, NULL) == CL_SUCCESS
                             ? find_in_platforms(context, cl, platforms, platform_count, found)
                             : no_driver();
    rungi_release(context, platforms);
    return status;
}

static rung_status list_devices(rung_context *context, void *state, rung_device_list *list)
{
    found_devices_t found;
    rung_status status = find_devices(context, state, &found);
    for (int64_t i = 0; status == RUNG_OK && i < found.count; i++) {
        rung_device_info *info = rungi_device_list_add(list);
        if (info)
            describe(state, found.ids[i], i, info, &list->list.texts);
        else
            status = RUNG_STATUS_NO_MEMORY;
    }
    rungi_release(context, found.ids);
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------------- */

static void close_device(rung_device *device)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    rungi_opencl_programs_release(own);
    rungi_cl_release_context(own->cl, own->context);
    pthread_mutex_destroy(&own->lock);
    rungi_device_free(device);
}

static const rungi_device_ops ops = {
#define X(name) .name = rungi_opencl_##name,
    RUNGI_SIMT_DEVICE_FUNCTION_LIST(X)
#undef X
        .close = close_device,
};

/* Takes over one reference to `native`. */
static rung_status make_device(rung_context *context, rungi_cl *cl, cl_context native, cl_device_id id, int64_t index,
                               rung_device **device)
{
    rungi_cl_track(cl, RUNGI_CL_CONTEXT);
    rungi_opencl_device *made = rungi_allocate_zeroed(context, sizeof *made);
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
    made->has_f64 = query_int(cl, id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(cl_device_fp_config)) != 0;
    made->blocks_max = INT32_MAX; /* the limit of CUDA in x, so that both have the same launch shapes */
    describe(cl, id, index, &made->base.info, &made->base.texts);
    *device = &made->base;
    return RUNG_OK;
}

static rung_status open_device(rung_context *context, void *state, int64_t index, rung_device **device)
{
    rungi_cl *cl = state;
    found_devices_t found;
    cl_device_id id = NULL;
    cl_int error;
    rung_status status = find_devices(context, cl, &found);
    index = rungi_max(index, 0); /* -1 selects the first device */
    if (status == RUNG_OK && index >= found.count)
        status = rungi_fail(RUNG_STATUS_NO_DEVICE,
                            "there is no device opencl:%lld; `rung devices` lists the %lld that exist",
                            (long long)index, (long long)found.count);
    if (status == RUNG_OK)
        id = found.ids[index];
    rungi_release(context, found.ids);
    TRY(status);
    cl_context native = cl->CreateContext(NULL, 1, &id, NULL, NULL, &error);
    TRY(rungi_cl_check(error, "clCreateContext"));
    return make_device(context, cl, native, id, index, device);
}

/* Returns the index of a device in the public list, so that rung_device_open() accepts its name; -1: not listed. */
static rung_status index_of(rung_context *context, rungi_cl *cl, cl_device_id id, int64_t *index)
{
    found_devices_t found;
    *index = -1;
    rungi_saved_error before = rungi_error_save();
    rung_status status = find_devices(context, cl, &found);
    for (int64_t i = 0; i < found.count && *index < 0; i++)
        if (found.ids[i] == id)
            *index = i;
    rungi_release(context, found.ids);
    if (status == RUNG_STATUS_NO_MEMORY)
        return status;
    rungi_error_restore(&before);
    return RUNG_OK;
}

static rung_status check_device_in_context(rung_context *context, rungi_cl *cl, cl_context native, cl_device_id id)
{
    size_t bytes = 0;
    bool belongs = false;
    TRY(RUNGI_CL_CALL(cl, GetContextInfo, native, CL_CONTEXT_DEVICES, 0, NULL, &bytes));
    cl_device_id *ids = rungi_allocate_zeroed(context, bytes);
    if (!ids)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = RUNGI_CL_CALL(cl, GetContextInfo, native, CL_CONTEXT_DEVICES, bytes, ids, NULL);
    for (size_t i = 0; i < bytes / sizeof *ids; i++)
        belongs = belongs || ids[i] == id;
    rungi_release(context, ids);
    TRY(status);
    return belongs ? RUNG_OK : rungi_invalid("the cl_device_id does not belong to the cl_context");
}

static rung_status wrap_device(rung_context *context, void *state, void *native_context, void *native_device,
                               rung_device **device)
{
    rungi_cl *cl = state;
    int64_t index;
    if (!native_device)
        return rungi_invalid("rung_device_wrap: the cl_device_id is missing");
    TRY(check_device_in_context(context, cl, native_context, native_device));
    TRY(index_of(context, cl, native_device, &index));
    TRY(RUNGI_CL_CALL(cl, RetainContext, native_context));
    return make_device(context, cl, native_context, native_device, index, device);
}

/* ---- The backend -------------------------------------------------------------------------------------- */

static rung_status load(rung_context *context, void **state)
{
    rungi_cl *cl = rungi_allocate_zeroed(context, sizeof *cl);
    if (!cl)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_cl_load(cl);
    if (status == RUNG_OK)
        *state = cl;
    else
        rungi_release(context, cl);
    return status;
}

static void unload(rung_context *context, void *state)
{
    rungi_release(context, state);
}

static void list_dependencies(rung_dependency_list *list)
{
    char library[512];
    rungi_clblast_where(library, sizeof library);
    rungi_dependency_list_add(list, "CLBlast", "the library to compare with, 00_vendor", "apt install libclblast1",
                              library);
}

long rungi_opencl_live_objects(rung_context *context, rungi_cl_kind kind)
{
    const rungi_backend *backend;
    void *state;
    if (rungi_context_load_backend(context, "opencl", &backend, &state) != RUNG_OK)
        return -1;
    return atomic_load(&((rungi_cl *)state)->live[kind]);
}

const rungi_backend rungi_opencl_backend = {
    .name = "opencl",
    .ladder = rungi_simt_ladder,
    .ladder_count = RUNGI_SIMT_LADDER_COUNT,
    .vendor_types = 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64, /* of CLBlast */
    .source_types = RUNGI_SIMT_PRODUCTS,
    .abilities = rungi_simt_abilities,
    .needs_engine = rungi_simt_needs_engine,
    .load = load,
    .unload = unload,
    .list = list_devices,
    .open = open_device,
    .list_dependencies = list_dependencies,
    .wrap = wrap_device,
};
