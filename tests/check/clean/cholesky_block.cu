/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky_block.cu - columns in shared memory */
// rung: kernel=make grid=1 block=16,16 a=f32[256]:none
// rung: kernel=cholesky grid=1 block=16,16 a=f32[256]:none
__global__ void make(float *a)
{
    a[threadIdx.y * 16 + threadIdx.x] = threadIdx.x == threadIdx.y ? 20.0f : 1.0f;
}
__global__ void cholesky(float *a)
{
    __shared__ float s[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 16 + x];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (x == k && y == k)
            s[k][k] = sqrtf(s[k][k]);
        __syncthreads();
        if (x == k && y > k)
            s[y][k] /= s[k][k];
        __syncthreads();
        if (x > k && y >= x)
            s[y][x] -= s[y][k] * s[x][k];
        __syncthreads();
    }
    a[y * 16 + x] = y >= x ? s[y][x] : 0.0f;
}
