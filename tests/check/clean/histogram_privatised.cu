/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_privatised.cu - one copy of the bins per warp */
// rung: grid=2 block=128 data=i32[512] bins=u32[10]:zero
__global__ void histogram(const int *data, unsigned *bins)
{
    __shared__ unsigned local[4][10];
    for (int i = threadIdx.x; i < 40; i += 128)
        local[i / 10][i % 10] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128)
        atomicAdd(&local[threadIdx.x / 32][data[blockIdx.x * 256 + i]], 1u);
    __syncthreads();
    if (threadIdx.x < 10) {
        unsigned sum = 0;
        for (int w = 0; w < 4; w++)
            sum += local[w][threadIdx.x];
        atomicAdd(&bins[threadIdx.x], sum);
    }
}
