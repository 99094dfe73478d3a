/* SPDX-License-Identifier: Apache-2.0 */
/* 28_unsigned_tiled - tiled product with unsigned dimensions and managed memory */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <typename T, unsigned int TILE>
__global__ void matmul_kernel(const T *A, const T *B, T *C, unsigned int rowsA, unsigned int colsB,
                              unsigned int inner)
{
    __shared__ T subA[TILE][TILE];
    __shared__ T subB[TILE][TILE];
    unsigned int r = TILE * blockIdx.y + threadIdx.y;
    unsigned int c = TILE * blockIdx.x + threadIdx.x;
    T sum = T(0);

    for (unsigned int base = 0; base < inner; base += TILE) {
        if (r < rowsA && base + threadIdx.x < inner)
            subA[threadIdx.y][threadIdx.x] = A[r * inner + base + threadIdx.x];
        else
            subA[threadIdx.y][threadIdx.x] = T(0);
        if (c < colsB && base + threadIdx.y < inner)
            subB[threadIdx.y][threadIdx.x] = B[(base + threadIdx.y) * colsB + c];
        else
            subB[threadIdx.y][threadIdx.x] = T(0);
        __syncthreads();
#pragma unroll
        for (unsigned int e = 0; e < TILE; ++e)
            sum += subA[threadIdx.y][e] * subB[e][threadIdx.x];
        __syncthreads();
    }
    if (r < rowsA && c < colsB)
        C[r * colsB + c] = sum;
}

int main()
{
    unsigned int rowsA = 65, colsB = 43, inner = 57;
    float *A, *B, *C;
    cudaMallocManaged(&A, rowsA * inner * sizeof(float));
    cudaMallocManaged(&B, inner * colsB * sizeof(float));
    cudaMallocManaged(&C, rowsA * colsB * sizeof(float));
    for (unsigned int i = 0; i < rowsA * inner; i++) A[i] = rand() % 8;
    for (unsigned int i = 0; i < inner * colsB; i++) B[i] = rand() % 8;

    const unsigned int TILE = 8;
    dim3 threads(TILE, TILE, 1);
    dim3 blocks((colsB - 1) / TILE + 1, (rowsA - 1) / TILE + 1, 1);
    matmul_kernel<float, TILE><<<blocks, threads>>>(A, B, C, rowsA, colsB, inner);
    cudaDeviceSynchronize();

    bool error = false;
    for (unsigned int i = 0; i < rowsA && !error; i++)
        for (unsigned int j = 0; j < colsB && !error; j++) {
            float expect = 0;
            for (unsigned int e = 0; e < inner; e++) expect += A[i * inner + e] * B[e * colsB + j];
            if (C[i * colsB + j] != expect) {
                printf("FOUND ERROR at C[%u][%u]\n", i, j);
                error = true;
            }
        }
    if (!error) printf("Success!\n");
    cudaFree(A);
    cudaFree(B);
    cudaFree(C);
    return error;
}
