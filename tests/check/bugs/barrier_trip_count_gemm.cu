/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_trip_count_gemm.cu - the K loop ends earlier for some rows: a lower triangular A */
// rung: grid=n/16,m/16 block=16,16 a=f32[m*m] b=f32[m*n] c=f32[m*n]:none m=48 n=32
#define TILE 16
__global__ void trmm(const float *a, const float *b, float *c, int m, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < row; t += TILE) {
        as[threadIdx.y][threadIdx.x] = t + threadIdx.x <= row ? a[row * m + t + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads(); // BUG barrier
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads(); // BUG barrier
    }
    c[row * n + col] = sum;
}
