/* SPDX-License-Identifier: Apache-2.0 */
/* compaction_scan.cu - positions from a scan in the block */
// rung: grid=1 block=128 x=i32[128] out=i32[128]:none count=i32[1]:none
__global__ void compact(const int *x, int *out, int *count)
{
    __shared__ int scan[128];
    int t = threadIdx.x, keep = x[t] % 2;
    scan[t] = keep;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int other = t >= d ? scan[t - d] : 0;
        __syncthreads();
        scan[t] += other;
        __syncthreads();
    }
    if (keep)
        out[scan[t] - 1] = x[t];
    if (t == 127)
        *count = scan[t];
}
