/* SPDX-License-Identifier: Apache-2.0 */
/* sort_counting.cu - positions from shared atomics, order within a bucket is free */
// rung: grid=1 block=128 keys=i32[128] out=i32[128]:none
__global__ void counting_sort(const int *keys, int *out)
{
    __shared__ int counts[10], starts[10];
    int t = threadIdx.x;
    if (t < 10)
        counts[t] = 0;
    __syncthreads();
    int rank = atomicAdd(&counts[keys[t]], 1);
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int b = 0; b < 10; b++) {
            starts[b] = sum;
            sum += counts[b];
        }
    }
    __syncthreads();
    out[starts[keys[t]] + rank] = keys[t];
}
