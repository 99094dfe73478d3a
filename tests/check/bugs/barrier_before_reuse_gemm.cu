/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_before_reuse_gemm.cu - no barrier at the end of the K loop */
// rung: grid=n/16,m/16 block=16,16 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=32 n=32 k=64
#define TILE 16
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x]; // BUG race
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col]; // BUG race
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x]; // BUG race
    }
    c[row * n + col] = sum;
}
