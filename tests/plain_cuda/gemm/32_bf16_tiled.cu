/* SPDX-License-Identifier: Apache-2.0 */
/* 32_bf16_tiled - bfloat16 tiled GEMM */
#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf16;

template <int TILE>
__global__ void bf16_gemm(bf16 *C, const bf16 *A, const bf16 *B, int M, int N, int K, float alpha, float beta)
{
    __shared__ bf16 As[TILE][TILE];
    __shared__ bf16 Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.f;

    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[threadIdx.y][threadIdx.x] =
            (row < M && k0 + threadIdx.x < K) ? A[row * K + k0 + threadIdx.x] : __float2bfloat16(0.f);
        Bs[threadIdx.y][threadIdx.x] =
            (k0 + threadIdx.y < K && col < N) ? B[(k0 + threadIdx.y) * N + col] : __float2bfloat16(0.f);
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            acc += __bfloat162float(As[threadIdx.y][i]) * __bfloat162float(Bs[i][threadIdx.x]);
        __syncthreads();
    }

    if (row < M && col < N) {
        float old = __bfloat162float(C[row * N + col]);
        C[row * N + col] = __float2bfloat16(alpha * acc + beta * old);
    }
}

cudaError_t launch_bf16_gemm(bf16 *C, const bf16 *A, const bf16 *B, int M, int N, int K, float alpha, float beta,
                             cudaStream_t stream)
{
    constexpr int TILE = 16;
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    bf16_gemm<TILE><<<blocks, threads, 0, stream>>>(C, A, B, M, N, K, alpha, beta);
    return cudaGetLastError();
}
