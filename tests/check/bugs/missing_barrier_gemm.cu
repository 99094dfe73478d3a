/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier_gemm.cu - no barrier after the tile loads */
// rung: grid=(n+15)/16,(m+15)/16 block=16,16 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=48 n=32 k=40
#define TILE 16
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.0f; // BUG race
        bs[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + col] : 0.0f; // BUG race
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x]; // BUG race
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
