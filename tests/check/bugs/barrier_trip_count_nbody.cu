/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_trip_count_nbody.cu - each thread starts at the tile of its own first neighbour */
// rung: grid=2 block=64 x=f32[n] first=i32[n] out=f32[n]:none n=128
__global__ void near_forces(const float *x, const int *first, float *out, int n)
{
    __shared__ float tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0.0f;
    for (int t = first[i] % 2; t < n / 64; t++) {
        tile[threadIdx.x] = x[t * 64 + threadIdx.x];
        __syncthreads(); // BUG barrier
        for (int j = 0; j < 64; j++)
            sum += tile[j] - x[i];
        __syncthreads(); // BUG barrier
    }
    out[i] = sum;
}
