/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c - finds, describes, opens and wraps CUDA devices, and records when a device is lost. */
#include "cuda/cuda_device.h"
#include "base/checked_arithmetic.h"
#include "base/dynamic_library.h"
#include "base/try.h"
#include "cuda/embedded_images.h"
#include "core/device_list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Entering and leaving ---------------------------------------------------------------------- */

/* Fails in a forked child, where the driver does not work. */
static rung_status check_process(const rungi_cuda_state *state)
{
    if (state->pid != getpid())
        return rungi_fail(RUNG_STATUS_DEVICE_LOST,
                          "CUDA was started before this process was forked, and NVIDIA's driver does not work in the "
                          "child; fork before the first use of CUDA, or exec");
    return RUNG_OK;
}

rung_status rungi_cuda_context_push(rungi_cuda_device *device)
{
    TRY(check_process(device->state));
    unsigned int lost = atomic_load(&device->lost_error);
    if (lost != 0)
        return rungi_fail_prepend(rungi_cu_check(device->cu, lost, "the device was lost before"), "%s",
                                  device->base.info.name);
    return RUNGI_CUDA_CALL(device, CtxPushCurrent, device->context);
}

void rungi_cuda_context_pop(rungi_cuda_device *device)
{
    rungi_cu_context own;
    device->cu->CtxPopCurrent(&own);
}

rung_status rungi_cuda_context_leave(rungi_cuda_device *device, rung_status status)
{
    rungi_cuda_context_pop(device);
    return status;
}

bool rungi_cuda_context_push_for_release(rungi_cuda_device *device)
{
    return device->state->pid == getpid() && device->cu->CtxPushCurrent(device->context) == 0;
}

rung_status rungi_cuda_check(rungi_cuda_device *device, rungi_cu_result error, const char *function)
{
    if (error == 0)
        return RUNG_OK;
    if (rungi_cu_is_sticky(error))
        atomic_store(&device->lost_error, error);
    return rungi_cu_check(device->cu, error, function);
}

/* ---- Device attributes -------------------------------------------------------------------------- */

/* Queries attributes of a device and retains the first error. A device with wrong attributes must not be opened,
 * because they are read only once. */
typedef struct attribute_query {
    rungi_cu *cu;
    rungi_cu_device id;
    rungi_cu_result error;
} attribute_query_t;

static int64_t attribute(attribute_query_t *query, unsigned int attribute_id)
{
    int value = 0;
    rungi_cu_result error = query->cu->DeviceGetAttribute(&value, attribute_id, query->id);
    if (query->error == 0)
        query->error = error;
    return error == 0 && value > 0 ? value : 0;
}

static int architecture_of(attribute_query_t *query)
{
    return (int)(10 * attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

static rung_status describe(rungi_cu *cu, rungi_cu_device id, rung_device_info *info, rungi_text_list *texts)
{
    attribute_query_t attributes = {cu, id, 0}, *query = &attributes;
    char title[256] = ""; /* the length of cudaDeviceProp.name */
    size_t memory_bytes = 0;
    info->name = rungi_text_list_add(texts, "cuda:%d", id);
    info->platform = "NVIDIA CUDA";
    info->driver = rungi_text_list_add(texts, "CUDA %d.%d", cu->version / 1000, cu->version % 1000 / 10);
    cu->DeviceGetName(title, sizeof title - 1, id);
    info->title = rungi_text_list_add(texts, "%s", title);
    info->compute_units = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->warp_size = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    info->max_threads_per_unit = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    info->max_threads_per_block = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->registers_per_block = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    info->registers_per_unit = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    /* The limit that a kernel may opt in to, if the device has one: plans opt in. */
    info->shared_bytes_per_block = rungi_max(
        attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    info->shared_bytes_per_unit = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    info->clock_khz = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    int architecture = architecture_of(query);
    info->peak_f32_flops_per_second = 2 * rungi_simt_fma_per_clock(architecture / 10, architecture % 10) *
                                      info->compute_units * info->clock_khz * 1000;
    if (cu->DeviceTotalMem(&memory_bytes, id) == 0)
        info->memory_bytes = info->max_buffer_bytes = (int64_t)memory_bytes;
    info->last_level_cache_bytes = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info->memory_clock_khz = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    info->memory_bus_bits = attribute(query, RUNGI_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    /* Two transfers per clock, as NVIDIA counts its memory clocks. */
    info->memory_bytes_per_second = 2 * info->memory_clock_khz * 1000 * (info->memory_bus_bits / 8);
    return rungi_cu_check(cu, query->error, "cuDeviceGetAttribute");
}

static rung_status list_devices(rung_context *context, void *state, rung_device_list *list)
{
    (void)context;
    rungi_cu *cu = &((rungi_cuda_state *)state)->cu;
    int count = 0;
    TRY(check_process(state));
    TRY(RUNGI_CU_CALL(cu, DeviceGetCount, &count));
    for (int i = 0; i < count; i++) {
        rungi_cu_device id;
        TRY(RUNGI_CU_CALL(cu, DeviceGet, &id, i));
        rung_device_info *info = rungi_device_list_add(list);
        TRY(info ? describe(cu, id, info, &list->list.texts) : RUNG_STATUS_NO_MEMORY);
    }
    return RUNG_OK;
}

/* ---- Opening -------------------------------------------------------------------------------------- */

static void free_device(rungi_cuda_device *device)
{
    pthread_mutex_destroy(&device->lock);
    rungi_device_free(&device->base);
}

static void close_device(rung_device *device)
{
    rungi_cuda_device *own = rungi_cuda_device_of(device);
    rungi_cublas_close(own);
    rungi_cuda_modules_release(own);
    if (own->is_primary && own->state->pid == getpid())
        own->cu->PrimaryCtxRelease(own->id);
    if (own->is_primary)
        rungi_cu_track(own->cu, RUNGI_CU_CONTEXT, -1);
    free_device(own);
}

static const rungi_device_ops ops = {
#define X(name) .name = rungi_cuda_##name,
    RUNGI_SIMT_DEVICE_FUNCTION_LIST(X)
#undef X
        .close = close_device,
    .queue_is_captured = rungi_cuda_queue_is_captured,
    .buffer_create_on_queue = rungi_cuda_buffer_create_on_queue,
    .rank_presets = rungi_simt_rank_presets,
};

/* Reads the attributes that decide which code runs and how memory is allocated. */
static rung_status fill_device(rungi_cuda_device *device)
{
    rungi_cu *cu = device->cu;
    attribute_query_t query = {cu, device->id, 0};
    device->architecture = architecture_of(&query);
    snprintf(device->architecture_name, sizeof device->architecture_name, "sm_%d", device->architecture);
    device->base.architecture = device->architecture_name;
    device->has_pools = cu->MemAllocAsync && cu->MemFreeAsync &&
                        attribute(&query, RUNGI_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
    TRY(rungi_cu_check(cu, query.error, "cuDeviceGetAttribute"));
    return describe(cu, device->id, &device->base.info, &device->base.texts);
}

/* Creates the device without a CUcontext. */
static rung_status make_device(rung_context *context, rungi_cuda_state *state, rungi_cu_device id,
                               rungi_cuda_device **device)
{
    rungi_cuda_device *made = rungi_allocate_zeroed(context, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        rungi_release(context, made);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "out of memory for a CUDA device");
    }
    rungi_device_init(&made->base, context, &rungi_cuda_backend, &ops);
    made->state = state;
    made->cu = &state->cu;
    made->id = id;
    rung_status status = fill_device(made);
    if (status == RUNG_OK)
        *device = made;
    else
        free_device(made);
    return status;
}

static rung_status open_device(rung_context *context, void *user, int64_t index, rung_device **device)
{
    rungi_cuda_state *state = user;
    rungi_cuda_device *made;
    rungi_cu_device id;
    int count = 0;
    TRY(check_process(state));
    TRY(RUNGI_CU_CALL(&state->cu, DeviceGetCount, &count));
    index = rungi_max(index, 0); /* -1 selects the first device */
    if (index >= count)
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "there is no device cuda:%lld; `rung devices` lists the %d that exist",
                          (long long)index, count);
    TRY(RUNGI_CU_CALL(&state->cu, DeviceGet, &id, (int)index));
    TRY(make_device(context, state, id, &made));
    rungi_cu_result error = state->cu.PrimaryCtxRetain(&made->context, id);
    if (error != 0) {
        free_device(made);
        return rungi_cu_check(&state->cu, error, "cuDevicePrimaryCtxRetain");
    }
    made->is_primary = true;
    rungi_cu_track(&state->cu, RUNGI_CU_CONTEXT, 1);
    *device = &made->base;
    return RUNG_OK;
}

/* Returns the CUdevice of a CUcontext. */
static rung_status device_of_context(rungi_cu *cu, rungi_cu_context native, rungi_cu_device *id)
{
    rungi_cu_context own;
    TRY(RUNGI_CU_CALL(cu, CtxPushCurrent, native));
    rung_status status = RUNGI_CU_CALL(cu, CtxGetDevice, id);
    cu->CtxPopCurrent(&own);
    return status;
}

/* Wraps a CUcontext, which determines its device. */
static rung_status wrap_device(rung_context *context, void *user, void *native_context, void *native_device,
                               rung_device **device)
{
    rungi_cuda_state *state = user;
    rungi_cuda_device *made;
    rungi_cu_device id;
    (void)native_device;
    TRY(check_process(state));
    TRY(device_of_context(&state->cu, native_context, &id));
    TRY(make_device(context, state, id, &made));
    made->context = native_context;
    *device = &made->base;
    return RUNG_OK;
}

/* ---- The backend ------------------------------------------------------------------------------------ */

static rung_status load(rung_context *context, void **out)
{
    rungi_cuda_state *state = rungi_allocate_zeroed(context, sizeof *state);
    if (!state)
        return RUNG_STATUS_NO_MEMORY;
    state->pid = getpid();
    rung_status status = rungi_cu_load(&state->cu);
    if (status == RUNG_OK && pthread_mutex_init(&state->lock, NULL) != 0)
        status = rungi_fail(RUNG_STATUS_NO_MEMORY, "cannot create a mutex for CUDA");
    if (status == RUNG_OK)
        *out = state;
    else
        rungi_release(context, state);
    return status;
}

static void unload(rung_context *context, void *user)
{
    rungi_cuda_state *state = user;
    pthread_mutex_destroy(&state->lock);
    rungi_release(context, state);
}

/* Lists the architectures of the embedded images. */
static void describe_images(char *text, size_t capacity)
{
    int count = 0, oldest = 0, newest = 0;
    bool has_ptx = false;
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++, count++) {
        has_ptx = has_ptx || image->is_ptx;
        oldest = count == 0 || image->architecture < oldest ? image->architecture : oldest;
        newest = image->architecture > newest ? image->architecture : newest;
    }
    *text = '\0';
    if (count > 0)
        snprintf(text, capacity, "%d images, sm_%d to sm_%d%s", count, oldest, newest,
                 has_ptx ? ", PTX for later ones" : "");
}

/* Without a driver, lists the libraries that the newest driver could use. */
static void list_dependencies(rung_dependency_list *list)
{
    rungi_cu cu = {0};
    rungi_nvrtc nvrtc = {0};
    rungi_cublas blas = {0};
    char found[4096] = "", path[4000];
    rungi_saved_error before = rungi_error_save();
    int version = rungi_cu_load(&cu) == RUNG_OK ? cu.version : RUNGI_NVRTC_ANY_DRIVER;
    rungi_error_restore(&before);
    describe_images(found, sizeof found);
    rungi_dependency_list_add(list, "compiled kernels", "kernels at their defaults, without a compiler",
                              "build the library with libnvrtc.so.12 (-DRUNG_NVRTC=...)", found);
    *found = '\0';
    if (rungi_nvrtc_load(&nvrtc, version, INT32_MAX)) {
        rungi_library_path(&nvrtc.version, path, sizeof path);
        snprintf(found, sizeof found, "%d.%d, %s", nvrtc.major, nvrtc.minor, path);
    }
    rungi_dependency_list_add(list, "NVRTC", "any parameters, every fast path, kernels of your own",
                              rungi_nvrtc_install_hint(), found);
    *found = '\0';
    rungi_cublas_load(&blas, version);
    if (blas.library)
        rungi_library_path(&blas.create, found, sizeof found);
    rungi_dependency_list_add(list, "cuBLAS", "the library to compare with, 00_vendor",
                              "pip install nvidia-cublas-cu12", found);
}

long rungi_cuda_live_objects(rung_context *context, rungi_cu_kind kind)
{
    const rungi_backend *backend;
    void *state;
    if (rungi_context_load_backend(context, "cuda", &backend, &state) != RUNG_OK)
        return -1;
    return atomic_load(&((rungi_cuda_state *)state)->cu.live[kind]);
}

const rungi_backend rungi_cuda_backend = {
    .name = "cuda",
    .ladder = rungi_simt_ladder,
    .ladder_count = RUNGI_SIMT_LADDER_COUNT,
    .vendor_types = RUNGI_CUBLAS_PRODUCTS,
    .source_types = RUNGI_SIMT_PRODUCTS,
    .abilities = rungi_simt_abilities,
    .needs_engine = rungi_simt_needs_engine,
    .has_engine = true,
    .load = load,
    .unload = unload,
    .list = list_devices,
    .open = open_device,
    .list_dependencies = list_dependencies,
    .compile = rungi_cuda_compile_offline,
    .wrap = wrap_device,
};
