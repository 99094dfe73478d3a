/* SPDX-License-Identifier: Apache-2.0 */
/* 05_grid_stride - matrix product with a grid-stride loop over the elements */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(expr)                                                                           \
    do {                                                                                           \
        cudaError_t status_ = (expr);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            std::cerr << #expr << ": " << cudaGetErrorString(status_) << " (line " << __LINE__     \
                      << ")" << std::endl;                                                         \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

__global__ void gemm_grid_stride(const float *A, const float *B, float *C, int M, int N, int K)
{
    int stride = gridDim.x * blockDim.x;
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < M * N; idx += stride) {
        int i = idx / N;
        int j = idx % N;
        float s = 0.0f;
        for (int p = 0; p < K; ++p) {
            s = fmaf(A[i * K + p], B[p * N + j], s);
        }
        C[idx] = s;
    }
}

int main(int argc, char **argv)
{
    const int M = argc > 1 ? std::atoi(argv[1]) : 300;
    const int N = argc > 2 ? std::atoi(argv[2]) : 200;
    const int K = argc > 3 ? std::atoi(argv[3]) : 100;

    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (auto &x : A) x = float(std::rand()) / RAND_MAX;
    for (auto &x : B) x = float(std::rand()) / RAND_MAX;

    float *dA = nullptr, *dB = nullptr, *dC = nullptr;
    CUDA_CHECK(cudaMalloc(&dA, A.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dB, B.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dC, C.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));

    const int threads = 256;
    const int blocks = std::min((M * N + threads - 1) / threads, 1024);

    auto t0 = std::chrono::high_resolution_clock::now();
    gemm_grid_stride<<<blocks, threads>>>(dA, dB, dC, M, N, K);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    auto t1 = std::chrono::high_resolution_clock::now();
    CUDA_CHECK(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));

    float worst = 0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float ref = 0;
            for (int p = 0; p < K; p++) ref += A[i * K + p] * B[p * N + j];
            worst = std::max(worst, std::fabs(ref - C[i * N + j]));
        }
    }
    std::cout << "time " << std::chrono::duration<double, std::milli>(t1 - t0).count() << " ms, largest error "
              << worst << std::endl;

    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return worst < 1e-2f ? 0 : 1;
}
