/* SPDX-License-Identifier: Apache-2.0 */
/* spmv_csr_vector.cu - one warp per row */
// rung: grid=2 block=64 row_ptr=i32[5]:iota values=f32[64] x=f32[16] y=f32[4]:none
__global__ void spmv(const int *row_ptr, const float *values, const float *x, float *y)
{
    int lane = threadIdx.x % 32, row = (blockIdx.x * 64 + threadIdx.x) / 32;
    float sum = 0.0f;
    for (int j = row_ptr[row] + lane; j < row_ptr[row + 1]; j += 32)
        sum += values[j] * x[j % 16];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        y[row] = sum;
}
