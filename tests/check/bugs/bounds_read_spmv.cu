/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_read_spmv.cu - reads row_ptr[row + 1] of one row too many */
// rung: grid=(rows+63)/64 block=64 row_ptr=i32[rows+1]:iota values=f32[rows+8] x=f32[16] y=f32[rows+64]:none rows=100
__global__ void spmv(const int *row_ptr, const float *values, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row <= rows) {
        float sum = 0.0f;
        int end = row_ptr[row + 1]; // BUG out-of-bounds
        for (int j = row_ptr[row]; j < end; j++)
            sum += values[j] * x[j % 16];
        y[row] = sum;
    }
}
