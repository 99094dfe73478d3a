/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiled-two_buffers - Two buffers per tile, so that one barrier per tile is enough. */
#define T 32
// rung: grid=(n+T-1)/T,(m+T-1)/T block=T,T

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[2][T][T], bs[2][T][T];
    const int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int p = 0, now = 0; p < k; p += T, now ^= 1) {
        const int ka = p + threadIdx.x, kb = p + threadIdx.y;
        as[now][threadIdx.y][threadIdx.x] = (i < m && ka < k) ? a[i * k + ka] : 0.f;
        bs[now][threadIdx.y][threadIdx.x] = (kb < k && j < n) ? b[kb * n + j] : 0.f;
        __syncthreads();
        for (int q = 0; q < T; q++)
            sum += as[now][threadIdx.y][q] * bs[now][q][threadIdx.x];
    }
    if (i < m && j < n)
        c[i * n + j] = sum;
}
