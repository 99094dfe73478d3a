/* SPDX-License-Identifier: Apache-2.0 */
/* 16_nt_tiled - tiled product with a transposed second operand */
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <cuda_runtime.h>

constexpr int kTile = 32;

// C[M,N] = A[M,K] * B[N,K]^T
__global__ void gemmNT(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float tileA[kTile][kTile];
  __shared__ float tileB[kTile][kTile + 1];

  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  const int bRow = blockIdx.x * kTile + threadIdx.y;  // row of B that this thread loads

  float acc = 0.0f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const int k = k0 + threadIdx.x;
    tileA[threadIdx.y][threadIdx.x] = row < M && k < K ? A[row * K + k] : 0.0f;
    tileB[threadIdx.y][threadIdx.x] = bRow < N && k < K ? B[bRow * K + k] : 0.0f;
    __syncthreads();

#pragma unroll
    for (int p = 0; p < kTile; ++p) acc += tileA[threadIdx.y][p] * tileB[threadIdx.x][p];
    __syncthreads();
  }

  if (row < M && col < N) C[row * N + col] = acc;
}

int main() {
  constexpr int M = 200, N = 150, K = 130;
  std::mt19937 gen(42);
  std::uniform_real_distribution<float> dist(-1.0f, 1.0f);
  std::vector<float> A(M * K), B(N * K), C(M * N);
  for (auto& v : A) v = dist(gen);
  for (auto& v : B) v = dist(gen);

  float *dA, *dB, *dC;
  cudaMalloc(&dA, A.size() * sizeof(float));
  cudaMalloc(&dB, B.size() * sizeof(float));
  cudaMalloc(&dC, C.size() * sizeof(float));
  cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);

  gemmNT<<<dim3((N + kTile - 1) / kTile, (M + kTile - 1) / kTile), dim3(kTile, kTile)>>>(dA, dB, dC, M, N, K);

  cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess) {
    std::fprintf(stderr, "kernel failed\n");
    return 1;
  }

  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float ref = 0;
      for (int k = 0; k < K; ++k) ref += A[i * K + k] * B[j * K + k];
      if (std::abs(ref - C[i * N + j]) > 1e-3f) {
        std::printf("mismatch at (%d, %d): %f vs %f\n", i, j, C[i * N + j], ref);
        return 1;
      }
    }
  std::printf("OK\n");
  cudaFree(dA), cudaFree(dB), cudaFree(dC);
}
