/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_per_thread.cu - byte counters of each thread in shared memory */
// rung: grid=1 block=64 data=i32[64*12] bins=u32[10]:none
__global__ void histogram(const int *data, unsigned *bins)
{
    __shared__ unsigned char counts[10][64];
    int t = threadIdx.x;
    for (int b = 0; b < 10; b++)
        counts[b][t] = 0;
    for (int i = 0; i < 12; i++)
        counts[data[i * 64 + t]][t]++;
    __syncthreads();
    if (t < 10) {
        unsigned sum = 0;
        for (int i = 0; i < 64; i++)
            sum += counts[t][i];
        bins[t] = sum;
    }
}
