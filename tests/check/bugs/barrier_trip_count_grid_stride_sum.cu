/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_trip_count_grid_stride_sum.cu - a grid-stride loop contains a barrier, and n is no multiple of the stride */
// rung: grid=2 block=128 x=f32[n] y=f32[n]:none n=700
__global__ void smooth(const float *x, float *y, int n)
{
    __shared__ float tile[128];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        tile[threadIdx.x] = x[i];
        __syncthreads(); // BUG barrier
        y[i] = tile[threadIdx.x] + tile[threadIdx.x ? threadIdx.x - 1 : 0];
        __syncthreads(); // BUG barrier
    }
}
