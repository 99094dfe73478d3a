/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_code.c - fat binaries, kernels and variables that a program registers when it starts, and launches. A fat binary is
 * loaded when a device uses it first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/runtime/runtime.h"

/* A kernel or a variable, by its address on the host. Names are strings of the program. */
typedef struct runtime_function {
    const void *host;
    const char *name;
    struct runtime_binary *binary;
    void **managed; /* where the host finds the address of a managed variable, or NULL */
    struct runtime_function *next;
} runtime_function_t;

typedef struct runtime_binary {
    void *wrapper;
    CUmodule modules[RUNTIME_DEVICES_MAX];
    CUresult errors[RUNTIME_DEVICES_MAX]; /* of loading */
    struct runtime_binary *next;
} runtime_binary_t;

enum { BUCKETS = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static runtime_binary_t *binaries;
static runtime_function_t *kernels[BUCKETS], *variables[BUCKETS];

static size_t bucket_of(const void *host)
{
    return ((uintptr_t)host >> 2) % BUCKETS;
}

static void add(runtime_function_t **table, void **handle, const void *host, const char *name, void **managed)
{
    runtime_function_t *made = calloc(1, sizeof *made);
    if (!made || !handle)
        return; /* the kernel will not be found */
    size_t bucket = bucket_of(host);
    pthread_mutex_lock(&lock);
    *made = (runtime_function_t){host, name, (runtime_binary_t *)handle, managed, table[bucket]};
    table[bucket] = made;
    pthread_mutex_unlock(&lock);
}

static runtime_function_t *find(runtime_function_t **table, const void *host)
{
    for (runtime_function_t *at = table[bucket_of(host)]; at; at = at->next)
        if (at->host == host)
            return at;
    return NULL;
}

/* ---- Registration -------------------------------------------------------------------------------------- */

// NOLINTBEGIN(bugprone-reserved-identifier): the names are given by nvcc
void **__cudaRegisterFatBinary(void *wrapper)
{
    runtime_binary_t *binary = calloc(1, sizeof *binary);
    if (!binary)
        return NULL;
    binary->wrapper = wrapper;
    pthread_mutex_lock(&lock);
    binary->next = binaries;
    binaries = binary;
    pthread_mutex_unlock(&lock);
    return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* The program ends, or unloads a library. Kernels of a library are not removed: their addresses do not come back. */
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, dim3 *block_size, dim3 *grid_size, int *warp)
{
    (void)device, (void)limit, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
    add(kernels, handle, host, name, NULL);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external, size_t bytes,
                       int is_constant, int is_global)
{
    (void)device, (void)is_external, (void)bytes, (void)is_constant, (void)is_global;
    add(variables, handle, host, name, NULL);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_external, size_t bytes,
                              int is_constant, int is_global)
{
    (void)device, (void)is_external, (void)bytes, (void)is_constant, (void)is_global;
    add(variables, handle, host, name, host);
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
    (void)bytes;
    add(variables, handle, host, name, NULL);
}

/* Textures and surfaces are not emulated. */
void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dimensions,
                           int is_normalized, int is_external)
{
    (void)handle, (void)host, (void)device, (void)name, (void)dimensions, (void)is_normalized, (void)is_external;
}

void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dimensions,
                           int is_external)
{
    (void)handle, (void)host, (void)device, (void)name, (void)dimensions, (void)is_external;
}
// NOLINTEND(bugprone-reserved-identifier)

/* ---- Loading --------------------------------------------------------------------------------------------- */

/* Tells the host where the managed variables of a module are. The caller holds the lock. */
static void set_managed(runtime_binary_t *binary, CUmodule module)
{
    for (int i = 0; i < BUCKETS; i++)
        for (runtime_function_t *at = variables[i]; at; at = at->next) {
            CUdeviceptr address = 0;
            if (at->binary == binary && at->managed &&
                cuModuleGetGlobal_v2(&address, NULL, module, at->name) == CUDA_SUCCESS)
                *at->managed = (void *)(uintptr_t)address;
        }
}

/* The caller holds the lock. */
static CUresult load(runtime_binary_t *binary, int device)
{
    char reason[2000] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {reason, (void *)(uintptr_t)sizeof reason};
    CUresult result = cuModuleLoadDataEx(&binary->modules[device], binary->wrapper, 2, options, values);
    if (result == CUDA_SUCCESS)
        set_managed(binary, binary->modules[device]);
    else if (reason[0])
        fprintf(
            stderr,
            "rung: emulated GPU: the kernels of a file cannot be loaded: %s; if the file uses textures or surfaces, "
            "read memory of cudaMalloc through a pointer in place of a texture for the emulated run\n",
            reason);
    return result;
}

/* Returns the module of a binary on the current device. */
static CUresult module_of(runtime_binary_t *binary, CUmodule *module)
{
    int device = runtime_device();
    pthread_mutex_lock(&lock);
    if (!binary->modules[device] && binary->errors[device] == CUDA_SUCCESS)
        binary->errors[device] = load(binary, device);
    *module = binary->modules[device];
    CUresult result = binary->errors[device];
    pthread_mutex_unlock(&lock);
    return result;
}

void runtime_forget_modules(int device)
{
    pthread_mutex_lock(&lock);
    for (runtime_binary_t *at = binaries; at; at = at->next) {
        at->modules[device] = NULL;
        at->errors[device] = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is given by nvcc
char __cudaInitModule(void **handle)
{
    CUmodule module = NULL;
    bool is_loaded = handle && runtime_begin() == CUDA_SUCCESS &&
                     module_of((runtime_binary_t *)handle, &module) == CUDA_SUCCESS;
    return (char)is_loaded;
}

/* A kernel is named by its host function or by its handle, which is the entry of the table. */
static runtime_function_t *find_kernel(const void *host)
{
    pthread_mutex_lock(&lock);
    runtime_function_t *found = find(kernels, host);
    for (int i = 0; !found && host && i < BUCKETS; i++)
        for (runtime_function_t *at = kernels[i]; at; at = at->next)
            if (at == host)
                found = at;
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult runtime_find_function(const void *host, CUfunction *function)
{
    CUmodule module = NULL;
    runtime_function_t *found = find_kernel(host);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    CUresult result = module_of(found->binary, &module);
    return result == CUDA_SUCCESS ? cuModuleGetFunction(function, module, found->name) : result;
}

CUresult runtime_find_variable(const void *host, CUdeviceptr *address, size_t *bytes)
{
    CUmodule module = NULL;
    pthread_mutex_lock(&lock);
    runtime_function_t *found = find(variables, host);
    for (int i = 0; !found && i < BUCKETS; i++) /* the value of a managed variable's pointer names it, too */
        for (runtime_function_t *at = variables[i]; at; at = at->next)
            if (at->managed && *at->managed == host)
                found = at;
    pthread_mutex_unlock(&lock);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    CUresult result = module_of(found->binary, &module);
    return result == CUDA_SUCCESS ? cuModuleGetGlobal_v2(address, bytes, module, found->name) : result;
}

/* ---- Launches ------------------------------------------------------------------------------------------------ */

/* Configurations of <<<...>>> between the call and the function that nvcc generates for the kernel. */
enum { CONFIGURATIONS_MAX = 16 };
typedef struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration_t;
static _Thread_local configuration_t configurations[CONFIGURATIONS_MAX];
static _Thread_local int configuration_count;

// NOLINTBEGIN(bugprone-reserved-identifier): the names are given by nvcc
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (configuration_count == CONFIGURATIONS_MAX)
        return 1;
    configurations[configuration_count++] = (configuration_t){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (configuration_count == 0)
        return runtime_fail(cudaErrorMissingConfiguration);
    const configuration_t *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = find_kernel(host);
    return runtime_fail(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
// NOLINTEND(bugprone-reserved-identifier)

static bool configuration_is_valid(dim3 grid, dim3 block)
{
    return grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0 && grid.x <= INT32_MAX &&
           grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
           block.x * block.y * block.z <= 1024;
}

static cudaError_t launch(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream, CUlaunchAttribute *attributes, unsigned count)
{
    CUfunction function = NULL;
    CUresult result = runtime_begin();
    if (result == CUDA_SUCCESS)
        result = runtime_find_function(kernel, &function);
    if (result == CUDA_ERROR_NOT_FOUND)
        return runtime_fail(cudaErrorInvalidDeviceFunction);
    if (result == CUDA_SUCCESS && shared > UINT32_MAX)
        result = CUDA_ERROR_INVALID_VALUE;
    const CUlaunchConfig config = {grid.x,  grid.y,           grid.z, block.x,    block.y,
                                   block.z, (unsigned)shared, stream, attributes, count};
    if (result == CUDA_SUCCESS && !configuration_is_valid(grid, block)) {
        (void)cuLaunchKernelEx(&config, function, arguments, NULL); /* refuses it too, and reports it */
        return runtime_fail(cudaErrorInvalidConfiguration);
    }
    return runtime_end(result == CUDA_SUCCESS ? cuLaunchKernelEx(&config, function, arguments, NULL) : result);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream)
{
    return launch(kernel, grid, block, arguments, shared, stream, NULL, 0);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    if (!config)
        return runtime_fail(cudaErrorInvalidConfiguration);
    return launch(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                  config->attrs, config->numAttrs);
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
    return launch(kernel, grid, block, arguments, shared, stream, &attribute, 1);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, CUhostFn function, void *user)
{
    IN_CONTEXT(cuLaunchHostFunc(stream, function, user));
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* Finds a function; an unknown kernel is cudaErrorInvalidDeviceFunction. */
static cudaError_t function_of(const void *kernel, CUfunction *function)
{
    CUresult result = runtime_begin();
    if (result == CUDA_SUCCESS)
        result = runtime_find_function(kernel, function);
    return result == CUDA_ERROR_NOT_FOUND ? runtime_fail(cudaErrorInvalidDeviceFunction) : runtime_end(result);
}

#define OF_FUNCTION(call)                                          \
    do {                                                           \
        CUfunction function = NULL;                                \
        cudaError_t error_ = function_of(kernel, &function);       \
        return error_ == cudaSuccess ? runtime_end(call) : error_; \
    } while (0)

static int attribute_of(CUfunction function, CUfunction_attribute what)
{
    int value = 0;
    return cuFuncGetAttribute(&value, what, function) == CUDA_SUCCESS ? value : 0;
}

static CUresult fill_attributes(cudaFuncAttributes *out, CUfunction function)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (cudaFuncAttributes){
        .sharedSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        .constSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
        .localSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        .maxThreadsPerBlock = attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .numRegs = attribute_of(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
        .ptxVersion = attribute_of(function, CU_FUNC_ATTRIBUTE_PTX_VERSION),
        .binaryVersion = attribute_of(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
        .maxDynamicSharedSizeBytes = attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        .preferredShmemCarveout = attribute_of(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)};
    return CUDA_SUCCESS;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *kernel)
{
    OF_FUNCTION(fill_attributes(out, function));
}

cudaError_t cudaFuncSetAttribute(const void *kernel, CUfunction_attribute what, int value)
{
    OF_FUNCTION(cuFuncSetAttribute(function, what, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *kernel, CUfunc_cache config)
{
    OF_FUNCTION(cuFuncSetCacheConfig(function, config));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *kernel, CUsharedconfig config)
{
    OF_FUNCTION(cuFuncSetSharedMemConfig(function, config));
}

cudaError_t cudaFuncGetName(const char **name, const void *kernel)
{
    OF_FUNCTION(cuFuncGetName(name, function));
}

cudaError_t cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *bytes)
{
    OF_FUNCTION(cuFuncGetParamInfo(function, index, offset, bytes));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *out, const void *kernel)
{
    return out ? function_of(kernel, out) : runtime_fail(cudaErrorInvalidValue);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    return kernel ? __cudaGetKernel(kernel, host) : runtime_fail(cudaErrorInvalidValue);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
    OF_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                   size_t shared, unsigned flags)
{
    OF_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *kernel, int blocks, int threads)
{
    OF_FUNCTION(cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){config->gridDim.x,
                            config->gridDim.y,
                            config->gridDim.z,
                            config->blockDim.x,
                            config->blockDim.y,
                            config->blockDim.z,
                            (unsigned)config->dynamicSmemBytes,
                            config->stream,
                            config->attrs,
                            config->numAttrs};
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const cudaLaunchConfig_t *config)
{
    if (!config)
        return runtime_fail(cudaErrorInvalidValue);
    const CUlaunchConfig given = driver_config(config);
    OF_FUNCTION(cuOccupancyMaxPotentialClusterSize(size, function, &given));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config)
{
    if (!config)
        return runtime_fail(cudaErrorInvalidValue);
    const CUlaunchConfig given = driver_config(config);
    OF_FUNCTION(cuOccupancyMaxActiveClusters(clusters, function, &given));
}
