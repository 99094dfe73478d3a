/* SPDX-License-Identifier: Apache-2.0 */
/* same_value_flag.cu - many blocks store a flag with an atomic */
// rung: grid=4 block=64 x=i32[256] found=i32[1]:zero
__global__ void contains(const int *x, int *found)
{
    if (x[blockIdx.x * 64 + threadIdx.x] == 7)
        atomicExch(found, 1);
}
