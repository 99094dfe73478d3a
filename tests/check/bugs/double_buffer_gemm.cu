/* SPDX-License-Identifier: Apache-2.0 */
/* double_buffer_gemm.cu - the load of the next tile and the computation use the same buffer */
// rung: grid=2 block=16,16 a=f32[32*k] b=f32[k*16] c=f32[32*16]:none k=64
__global__ void sgemm(const float *a, const float *b, float *c, int k)
{
    __shared__ float as[2][16][16], bs[2][16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 16 + ty;
    float sum = 0.0f;
    as[0][ty][tx] = a[row * k + tx];
    bs[0][ty][tx] = b[ty * 16 + tx];
    __syncthreads();
    for (int t = 0; t < k / 16; t++) {
        int now = t % 2, next = t % 2;
        if (t + 1 < k / 16) {
            as[next][ty][tx] = a[row * k + (t + 1) * 16 + tx]; // BUG race
            bs[next][ty][tx] = b[((t + 1) * 16 + ty) * 16 + tx]; // BUG race
        }
        for (int i = 0; i < 16; i++)
            sum += as[now][ty][i] * bs[now][i][tx]; // BUG race
        __syncthreads();
    }
    c[row * 16 + tx] = sum;
}
