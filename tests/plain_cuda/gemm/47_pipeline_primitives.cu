/* SPDX-License-Identifier: Apache-2.0 */
/* 47_pipeline_primitives - tiled product with the pipeline primitives of cuda_pipeline.h */
#include <cstdio>
#include <cstdlib>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define BLOCK 32

__global__ void matMulAsync(float *__restrict__ C, const float *__restrict__ A, const float *__restrict__ B,
                                   int wA, int wB)
{
    __shared__ float As[2][BLOCK][BLOCK];
    __shared__ float Bs[2][BLOCK][BLOCK];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float *a = A + (BLOCK * blockIdx.y + ty) * wA + tx;
    const float *b = B + ty * wB + BLOCK * blockIdx.x + tx;
    const int steps = wA / BLOCK;

    __pipeline_memcpy_async(&As[0][ty][tx], a, sizeof(float));
    __pipeline_memcpy_async(&Bs[0][ty][tx], b, sizeof(float));
    __pipeline_commit();

    float sum = 0.0f;
    for (int i = 0; i < steps; ++i) {
        const int now = i % 2, next = 1 - now;
        if (i + 1 < steps) {
            __pipeline_memcpy_async(&As[next][ty][tx], a + (i + 1) * BLOCK, sizeof(float));
            __pipeline_memcpy_async(&Bs[next][ty][tx], b + (i + 1) * BLOCK * wB, sizeof(float));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) sum += As[now][ty][k] * Bs[now][k][tx];
        __syncthreads();
    }
    C[(BLOCK * blockIdx.y + ty) * wB + BLOCK * blockIdx.x + tx] = sum;
}

int main(int argc, char **argv)
{
    const int hA = 96, wA = 128, hB = wA, wB = 160;
    float *A, *B, *C;
    cudaMallocManaged(&A, sizeof(float) * hA * wA);
    cudaMallocManaged(&B, sizeof(float) * hB * wB);
    cudaMallocManaged(&C, sizeof(float) * hA * wB);
    for (int i = 0; i < hA * wA; i++) A[i] = (float)(i % 5);
    for (int i = 0; i < hB * wB; i++) B[i] = (float)(i % 3);

    dim3 threads(BLOCK, BLOCK);
    dim3 grid(wB / threads.x, hA / threads.y);
    matMulAsync<<<grid, threads>>>(C, A, B, wA, wB);
    cudaDeviceSynchronize();

    for (int i = 0; i < hA; i++)
        for (int j = 0; j < wB; j++) {
            float s = 0;
            for (int k = 0; k < wA; k++) s += A[i * wA + k] * B[k * wB + j];
            if (s != C[i * wB + j]) {
                printf("wrong result\n");
                return EXIT_FAILURE;
            }
        }
    printf("right\n");
    return EXIT_SUCCESS;
}
