/* SPDX-License-Identifier: Apache-2.0 */
/* shared_update_compaction.cu - the shared counter is advanced without an atomic */
// rung: grid=1 block=128 x=i32[128] out=i32[128]:none total=i32[1]:none
__global__ void compact(const int *x, int *out, int *total)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int value = x[threadIdx.x];
    if (value > 4)
        out[count++] = value; // BUG race
    __syncthreads();
    if (threadIdx.x == 0)
        *total = count;
}
