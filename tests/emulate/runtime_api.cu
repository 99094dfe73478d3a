/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_api.cu - calls the functions of the CUDA runtime and checks their results. Prints the number of checks, or the lines
 * that failed. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

static int checks, failures;

#define CHECK(condition)                                                                                      \
    do {                                                                                                      \
        checks++;                                                                                             \
        if (!(condition)) {                                                                                   \
            failures++;                                                                                       \
            printf("line %d: %s (last error: %s)\n", __LINE__, #condition, cudaGetErrorName(cudaPeekAtLastError())); \
        }                                                                                                     \
    } while (0)
#define OK(call) CHECK((call) == cudaSuccess)

enum { N = 1000 };
__device__ int counter;
__constant__ float factors[4];
__managed__ int managed_sum;
__device__ float table[3][5];

__global__ void fill(int *x, int n, int value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = value + i;
}

__global__ void add(int *x, const int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += y[i];
}

__global__ void count(int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(&counter, 1);
}

__global__ void use_symbols(float *out)
{
    out[threadIdx.x] = factors[threadIdx.x] + table[1][threadIdx.x];
    if (threadIdx.x == 0)
        managed_sum = 42;
}

__global__ void dynamic_shared(int *out)
{
    extern __shared__ int shared[];
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

template <typename T, int FACTOR> __global__ void times(T *x)
{
    x[threadIdx.x] *= FACTOR;
}

struct pair {
    float first;
    double second;
    char tail[3];
};

__global__ void take_struct(pair value, double *out)
{
    *out = value.first + value.second + value.tail[2];
}

__global__ void grid_sum(const int *x, int *partial, int *out, int n)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    atomicAdd(&partial[blockIdx.x], sum);
    grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; b++)
            total += partial[b];
        *out = total;
    }
}

static std::vector<int> download(const int *from, int n)
{
    std::vector<int> host(n);
    OK(cudaMemcpy(host.data(), from, n * sizeof(int), cudaMemcpyDeviceToHost));
    return host;
}

static void test_devices()
{
    int count = 0, device = -1, value = 0, runtime = 0, driver = 0;
    cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
    OK(cudaGetDeviceProperties(&properties, 0));
    CHECK(strcmp(properties.name, "GeForce RTX 3090") == 0);
    CHECK(properties.major == 8 && properties.minor == 6 && properties.warpSize == 32);
    CHECK(properties.multiProcessorCount == 82 && properties.maxThreadsPerBlock == 1024);
    CHECK(properties.maxGridSize[0] == 2147483647 && properties.maxThreadsDim[2] == 64);
    CHECK(properties.sharedMemPerBlockOptin == 101376 && properties.memoryPoolsSupported == 1);
    CHECK(properties.totalGlobalMem > size_t(1) << 30 && properties.l2CacheSize == 6144 * 1024);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == 82);
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    CHECK(runtime / 1000 == CUDART_VERSION / 1000 && driver >= runtime);
    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    size_t available = 0, total = 0;
    OK(cudaMemGetInfo(&available, &total));
    CHECK(available <= total && total == properties.totalGlobalMem);
    char bus[20];
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 0);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    OK(cudaDeviceGetLimit(&available, cudaLimitMallocHeapSize));
    CHECK(available == 1 << 20);
}

static void test_launches()
{
    int *x = nullptr;
    OK(cudaMalloc(&x, N * sizeof(int)));
    fill<<<3, 100>>>(x, N, 5);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    CHECK(download(x, N)[N - 1] == 5 + N - 1);
    times<int, 3><<<1, 32>>>(x);
    CHECK(download(x, 2)[1] == 18);
    dynamic_shared<<<1, 64, 64 * sizeof(int)>>>(x);
    CHECK(download(x, 64)[0] == 63);
    fill<<<1, 2000>>>(x, N, 0);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    fill<<<0, 32>>>(x, N, 0);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    dynamic_shared<<<1, 64, 90000>>>(x);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 90000));
    dynamic_shared<<<1, 64, 90000>>>(x);
    OK(cudaGetLastError());
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, dynamic_shared));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == 90000);
    int blocks = 0, grid = 0, block = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
    CHECK(blocks == 6);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
    CHECK(block == 768 && grid == 164);
    double *sum = nullptr, result = 0;
    OK(cudaMalloc(&sum, sizeof *sum));
    take_struct<<<1, 1>>>(pair{1.5f, 2.25, {1, 2, 3}}, sum);
    OK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDefault));
    CHECK(result == 6.75);
    void *arguments[] = {&x, (void *)&(const int &)N, (void *)&(const int &)7};
    int n = N, value = 7;
    arguments[1] = &n, arguments[2] = &value;
    OK(cudaLaunchKernel((const void *)fill, dim3(2), dim3(64), arguments, 0, nullptr));
    CHECK(download(x, N)[10] == 17);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2), config.blockDim = dim3(128);
    OK(cudaLaunchKernelEx(&config, fill, x, n, 9));
    CHECK(download(x, N)[10] == 19);
    int *partial = nullptr, *total = nullptr;
    OK(cudaMalloc(&partial, 4 * sizeof(int)));
    OK(cudaMalloc(&total, sizeof(int)));
    OK(cudaMemset(partial, 0, 4 * sizeof(int)));
    fill<<<4, 64>>>(x, N, 0);
    void *of_sum[] = {&x, &partial, &total, &n};
    OK(cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(4), dim3(64), of_sum, 0, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(download(total, 1)[0] == N * (N - 1) / 2);
    for (void *memory : {(void *)x, (void *)sum, (void *)partial, (void *)total})
        OK(cudaFree(memory));
    OK(cudaFree(nullptr));
    CHECK(cudaFree((void *)16) == cudaErrorInvalidValue);
    cudaGetLastError();
}

static void test_symbols()
{
    int zero = 0, counted = 0;
    float host[4] = {1, 2, 3, 4}, row[5] = {10, 20, 30, 40, 50}, found[4] = {}, *out = nullptr;
    size_t bytes = 0;
    void *address = nullptr;
    OK(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    count<<<10, 64>>>(500);
    OK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    CHECK(counted == 500);
    OK(cudaMemcpyToSymbol(factors, host, sizeof host));
    OK(cudaMemcpyToSymbol(table, row, sizeof row, sizeof row));
    OK(cudaMalloc(&out, sizeof found));
    managed_sum = 7;
    use_symbols<<<1, 4>>>(out);
    OK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(found[0] == 11 && found[3] == 44 && managed_sum == 42);
    OK(cudaGetSymbolSize(&bytes, table));
    CHECK(bytes == sizeof(float) * 15);
    OK(cudaGetSymbolAddress(&address, counter));
    CHECK(download((int *)address, 1)[0] == 500);
    CHECK(cudaMemcpyToSymbol(factors, host, 400) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFree(out));
}

static void test_memory()
{
    int *managed = nullptr, *pinned = nullptr, *device = nullptr, *view = nullptr;
    OK(cudaMallocManaged(&managed, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        managed[i] = i;
    OK(cudaMallocHost(&pinned, N * sizeof(int)));
    OK(cudaMalloc(&device, N * sizeof(int)));
    fill<<<4, 256>>>(device, N, 1);
    add<<<4, 256>>>(managed, device, N);
    OK(cudaDeviceSynchronize());
    CHECK(managed[10] == 21);
    OK(cudaHostGetDevicePointer(&view, pinned, 0));
    fill<<<4, 256>>>(view, N, 3);
    OK(cudaDeviceSynchronize());
    CHECK(pinned[5] == 8);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == managed);
    OK(cudaPointerGetAttributes(&attributes, device + 3));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device + 3);
    OK(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, &attributes));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    std::vector<int> registered(N);
    OK(cudaHostRegister(registered.data(), N * sizeof(int), cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(registered.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaDeviceSynchronize());
    CHECK(registered[9] == 10);
    OK(cudaHostUnregister(registered.data()));
    size_t pitch = 0;
    char *rows = nullptr, host[6][10], back[6][10];
    OK(cudaMallocPitch(&rows, &pitch, 10, 6));
    CHECK(pitch >= 10 && pitch % 256 == 0);
    for (int i = 0; i < 60; i++)
        host[i / 10][i % 10] = char(i);
    OK(cudaMemset2D(rows, pitch, 9, 10, 6));
    OK(cudaMemcpy2D(rows + pitch, pitch, host[1], 10, 10, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 10, rows, pitch, 10, 6, cudaMemcpyDeviceToHost));
    CHECK(back[0][3] == 9 && back[1][3] == 13 && back[4][9] == 49 && back[5][0] == 9);
    CHECK(cudaMemcpy2D(back, 5, rows, pitch, 10, 6, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
    cudaGetLastError();
    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(8, 4, 3)));
    OK(cudaMemset3D(box, 5, make_cudaExtent(8, 4, 3)));
    char cube[3][4][8] = {};
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(cube, 8, 8, 4);
    copy.extent = make_cudaExtent(8, 4, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    CHECK(cube[1][3][7] == 5 && cube[2][0][0] == 0);
    OK(cudaMemset(device, 0xff, N * sizeof(int)));
    CHECK(download(device, N)[N - 1] == -1);
    int *second = nullptr;
    OK(cudaMalloc(&second, N * sizeof(int)));
    OK(cudaMemcpy(second, device, N * sizeof(int), cudaMemcpyDeviceToDevice));
    CHECK(download(second, N)[0] == -1);
    CHECK(cudaMemcpy(second, device, 2 * N * sizeof(int), cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(second, device, 4, cudaMemcpyKind(9)) == cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
    int *from_pool = nullptr;
    cudaMemPool_t pool;
    OK(cudaMallocAsync(&from_pool, 4096, 0));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long used = 0;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used == 4096);
    OK(cudaFreeAsync(from_pool, 0));
    OK(cudaFreeHost(pinned));
    for (void *memory : {(void *)managed, (void *)device, (void *)second, (void *)rows, box.ptr})
        OK(cudaFree(memory));
    void *nothing = &nothing;
    OK(cudaMalloc(&nothing, 0));
    CHECK(nothing == nullptr);
    CHECK(cudaMalloc(&nothing, size_t(1) << 60) == cudaErrorMemoryAllocation);
    cudaGetLastError();
}

static void CUDART_CB set_flag(void *flag)
{
    *(int *)flag = 1;
}

static void test_streams()
{
    cudaStream_t streams[2];
    cudaEvent_t start, end;
    int *x = nullptr, *y = nullptr, flag = 0, priority = 1;
    unsigned flags = 9;
    float milliseconds = -1;
    OK(cudaMalloc(&x, N * sizeof(int)));
    OK(cudaMalloc(&y, N * sizeof(int)));
    OK(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));
    OK(cudaStreamCreate(&streams[1]));
    OK(cudaStreamGetFlags(streams[0], &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetPriority(streams[0], &priority));
    CHECK(priority == 0);
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    fill<<<2, 64, 0, streams[0]>>>(x, N, 1);
    OK(cudaEventRecord(start, streams[0]));
    OK(cudaStreamWaitEvent(streams[1], start, 0));
    fill<<<2, 64, 0, streams[1]>>>(y, N, 0);
    add<<<4, 256, 0, streams[1]>>>(y, x, N);
    OK(cudaLaunchHostFunc(streams[1], set_flag, &flag));
    OK(cudaEventRecord(end, streams[1]));
    OK(cudaEventSynchronize(end));
    CHECK(flag == 1);
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    OK(cudaStreamQuery(streams[1]));
    CHECK(download(y, N)[100] == 201); /* the default stream waits for blocking streams */
    fill<<<2, 64, 0, streams[1]>>>(y, N, 70);
    CHECK(download(y, N)[0] == 70);
    int found = 0;
    std::thread other([&] {
        fill<<<2, 64, 0, streams[0]>>>(x, N, 30);
        cudaStreamSynchronize(streams[0]);
        found = download(x, N)[1];
    });
    other.join();
    CHECK(found == 31);
    OK(cudaStreamDestroy(streams[0]));
    OK(cudaStreamDestroy(streams[1]));
    CHECK(cudaStreamSynchronize(streams[1]) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaFree(x));
    OK(cudaFree(y));
}

static void test_graphs()
{
    cudaStream_t stream;
    cudaGraph_t captured, built;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    size_t nodes = 0;
    int *x = nullptr, *y = nullptr, n = N, one = 1, back[N];
    OK(cudaMalloc(&x, N * sizeof(int)));
    OK(cudaMalloc(&y, N * sizeof(int)));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<2, 64, 0, stream>>>(x, N, 2);
    OK(cudaMemsetAsync(y, 0, N * sizeof(int), stream));
    add<<<4, 256, 0, stream>>>(y, x, N);
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphGetNodes(captured, nullptr, &nodes));
    CHECK(nodes == 3);
    OK(cudaGraphInstantiate(&exec, captured, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(download(y, N)[3] == 5);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(captured));

    cudaGraphNode_t first, second, third;
    void *of_fill[] = {&x, &n, &one}, *of_add[] = {&y, &x, &n};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)fill, kernel.gridDim = dim3(2), kernel.blockDim = dim3(64), kernel.kernelParams = of_fill;
    OK(cudaGraphCreate(&built, 0));
    OK(cudaGraphAddKernelNode(&first, built, nullptr, 0, &kernel));
    cudaMemsetParams clear = {};
    clear.dst = y, clear.elementSize = 4, clear.value = 100, clear.width = N, clear.height = 1;
    OK(cudaGraphAddMemsetNode(&second, built, nullptr, 0, &clear));
    kernel.func = (void *)add, kernel.gridDim = dim3(4), kernel.blockDim = dim3(256), kernel.kernelParams = of_add;
    cudaGraphNode_t both[] = {first, second};
    OK(cudaGraphAddKernelNode(&third, built, both, 2, &kernel));
    cudaGraphNode_t last;
    OK(cudaGraphAddMemcpyNode1D(&last, built, &third, 1, back, y, sizeof back, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&exec, built, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == 101 && back[N - 1] == 100 + N);
    one = 1000;
    kernel.func = (void *)fill, kernel.gridDim = dim3(2), kernel.blockDim = dim3(64), kernel.kernelParams = of_fill;
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &kernel));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == 1100);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(built));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    OK(cudaFree(y));
}

static void test_reset()
{
    int *x = nullptr;
    OK(cudaDeviceReset());
    OK(cudaMalloc(&x, N * sizeof(int)));
    fill<<<4, 256>>>(x, N, 4);
    CHECK(download(x, N)[1] == 5);
    fill<<<4, 256>>>(x + N, N, 4); /* out of bounds */
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(cudaMalloc(&x, 4) == cudaErrorIllegalAddress); /* the context is lost */
    OK(cudaDeviceReset());
    OK(cudaMalloc(&x, 4));
}

int main()
{
    test_devices();
    test_launches();
    test_symbols();
    test_memory();
    test_streams();
    test_graphs();
    test_reset();
    printf("%d checks, %d failures\n", checks, failures);
    return failures > 0;
}
