/* SPDX-License-Identifier: Apache-2.0 */
/* missing_syncwarp_broadcast.cu - lane 0 writes, all lanes read */
// rung: grid=1 block=128 x=f32[128] y=f32[128]:none
__global__ void subtract_first(const float *x, float *y)
{
    __shared__ float first[4];
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        first[warp] = x[threadIdx.x] * 0.5f; // BUG race
    y[threadIdx.x] = x[threadIdx.x] - first[warp]; // BUG race
}
