/* SPDX-License-Identifier: Apache-2.0 */
/* driver_api.c - calls functions of the CUDA driver in the ways in which programs find them: linked with libcuda.so.1
 * (-DLINKED), or by dlopen and cuGetProcAddress. Loads PTX, a fat binary or a cubin from the file of its first argument, or
 * compiles CUDA C++ with NVRTC if that is the argument "nvrtc". Prints "driver: passed", or the lines that failed. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            failures++;                                    \
            printf("line %d: %s\n", __LINE__, #condition); \
        }                                                  \
    } while (0)
#define OK(call) CHECK((call) == CUDA_SUCCESS)

#ifdef LINKED
#define DRIVER(name) name
static void find_driver(void)
{
}
#else
/* The functions of the program, found at run time. */
static CUresult (*get_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static void *address_of(const char *name)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    CUresult result = get_address(name, &found, 12000, 0, &status);
    if (result != CUDA_SUCCESS || !found) {
        printf("cuGetProcAddress does not find %s\n", name);
        exit(1);
    }
    return found;
}
#define DRIVER(name) ((__typeof__(&name))address_of(#name))
static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library)
        get_address = (__typeof__(get_address))dlsym(library, "cuGetProcAddress_v2");
    if (!get_address) {
        printf("libcuda.so.1 was not found: %s\n", dlerror());
        exit(1);
    }
}
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuModuleGetGlobal
#undef cuMemsetD32
#undef cuMemsetD16
#undef cuMemcpy2D
#undef cuGraphAddKernelNode
#undef cuGraphInstantiate
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuDevicePrimaryCtxRelease
#undef cuMemcpyDtoD
#undef cuStreamDestroy
CUresult cuMemAlloc(CUdeviceptr *, size_t), cuMemFree(CUdeviceptr), cuMemcpyHtoD(CUdeviceptr, const void *, size_t),
    cuMemcpyDtoH(void *, CUdeviceptr, size_t), cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *),
    cuMemsetD32(CUdeviceptr, unsigned, size_t), cuMemsetD16(CUdeviceptr, unsigned short, size_t),
    cuMemcpy2D(const CUDA_MEMCPY2D *), cuMemcpyDtoD(CUdeviceptr, CUdeviceptr, size_t),
    cuGraphAddKernelNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS *),
    cuGraphInstantiate(CUgraphExec *, CUgraph, unsigned long long), cuDevicePrimaryCtxRelease(CUdevice),
    cuLinkCreate(unsigned, CUjit_option *, void **, CUlinkState *), cuStreamDestroy(CUstream),
    cuLinkAddData(CUlinkState, CUjitInputType, void *, size_t, const char *, unsigned, CUjit_option *, void **);
#endif

/* ---- Code ------------------------------------------------------------------------------------------------- */

static const char source[] = "extern \"C\" __device__ int offset = 3;\n"
                             "extern \"C\" __global__ void shift(int *x, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) x[i] += offset;\n"
                             "}\n";

/* Compiles the source with NVRTC, which is loaded at run time. */
static char *compile(void)
{
    void *program = NULL, *library = dlopen("libnvrtc.so.12", RTLD_NOW);
    size_t bytes = 0;
    const char *options[] = {"--gpu-architecture=compute_75"};
    if (!library) {
        printf("libnvrtc.so.12 was not found: %s\n", dlerror());
        exit(77);
    }
    int (*create)(void **, const char *, const char *, int, const char **, const char **) = dlsym(library,
                                                                                                  "nvrtcCreateProgram");
    int (*run)(void *, int, const char **) = dlsym(library, "nvrtcCompileProgram");
    int (*size)(void *, size_t *) = dlsym(library, "nvrtcGetPTXSize"),
                               (*get)(void *, char *) = dlsym(library, "nvrtcGetPTX");
    CHECK(create(&program, source, "shift.cu", 0, NULL, NULL) == 0 && run(program, 1, options) == 0);
    CHECK(size(program, &bytes) == 0);
    char *ptx = malloc(bytes + 1);
    CHECK(ptx && get(program, ptx) == 0);
    return ptx;
}

static char *read_file(const char *name, size_t *bytes)
{
    FILE *file = fopen(name, "rb");
    char *text = malloc(1 << 20);
    if (!file || !text) {
        printf("%s cannot be read\n", name);
        exit(1);
    }
    *bytes = fread(text, 1, (1 << 20) - 1, file);
    text[*bytes] = '\0';
    fclose(file);
    return text;
}

/* ---- Tests ------------------------------------------------------------------------------------------------- */

enum { N = 100 };

static void test_launch(CUfunction function, CUdeviceptr offset)
{
    CUdeviceptr x = 0, y = 0;
    int n = N, host[N], value = 5;
    OK(DRIVER(cuMemAlloc)(&x, sizeof host));
    OK(DRIVER(cuMemsetD32)(x, 7, N));
    void *arguments[] = {&x, &n};
    OK(DRIVER(cuLaunchKernel)(function, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    OK(DRIVER(cuMemcpyDtoH)(host, x, sizeof host));
    CHECK(host[0] == 10 && host[N - 1] == 10);
    OK(DRIVER(cuMemcpyHtoD)(offset, &value, sizeof value));
    struct {
        CUdeviceptr x;
        int n;
    } buffer = {x, 10};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    OK(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    OK(DRIVER(cuMemAlloc)(&y, sizeof host));
    OK(DRIVER(cuMemcpyDtoD)(y, x, sizeof host));
    OK(DRIVER(cuMemcpyDtoH)(host, y, sizeof host));
    CHECK(host[9] == 15 && host[10] == 10);
    OK(DRIVER(cuMemsetD16)(y, 0x0102, 2));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = y,
                          .srcPitch = 20,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = host,
                          .dstPitch = 8,
                          .WidthInBytes = 8,
                          .Height = 3};
    OK(DRIVER(cuMemcpy2D)(&copy));
    CHECK(host[0] == 0x01020102 && host[2] == 15 && host[4] == 10);
    CHECK(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 2000, 1, 1, 0, NULL, arguments, NULL) == CUDA_ERROR_INVALID_VALUE);
    OK(DRIVER(cuMemFree)(x));
    OK(DRIVER(cuMemFree)(y));
}

static void test_graph(CUfunction function)
{
    CUdeviceptr x = 0;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream;
    int n = N, host[N];
    void *arguments[] = {&x, &n};
    OK(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    OK(DRIVER(cuMemAlloc)(&x, sizeof host));
    OK(DRIVER(cuMemsetD32)(x, 0, N));
    OK(DRIVER(cuGraphCreate)(&graph, 0));
    CUDA_KERNEL_NODE_PARAMS parameters = {.func = function,
                                          .gridDimX = 2,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 64,
                                          .blockDimY = 1,
                                          .blockDimZ = 1,
                                          .kernelParams = arguments};
    OK(DRIVER(cuGraphAddKernelNode)(&node, graph, NULL, 0, &parameters));
    OK(DRIVER(cuGraphInstantiate)(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(DRIVER(cuGraphLaunch)(exec, stream));
    OK(DRIVER(cuStreamSynchronize)(stream));
    OK(DRIVER(cuMemcpyDtoH)(host, x, sizeof host));
    CHECK(host[50] == 15);
    OK(DRIVER(cuGraphExecDestroy)(exec));
    OK(DRIVER(cuGraphDestroy)(graph));
    OK(DRIVER(cuMemFree)(x));
    OK(DRIVER(cuStreamDestroy)(stream));
}

static void test_library(const void *image)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUmodule module;
    const char *name = NULL;
    OK(DRIVER(cuLibraryLoadData)(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(DRIVER(cuLibraryGetKernel)(&kernel, library, "shift"));
    OK(DRIVER(cuKernelGetFunction)(&function, kernel));
    OK(DRIVER(cuFuncGetModule)(&module, function));
    CHECK(DRIVER(cuLibraryGetKernel)(&kernel, library, "nothing") == CUDA_ERROR_NOT_FOUND);
    OK(DRIVER(cuGetErrorName)(CUDA_ERROR_NOT_FOUND, &name));
    CHECK(name && strcmp(name, "CUDA_ERROR_NOT_FOUND") == 0);
    OK(DRIVER(cuLibraryUnload)(library));
}

static void test_linker(char *ptx, size_t bytes)
{
    CUlinkState state;
    CUmodule module;
    void *image = NULL;
    size_t size = 0;
    OK(DRIVER(cuLinkCreate)(0, NULL, NULL, &state));
    OK(DRIVER(cuLinkAddData)(state, CU_JIT_INPUT_PTX, ptx, bytes, "shift", 0, NULL, NULL));
    OK(DRIVER(cuLinkComplete)(state, &image, &size));
    OK(DRIVER(cuModuleLoadData)(&module, image));
    OK(DRIVER(cuLinkDestroy)(state));
    OK(DRIVER(cuModuleUnload)(module));
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr offset = 0;
    size_t bytes = 0, size = 0;
    int count = 0, occupancy = 0;
    bool is_nvrtc = argc > 1 && strcmp(argv[1], "nvrtc") == 0;
    find_driver();
    char *image = is_nvrtc ? compile() : read_file(argc > 1 ? argv[1] : "shift.ptx", &bytes);
    OK(DRIVER(cuInit)(0));
    OK(DRIVER(cuDeviceGetCount)(&count));
    CHECK(count >= 1);
    OK(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0));
    OK(DRIVER(cuCtxSetCurrent)(context));
    CUresult loaded = DRIVER(cuModuleLoadData)(&module, image);
    if (argc > 2) { /* the expected error */
        printf("driver: %d\n", (int)loaded);
        return 0;
    }
    OK(loaded);
    OK(DRIVER(cuModuleGetFunction)(&function, module, "shift"));
    OK(DRIVER(cuModuleGetGlobal)(&offset, &size, module, "offset"));
    CHECK(size == sizeof(int));
    OK(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&occupancy, function, 512, 0));
    CHECK(occupancy >= 2);
    test_launch(function, offset);
    test_graph(function);
    test_library(image);
    if (strncmp(image, "\x50\xed\x55\xba", 4) != 0)
        test_linker(image, strlen(image));
    OK(DRIVER(cuModuleUnload)(module));
    OK(DRIVER(cuDevicePrimaryCtxRelease)(0));
    printf(failures ? "driver: %d failures\n" : "driver: passed\n", failures);
    free(image);
    return failures > 0;
}
