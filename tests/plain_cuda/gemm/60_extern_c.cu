/* SPDX-License-Identifier: Apache-2.0 */
/* 60_extern_c - tiled product with C linkage for the driver API */
#define TILE 16

// rung: grid=(N+TILE-1)/TILE,(M+TILE-1)/TILE block=TILE,TILE
extern "C" __global__ void matmul_tiled(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.y * TILE + y, j = blockIdx.x * TILE + x;

    float c = 0.0f;
    for (int p = 0; p < K; p += TILE) {
        a[y][x] = i < M && p + x < K ? A[i * K + (p + x)] : 0.0f;
        b[y][x] = p + y < K && j < N ? B[(p + y) * N + j] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < TILE; ++q) c += a[y][q] * b[q][x];
        __syncthreads();
    }
    if (i < M && j < N) C[i * N + j] = c;
}
