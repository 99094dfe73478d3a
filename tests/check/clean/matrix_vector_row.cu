/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_vector_row.cu - one thread per row */
// rung: grid=2 block=32 a=f32[rows*cols] x=f32[cols] y=f32[rows]:none rows=50 cols=20
__global__ void gemv(const float *a, const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++)
        sum += a[row * cols + j] * x[j];
    y[row] = sum;
}
