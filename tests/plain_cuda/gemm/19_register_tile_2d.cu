/* SPDX-License-Identifier: Apache-2.0 */
/* 19_register_tile_2d - GEMM with 8 x 8 results per thread, compared with cuBLAS */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime.h>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm_2d_tile(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    constexpr int kThreads = (BM * BN) / (TM * TN);
    __shared__ float sA[BM][BK];
    __shared__ float sB[BK][BN];

    const int tid = threadIdx.x;
    const int threadCol = tid % (BN / TN);
    const int threadRow = tid / (BN / TN);

    const float *gA = A + (size_t)blockIdx.y * BM * K;
    const float *gB = B + blockIdx.x * BN;

    float acc[TM][TN] = {};
    float fragA[TM], fragB[TN];

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += kThreads)
            sA[e / BK][e % BK] = gA[(e / BK) * K + k0 + e % BK];
        for (int e = tid; e < BK * BN; e += kThreads)
            sB[e / BN][e % BN] = gB[(k0 + e / BN) * N + e % BN];
        __syncthreads();

        for (int p = 0; p < BK; ++p) {
            for (int i = 0; i < TM; ++i) fragA[i] = sA[threadRow * TM + i][p];
            for (int j = 0; j < TN; ++j) fragB[j] = sB[p][threadCol * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] += fragA[i] * fragB[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            size_t row = blockIdx.y * BM + threadRow * TM + i;
            size_t col = blockIdx.x * BN + threadCol * TN + j;
            C[row * N + col] = alpha * acc[i][j] + beta * C[row * N + col];
        }
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const int M = n, N = n, K = n;
    std::vector<float> hA(M * K), hB(K * N), hC(M * N, 0.f), hRef(M * N, 0.f);
    for (float &v : hA) v = (float)rand() / RAND_MAX - 0.5f;
    for (float &v : hB) v = (float)rand() / RAND_MAX - 0.5f;

    float *dA, *dB, *dC, *dRef;
    cudaMalloc(&dA, hA.size() * 4);
    cudaMalloc(&dB, hB.size() * 4);
    cudaMalloc(&dC, hC.size() * 4);
    cudaMalloc(&dRef, hRef.size() * 4);
    cudaMemcpy(dA, hA.data(), hA.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB.data(), hB.size() * 4, cudaMemcpyHostToDevice);
    cudaMemset(dC, 0, hC.size() * 4);
    cudaMemset(dRef, 0, hRef.size() * 4);

    float alpha = 1.0f, beta = 0.0f;
    cublasHandle_t handle;
    cublasCreate(&handle);
    // Row-major C = A B is column-major C^T = B^T A^T
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, dB, N, dA, K, &beta, dRef, N);

    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    dim3 grid(N / BN, M / BM);
    dim3 block((BM / TM) * (BN / TN));
    sgemm_2d_tile<BM, BN, BK, TM, TN><<<grid, block>>>(M, N, K, alpha, dA, dB, beta, dC);

    cudaMemcpy(hC.data(), dC, hC.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hRef.data(), dRef, hRef.size() * 4, cudaMemcpyDeviceToHost);
    double diff = 0;
    for (size_t i = 0; i < hC.size(); i++) diff = fmax(diff, fabs(hC[i] - hRef[i]));
    printf("largest difference from cuBLAS: %g\n", diff);

    cublasDestroy(handle);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    cudaFree(dRef);
    return diff > 1e-3;
}
