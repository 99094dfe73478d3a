/* SPDX-License-Identifier: Apache-2.0 */
/* vector_alignment_row_sum.cu - rows of an odd width are read as float4 */
// rung: grid=6 block=32 x=f32[6*cols] sums=f32[6]:none cols=131
__global__ void row_sum(const float *x, float *sums, int cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 4; i += 32) {
        float4 v = reinterpret_cast<const float4 *>(row)[i]; // BUG misaligned
        sum += v.x + v.y + v.z + v.w;
    }
    for (int i = cols / 4 * 4 + threadIdx.x; i < cols; i += 32)
        sum += row[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}
