/* SPDX-License-Identifier: Apache-2.0 */
/* 10_struct_naive - product of matrices in structs */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// Stored by rows, without gaps between them
typedef struct {
    int width;
    int height;
    float* elements;
} Matrix;

#define BLOCK_SIZE 16

__global__ void MatMulStruct(const Matrix A, const Matrix B, Matrix C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width)
        return;
    float dot = 0.0f;
    const float* a = A.elements + row * A.width;
    const float* b = B.elements + col;
    for (int k = 0; k < A.width; ++k, b += B.width)
        dot += a[k] * *b;
    C.elements[row * C.width + col] = dot;
}

static Matrix toDevice(const Matrix& host, bool copy)
{
    Matrix d;
    d.width = host.width;
    d.height = host.height;
    size_t size = host.width * host.height * sizeof(float);
    cudaMalloc(&d.elements, size);
    if (copy)
        cudaMemcpy(d.elements, host.elements, size, cudaMemcpyHostToDevice);
    return d;
}

void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A = toDevice(A, true);
    Matrix d_B = toDevice(B, true);
    Matrix d_C = toDevice(C, false);

    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((B.width + dimBlock.x - 1) / dimBlock.x, (A.height + dimBlock.y - 1) / dimBlock.y);
    MatMulStruct<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);

    cudaMemcpy(C.elements, d_C.elements, C.width * C.height * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_A.elements);
    cudaFree(d_B.elements);
    cudaFree(d_C.elements);
}

int main()
{
    Matrix A = {70, 50, (float*)malloc(70 * 50 * sizeof(float))};
    Matrix B = {90, 70, (float*)malloc(90 * 70 * sizeof(float))};
    Matrix C = {90, 50, (float*)malloc(90 * 50 * sizeof(float))};
    for (int i = 0; i < 70 * 50; i++) A.elements[i] = (float)(i % 7);
    for (int i = 0; i < 90 * 70; i++) B.elements[i] = (float)(i % 5);
    MatMul(A, B, C);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            printf("%8.1f ", C.elements[i * C.width + j]);
        printf("\n");
    }
    return 0;
}
