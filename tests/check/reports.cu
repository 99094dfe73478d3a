/* SPDX-License-Identifier: Apache-2.0 */
/* reports.cu - kernels for reports.sh: mistakes whose report needs more than the kind of the finding, and kernels whose names need
 * help of rung check. A comment marks the line that is reported. */
#include <cooperative_groups.h>

__global__ void shift_vectors(const float *from, float *to)
{
    float4 four = *reinterpret_cast<const float4 *>(from + 4 * threadIdx.x + 2); // misaligned load
    *reinterpret_cast<float4 *>(to + 4 * threadIdx.x) = four;
}

__global__ void tally(const int *values, int *totals)
{
    __shared__ int count[10];
    if (threadIdx.x < 10)
        count[threadIdx.x] = 0;
    __syncthreads();
    count[values[threadIdx.x]]++; // update without an atomic operation
    __syncthreads();
    if (threadIdx.x < 10)
        totals[threadIdx.x] = count[threadIdx.x];
}

__device__ int finished;
__global__ void last_block_adds(volatile int *parts, int *total)
{
    if (threadIdx.x != 0)
        return;
    parts[blockIdx.x] = blockIdx.x;
    if (atomicAdd(&finished, 1) == gridDim.x - 1) { // without a fence
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++)
            sum += parts[i];
        *total = sum;
        finished = 0;
    }
}

// The lanes of a warp exchange elements; SYNCED 0 leaves out __syncwarp().
template <int SYNCED>
__global__ void warp_sum(const int *in, int *out)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = in[t];
    words[t + 32] = 0;
    __syncthreads();
    volatile int *v = words;
    for (int d = 16; d > 0; d /= 2) {
        int sum = v[t] + v[t + d]; // exchange in lockstep
        if (SYNCED)
            __syncwarp();
        v[t] = sum;
        if (SYNCED)
            __syncwarp();
    }
    if (t == 0)
        *out = v[0];
}

// A lane waits for a flag of another one, which is no exchange.
__global__ void wait_for_flag(const int *in, int *out)
{
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        flag = 1 + in[0] * 0;
    while (flag == 0) {
    }
    out[threadIdx.x] = flag;
}

__global__ void neighbours(const int *step, float *out)
{
    __shared__ float left[32], right[32];
    left[threadIdx.x] = threadIdx.x;
    right[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.x] = left[threadIdx.x + step[0]] + right[31 - threadIdx.x]; // past the end of left
}

__global__ void any(const int *x, int *found, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < 0)
        atomicExch(found, 1);
}

__global__ void twice(float *x, float factor) { x[threadIdx.x] *= factor; }
__global__ void twice(double *x, double factor) { x[threadIdx.x] *= factor; } // of doubles

__global__ void two_steps(float *x, float *y)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    x[grid.thread_rank()] = 1;
    grid.sync(); // not cooperative
    y[grid.thread_rank()] = x[grid.num_threads() - 1 - grid.thread_rank()];
}

template <int WIDTH> __global__ void instantiated(int *x) { x[threadIdx.x % WIDTH] = WIDTH; }
template __global__ void instantiated<32>(int *);

template <typename T, int WIDTH> __global__ void launched(T *x) { x[threadIdx.x % WIDTH] = WIDTH; }
void host(float *x) { launched<float, 32><<<1, 32>>>(x); }

__global__ void allocates(int **x)
{
    x[threadIdx.x] = static_cast<int *>(malloc(4)); // heap
}

__global__ void barrier_for_some(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { x[i] *= 2; __syncthreads(); x[i] += 1; } // barrier in a branch
}

__global__ void store(int *x, int n) { x[threadIdx.x] = n; } // null pointer
