/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.cu - mean and variance with a shared broadcast */
// rung: grid=3 block=128 x=f32[3*cols] gamma=f32[cols] beta=f32[cols] y=f32[3*cols]:none cols=200
__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int cols)
{
    __shared__ float sums[4], squares[4], mean, scale;
    const float *row = x + blockIdx.x * cols;
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 128) {
        sum += row[i];
        square += row[i] * row[i];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
        square += __shfl_down_sync(0xffffffffu, square, d);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
        squares[threadIdx.x / 32] = square;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float s = sums[0] + sums[1] + sums[2] + sums[3], q = squares[0] + squares[1] + squares[2] + squares[3];
        mean = s / cols;
        scale = rsqrtf(q / cols - mean * mean + 1e-5f);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += 128)
        y[blockIdx.x * cols + i] = (row[i] - mean) * scale * gamma[i] + beta[i];
}
