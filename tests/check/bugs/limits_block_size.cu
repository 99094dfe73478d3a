/* SPDX-License-Identifier: Apache-2.0 */
/* limits_block_size.cu - 2048 threads per block */
// rung: grid=1 block=2048 x=f32[2048]
__global__ void scale(float *x) // BUG limit
{
    x[threadIdx.x] *= 2.0f;
}
