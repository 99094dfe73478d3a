/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_warp.cu - one row per warp */
// rung: grid=2 block=64 x=f32[4*50] y=f32[4*50]:none cols=50
__global__ void softmax(const float *x, float *y, int cols)
{
    int lane = threadIdx.x % 32, row = (blockIdx.x * 64 + threadIdx.x) / 32;
    float best = -3.4e38f, sum = 0.0f;
    for (int i = lane; i < cols; i += 32)
        best = fmaxf(best, x[row * cols + i]);
    for (int d = 16; d > 0; d /= 2)
        best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, d));
    for (int i = lane; i < cols; i += 32)
        sum += __expf(x[row * cols + i] - best);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    for (int i = lane; i < cols; i += 32)
        y[row * cols + i] = __expf(x[row * cols + i] - best) / sum;
}
