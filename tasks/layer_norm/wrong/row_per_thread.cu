/* SPDX-License-Identifier: Apache-2.0 */
/* row_per_thread - wrong: coalesced accesses */
// rung: grid=(rows+31)/32 block=32

__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float mean = 0, squares = 0;
    for (int i = 0; i < cols; i++)
        mean += (x[row * cols + i] - mean) / (i + 1);
    for (int i = 0; i < cols; i++)
        squares += (x[row * cols + i] - mean) * (x[row * cols + i] - mean);
    float factor = rsqrtf(squares / cols + 1e-5f);
    for (int i = 0; i < cols; i++)
        y[row * cols + i] = (x[row * cols + i] - mean) * factor * gamma[i] + beta[i];
}
