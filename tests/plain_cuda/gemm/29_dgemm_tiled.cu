/* SPDX-License-Identifier: Apache-2.0 */
/* 29_dgemm_tiled - double-precision tiled GEMM */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define TILE_M 16
#define TILE_N 16
#define TILE_K 8

static void check(cudaError_t e, const std::string &what)
{
    if (e != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(e));
}

// C = alpha * A * B + beta * C, row-major
__global__ void dgemm_kernel(int m, int n, int k, double alpha, const double *A, int lda, const double *B, int ldb,
                             double beta, double *C, int ldc)
{
    __shared__ double sA[TILE_M][TILE_K];
    __shared__ double sB[TILE_K][TILE_N];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE_M + ty, col = blockIdx.x * TILE_N + tx;
    double c = 0.0;

    for (int kk = 0; kk < k; kk += TILE_K) {
        if (tx < TILE_K)
            sA[ty][tx] = (row < m && kk + tx < k) ? A[row * lda + kk + tx] : 0.0;
        if (ty < TILE_K)
            sB[ty][tx] = (kk + ty < k && col < n) ? B[(kk + ty) * ldb + col] : 0.0;
        __syncthreads();
        for (int p = 0; p < TILE_K; ++p) c = fma(sA[ty][p], sB[p][tx], c);
        __syncthreads();
    }

    if (row < m && col < n) {
        double old = beta != 0.0 ? beta * C[row * ldc + col] : 0.0;
        C[row * ldc + col] = alpha * c + old;
    }
}

int main(int argc, char **argv)
try {
    int m = 500, n = 400, k = 300;
    if (argc > 3) {
        m = std::stoi(argv[1]);
        n = std::stoi(argv[2]);
        k = std::stoi(argv[3]);
    }
    double alpha = 1.0, beta = 0.0;
    std::vector<double> A(m * k), B(k * n), C(m * n);
    for (double &x : A) x = drand48();
    for (double &x : B) x = drand48();

    double *dA, *dB, *dC;
    check(cudaMalloc(&dA, A.size() * sizeof(double)), "allocate A");
    check(cudaMalloc(&dB, B.size() * sizeof(double)), "allocate B");
    check(cudaMalloc(&dC, C.size() * sizeof(double)), "allocate C");
    check(cudaMemcpy(dA, A.data(), A.size() * sizeof(double), cudaMemcpyHostToDevice), "copy A");
    check(cudaMemcpy(dB, B.data(), B.size() * sizeof(double), cudaMemcpyHostToDevice), "copy B");

    dim3 block(TILE_N, TILE_M);
    dim3 grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y);
    auto begin = std::chrono::steady_clock::now();
    dgemm_kernel<<<grid, block>>>(m, n, k, alpha, dA, k, dB, n, beta, dC, n);
    check(cudaDeviceSynchronize(), "kernel");
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%.1f GFLOPS\n", 2e-9 * m * n * k / seconds);

    check(cudaMemcpy(C.data(), dC, C.size() * sizeof(double), cudaMemcpyDeviceToHost), "copy C");
    double worst = 0;
    for (int i = 0; i < m; i += 7)
        for (int j = 0; j < n; j += 7) {
            double s = 0;
            for (int p = 0; p < k; p++) s += A[i * k + p] * B[p * n + j];
            worst = std::max(worst, std::abs(s - C[i * n + j]));
        }
    std::printf("largest error %g\n", worst);
    return worst > 1e-10;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
