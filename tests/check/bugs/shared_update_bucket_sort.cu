/* SPDX-License-Identifier: Apache-2.0 */
/* shared_update_bucket_sort.cu - the count of a bucket is advanced without an atomic */
// rung: grid=1 block=64 keys=i32[64] out=i32[10*64]:none
__global__ void buckets(const int *keys, int *out)
{
    __shared__ int counts[10];
    if (threadIdx.x < 10)
        counts[threadIdx.x] = 0;
    __syncthreads();
    int key = keys[threadIdx.x], at = counts[key]; // BUG race
    counts[key] = at + 1; // BUG race
    out[key * 64 + at] = threadIdx.x;
}
