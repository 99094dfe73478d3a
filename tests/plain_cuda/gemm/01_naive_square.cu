/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive_square - multiplies two square matrices, one thread per element */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

__global__ void matMul(float *a, float *b, float *c, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < N && col < N) {
        float sum = 0.0f;
        for (int i = 0; i < N; i++)
            sum += a[row * N + i] * b[i * N + col];
        c[row * N + col] = sum;
    }
}

int main(void)
{
    int N = 1 << 9;
    size_t bytes = (size_t)N * N * sizeof(float);

    float *h_a = (float *)malloc(bytes);
    float *h_b = (float *)malloc(bytes);
    float *h_c = (float *)malloc(bytes);
    for (int i = 0; i < N * N; i++) {
        h_a[i] = (float)(rand() % 10);
        h_b[i] = (float)(rand() % 10);
    }

    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, bytes);
    cudaMalloc(&d_b, bytes);
    cudaMalloc(&d_c, bytes);
    cudaMemcpy(d_a, h_a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b, bytes, cudaMemcpyHostToDevice);

    dim3 threadsPerBlock(16, 16);
    dim3 blocksPerGrid((N + 15) / 16, (N + 15) / 16);
    matMul<<<blocksPerGrid, threadsPerBlock>>>(d_a, d_b, d_c, N);
    cudaDeviceSynchronize();

    cudaMemcpy(h_c, d_c, bytes, cudaMemcpyDeviceToHost);

    int errors = 0;
    for (int t = 0; t < 1000; t++) {
        int i = rand() % N, j = rand() % N;
        double want = 0;
        for (int k = 0; k < N; k++)
            want += (double)h_a[i * N + k] * h_b[k * N + j];
        if (fabs(want - h_c[i * N + j]) > 1e-3 * fabs(want))
            errors++;
    }
    printf(errors ? "FAILED: %d differences\n" : "PASSED\n", errors);

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    free(h_a);
    free(h_b);
    free(h_c);
    return errors != 0;
}
