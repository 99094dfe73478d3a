/* SPDX-License-Identifier: Apache-2.0 */
/* checks_bugs.cu - kernels with one planted bug each. checks.c finds a line by its mark: "BUG name" is where the finding
 * must be, "OTHER name" is the other side of the conflict. Compile: nvcc -ptx -arch=sm_86 -lineinfo checks_bugs.cu */
#include <cuda_pipeline.h>

__constant__ float constant_table[8] = {1, 2, 3, 4, 5, 6, 7, 8};

extern "C" __global__ void bounds_read(const float *in, float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = in[t + 1]; // BUG bounds_read
}
extern "C" __global__ void bounds_write(const float *in, float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[t];
    out[t + 1] = x; // BUG bounds_write
}
extern "C" __global__ void bounds_before(const float *in, float *out)
{
    int t = threadIdx.x;
    out[t] = in[t - 1]; // BUG bounds_before
}
extern "C" __global__ void bounds_shared(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t + 1]; // BUG bounds_shared
}
extern "C" __global__ void bounds_byte_array(const unsigned char *in, unsigned char *out)
{
    int t = threadIdx.x;
    out[t] = in[t + 3]; // BUG bounds_byte_array
}
extern "C" __global__ void misaligned(const float *in, float *out)
{
    float4 v = *(const float4 *)(in + threadIdx.x % 4); // BUG misaligned
    out[threadIdx.x] = v.x + v.w;
}
extern "C" __global__ void use_after_free(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x]; // BUG use_after_free
}
extern "C" __global__ void constant_write(const float *in, float *out)
{
    float *table;
    asm("mov.u64 %0, %1;" : "=l"(table) : "l"(constant_table)); // hides from the compiler that the memory is constant
    table[threadIdx.x & 7] = in[threadIdx.x]; // BUG constant_write
    out[threadIdx.x] = 0;
}
extern "C" __global__ void divide_by_zero(const int *in, int *out)
{
    out[threadIdx.x] = 100 / in[threadIdx.x]; // BUG divide_by_zero
}
extern "C" __global__ void uninitialized_global(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x]; // BUG uninitialized_global
}
extern "C" __global__ void uninitialized_shared(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    if (t < 60)
        tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t]; // BUG uninitialized_shared
}
extern "C" __global__ void uninitialized_local(const int *in, int *out)
{
    int a[16], t = threadIdx.x;
    for (int i = 0; i < 15; i++)
        a[(in[i] + i) & 15] = t;
    out[t] = a[in[t] & 15]; // BUG uninitialized_local
}
extern "C" __global__ void race_shared_read(const float *in, float *out)
{
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = in[t]; // BUG race_shared_read
    out[t] = tile[(t + 37) & 255]; // OTHER race_shared_read
}
// The second barrier of a tile loop is missing.
extern "C" __global__ void race_shared_reuse(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        tile[t] = in[64 * i + t]; // BUG race_shared_reuse
        __syncthreads();
        for (int j = 0; j < 64; j++)
            sum += tile[j]; // OTHER race_shared_reuse
    }
    out[t] = sum;
}
extern "C" __global__ void race_shared_writes(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t % 32] = in[t]; // BUG race_shared_writes
    __syncthreads();
    out[t] = tile[t % 32];
}
extern "C" __global__ void race_warp(const float *in, float *out)
{
    __shared__ float tile[32];
    int t = threadIdx.x;
    tile[t] = in[t]; // BUG race_warp
    out[t] = tile[t ^ 1]; // OTHER race_warp
}
// Only half of the warp synchronizes, and the other half reads.
extern "C" __global__ void race_half_warp(const float *in, float *out)
{
    __shared__ float tile[32];
    int t = threadIdx.x;
    tile[t] = in[t]; // BUG race_half_warp
    if (t < 16)
        __syncwarp(0xffff);
    out[t] = tile[t ^ 16]; // OTHER race_half_warp
}
// Threads 0 to 63 synchronize; 64 to 95 read what they wrote without taking part.
extern "C" __global__ void race_named_barrier(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = in[t]; // BUG race_named_barrier
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = tile[63 - t];
    } else {
        out[t] = tile[t - 64]; // OTHER race_named_barrier
    }
}
extern "C" __global__ void race_atomic_weak(const int *in, int *out)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[threadIdx.x]); // BUG race_atomic_weak
    out[threadIdx.x] = sum; // OTHER race_atomic_weak
}
// The flag is strong, but no fence orders the data.
extern "C" __global__ void race_flag_without_fence(const int *in, int *out)
{
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[0]; // BUG race_flag_without_fence
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0) {
        }
        out[0] = data; // OTHER race_flag_without_fence
    }
}
extern "C" __global__ void race_in_place(const float *in, float *data)
{
    int t = threadIdx.x;
    float x = data[(t + 1) & 127]; // OTHER race_in_place
    data[t] = x + in[t]; // BUG race_in_place
}
extern "C" __global__ void race_blocks(const int *in, int *out)
{
    out[threadIdx.x] = in[threadIdx.x] + blockIdx.x; // BUG race_blocks
}
extern "C" __global__ void race_blocks_read(const float *in, float *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float x = i + 64 < n ? data[i + 64] : in[i]; // OTHER race_blocks_read
    data[i] = x; // BUG race_blocks_read
}
// The last block sums what the others wrote, but the fence before the counter is missing.
extern "C" __global__ void race_last_block(const float *in, float *partial, unsigned *counter, float *out)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x]; // BUG race_last_block
        is_last = atomicAdd(counter, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += partial[i]; // OTHER race_last_block
        *out = sum;
    }
}
// The fence orders the accesses for threads of the same block only.
extern "C" __global__ void race_block_fence(const float *in, float *partial, unsigned *counter, float *out)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x]; // BUG race_block_fence
        __threadfence_block();
        is_last = atomicAdd(counter, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += partial[i]; // OTHER race_block_fence
        *out = sum;
    }
}
extern "C" __global__ void copy_no_wait(const float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // OTHER copy_no_wait
    __pipeline_commit();
    __syncthreads();
    out[t] = tile[(t * 4 + 1) & 255]; // BUG copy_no_wait
}
// Waits for all groups but one, and then reads the newest.
extern "C" __global__ void copy_wrong_group(const float *in, float *out)
{
    __shared__ __align__(16) float tile[2][256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[0][4 * t], &in[4 * t], 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&tile[1][4 * t], &in[4 * t], 16); // OTHER copy_wrong_group
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t] = tile[0][t] + tile[1][t]; // BUG copy_wrong_group
}
extern "C" __global__ void copy_no_commit(const float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // OTHER copy_no_commit
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[t]; // BUG copy_no_commit
}
// Each thread waits for its own copy only.
extern "C" __global__ void copy_no_barrier(const float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // BUG copy_no_barrier
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[(4 * t + 4) & 255]; // OTHER copy_no_barrier
}
// The copy to the buffer begins while other threads still read it.
extern "C" __global__ void copy_too_early(const float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    *(float4 *)&tile[4 * t] = *(const float4 *)&in[4 * t];
    __syncthreads();
    float x = tile[(4 * t + 128) & 255]; // OTHER copy_too_early
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // BUG copy_too_early
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = x + tile[t];
}
extern "C" __global__ void copy_overwritten(const float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // OTHER copy_overwritten
    __pipeline_commit();
    tile[4 * t] = 0; // BUG copy_overwritten
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[t];
}
extern "C" __global__ void barrier_divergent(const int *in, int *out)
{
    int t = threadIdx.x;
    if (in[t] > 0)
        __syncthreads(); // BUG barrier_divergent
    out[t] = 1;
}
// Both branches have a barrier, but the threads of a warp do not meet at the same one.
extern "C" __global__ void barrier_two_branches(const int *in, int *out)
{
    int t = threadIdx.x;
    if (in[t] > 0) {
        out[t] = 1;
        __syncthreads(); // BUG barrier_two_branches
    } else {
        out[t] = 2;
        __syncthreads(); // OTHER barrier_two_branches
        out[t] += in[t];
    }
}
extern "C" __global__ void barrier_exited(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t >= 50)
        return;
    out[t] = in[t];
    __syncthreads(); // BUG barrier_exited
    out[t] += 1;
}
extern "C" __global__ void barrier_deadlock(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG barrier_deadlock
    else
        asm volatile("bar.sync 2, 64;" ::: "memory"); // OTHER barrier_deadlock
    out[t] = in[t];
}
// A copy may read its source until it is waited for: a barrier is not enough.
extern "C" __global__ void copy_source_overwritten(float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // OTHER copy_source_overwritten
    __pipeline_commit();
    __syncthreads();
    in[(4 * t + 128) & 255] = 0; // BUG copy_source_overwritten
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[t];
}
extern "C" __global__ void copy_source_same_thread(float *in, float *out)
{
    __shared__ __align__(16) float tile[256];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &in[4 * t], 16); // OTHER copy_source_same_thread
    __pipeline_commit();
    in[4 * t + 3] = 0; // BUG copy_source_same_thread
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[t];
}
