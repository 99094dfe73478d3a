/* SPDX-License-Identifier: Apache-2.0 */
/* 21_float4_guarded - GEMM with 128-bit loads and checks at the edges */
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#define CHECK(call)                                                          \
    do {                                                                     \
        const cudaError_t error_code = call;                                 \
        if (error_code != cudaSuccess) {                                     \
            printf("CUDA Error:\n    File:       %s\n", __FILE__);           \
            printf("    Line:       %d\n    Error text: %s\n", __LINE__,     \
                   cudaGetErrorString(error_code));                          \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

constexpr int BLOCK_M = 64;
constexpr int BLOCK_N = 64;
constexpr int BLOCK_K = 16;

// N and K are multiples of 4 so that float4 accesses are aligned; M is arbitrary.
__global__ void __launch_bounds__(256) sgemm_f4(const float* __restrict__ A, const float* __restrict__ B,
                                                float* __restrict__ C, int M, int N, int K)
{
    __shared__ float As[BLOCK_K][BLOCK_M + 4];
    __shared__ __align__(16) float Bs[BLOCK_K][BLOCK_N];

    const int tid = threadIdx.x;
    const int tx = tid % 16, ty = tid / 16;
    const int rowStart = blockIdx.y * BLOCK_M;
    const int colStart = blockIdx.x * BLOCK_N;
    const float4 zero = make_float4(0.f, 0.f, 0.f, 0.f);

    float acc[4][4] = {{0.f}};

    for (int k0 = 0; k0 < K; k0 += BLOCK_K) {
        {
            const int r = tid / 4, c = (tid % 4) * 4;
            float4 v = zero;
            if (rowStart + r < M && k0 + c < K)
                v = *reinterpret_cast<const float4*>(A + (rowStart + r) * K + k0 + c);
            As[c][r] = v.x;
            As[c + 1][r] = v.y;
            As[c + 2][r] = v.z;
            As[c + 3][r] = v.w;
        }
        {
            const int r = tid / 16, c = (tid % 16) * 4;
            float4 v = zero;
            if (k0 + r < K && colStart + c < N)
                v = *reinterpret_cast<const float4*>(B + (k0 + r) * N + colStart + c);
            *reinterpret_cast<float4*>(&Bs[r][c]) = v;
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BLOCK_K; ++k) {
            float a[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) a[i] = As[k][ty * 4 + i];
            const float4 b = *reinterpret_cast<const float4*>(&Bs[k][tx * 4]);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                acc[i][0] += a[i] * b.x;
                acc[i][1] += a[i] * b.y;
                acc[i][2] += a[i] * b.z;
                acc[i][3] += a[i] * b.w;
            }
        }
        __syncthreads();
    }

    const int col = colStart + tx * 4;
    if (col >= N) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = rowStart + ty * 4 + i;
        if (row < M)
            *reinterpret_cast<float4*>(C + row * N + col) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    }
}

int main()
{
    const int M = 777, N = 444, K = 332;
    std::vector<float> a(M * K), b(K * N), c(M * N);
    for (int i = 0; i < M * K; i++) a[i] = i % 11 - 5;
    for (int i = 0; i < K * N; i++) b[i] = i % 13 - 6;

    float *d_a, *d_b, *d_c;
    CHECK(cudaMalloc(&d_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_c, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    const dim3 grid_size((N + BLOCK_N - 1) / BLOCK_N, (M + BLOCK_M - 1) / BLOCK_M);
    const dim3 block_size(256);
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    const int repeats = 10;
    CHECK(cudaEventRecord(start));
    for (int r = 0; r < repeats; ++r) {
        sgemm_f4<<<grid_size, block_size>>>(d_a, d_b, d_c, M, N, K);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float elapsed = 0;
    CHECK(cudaEventElapsedTime(&elapsed, start, stop));
    std::cout << "average " << elapsed / repeats << " ms" << std::endl;

    CHECK(cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j];
            if (s != c[i * N + j]) {
                std::cout << "wrong result at " << i << ", " << j << std::endl;
                return 1;
            }
        }
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return 0;
}
