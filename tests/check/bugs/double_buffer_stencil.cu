/* SPDX-License-Identifier: Apache-2.0 */
/* double_buffer_stencil.cu - the step reads the buffer that it writes */
// rung: grid=1 block=64 x=f32[64] y=f32[64]:none steps=4
__global__ void heat(const float *x, float *y, int steps)
{
    __shared__ float u[2][66];
    int t = threadIdx.x + 1, now = 0;
    u[0][t] = u[1][t] = x[threadIdx.x];
    if (threadIdx.x < 2)
        u[threadIdx.x][0] = u[threadIdx.x][65] = 0.0f;
    __syncthreads();
    for (int s = 0; s < steps; s++) {
        u[1 - now][t] = 0.5f * u[now][t] + 0.25f * (u[1 - now][t - 1] + u[1 - now][t + 1]); // BUG race
        __syncthreads();
        now = 1 - now;
    }
    y[threadIdx.x] = u[now][t];
}
