/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index_stencil.cu - the tile has one halo element instead of two */
// rung: grid=n/256 block=256 x=f32[n+2] y=f32[n]:none n=1024
__global__ void stencil(const float *x, float *y, int n)
{
    __shared__ float tile[256 + 1];
    int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i + 1];
    if (threadIdx.x == 0) {
        tile[0] = x[i];
        tile[257] = x[i + 257]; // BUG out-of-bounds
    }
    __syncthreads();
    y[i] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2]; // BUG out-of-bounds
}
