/* SPDX-License-Identifier: Apache-2.0 */
/* 55_warp_shuffle - one warp per element, with a shuffle reduction */
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

#define FULL_MASK 0xffffffffu

__inline__ __device__ float warpReduceSum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL_MASK, v, offset);
    return v;
}

// C(i, j) is the dot product of row i of A and row j of B.
__global__ void warp_dot_gemm(const float *A, const float *B, float *C, long M, long N, long K)
{
    const long warp = (blockIdx.x * (long)blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (warp >= M * N) return;
    const float *a = A + (warp / N) * K;
    const float *b = B + (warp % N) * K;

    float v = 0;
    for (long k = lane; k < K; k += 32) v += a[k] * b[k];
    v = warpReduceSum(v);
    if (lane == 0) C[warp] = v;
}

int main()
{
    long M = 37, N = 41, K = 1000;
    std::vector<float> A(M * K), B(N * K), C(M * N);
    for (float &x : A) x = rand() % 3;
    for (float &x : B) x = rand() % 3;
    float *pA, *pB, *pC;
    cudaMalloc((void **)&pA, M * K * sizeof(float));
    cudaMalloc((void **)&pB, N * K * sizeof(float));
    cudaMalloc((void **)&pC, M * N * sizeof(float));
    cudaMemcpy(pA, &A[0], M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(pB, &B[0], N * K * sizeof(float), cudaMemcpyHostToDevice);

    int threads = 256;
    int warpsPerBlock = threads / 32;
    int blocks = (int)((M * N + warpsPerBlock - 1) / warpsPerBlock);
    warp_dot_gemm<<<blocks, threads>>>(pA, pB, pC, M, N, K);
    cudaMemcpy(&C[0], pC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float s = 0;
            for (long k = 0; k < K; k++) s += A[i * K + k] * B[j * K + k];
            if (s != C[i * N + j]) {
                std::cerr << "difference at " << i << " " << j << std::endl;
                return 1;
            }
        }
    std::cout << "correct" << std::endl;
    cudaFree(pA);
    cudaFree(pB);
    cudaFree(pC);
}
