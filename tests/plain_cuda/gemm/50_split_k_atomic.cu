/* SPDX-License-Identifier: Apache-2.0 */
/* 50_split_k_atomic - split-K product that adds its parts with atomics */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE 16
#define SPLIT_K 4

// Slice blockIdx.z of K. C must be zero before the launch.
__global__ void gemm_splitk(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;

    const int slice = (K + gridDim.z - 1) / gridDim.z;
    const int kBegin = blockIdx.z * slice;
    const int kEnd = min(K, kBegin + slice);

    float sum = 0.0f;
    for (int k0 = kBegin; k0 < kEnd; k0 += TILE) {
        As[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < kEnd ? A[row * K + k0 + threadIdx.x] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < kEnd && col < N ? B[(k0 + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) atomicAdd(&C[row * N + col], sum);
}

int main()
{
    const int M = 64, N = 48, K = 5000;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (auto &v : A) v = (float)rand() / RAND_MAX;
    for (auto &v : B) v = (float)rand() / RAND_MAX;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, sizeof(float) * M * K);
    cudaMalloc(&dB, sizeof(float) * K * N);
    cudaMalloc(&dC, sizeof(float) * M * N);
    cudaMemcpy(dA, A.data(), sizeof(float) * M * K, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), sizeof(float) * K * N, cudaMemcpyHostToDevice);
    cudaMemset(dC, 0, sizeof(float) * M * N);

    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, SPLIT_K);
    gemm_splitk<<<blocks, threads>>>(dA, dB, dC, M, N, K);

    cudaMemcpy(C.data(), dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
            worst = fmax(worst, fabs(s - C[i * N + j]) / s);
        }
    printf("largest relative error %g\n", worst);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return worst > 1e-4;
}
