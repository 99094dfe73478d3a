/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_redux.cu - integer reduction of a warp in one instruction */
// rung: grid=2 block=64 x=u32[128] y=u32[4]:none
__global__ void warp_sums(const unsigned *x, unsigned *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    unsigned sum = __reduce_add_sync(0xffffffffu, x[i]);
    if (threadIdx.x % 32 == 0)
        y[i / 32] = sum;
}
