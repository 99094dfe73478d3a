/* SPDX-License-Identifier: Apache-2.0 */
/* spmv_csr_scalar.cu - one thread per row */
// rung: kernel=build grid=1 block=128 row_ptr=i32[101]:none rows=100
// rung: kernel=spmv grid=2 block=64 row_ptr=i32[101]:none cols=i32[400] values=f32[400] x=f32[10] y=f32[100]:none rows=100
__global__ void build(int *row_ptr, int rows)
{
    if (threadIdx.x <= rows)
        row_ptr[threadIdx.x] = 4 * threadIdx.x - threadIdx.x % 3;
}
__global__ void spmv(const int *row_ptr, const int *cols, const float *values, const float *x, float *y, int rows)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = row_ptr[row]; j < row_ptr[row + 1]; j++)
            sum += values[j] * x[cols[j]];
        y[row] = sum;
    }
}
