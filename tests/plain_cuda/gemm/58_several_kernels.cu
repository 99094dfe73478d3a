/* SPDX-License-Identifier: Apache-2.0 */
/* 58_several_kernels - a naive and two tiled kernels in one program */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CALL(x)                                                                 \
    do {                                                                             \
        if ((x) != cudaSuccess) {                                                    \
            printf("Error at %s:%d\n", __FILE__, __LINE__);                          \
            return EXIT_FAILURE;                                                     \
        }                                                                            \
    } while (0)

__global__ void init_kernel(float *x, int count, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] = value;
}

__global__ void gemm_v0_naive(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.f;
    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}

template <int TILE> __global__ void gemm_v1_tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.f;
    for (int t = 0; t < K; t += TILE) {
        As[threadIdx.y][threadIdx.x] = row < M && t + threadIdx.x < K ? A[row * K + t + threadIdx.x] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = t + threadIdx.y < K && col < N ? B[(t + threadIdx.y) * N + col] : 0.f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

// Each thread computes two columns.
template <int TILE> __global__ void gemm_v2_two_columns(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][2 * TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * 2 * TILE + tx;
    float acc0 = 0.f, acc1 = 0.f;
    for (int t = 0; t < K; t += TILE) {
        As[ty][tx] = row < M && t + tx < K ? A[row * K + t + tx] : 0.f;
        Bs[ty][tx] = t + ty < K && col < N ? B[(t + ty) * N + col] : 0.f;
        Bs[ty][tx + TILE] = t + ty < K && col + TILE < N ? B[(t + ty) * N + col + TILE] : 0.f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            acc0 += As[ty][k] * Bs[k][tx];
            acc1 += As[ty][k] * Bs[k][tx + TILE];
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc0;
    if (row < M && col + TILE < N) C[row * N + col + TILE] = acc1;
}

int main(int argc, char **argv)
{
    int version = argc > 1 ? atoi(argv[1]) : 2;
    const int M = 300, N = 250, K = 200;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (auto &x : A) x = rand() % 10;
    for (auto &x : B) x = rand() % 10;
    float *dA, *dB, *dC;
    CUDA_CALL(cudaMalloc(&dA, A.size() * sizeof(float)));
    CUDA_CALL(cudaMalloc(&dB, B.size() * sizeof(float)));
    CUDA_CALL(cudaMalloc(&dC, C.size() * sizeof(float)));
    CUDA_CALL(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CALL(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
    init_kernel<<<(M * N + 255) / 256, 256>>>(dC, M * N, NAN);

    constexpr int T = 16;
    dim3 block(T, T);
    switch (version) {
    case 0: {
        dim3 grid((N + T - 1) / T, (M + T - 1) / T);
        gemm_v0_naive<<<grid, block>>>(dA, dB, dC, M, N, K);
        break;
    }
    case 1: {
        dim3 grid((N + T - 1) / T, (M + T - 1) / T);
        gemm_v1_tiled<T><<<grid, block>>>(dA, dB, dC, M, N, K);
        break;
    }
    default: {
        dim3 grid((N + 2 * T - 1) / (2 * T), (M + T - 1) / T);
        gemm_v2_two_columns<T><<<grid, block>>>(dA, dB, dC, M, N, K);
    }
    }
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (!(s == C[i * N + j])) {
                printf("version %d is wrong at %d, %d\n", version, i, j);
                return EXIT_FAILURE;
            }
        }
    printf("version %d is right\n", version);
    return EXIT_SUCCESS;
}
