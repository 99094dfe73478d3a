/* SPDX-License-Identifier: Apache-2.0 */
/* 12_result_first - tiled product with the result as the first parameter */
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <cuda_runtime.h>

#define CHECKED(call)                                                                    \
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
    const int aFirst = blockIdx.y * BLOCK_SIZE * wA;
    const int aLast = aFirst + wA;
    const int bFirst = blockIdx.x * BLOCK_SIZE;

    float sum = 0;

    for (int a = aFirst, b = bFirst; a < aLast; a += BLOCK_SIZE, b += BLOCK_SIZE * wB) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];

        As[ty][tx] = A[a + ty * wA + tx];
        Bs[ty][tx] = B[b + ty * wB + tx];
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }

    C[(blockIdx.y * BLOCK_SIZE + ty) * wB + bFirst + tx] = sum;
}

static void fillWith(float *data, int size, float val)
{
    for (int i = 0; i < size; ++i) data[i] = val;
}

static int runTest(int block_size, const dim3 &sizeOfA, const dim3 &sizeOfB)
{
    unsigned sizeA = sizeOfA.x * sizeOfA.y, sizeB = sizeOfB.x * sizeOfB.y;
    dim3 sizeOfC(sizeOfB.x, sizeOfA.y, 1);
    unsigned sizeC = sizeOfC.x * sizeOfC.y;
    float *h_A, *h_B, *h_C;
    CHECKED(cudaMallocHost(&h_A, sizeA * sizeof(float)));
    CHECKED(cudaMallocHost(&h_B, sizeB * sizeof(float)));
    CHECKED(cudaMallocHost(&h_C, sizeC * sizeof(float)));
    const float valB = 0.01f;
    fillWith(h_A, sizeA, 1.0f);
    fillWith(h_B, sizeB, valB);

    float *d_A, *d_B, *d_C;
    cudaStream_t stream;
    CHECKED(cudaMalloc(reinterpret_cast<void **>(&d_A), sizeA * sizeof(float)));
    CHECKED(cudaMalloc(reinterpret_cast<void **>(&d_B), sizeB * sizeof(float)));
    CHECKED(cudaMalloc(reinterpret_cast<void **>(&d_C), sizeC * sizeof(float)));
    CHECKED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECKED(cudaMemcpyAsync(d_A, h_A, sizeA * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECKED(cudaMemcpyAsync(d_B, h_B, sizeB * sizeof(float), cudaMemcpyHostToDevice, stream));

    dim3 threads(block_size, block_size);
    dim3 grid(sizeOfB.x / threads.x, sizeOfA.y / threads.y);
    if (block_size == 16) {
        MatrixMulTiled<16><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, sizeOfA.x, sizeOfB.x);
    } else {
        MatrixMulTiled<32><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, sizeOfA.x, sizeOfB.x);
    }
    CHECKED(cudaMemcpyAsync(h_C, d_C, sizeC * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECKED(cudaStreamSynchronize(stream));

    bool correct = true;
    for (unsigned i = 0; i < sizeC; i++) {
        double relative = fabs(h_C[i] - sizeOfA.x * valB) / (sizeOfA.x * valB);
        if (relative > 1e-5) correct = false;
    }
    printf("%s\n", correct ? "PASS" : "FAIL");
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
    dim3 sizeOfA(6 * block_size, 4 * block_size, 1);
    dim3 sizeOfB(3 * block_size, 6 * block_size, 1);
    assert(sizeOfA.x == sizeOfB.y);
    return runTest(block_size, sizeOfA, sizeOfB);
}
