/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu - kernels for cuda_files.sh, with the host code that such files have. */
#include <cstdio>
#include <cuda_fp16.h>

struct Matrix {
    int width;
    float *elements;
};

constexpr int BLOCK = 128;

namespace space {
__global__ void saxpy(int n, float a, const float *__restrict__ x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
}

__global__ void saxpy_out_of_bounds(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];
}

// The sum of each block; SYNCED 0 leaves out a barrier.
template <int SYNCED, typename T = float>
__global__ void reduce(const T *in, T *out, size_t n)
{
    __shared__ T part[BLOCK];
    int t = threadIdx.x;
    size_t i = (size_t)blockIdx.x * BLOCK + t;
    part[t] = i < n ? in[i] : T(0);
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s)
            part[t] += part[t + s];
        if (!SYNCED)
            part[BLOCK - 1 - t] += T(0);
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

__global__ void uninitialised(float *out)
{
    extern __shared__ float tile[];
    if (threadIdx.x > 0)
        tile[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void fields(Matrix m, float4 v, __half h, bool flag, const int *, long long large)
{
    if (threadIdx.x < m.width)
        m.elements[threadIdx.x] = flag ? v.y + __half2float(h) + (float)large : 0;
}

__constant__ float filter[3];
static __constant__ int factor[1];

__global__ void filtered(const float *in, float *out)
{
    float sum = 0;
    for (int i = 0; i < 3; i++)
        sum += filter[i] * in[threadIdx.x + i];
    out[threadIdx.x] = factor[0] * sum;
}

__global__ void produce(float *made) { made[threadIdx.x] = threadIdx.x; }
__global__ void consume(const float *taken, float *result) { result[threadIdx.x] = 2 * taken[threadIdx.x]; }

__global__ void endless(const volatile int *flag)
{
    while (*flag == 0)
        ;
}

__global__ void print_it() { printf("printed by thread %d\n", threadIdx.x); }

int main()
{
    float *x = nullptr;
    space::saxpy<<<4, 256>>>(1000, 2, x, x);
    printf("%d\n", (int)cudaDeviceSynchronize());
}
