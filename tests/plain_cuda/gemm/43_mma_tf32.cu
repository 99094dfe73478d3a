/* SPDX-License-Identifier: Apache-2.0 */
/* 43_mma_tf32 - TF32 product with mma.m16n8k8 in inline PTX */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

static __device__ unsigned toTf32(float x)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

template <int BM, int BN, int BK>
__global__ void tf32Gemm(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ unsigned As[BM][BK + 4];
    __shared__ unsigned Bs[BK][BN + 8];

    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int g = lane >> 2, t = lane & 3;
    const int wm = (warp >> 1) * (BM / 2), wn = (warp & 1) * (BN / 2);
    const int MI = BM / 2 / 16, NI = BN / 2 / 8;

    float c[MI][NI][4] = {};

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = threadIdx.x; e < BM * BK; e += blockDim.x)
            As[e / BK][e % BK] = toTf32(A[(blockIdx.y * BM + e / BK) * K + k0 + e % BK]);
        for (int e = threadIdx.x; e < BK * BN; e += blockDim.x)
            Bs[e / BN][e % BN] = toTf32(B[(k0 + e / BN) * N + blockIdx.x * BN + e % BN]);
        __syncthreads();

        for (int kk = 0; kk < BK; kk += 8) {
            for (int i = 0; i < MI; ++i) {
                const int r = wm + i * 16 + g;
                unsigned a0 = As[r][kk + t], a1 = As[r + 8][kk + t];
                unsigned a2 = As[r][kk + t + 4], a3 = As[r + 8][kk + t + 4];
                for (int j = 0; j < NI; ++j) {
                    const int n = wn + j * 8 + g;
                    unsigned b0 = Bs[kk + t][n], b1 = Bs[kk + t + 4][n];
                    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(c[i][j][0]), "+f"(c[i][j][1]), "+f"(c[i][j][2]), "+f"(c[i][j][3])
                                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
                }
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < MI; ++i)
        for (int j = 0; j < NI; ++j) {
            float *p = C + (blockIdx.y * BM + wm + i * 16 + g) * N + blockIdx.x * BN + wn + j * 8 + 2 * t;
            p[0] = c[i][j][0];
            p[1] = c[i][j][1];
            p[8 * N] = c[i][j][2];
            p[8 * N + 1] = c[i][j][3];
        }
}

int main()
{
    int M = 192, N = 128, K = 80;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (float &v : A) v = drand48() - 0.5;
    for (float &v : B) v = drand48() - 0.5;
    float *dA, *dB, *dC;
    gpuErrchk(cudaMalloc(&dA, A.size() * sizeof(float)));
    gpuErrchk(cudaMalloc(&dB, B.size() * sizeof(float)));
    gpuErrchk(cudaMalloc(&dC, C.size() * sizeof(float)));
    gpuErrchk(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
    tf32Gemm<64, 64, 16><<<dim3(N / 64, M / 64), 128>>>(dA, dB, dC, M, N, K);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
            worst = fmax(worst, fabs(s - C[i * N + j]));
        }
    printf("largest error %g\n", worst);
    return worst > 0.02;
}
