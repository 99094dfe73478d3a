/* SPDX-License-Identifier: Apache-2.0 */
/* 30_half_naive - half-precision product, accumulated in float */
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void hgemm_naive(const __half *A, const __half *B, __half *C, int M, int N, int K)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y * blockDim.y + threadIdx.y;
    if (m < M && n < N) {
        float total = 0.0f;
#pragma unroll
        for (int k = 0; k < K; k++) {
            total += __half2float(A[m * K + k]) * __half2float(B[k * N + n]);
        }
        C[m * N + n] = __float2half(total);
    }
}

static void cpuGemm(const __half *a, const __half *b, float *c, int M, int N, int K)
{
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += (float)a[m * K + k] * (float)b[k * N + n];
            c[m * N + n] = s;
        }
}

int main(void)
{
    const int M = 129, N = 67, K = 85;
    __half *h_a = (__half *)malloc(M * K * sizeof(__half));
    __half *h_b = (__half *)malloc(K * N * sizeof(__half));
    __half *h_c = (__half *)malloc(M * N * sizeof(__half));
    float *ref = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) h_a[i] = __float2half((float)(rand() % 5) - 2);
    for (int i = 0; i < K * N; i++) h_b[i] = __float2half((float)(rand() % 5) - 2);

    __half *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, M * K * sizeof(__half));
    cudaMalloc(&d_b, K * N * sizeof(__half));
    cudaMalloc(&d_c, M * N * sizeof(__half));
    cudaMemcpy(d_a, h_a, M * K * sizeof(__half), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b, K * N * sizeof(__half), cudaMemcpyHostToDevice);

    const int BM = 32, BN = 32;
    dim3 blockDim(BN, BM);
    dim3 gridDim((N + BN - 1) / BN, (M + BM - 1) / BM);
    hgemm_naive<<<gridDim, blockDim>>>(d_a, d_b, d_c, M, N, K);
    cudaMemcpy(h_c, d_c, M * N * sizeof(__half), cudaMemcpyDeviceToHost);

    cpuGemm(h_a, h_b, ref, M, N, K);
    float max_error = 0;
    for (int i = 0; i < M * N; i++) {
        float d = (float)h_c[i] - ref[i];
        if (d < 0) d = -d;
        if (d > max_error) max_error = d;
    }
    printf("largest error: %f\n", max_error);
    return max_error > 0.5f;
}
