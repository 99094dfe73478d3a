/* SPDX-License-Identifier: Apache-2.0 */
/* 35_wmma_naive - tensor-core product with one warp per 16 x 16 tile */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>

using namespace nvcuda;

#define WMMA_M 16
#define WMMA_N 16
#define WMMA_K 16

__global__ void wmma_naive(half *A, half *B, float *C, int M, int N, int K)
{
    int tileRow = blockIdx.y;
    int tileCol = blockIdx.x;

    wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> a_frag;
    wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> b_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> c_frag;
    wmma::fill_fragment(c_frag, 0.0f);

    for (int k = 0; k < K; k += WMMA_K) {
        wmma::load_matrix_sync(a_frag, A + tileRow * WMMA_M * K + k, K);
        wmma::load_matrix_sync(b_frag, B + k * N + tileCol * WMMA_N, N);
        wmma::mma_sync(c_frag, a_frag, b_frag, c_frag);
    }
    wmma::store_matrix_sync(C + tileRow * WMMA_M * N + tileCol * WMMA_N, c_frag, N, wmma::mem_row_major);
}

int main()
{
    int M = 256, N = 256, K = 256;
    half *hA = (half *)malloc(M * K * sizeof(half)), *hB = (half *)malloc(K * N * sizeof(half));
    float *hC = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = __float2half((float)(i % 3));
    for (int i = 0; i < K * N; i++) hB[i] = __float2half((float)(i % 4));

    half *dA, *dB;
    float *dC;
    cudaMalloc((void **)&dA, M * K * sizeof(half));
    cudaMalloc((void **)&dB, K * N * sizeof(half));
    cudaMalloc((void **)&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA, M * K * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, K * N * sizeof(half), cudaMemcpyHostToDevice);

    dim3 grid(N / WMMA_N, M / WMMA_M);
    wmma_naive<<<grid, 32>>>(dA, dB, dC, M, N, K);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "launch failed: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    float s = 0;
    for (int k = 0; k < K; k++) s += __half2float(hA[5 * K + k]) * __half2float(hB[k * N + 9]);
    printf("C[5][9] = %f, reference %f\n", hC[5 * N + 9], s);
    return s == hC[5 * N + 9] ? 0 : 1;
}
