/* SPDX-License-Identifier: Apache-2.0 */
/* softmax-warp_per_row - One warp per row without shared memory. */
// rung: grid=(rows+3)/4 block=32,4

__global__ void softmax(const float *x, float *y, int rows, int cols)
{
    const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + (size_t)row * cols;
    float *to = y + (size_t)row * cols;
    float top = -3.4e38f;
    for (int col = lane; col < cols; col += 32)
        top = max(top, from[col]);
    for (int mask = 1; mask < 32; mask *= 2)
        top = max(top, __shfl_xor_sync(0xffffffffu, top, mask));
    float total = 0;
    for (int col = lane; col < cols; col += 32)
        total += exp(from[col] - top);
    for (int mask = 1; mask < 32; mask *= 2)
        total += __shfl_xor_sync(0xffffffffu, total, mask);
    for (int col = lane; col < cols; col += 32)
        to[col] = exp(from[col] - top) / total;
}
