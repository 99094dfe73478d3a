/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_stride_batched_axpy.cu - the stride of the batch is in bytes */
// rung: grid=1,8 block=64 x=f32[8*n] y=f32[8*n] n=64 stride=256
__global__ void axpy(const float *x, float *y, int n, int stride)
{
    int i = threadIdx.x;
    const float *from = x + blockIdx.y * stride;
    float *to = y + blockIdx.y * stride;
    if (i < n)
        to[i] += 2.0f * from[i]; // BUG out-of-bounds
}
