/* SPDX-License-Identifier: Apache-2.0 */
/* 09_tiled_mnk - tiled product in which n is the inner dimension */
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define TILE 16

// a is m x n, b is n x k, c is m x k
__global__ void gpu_mat_mul(float *a, float *b, float *c, int m, int n, int k)
{
    __shared__ float sa[TILE][TILE];
    __shared__ float sb[TILE][TILE];

    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0;

    for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
        int ac = t * TILE + threadIdx.x;
        int br = t * TILE + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = (row < m && ac < n) ? a[row * n + ac] : 0.0f;
        sb[threadIdx.y][threadIdx.x] = (br < n && col < k) ? b[br * k + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            acc += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }

    if (row < m && col < k)
        c[row * k + col] = acc;
}

void cpu_mat_mul(float *h_a, float *h_b, float *want, int m, int n, int k)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < k; ++j) {
            float dot = 0;
            for (int l = 0; l < n; ++l)
                dot += h_a[i * n + l] * h_b[l * k + j];
            want[i * k + j] = dot;
        }
}

int main(int argc, char *argv[])
{
    int m = 123, n = 77, k = 95;
    if (argc == 4) {
        m = atoi(argv[1]);
        n = atoi(argv[2]);
        k = atoi(argv[3]);
    }
    srand(17);

    float *h_a, *h_b, *h_c, *h_ref;
    cudaMallocHost((void **)&h_a, sizeof(float) * m * n);
    cudaMallocHost((void **)&h_b, sizeof(float) * n * k);
    cudaMallocHost((void **)&h_c, sizeof(float) * m * k);
    cudaMallocHost((void **)&h_ref, sizeof(float) * m * k);
    for (int i = 0; i < m * n; ++i) h_a[i] = rand() % 64;
    for (int i = 0; i < n * k; ++i) h_b[i] = rand() % 64;

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    float gpu_ms;

    float *d_a, *d_b, *d_c;
    cudaMalloc((void **)&d_a, sizeof(float) * m * n);
    cudaMalloc((void **)&d_b, sizeof(float) * n * k);
    cudaMalloc((void **)&d_c, sizeof(float) * m * k);

    cudaEventRecord(start);
    cudaMemcpy(d_a, h_a, sizeof(float) * m * n, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b, sizeof(float) * n * k, cudaMemcpyHostToDevice);

    unsigned int tiles_down = (m + TILE - 1) / TILE;
    unsigned int tiles_across = (k + TILE - 1) / TILE;
    dim3 dimGrid(tiles_across, tiles_down);
    dim3 dimBlock(TILE, TILE);
    gpu_mat_mul<<<dimGrid, dimBlock>>>(d_a, d_b, d_c, m, n, k);

    cudaMemcpy(h_c, d_c, sizeof(float) * m * k, cudaMemcpyDeviceToHost);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&gpu_ms, start, stop);
    printf("%dx%d times %dx%d: %f ms\n", m, n, n, k, gpu_ms);

    cpu_mat_mul(h_a, h_b, h_ref, m, n, k);
    int same = 1;
    for (int i = 0; i < m * k; ++i)
        if (h_c[i] != h_ref[i]) same = 0;
    printf(same ? "results agree\n" : "results differ\n");

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    cudaFreeHost(h_a);
    cudaFreeHost(h_b);
    cudaFreeHost(h_c);
    cudaFreeHost(h_ref);
    return !same;
}
