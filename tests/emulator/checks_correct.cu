/* SPDX-License-Identifier: Apache-2.0 */
/* checks_correct.cu - correct kernels that use each kind of synchronization. checks.c expects no finding.
 * Compile: nvcc -ptx -arch=sm_86 -lineinfo checks_correct.cu */
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

extern "C" __global__ void reduce_shared(const float *in, float *out)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = in[256 * blockIdx.x + t];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (t < step)
            tile[t] += tile[t + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}
// The last warp reduces without barriers, as code before Volta did; volatile accesses are strong.
extern "C" __global__ void reduce_volatile(const float *in, float *out)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = in[256 * blockIdx.x + t];
    __syncthreads();
    for (int step = 128; step >= 32; step /= 2) {
        if (t < step)
            tile[t] += tile[t + step];
        __syncthreads();
    }
    if (t < 32) {
        volatile float *last = tile;
        for (int step = 16; step > 0; step /= 2) {
            float x = last[t] + last[(t + step) & 31];
            __syncwarp();
            last[t] = x;
            __syncwarp();
        }
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}
extern "C" __global__ void reduce_shuffle(const float *in, float *out)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    float v = in[256 * blockIdx.x + t];
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_down_sync(~0u, v, step);
    if (t % 32 == 0)
        sums[t / 32] = v;
    __syncthreads();
    if (t < 8) {
        v = sums[t];
        for (int step = 4; step > 0; step /= 2)
            v += __shfl_down_sync(0xff, v, step, 8);
        if (t == 0)
            out[blockIdx.x] = v;
    }
}
extern "C" __global__ void warp_exchange(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncwarp();
    float x = tile[t ^ 1];
    __syncwarp();
    tile[t] = x;
    __syncwarp(t % 32 < 16 ? 0xffff : 0xffff0000);
    out[t] = tile[t ^ 8];
}
extern "C" __global__ void group_exchange(const float *in, float *out)
{
    namespace cg = cooperative_groups;
    __shared__ float tile[64];
    auto group = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    tile[t] = in[t];
    group.sync();
    out[t] = tile[t ^ 7];
}
extern "C" __global__ void named_barriers(const float *in, float *out)
{
    __shared__ float tile[128];
    int t = threadIdx.x, half = t / 64;
    for (int i = 0; i < 4; i++) {
        tile[t] = in[t] + i;
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        out[t] = tile[half * 64 + 63 - t % 64];
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    }
}
// Warp 0 produces, warp 1 consumes: bar.arrive on one side, bar.sync on the other.
extern "C" __global__ void producer_consumer(const float *in, float *out)
{
    __shared__ float tile[32];
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 8; i++) {
        if (threadIdx.x < 32) {
            if (i > 0)
                asm volatile("bar.sync 2, 64;" ::: "memory");
            tile[lane] = in[32 * i + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[32 * i + lane] = tile[31 - lane];
            if (i < 7)
                asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}
extern "C" __global__ void spin_lock_shared(const int *in, int *out)
{
    __shared__ int lock, sum;
    if (threadIdx.x == 0)
        lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence_block();
        sum += in[threadIdx.x / 32];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[threadIdx.x] = sum;
}
extern "C" __global__ void spin_lock_blocks(const int *in, int *lock, int *sum)
{
    bool is_done = false;
    while (!is_done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum += in[threadIdx.x];
            __threadfence();
            atomicExch(lock, 0);
            is_done = true;
        }
    }
}
extern "C" __global__ void flag_in_block(const int *in, int *out)
{
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[0];
        __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0) {
        }
        __threadfence_block();
        out[0] = data;
    }
}
extern "C" __global__ void last_block(const float *in, float *partial, unsigned *counter, float *out)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        is_last = atomicAdd(counter, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += partial[i];
        *out = sum;
    }
}
extern "C" __global__ void histogram(const int *in, int *out)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[256 * blockIdx.x + threadIdx.x] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
// Neighboring threads, and neighboring blocks, write bytes of the same word.
extern "C" __global__ void bytes(const unsigned char *in, unsigned char *out)
{
    __shared__ unsigned char tile[99];
    int t = threadIdx.x;
    tile[(t * 2) % 99] = in[99 * blockIdx.x + t];
    __syncthreads();
    out[99 * blockIdx.x + t] = tile[t];
}
extern "C" __global__ void halves(const half *in, half *out)
{
    int i = 33 * blockIdx.x + threadIdx.x;
    out[i] = __hadd(in[i], in[i]);
}
// 64 x 64 x K tiles, two stages.
extern "C" __global__ void gemm_double_buffered(const float *a, const float *b, float *c, int k)
{
    __shared__ __align__(16) float a_tile[2][64][16], b_tile[2][16][64];
    int t = threadIdx.x, row = 4 * (t / 16), col = 4 * (t % 16), n = 64 * gridDim.x;
    const float *a_block = a + (size_t)64 * blockIdx.y * k, *b_block = b + 64 * blockIdx.x;
    float sum[4][4] = {};
    auto load = [&](int stage, int k0) {
        __pipeline_memcpy_async(&a_tile[stage][t / 4][t % 4 * 4], &a_block[t / 4 * k + k0 + t % 4 * 4], 16);
        __pipeline_memcpy_async(&b_tile[stage][t / 16][col], &b_block[(size_t)(k0 + t / 16) * n + col], 16);
        __pipeline_commit();
    };
    load(0, 0);
    for (int k0 = 0; k0 < k; k0 += 16) {
        int stage = k0 / 16 % 2;
        if (k0 + 16 < k) {
            load(stage ^ 1, k0 + 16);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int p = 0; p < 16; p++) {
            float4 y = *(const float4 *)&b_tile[stage][p][col];
            for (int i = 0; i < 4; i++) {
                float x = a_tile[stage][row + i][p];
                sum[i][0] += x * y.x;
                sum[i][1] += x * y.y;
                sum[i][2] += x * y.z;
                sum[i][3] += x * y.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(size_t)(64 * blockIdx.y + row + i) * n + 64 * blockIdx.x + col + j] = sum[i][j];
}
// The sources of copies are written after the wait; of copies that are still in flight, the memory beside them is.
extern "C" __global__ void copy_sources(float *in, float *out)
{
    __shared__ __align__(16) float tile[2][256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[0][4 * t], &in[8 * t], 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&tile[1][4 * t], &in[8 * t + 4], 16, 12); // reads 4 bytes
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    *(float4 *)&in[(8 * t + 128) & 511] = make_float4(1, 2, 3, 4);
    in[8 * t + 5] = 5;
    in[8 * t + 7] = 7;
    __pipeline_wait_prior(0);
    __syncthreads();
    in[8 * t + 4] = tile[1][4 * t];
    out[t] = tile[0][t] + tile[1][t];
}
