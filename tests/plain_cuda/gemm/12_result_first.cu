/* SPDX-License-Identifier: Apache-2.0 */
/* 12_result_first - tiled product with the result as the first parameter */
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cuda_runtime.h>

#define checkCudaErrors(call)                                                                    \
    {                                                                                            \
        cudaError_t e = call;                                                                    \
        if (e != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));           \
            exit(EXIT_FAILURE);                                                                  \
        }                                                                                        \
    }

/**
 * C = A * B, with one block for each tile of C.
 * wA is A's width and wB is B's width. Both and A's height are multiples of BLOCK_SIZE.
 */
template <int BLOCK_SIZE> __global__ void MatrixMulTiled(float *C, float *A, float *B, int wA, int wB)
{
    const int tx = threadIdx.x, ty = threadIdx.y;

    // Steps through the tiles of A in this row of blocks and those of B in this column
    const int aBegin = wA * BLOCK_SIZE * blockIdx.y;
    const int aEnd = aBegin + wA;
    const int bBegin = BLOCK_SIZE * blockIdx.x;
    const int bStep = BLOCK_SIZE * wB;

    float Csub = 0;

    for (int a = aBegin, b = bBegin; a < aEnd; a += BLOCK_SIZE, b += bStep) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];

        As[ty][tx] = A[a + wA * ty + tx];
        Bs[ty][tx] = B[b + wB * ty + tx];
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }

    const int c = wB * BLOCK_SIZE * blockIdx.y + BLOCK_SIZE * blockIdx.x;
    C[c + wB * ty + tx] = Csub;
}

static void ConstantInit(float *data, int size, float val)
{
    for (int i = 0; i < size; ++i) data[i] = val;
}

static int MatrixMultiply(int block_size, const dim3 &dimsA, const dim3 &dimsB)
{
    unsigned sizeA = dimsA.x * dimsA.y, sizeB = dimsB.x * dimsB.y;
    dim3 dimsC(dimsB.x, dimsA.y, 1);
    unsigned sizeC = dimsC.x * dimsC.y;
    float *h_A, *h_B, *h_C;
    checkCudaErrors(cudaMallocHost(&h_A, sizeA * sizeof(float)));
    checkCudaErrors(cudaMallocHost(&h_B, sizeB * sizeof(float)));
    checkCudaErrors(cudaMallocHost(&h_C, sizeC * sizeof(float)));
    const float valB = 0.01f;
    ConstantInit(h_A, sizeA, 1.0f);
    ConstantInit(h_B, sizeB, valB);

    float *d_A, *d_B, *d_C;
    cudaStream_t stream;
    checkCudaErrors(cudaMalloc(reinterpret_cast<void **>(&d_A), sizeA * sizeof(float)));
    checkCudaErrors(cudaMalloc(reinterpret_cast<void **>(&d_B), sizeB * sizeof(float)));
    checkCudaErrors(cudaMalloc(reinterpret_cast<void **>(&d_C), sizeC * sizeof(float)));
    checkCudaErrors(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    checkCudaErrors(cudaMemcpyAsync(d_A, h_A, sizeA * sizeof(float), cudaMemcpyHostToDevice, stream));
    checkCudaErrors(cudaMemcpyAsync(d_B, h_B, sizeB * sizeof(float), cudaMemcpyHostToDevice, stream));

    dim3 threads(block_size, block_size);
    dim3 grid(dimsB.x / threads.x, dimsA.y / threads.y);
    if (block_size == 16) {
        MatrixMulTiled<16><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
    } else {
        MatrixMulTiled<32><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
    }
    checkCudaErrors(cudaMemcpyAsync(h_C, d_C, sizeC * sizeof(float), cudaMemcpyDeviceToHost, stream));
    checkCudaErrors(cudaStreamSynchronize(stream));

    bool correct = true;
    for (unsigned i = 0; i < sizeC; i++) {
        double relative = fabs(h_C[i] - dimsA.x * valB) / (dimsA.x * valB);
        if (relative > 1e-5) correct = false;
    }
    printf("%s\n", correct ? "Result = PASS" : "Result = FAIL");
    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
    cudaFreeHost(h_A);
    cudaFreeHost(h_B);
    cudaFreeHost(h_C);
    cudaStreamDestroy(stream);
    return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int block_size = argc > 1 && !strcmp(argv[1], "16") ? 16 : 32;
    dim3 dimsA(5 * 2 * block_size, 5 * 2 * block_size, 1);
    dim3 dimsB(5 * 4 * block_size, 5 * 2 * block_size, 1);
    assert(dimsA.x == dimsB.y);
    return MatrixMultiply(block_size, dimsA, dimsB);
}
