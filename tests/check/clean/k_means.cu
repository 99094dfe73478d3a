/* SPDX-License-Identifier: Apache-2.0 */
/* k_means.cu - sums of clusters with shared atomics */
// rung: grid=2 block=64 points=f32[128] centres=f32[4] sums=f32[4]:zero counts=i32[4]:zero
__global__ void assign(const float *points, const float *centres, float *sums, int *counts)
{
    __shared__ float local[4];
    __shared__ int number[4];
    if (threadIdx.x < 4) {
        local[threadIdx.x] = 0.0f;
        number[threadIdx.x] = 0;
    }
    __syncthreads();
    float p = points[blockIdx.x * 64 + threadIdx.x], best = 1e30f;
    int nearest = 0;
    for (int c = 0; c < 4; c++) {
        float d = (p - centres[c]) * (p - centres[c]);
        if (d < best) {
            best = d;
            nearest = c;
        }
    }
    atomicAdd(&local[nearest], p);
    atomicAdd(&number[nearest], 1);
    __syncthreads();
    if (threadIdx.x < 4) {
        atomicAdd(&sums[threadIdx.x], local[threadIdx.x]);
        atomicAdd(&counts[threadIdx.x], number[threadIdx.x]);
    }
}
