/* SPDX-License-Identifier: Apache-2.0 */
/* row_per_thread - wrong: coalesced accesses */
// rung: grid=(rows+31)/32 block=32

__global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float largest = -INFINITY, sum = 0;
    for (int i = 0; i < cols; i++)
        largest = fmaxf(largest, x[row * cols + i]);
    for (int i = 0; i < cols; i++)
        sum += expf(x[row * cols + i] - largest);
    for (int i = 0; i < cols; i++)
        y[row * cols + i] = expf(x[row * cols + i] - largest) / sum;
}
