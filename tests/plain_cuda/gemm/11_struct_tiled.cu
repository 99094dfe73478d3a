/* SPDX-License-Identifier: Apache-2.0 */
/* 11_struct_tiled - tiled product of matrices in structs with a stride */
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 16

// A matrix or a part of one: element (row, col) is elements[row * stride + col].
struct Matrix {
    int width;
    int height;
    int stride;
    float *elements;
};

__device__ float load(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }

__device__ void store(Matrix A, int row, int col, float value) { A.elements[row * A.stride + col] = value; }

// The tile at (row, col) in units of tiles
__device__ Matrix tileOf(Matrix A, int row, int col)
{
    A.elements += (row * A.stride + col) * BLOCK_SIZE;
    A.width = A.height = BLOCK_SIZE;
    return A;
}

__global__ void MatMulShared(Matrix A, Matrix B, Matrix C)
{
    int tileRow = blockIdx.y;
    int tileCol = blockIdx.x;
    int row = threadIdx.y;
    int col = threadIdx.x;

    Matrix out = tileOf(C, tileRow, tileCol);
    float acc = 0;

    for (int t = 0; t < A.width / BLOCK_SIZE; ++t) {
        Matrix left = tileOf(A, tileRow, t);
        Matrix right = tileOf(B, t, tileCol);

        __shared__ float aTile[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float bTile[BLOCK_SIZE][BLOCK_SIZE];
        aTile[row][col] = load(left, row, col);
        bTile[row][col] = load(right, row, col);
        __syncthreads();

        for (int k = 0; k < BLOCK_SIZE; ++k)
            acc += aTile[row][k] * bTile[k][col];
        __syncthreads();
    }
    store(out, row, col, acc);
}

void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A = A, d_B = B, d_C = C;
    size_t sizeA = (size_t)A.width * A.height * sizeof(float);
    size_t sizeB = (size_t)B.width * B.height * sizeof(float);
    size_t sizeC = (size_t)C.width * C.height * sizeof(float);
    d_A.stride = A.width;
    d_B.stride = B.width;
    d_C.stride = C.width;
    cudaMalloc(&d_A.elements, sizeA);
    cudaMalloc(&d_B.elements, sizeB);
    cudaMalloc(&d_C.elements, sizeC);
    cudaMemcpy(d_A.elements, A.elements, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B.elements, B.elements, sizeB, cudaMemcpyHostToDevice);

    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
    MatMulShared<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);

    cudaMemcpy(C.elements, d_C.elements, sizeC, cudaMemcpyDeviceToHost);
    cudaFree(d_A.elements);
    cudaFree(d_B.elements);
    cudaFree(d_C.elements);
}

static Matrix make(int height, int width)
{
    Matrix m;
    m.width = m.stride = width;
    m.height = height;
    m.elements = (float *)malloc(sizeof(float) * width * height);
    for (int i = 0; i < width * height; i++)
        m.elements[i] = (float)(rand() % 3);
    return m;
}

int main(void)
{
    Matrix A = make(64, 128), B = make(128, 96), C = make(64, 96);
    MatMul(A, B, C);
    for (int i = 0; i < C.height; i++)
        for (int j = 0; j < C.width; j++) {
            float want = 0;
            for (int k = 0; k < A.width; k++)
                want += A.elements[i * A.width + k] * B.elements[k * B.width + j];
            if (want != C.elements[i * C.width + j]) {
                printf("C(%d,%d) = %f, expected %f\n", i, j, C.elements[i * C.width + j], want);
                return EXIT_FAILURE;
            }
        }
    puts("Test passed");
    return EXIT_SUCCESS;
}
