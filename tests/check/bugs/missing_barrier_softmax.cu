/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier_softmax.cu - no barrier after thread 0 stores the maximum of the row */
// rung: grid=4 block=128 x=f32[4*cols] y=f32[4*cols]:none cols=300
__global__ void softmax(const float *x, float *y, int cols)
{
    __shared__ float warp_max[4];
    __shared__ float warp_sum[4];
    __shared__ float row_max;
    const float *row = x + blockIdx.x * cols;
    float best = -3.4e38f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        best = fmaxf(best, row[i]);
    for (int d = 16; d > 0; d /= 2)
        best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, d));
    if (threadIdx.x % 32 == 0)
        warp_max[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0)
        row_max = fmaxf(fmaxf(warp_max[0], warp_max[1]), fmaxf(warp_max[2], warp_max[3])); // BUG race
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        sum += __expf(row[i] - row_max); // BUG race
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        warp_sum[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = warp_sum[0] + warp_sum[1] + warp_sum[2] + warp_sum[3];
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[blockIdx.x * cols + i] = __expf(row[i] - row_max) / sum;
}
