/* SPDX-License-Identifier: Apache-2.0 */
/* vector_alignment_copy.cu - float4 loads from x + 1 */
// rung: grid=1 block=64 x=f32[260] y=f32[256]:none
__global__ void shift_copy(const float *x, float *y)
{
    int i = threadIdx.x;
    reinterpret_cast<float4 *>(y)[i] = reinterpret_cast<const float4 *>(x + 1)[i]; // BUG misaligned
}
