/* SPDX-License-Identifier: Apache-2.0 */
/* spmv_ell.cu - rows of equal length, stored by columns */
// rung: grid=2 block=64 lengths=i32[128] cols=i32[128*10] values=f32[128*10] x=f32[10] y=f32[128]:none
__global__ void spmv(const int *lengths, const int *cols, const float *values, const float *x, float *y)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < lengths[row]; j++)
        sum += values[j * 128 + row] * x[cols[j * 128 + row]];
    y[row] = sum;
}
