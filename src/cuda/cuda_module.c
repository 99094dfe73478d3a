/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_module.c - finds the compiled code of a kernel and loads it once per device. The code is an image embedded in
 * the library, a file of the code cache, or the output of NVRTC; as a last resort, an embedded image of the general
 * path that selects its epilogue at run time. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/fnv1a.h"
#include "base/try.h"
#include "core/code_cache.h"
#include "cuda/cuda_device.h"
#include "cuda/embedded_images.h"
#include "base/lz4.h"

enum { NAME_LENGTH = RUNGI_CUDA_IMAGE_NAME_BYTES };

/* ---- Names ------------------------------------------------------------------------------------- */

/* Returns the end of a long path, so that the name has room for all compiler options. */
static const char *file_in_name(const rung_kernel *kernel)
{
    size_t length = strlen(kernel->info.file), length_max = NAME_LENGTH - RUNGI_SIMT_DEFINES_BYTES - 2;
    return kernel->info.file + (length > length_max ? length - length_max : 0);
}

void rungi_cuda_image_name(const rung_kernel *kernel, const rungi_parameter_values *values, const rungi_simt_path *path,
                           char name[NAME_LENGTH])
{
    int used = snprintf(name, NAME_LENGTH, "%s ", file_in_name(kernel));
    RUNGI_ASSERT(used > 0 && used + RUNGI_SIMT_DEFINES_BYTES <= NAME_LENGTH);
    rungi_simt_defines(kernel, values, path, name + used);
}

rung_status rungi_cuda_image_source(const rung_kernel *kernel, const rungi_simt_path *path, const char *name,
                                    char **source)
{
    char *text, quoted[NAME_LENGTH], line[NAME_LENGTH + 128];
    TRY(rungi_simt_source_of_path(kernel, path, &text));
    rungi_simt_quote_file_name(name, quoted, sizeof quoted);
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
    rung_status status = RUNGI_CUDA_CALL(device, ModuleLoadDataEx, module, code, 2, options, values);
    if (status != RUNG_OK)
        return rungi_fail_prepend(status, "%.*s%s%s", (int)strcspn(name, " "), name, *log ? ": " : "", log);
    rungi_cu_track(device->cu, RUNGI_CU_MODULE, 1);
    return RUNG_OK;
}

const rungi_cuda_image *rungi_cuda_find_image(const char *name, int architecture, bool is_ptx)
{
    const rungi_cuda_image *best = NULL;
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++)
        if (image->is_ptx == is_ptx && rungi_cuda_image_can_run_on(image, architecture) &&
            (!best || image->architecture > best->architecture) && strcmp(image->name, name) == 0)
            best = image;
    return best;
}

static rung_status load_embedded(rungi_cuda_device *device, const rungi_cuda_image *image, rungi_cu_module *module)
{
    rung_context *context = device->base.context;
    unsigned char *code = rungi_allocate(context, (int64_t)image->bytes, 64);
    if (!code)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_lz4_decompress(rungi_cuda_image_data + image->offset, image->compressed_bytes, code,
                                              image->bytes)
                             ? load(device, image->name, code, module)
                             : rungi_fail(RUNG_STATUS_COMPILE_FAILED, "the embedded image of %s is damaged",
                                          image->name);
    rungi_release(context, code);
    return status;
}

/* Loads an embedded image: a cubin if there is one and the driver executes cubins, otherwise PTX. */
static rung_status load_image(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, const char *name,
                              rungi_cu_module *module)
{
    bool is_ours = spec->kernel->info.number >= 0 || spec->kernel->is_reduction;
    rung_status status = RUNG_STATUS_NOT_FOUND;
    for (int is_ptx = device->cu->executes_ptx; is_ours && is_ptx < 2 && status != RUNG_OK; is_ptx++) {
        const rungi_cuda_image *image = rungi_cuda_find_image(name, device->architecture, is_ptx);
        if (image)
            status = load_embedded(device, image, module);
        if (status == RUNG_OK)
            rungi_log(device->base.context, 2, "rung: %s loaded an embedded image, %s_%d, of %s",
                      device->base.info.name, is_ptx ? "compute" : "sm", image->architecture, name);
    }
    return status;
}

/* ---- Compiling ------------------------------------------------------------------------------------ */

/* Returns the compiler. Searches for it once. */
static const rungi_nvrtc *compiler_of(rungi_cuda_device *device)
{
    pthread_mutex_lock(&device->lock);
    if (!device->has_searched_nvrtc)
        rungi_nvrtc_load(&device->nvrtc, device->cu->version, device->architecture);
    device->has_searched_nvrtc = true;
    pthread_mutex_unlock(&device->lock);
    return device->nvrtc.library ? &device->nvrtc : NULL;
}

/* Returns code from the cache, or compiles it. */
static rung_status compile(rungi_cuda_device *device, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job, void **code)
{
    rung_context *context = device->base.context;
    char folder[4096], compiler[64], target[64];
    size_t bytes;
    const char *key[] = {job->source, job->defines, compiler, target};
    bool has_folder = rungi_code_cache_folder(folder, sizeof folder);
    snprintf(compiler, sizeof compiler, "nvrtc %d.%d", nvrtc->major, nvrtc->minor);
    snprintf(target, sizeof target, "%s_%d%s, driver %d", job->to_ptx ? "compute" : "sm", job->architecture,
             job->is_specific ? "a" : "", device->cu->version);
    *code = has_folder ? rungi_code_cache_read(context, folder, key, 4, &bytes) : NULL;
    if (*code)
        return RUNG_OK;
    rung_status status = rungi_nvrtc_compile(context, nvrtc, job, code, &bytes);
    if (status == RUNG_OK && has_folder)
        rungi_code_cache_write(context, folder, key, 4, *code, bytes);
    if (status == RUNG_OK)
        rungi_log(context, 2, "rung: %s compiled %s %s with %s for %s", device->base.info.name, job->file, job->defines,
                  compiler, target);
    return status;
}

static rung_status load_compiled(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, const char *name,
                                 rungi_cu_module *module)
{
    const rungi_nvrtc *nvrtc = compiler_of(device);
    rungi_nvrtc_job job = {.file = spec->kernel->info.file, .defines = name + strlen(file_in_name(spec->kernel)) + 1};
    char *source;
    void *code;
    if (!nvrtc)
        return RUNG_STATUS_NOT_FOUND;
    job.architecture = rungi_nvrtc_best_architecture(nvrtc, device->architecture);
    job.to_ptx = job.architecture != device->architecture || device->cu->executes_ptx;
    job.is_specific = rungi_cuda_is_specific(spec->kernel, device->architecture);
    job.has_line_info = device->cu->executes_ptx; /* for the messages of the emulator */
    if (job.is_specific && job.architecture != device->architecture)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "NVRTC %d.%d does not compile for sm_%da; install a later one",
                          nvrtc->major, nvrtc->minor, device->architecture);
    if (job.architecture == 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "NVRTC %d.%d no longer compiles for sm_%d; install NVRTC 12 (pip install "
                          "nvidia-cuda-nvrtc-cu12)",
                          nvrtc->major, nvrtc->minor, device->architecture);
    TRY(rungi_cuda_image_source(spec->kernel, &spec->path, name, &source));
    job.source = source;
    rung_status status = compile(device, nvrtc, &job, &code);
    rungi_release(spec->kernel->context, source);
    TRY(status);
    status = load(device, name, code, module);
    rungi_release(device->base.context, code);
    return status;
}

/* Returns the same kernel on the general path with run-time flags. */
static rungi_cuda_function_spec general_spec(const rungi_cuda_function_spec *spec)
{
    rungi_cuda_function_spec general = *spec;
    general.path.has_runtime_flags = rungi_simt_abilities(spec->kernel) != 0;
    general.path.wide = general.path.has_partial_chunks = general.path.a_mn_major = false;
    general.path.guarded = general.path.b_mn_major = true;
    return general;
}

/* Returns whether the run-time image suffices: only the reduction kernel has epilogues. */
static bool can_use_general(const rungi_cuda_function_spec *spec)
{
    const rungi_simt_path *path = &spec->path;
    bool plain = !path->bias && !path->residual && path->activation == RUNG_ACTIVATION_NONE;
    return plain || path->split || spec->kernel->is_reduction;
}

static rung_status make_module(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, const char *name,
                               rungi_cu_module *module)
{
    char general_name[NAME_LENGTH];
    rungi_cuda_function_spec general = general_spec(spec);
    rung_status compiled = RUNG_STATUS_NOT_FOUND, status = load_image(device, spec, name, module);
    if (status != RUNG_OK && status != RUNG_STATUS_DEVICE_LOST)
        status = compiled = load_compiled(device, spec, name, module);
    if (status == RUNG_OK || status == RUNG_STATUS_DEVICE_LOST || status == RUNG_STATUS_NO_MEMORY)
        return status;
    rungi_saved_error why = rungi_error_save();
    rungi_cuda_image_name(general.kernel, general.values, &general.path, general_name);
    status = can_use_general(spec) ? load_image(device, &general, general_name, module) : RUNG_STATUS_NOT_FOUND;
    if (status == RUNG_OK && compiled != RUNG_STATUS_NOT_FOUND)
        rungi_log(device->base.context, 1, "rung: %s uses a slower, general kernel: %s", device->base.info.name,
                  why.text);
    if (status == RUNG_STATUS_NOT_FOUND && compiled == RUNG_STATUS_NOT_FOUND)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the library has no embedded image of %s for sm_%d, and libnvrtc was not found; install it "
                          "(%s)",
                          name, device->architecture, rungi_nvrtc_install_hint());
    if (status == RUNG_OK || compiled == RUNG_STATUS_NOT_FOUND)
        return status;
    rungi_error_restore(&why);
    return compiled;
}

/* ---- Modules and functions -------------------------------------------------------------------------- */

/* The caller holds the lock. */
static rungi_cuda_module *find_module(rungi_cuda_device *device, const char *key)
{
    rungi_cuda_module *found = device->modules;
    while (found && strcmp(found->key, key) != 0)
        found = found->next;
    return found;
}

static void free_module(rungi_cuda_device *device, rungi_cuda_module *module, bool may_unload)
{
    if (may_unload)
        device->cu->ModuleUnload(module->module);
    rungi_cu_track(device->cu, RUNGI_CU_MODULE, -1);
    rungi_release(device->base.context, module);
}

/* Loads the module without holding the lock, because the log callback of the user may call the library again. If two
 * threads load the same module, the second one discards its copy. */
static rung_status add_module(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, const char *name,
                              const char *key, rungi_cuda_module **out)
{
    rung_context *context = device->base.context;
    rungi_cuda_module *made = rungi_allocate_zeroed(context, sizeof *made + strlen(key) + 1);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    made->key = strcpy((char *)(made + 1), key);
    rung_status status = make_module(device, spec, name, &made->module);
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

/* The key of a module is its name, a hash of the source, and the setting of the function. */
static rung_status module_of(rungi_cuda_device *device, const rungi_cuda_function_spec *spec, rungi_cu_module *module)
{
    const char *source = spec->kernel->info.source;
    uint64_t hash = rungi_fnv1a(RUNGI_FNV1A_START, source, strlen(source));
    char name[NAME_LENGTH], key[NAME_LENGTH + 64];
    rungi_cuda_image_name(spec->kernel, spec->values, &spec->path, name);
    snprintf(key, sizeof key, "%s %016llx %lld", name, (unsigned long long)hash, (long long)spec->carveout);
    pthread_mutex_lock(&device->lock);
    rungi_cuda_module *found = find_module(device, key);
    pthread_mutex_unlock(&device->lock);
    if (!found)
        TRY(add_module(device, spec, name, key, &found));
    *module = found->module;
    return RUNG_OK;
}

void rungi_cuda_modules_release(rungi_cuda_device *device)
{
    bool entered = rungi_cuda_context_push_for_release(device);
    while (device->modules) {
        rungi_cuda_module *module = device->modules;
        device->modules = module->next;
        free_module(device, module, entered);
    }
    if (entered)
        rungi_cuda_context_pop(device);
}

rung_status rungi_cuda_function_of(rungi_cuda_device *device, const rungi_cuda_function_spec *spec,
                                   rungi_cu_function *function)
{
    rungi_cu_module module;
    char entry[RUNGI_SIMT_ENTRY_NAME_MAX + 1];
    TRY(module_of(device, spec, &module));
    RUNGI_ASSERT(spec->kernel->entry.length > 0 && spec->kernel->entry.length < sizeof entry);
    snprintf(entry, sizeof entry, "%.*s", (int)spec->kernel->entry.length, spec->kernel->entry.text);
    TRY(RUNGI_CUDA_CALL(device, ModuleGetFunction, function, module, entry));
    if (spec->shared_bytes > 0)
        TRY(RUNGI_CUDA_CALL(device, FuncSetAttribute, *function, RUNGI_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            (int)spec->shared_bytes));
    if (spec->carveout > 0)
        TRY(RUNGI_CUDA_CALL(device, FuncSetAttribute, *function,
                            RUNGI_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, (int)spec->carveout));
    return RUNG_OK;
}
