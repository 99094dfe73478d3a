/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_stride_matrix_vector.cu - rows of the matrix are addressed with the number of rows */
// rung: grid=(rows+31)/32 block=32 a=f32[rows*cols] x=f32[cols] y=f32[rows]:none rows=96 cols=40
__global__ void gemv(const float *a, const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++)
        sum += a[row * rows + j] * x[j]; // BUG out-of-bounds
    if (row < rows)
        y[row] = sum;
}
