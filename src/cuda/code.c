/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - where a kernel's compiled code comes from: out of the library itself, out of the
 * cache on disk, or from NVRTC, and as a last resort a more general image that learns its
 * epilogue at run time. Each is loaded once a device. */
#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/cache.h"
#include "cuda/device.h"
#include "cuda/images.h"
#include "cuda/pack.h"

enum { NAME_LENGTH = RUNGI_CUDA_IMAGE_NAME };

/* ---- Names ------------------------------------------------------------------------------------- */

/* The end of a long path: the name must have room for all defines, which it is compiled with. */
static const char *file_in_name(const rung_kernel *kernel)
{
    size_t length = strlen(kernel->info.file), most = NAME_LENGTH - RUNGI_SIMT_DEFINES - 2;
    return kernel->info.file + (length > most ? length - most : 0);
}

void rungi_cuda_image_name(const rung_kernel *kernel, const rungi_values *values, const rungi_simt_path *path,
                           char name[NAME_LENGTH])
{
    int used = snprintf(name, NAME_LENGTH, "%s ", file_in_name(kernel));
    RUNGI_ASSERT(used > 0 && used + RUNGI_SIMT_DEFINES <= NAME_LENGTH);
    rungi_simt_defines(kernel, values, path, name + used);
}

static void write_name(const rungi_cuda_wish *wish, char name[NAME_LENGTH])
{
    rungi_cuda_image_name(wish->kernel, wish->values, &wish->path, name);
}

static const char *defines_in(const rungi_cuda_wish *wish, const char *name)
{
    return name + strlen(file_in_name(wish->kernel)) + 1;
}

rung_status rungi_cuda_image_source(const rung_kernel *kernel, const char *name, char **source)
{
    char *text, quoted[NAME_LENGTH], line[NAME_LENGTH + 128];
    rung_status status = rungi_simt_source(kernel, &text);
    if (status != RUNG_OK)
        return status;
    size_t length = strlen(name);
    for (size_t i = 0; i <= length; i++)
        quoted[i] = (char)(name[i] == '"' || name[i] == '\\' || name[i] == '\n' ? '_' : name[i]);
    int added = snprintf(line, sizeof line, "\nextern \"C\" __device__ const char rung_image[] = \"%s\";\n", quoted);
    size_t whole = strlen(text);
    *source = rungi_allocate(kernel->context, (int64_t)whole + added + 1, 1);
    if (*source) {
        memcpy(*source, text, whole);
        memcpy(*source + whole, line, (size_t)added + 1);
    }
    rungi_release(kernel->context, text);
    return *source ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

/* ---- Loading ------------------------------------------------------------------------------------- */

static rung_status load(rungi_cuda_device *device, const char *name, const void *code, rungi_cu_module *module)
{
    static unsigned int options[] = {RUNGI_CU_JIT_ERROR_LOG_BUFFER, RUNGI_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    char log[2048] = "";
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    rungi_cu_result error = device->cu->ModuleLoadDataEx(module, code, 2, options, values);
    rung_status status = rungi_cuda_check(device, error, "cuModuleLoadDataEx");
    if (status != RUNG_OK)
        return rungi_fail_in(status, "%.*s%s%s", (int)strcspn(name, " "), name, *log ? ": " : "", log);
    rungi_cu_count(device->cu, RUNGI_CU_MODULE, 1);
    return RUNG_OK;
}

/* Of those that run here a cubin before PTX, and the newest. */
static const rungi_cuda_image *find_image(const char *name, int architecture, bool is_ptx)
{
    const rungi_cuda_image *best = NULL;
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++)
        if (image->is_ptx == is_ptx && rungi_cuda_image_runs_on(image, architecture) &&
            (!best || image->architecture > best->architecture) && strcmp(image->name, name) == 0)
            best = image;
    return best;
}

static rung_status load_packed(rungi_cuda_device *device, const rungi_cuda_image *image, rungi_cu_module *module)
{
    rung_context *context = device->base.context;
    unsigned char *code = rungi_allocate(context, (int64_t)image->bytes, 64);
    if (!code)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_unpack(rungi_cuda_image_data + image->offset, image->packed_bytes, code, image->bytes)
                             ? load(device, image->name, code, module)
                             : rungi_fail(RUNG_STATUS_COMPILE_FAILED, "the library's own code of %s is damaged",
                                          image->name);
    rungi_release(context, code);
    return status;
}

static rung_status load_image(rungi_cuda_device *device, const rungi_cuda_wish *wish, const char *name,
                              rungi_cu_module *module)
{
    bool is_ours = wish->kernel->info.number >= 0 || wish->kernel->is_reduction;
    rung_status status = RUNG_STATUS_NOT_FOUND;
    for (int is_ptx = 0; is_ours && is_ptx < 2 && status != RUNG_OK; is_ptx++) {
        const rungi_cuda_image *image = find_image(name, device->architecture, is_ptx);
        if (image)
            status = load_packed(device, image, module);
        if (status == RUNG_OK)
            rungi_log(device->base.context, 2, "rung: %s took an embedded image, %s_%d, of %s", device->base.info.name,
                      is_ptx ? "compute" : "sm", image->architecture, name);
    }
    return status;
}

/* ---- Compiling ------------------------------------------------------------------------------------ */

/* The compiler, looked for once. */
static const rungi_nvrtc *compiler_of(rungi_cuda_device *device)
{
    pthread_mutex_lock(&device->lock);
    if (!device->looked_for_nvrtc)
        rungi_nvrtc_load(&device->nvrtc, device->cu->version, device->architecture);
    device->looked_for_nvrtc = true;
    pthread_mutex_unlock(&device->lock);
    return device->nvrtc.library ? &device->nvrtc : NULL;
}

/* Compiled now, or by an earlier process. */
static rung_status compile(rungi_cuda_device *device, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job, void **code)
{
    rung_context *context = device->base.context;
    char folder[4096], compiler[64], target[64];
    size_t bytes;
    const char *key[] = {job->source, job->defines, compiler, target};
    bool has_folder = rungi_cache_folder(folder, sizeof folder);
    snprintf(compiler, sizeof compiler, "nvrtc %d.%d", nvrtc->major, nvrtc->minor);
    snprintf(target, sizeof target, "%s_%d, driver %d", job->to_ptx ? "compute" : "sm", job->architecture,
             device->cu->version);
    *code = has_folder ? rungi_cache_read(context, folder, key, 4, &bytes) : NULL;
    if (*code)
        return RUNG_OK;
    rung_status status = rungi_nvrtc_compile(context, nvrtc, job, code, &bytes);
    if (status == RUNG_OK && has_folder)
        rungi_cache_write(context, folder, key, 4, *code, bytes);
    if (status == RUNG_OK)
        rungi_log(context, 2, "rung: %s compiled %s %s with %s for %s", device->base.info.name, job->file, job->defines,
                  compiler, target);
    return status;
}

static rung_status load_compiled(rungi_cuda_device *device, const rungi_cuda_wish *wish, const char *name,
                                 rungi_cu_module *module)
{
    const rungi_nvrtc *nvrtc = compiler_of(device);
    rungi_nvrtc_job job = {.file = wish->kernel->info.file, .defines = defines_in(wish, name)};
    char *source;
    void *code;
    if (!nvrtc)
        return RUNG_STATUS_NOT_FOUND;
    job.architecture = rungi_nvrtc_architecture(nvrtc, device->architecture);
    job.to_ptx = job.architecture != device->architecture;
    if (job.architecture == 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "NVRTC %d.%d compiles no more for sm_%d; install NVRTC 12 "
                          "(pip install nvidia-cuda-nvrtc-cu12)",
                          nvrtc->major, nvrtc->minor, device->architecture);
    rung_status status = rungi_cuda_image_source(wish->kernel, name, &source);
    if (status != RUNG_OK)
        return status;
    job.source = source;
    status = compile(device, nvrtc, &job, &code);
    rungi_release(wish->kernel->context, source);
    if (status != RUNG_OK)
        return status;
    status = load(device, name, code, module);
    rungi_release(device->base.context, code);
    return status;
}

/* The same kernel on the path that takes anything, told the rest at run time. */
static rungi_cuda_wish general_wish(const rungi_cuda_wish *wish)
{
    rungi_cuda_wish general = *wish;
    general.path.at_run_time = rungi_simt_abilities(wish->kernel) != 0;
    general.path.wide = general.path.partly = general.path.a_along_l = false;
    general.path.guarded = general.path.b_along_l = true;
    return general;
}

/* Whether that one can serve: it knows no epilogue, but for the kernel that adds up. */
static bool is_general(const rungi_cuda_wish *wish)
{
    const rungi_simt_path *path = &wish->path;
    bool plain = !path->bias && !path->residual && path->activation == RUNG_ACTIVATION_NONE;
    return plain || path->split || wish->kernel->is_reduction;
}

static rung_status make_module(rungi_cuda_device *device, const rungi_cuda_wish *wish, const char *name,
                               rungi_cu_module *module)
{
    char general_name[NAME_LENGTH];
    rungi_cuda_wish general = general_wish(wish);
    rung_status compiled = RUNG_STATUS_NOT_FOUND, status = load_image(device, wish, name, module);
    if (status != RUNG_OK && status != RUNG_STATUS_DEVICE_LOST)
        status = compiled = load_compiled(device, wish, name, module);
    if (status == RUNG_OK || status == RUNG_STATUS_DEVICE_LOST || status == RUNG_STATUS_NO_MEMORY)
        return status;
    rungi_error why;
    rungi_error_save(&why);
    write_name(&general, general_name);
    status = is_general(wish) ? load_image(device, &general, general_name, module) : RUNG_STATUS_NOT_FOUND;
    if (status == RUNG_OK && compiled != RUNG_STATUS_NOT_FOUND)
        rungi_log(device->base.context, 1, "rung: %s takes a slower, general kernel, since: %s", device->base.info.name,
                  why.text);
    if (status == RUNG_OK || compiled == RUNG_STATUS_NOT_FOUND)
        return status != RUNG_STATUS_NOT_FOUND
                   ? status
                   : rungi_fail(RUNG_STATUS_UNSUPPORTED,
                                "the library carries no code of %s for sm_%d, and "
                                "libnvrtc was not found; install it (pip install nvidia-cuda-nvrtc-cu12)",
                                name, device->architecture);
    rungi_error_restore(&why);
    return compiled;
}

/* ---- Modules and functions -------------------------------------------------------------------------- */

/* What tells modules apart: the name, the text, and a function's own settings. */
static void write_key(const rungi_cuda_wish *wish, const char *name, char key[NAME_LENGTH + 64])
{
    uint64_t hash = 14695981039346656037u;
    for (const char *at = wish->kernel->info.source; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    snprintf(key, NAME_LENGTH + 64, "%s %016llx %lld", name, (unsigned long long)hash, (long long)wish->carveout);
}

/* Under the lock. */
static rungi_cuda_module *find_module(rungi_cuda_device *device, const char *key)
{
    rungi_cuda_module *found = device->modules;
    while (found && strcmp(found->key, key) != 0)
        found = found->next;
    return found;
}

static void free_module(rungi_cuda_device *device, rungi_cuda_module *module, bool may_unload)
{
    if (module->module && may_unload)
        device->cu->ModuleUnload(module->module);
    if (module->module)
        rungi_cu_count(device->cu, RUNGI_CU_MODULE, -1);
    rungi_release(device->base.context, module);
}

/* Made outside the lock, since the caller's log may call us again; of two threads that come
 * here at once the second gives its own up. */
static rung_status add_module(rungi_cuda_device *device, const rungi_cuda_wish *wish, const char *name, const char *key,
                              rungi_cuda_module **out)
{
    rung_context *context = device->base.context;
    rungi_cuda_module *made = rungi_new(context, sizeof *made + strlen(key) + 1);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->key = strcpy((char *)(made + 1), key);
    rung_status status = make_module(device, wish, name, &made->module);
    if (status != RUNG_OK) {
        rungi_release(context, made);
        return status;
    }
    pthread_mutex_lock(&device->lock);
    *out = find_module(device, key);
    if (!*out) {
        made->next = device->modules;
        device->modules = made;
        *out = made;
    }
    pthread_mutex_unlock(&device->lock);
    if (*out != made)
        free_module(device, made, true);
    return RUNG_OK;
}

static rung_status module_of(rungi_cuda_device *device, const rungi_cuda_wish *wish, rungi_cu_module *module)
{
    char name[NAME_LENGTH], key[NAME_LENGTH + 64];
    rung_status status = RUNG_OK;
    write_name(wish, name);
    write_key(wish, name, key);
    pthread_mutex_lock(&device->lock);
    rungi_cuda_module *found = find_module(device, key);
    pthread_mutex_unlock(&device->lock);
    if (!found)
        status = add_module(device, wish, name, key, &found);
    *module = status == RUNG_OK ? found->module : NULL;
    return status;
}

void rungi_cuda_forget_modules(rungi_cuda_device *device)
{
    bool entered = rungi_cuda_enter_to_release(device);
    while (device->modules) {
        rungi_cuda_module *module = device->modules;
        device->modules = module->next;
        free_module(device, module, entered);
    }
    if (entered)
        rungi_cuda_leave(device);
}

/* Shared memory beyond what every device gives, and how L1 is shared out. */
static rung_status set_attributes(rungi_cuda_device *device, const rungi_cuda_wish *wish, rungi_cu_function function)
{
    rung_status status = RUNG_OK;
    if (wish->shared_bytes > 0)
        status = rungi_cuda_check(device,
                                  device->cu->FuncSetAttribute(function,
                                                               RUNGI_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                               (int)wish->shared_bytes),
                                  "cuFuncSetAttribute");
    if (status == RUNG_OK && wish->carveout > 0)
        status = rungi_cuda_check(device,
                                  device->cu->FuncSetAttribute(function,
                                                               RUNGI_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                                               (int)wish->carveout),
                                  "cuFuncSetAttribute");
    return status;
}

rung_status rungi_cuda_function_of(rungi_cuda_device *device, const rungi_cuda_wish *wish, rungi_cu_function *function)
{
    rungi_cu_module module;
    char entry[RUNGI_SIMT_NAME + 1];
    rung_status status = module_of(device, wish, &module);
    if (status != RUNG_OK)
        return status;
    RUNGI_ASSERT(wish->kernel->entry.length > 0 && wish->kernel->entry.length < sizeof entry);
    snprintf(entry, sizeof entry, "%.*s", (int)wish->kernel->entry.length, wish->kernel->entry.text);
    status = rungi_cuda_check(device, device->cu->ModuleGetFunction(function, module, entry), "cuModuleGetFunction");
    return status == RUNG_OK ? set_attributes(device, wish, *function) : status;
}
