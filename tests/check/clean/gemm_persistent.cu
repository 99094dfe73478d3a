/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_persistent.cu - a block takes tiles from a counter */
// rung: grid=2 block=8,8 a=f32[32*16] b=f32[16*32] c=f32[32*32]:none next=i32[1]:zero
__global__ void sgemm(const float *a, const float *b, float *c, int *next)
{
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = atomicAdd(next, 1);
        __syncthreads();
        int now = tile;
        __syncthreads();
        if (now >= 16)
            return;
        int row = now / 4 * 8 + threadIdx.y, col = now % 4 * 8 + threadIdx.x;
        float sum = 0.0f;
        for (int i = 0; i < 16; i++)
            sum += a[row * 16 + i] * b[i * 32 + col];
        c[row * 32 + col] = sum;
    }
}
