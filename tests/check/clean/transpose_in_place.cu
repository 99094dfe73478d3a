/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_in_place.cu - each block exchanges two tiles */
// rung: grid=2,2 block=16,16 a=f32[32*32]
__global__ void transpose(float *a)
{
    __shared__ float upper[16][17], lower[16][17];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    if (bx < by)
        return;
    upper[ty][tx] = a[(by * 16 + ty) * 32 + bx * 16 + tx];
    lower[ty][tx] = a[(bx * 16 + ty) * 32 + by * 16 + tx];
    __syncthreads();
    a[(bx * 16 + ty) * 32 + by * 16 + tx] = upper[tx][ty];
    if (bx != by)
        a[(by * 16 + ty) * 32 + bx * 16 + tx] = lower[tx][ty];
}
