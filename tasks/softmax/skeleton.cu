/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Softmax: stable and by blocks. Try it: rung grade softmax FILE */
// rung: grid=rows block=128

__global__ void softmax(const float *x, float *y, int rows, int cols)
{
    /* TODO: for each row, y[i] = exp(x[i]) / (the sum of exp(x[j]) over the row). exp(100) is
     * infinite in float, so subtract the largest element of the row first. One block per row. */
}
