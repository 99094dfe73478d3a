/* SPDX-License-Identifier: Apache-2.0 */
/* race_between_blocks_spmv_coo.cu - y[row] += value of each nonzero */
// rung: grid=8 block=64 rows=i32[512] cols=i32[512] values=f32[512] x=f32[16] y=f32[16]:zero
__global__ void spmv_coo(const int *rows, const int *cols, const float *values, const float *x, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    y[rows[i]] += values[i] * x[cols[i]]; // BUG race
}
