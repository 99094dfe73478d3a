/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_12.c - a program of CUDA 12: functions and structures of the runtime that differ from CUDA 13, and several devices.
 * It registers the fat binary of its first argument as programs of nvcc do. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUDART_VERSION / 1000 != 12
#error "compile with the headers of CUDA 12"
#endif

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, dim3 *block_size, dim3 *grid_size, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external, size_t bytes,
                       int is_constant, int is_global);

static int failures;
#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            failures++;                                    \
            printf("line %d: %s\n", __LINE__, #condition); \
        }                                                  \
    } while (0)
#define OK(call) CHECK((call) == cudaSuccess)

static struct {
    int magic, version;
    void *data, *names;
} wrapper = {0x466243b1, 1, NULL, NULL};
static char shift, offset; /* their addresses stand for the kernel and the variable */

static void register_code(const char *name)
{
    FILE *file = fopen(name, "rb");
    wrapper.data = malloc(1 << 20);
    if (!file || !wrapper.data || fread(wrapper.data, 1, 1 << 20, file) == 0) {
        printf("%s cannot be read\n", name);
        exit(1);
    }
    fclose(file);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &shift, "shift", "shift", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &offset, "offset", "offset", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

/* Runs the kernel on a device; each device has its own variable. */
static void test_device(int device, int addend)
{
    enum { N = 100 };
    int *x = NULL, n = N, host[N], active = -1;
    void *arguments[] = {&x, &n};
    struct cudaDeviceProp properties;
    OK(cudaSetDevice(device));
    OK(cudaGetDevice(&active));
    CHECK(active == device);
    OK(cudaGetDeviceProperties(&properties, device)); /* cudaGetDeviceProperties_v2 */
    CHECK(properties.clockRate > 1000000 && properties.memoryClockRate > 0 && properties.major == 8);
    CHECK(properties.pciBusID == 1 + device && properties.memoryPoolsSupported == 1);
    OK(cudaMemcpyToSymbol(&offset, &addend, sizeof addend, 0, cudaMemcpyHostToDevice));
    OK(cudaMallocManaged((void **)&x, sizeof host, cudaMemAttachGlobal));
    memset(x, 0, sizeof host);
    OK(cudaMemPrefetchAsync(x, sizeof host, device, NULL));
    OK(cudaMemAdvise(x, sizeof host, cudaMemAdviseSetReadMostly, device));
    OK(cudaLaunchKernel(&shift, (dim3){2, 1, 1}, (dim3){64, 1, 1}, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
    CHECK(x[0] == addend && x[N - 1] == addend);
    OK(cudaFree(x));
}

static void test_peers(void)
{
    int can = 0, value = 42, back = 0, *near = NULL, *far = NULL;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&far, sizeof value));
    OK(cudaMemcpy(far, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    OK(cudaMalloc((void **)&near, sizeof value));
    OK(cudaMemcpyPeer(near, 0, far, 1, sizeof value));
    OK(cudaMemcpy(&back, near, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 42);
}

int main(int argc, char **argv)
{
    int count = 0, version = 0;
    register_code(argc > 1 ? argv[1] : "shift.fatbin");
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == 12);
    OK(cudaGetDeviceCount(&count));
    test_device(0, 5);
    if (count > 1) {
        test_device(1, 7);
        test_device(0, 9);
        test_peers();
    }
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaDeviceSynchronize());
    printf("CUDA 12: %d devices, %d failures\n", count, failures);
    return failures > 0;
}
