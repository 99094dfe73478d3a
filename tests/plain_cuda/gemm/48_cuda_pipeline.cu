/* SPDX-License-Identifier: Apache-2.0 */
/* 48_cuda_pipeline - tiled product with cuda::pipeline of libcu++ */
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_runtime.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

constexpr int kEdge = 32;

// The group copies 32 rows of 32 floats.
__device__ void copyTile(cg::thread_block &group, float (*tile)[kEdge], const float *src, int ld,
                         cuda::pipeline<cuda::thread_scope_block> &pipe)
{
    for (int r = 0; r < kEdge; ++r)
        cuda::memcpy_async(group, tile[r], src + (size_t)r * ld, cuda::aligned_size_t<16>(kEdge * sizeof(float)), pipe);
}

__global__ void pipelined_matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    constexpr int kStages = 2;
    __shared__ __align__(16) float sa[kStages][kEdge][kEdge];
    __shared__ __align__(16) float sb[kStages][kEdge][kEdge];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;

    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);

    const int row0 = blockIdx.y * kEdge, col0 = blockIdx.x * kEdge;
    const int tiles = K / kEdge;
    float sum[4] = {};

    for (int compute = 0, fetch = 0; compute < tiles; ++compute) {
        for (; fetch < tiles && fetch < compute + kStages; ++fetch) {
            pipe.producer_acquire();
            const int s = fetch % kStages;
            copyTile(block, sa[s], A + (size_t)row0 * K + fetch * kEdge, K, pipe);
            copyTile(block, sb[s], B + (size_t)fetch * kEdge * N + col0, N, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        const int s = compute % kStages;
        for (int k = 0; k < kEdge; ++k) {
            const float b = sb[s][k][threadIdx.x];
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] += sa[s][threadIdx.y + 8 * i][k] * b;
        }
        pipe.consumer_release();
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) C[(size_t)(row0 + threadIdx.y + 8 * i) * N + col0 + threadIdx.x] = sum[i];
}

void launch_pipelined(const float *A, const float *B, float *C, int M, int N, int K)
{
    pipelined_matmul<<<dim3(N / kEdge, M / kEdge), dim3(kEdge, 8)>>>(A, B, C, M, N, K);
}
