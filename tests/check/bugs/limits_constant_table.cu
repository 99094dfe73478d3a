/* SPDX-License-Identifier: Apache-2.0 */
/* limits_constant_table.cu - writes to constant memory */
// rung: grid=1 block=32 x=f32[32]
__constant__ float table[32];
__global__ void fill_table(const float *x)
{
    float *writable = const_cast<float *>(table);
    writable[threadIdx.x] = x[threadIdx.x]; // BUG read-only
}
