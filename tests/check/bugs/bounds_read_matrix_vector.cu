/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_read_matrix_vector.cu - the last chunk of a row is not checked */
// rung: grid=5 block=64 a=f32[5*cols] x=f32[cols] y=f32[5]:none cols=100
__global__ void gemv(const float *a, const float *x, float *y, int cols)
{
    float sum = 0.0f;
    for (int chunk = 0; chunk < (cols + 63) / 64; chunk++) {
        int col = chunk * 64 + threadIdx.x;
        sum += a[blockIdx.x * cols + col] * x[col]; // BUG out-of-bounds
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    __shared__ float warps[2];
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = warps[0] + warps[1];
}
