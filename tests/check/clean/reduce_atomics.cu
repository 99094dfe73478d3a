/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_atomics.cu - one atomic per thread */
// rung: grid=4 block=64 x=i32[256] sum=i32[1]:zero
__global__ void sum_all(const int *x, int *sum)
{
    atomicAdd(sum, x[blockIdx.x * 64 + threadIdx.x]);
}
