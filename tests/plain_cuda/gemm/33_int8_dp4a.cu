/* SPDX-License-Identifier: Apache-2.0 */
/* 33_int8_dp4a - 8-bit integer product with dp4a */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// C[M][N] (int32) = A[M][K] (int8) * B[N][K] (int8) transposed. K is a multiple of 4.
__global__ void igemm_dp4a(const int8_t *A, const int8_t *B, int32_t *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;

    const int *a = reinterpret_cast<const int *>(A + row * K);
    const int *b = reinterpret_cast<const int *>(B + col * K);
    int acc = 0;
    for (int k = 0; k < K / 4; ++k)
        acc = __dp4a(a[k], b[k], acc);
    C[row * N + col] = acc;
}

int main()
{
    const int M = 100, N = 60, K = 128;
    std::vector<int8_t> A(M * K), B(N * K);
    std::vector<int32_t> C(M * N);
    for (auto &x : A) x = (int8_t)(rand() % 256 - 128);
    for (auto &x : B) x = (int8_t)(rand() % 256 - 128);

    int8_t *dA, *dB;
    int32_t *dC;
    cudaMalloc(&dA, A.size());
    cudaMalloc(&dB, B.size());
    cudaMalloc(&dC, C.size() * sizeof(int32_t));
    cudaMemcpy(dA, A.data(), A.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size(), cudaMemcpyHostToDevice);

    dim3 block(32, 8);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    igemm_dp4a<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(C.data(), dC, C.size() * sizeof(int32_t), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            int32_t s = 0;
            for (int k = 0; k < K; ++k) s += A[i * K + k] * B[j * K + k];
            wrong += s != C[i * N + j];
        }
    printf("%d of %d results are wrong\n", wrong, M * N);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return wrong ? 1 : 0;
}
