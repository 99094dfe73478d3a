/* SPDX-License-Identifier: Apache-2.0 */
/* scan_segmented.cu - flags start a new segment */
// rung: grid=1 block=64 x=i32[64] heads=i32[64] y=i32[64]:none
__global__ void segmented_scan(const int *x, const int *heads, int *y)
{
    __shared__ int values[64], flags[64];
    int t = threadIdx.x;
    values[t] = x[t];
    flags[t] = t == 0 || heads[t] > 6;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int value = values[t], flag = flags[t];
        if (t >= d && !flag) {
            value += values[t - d];
            flag |= flags[t - d];
        }
        __syncthreads();
        values[t] = value;
        flags[t] = flag;
        __syncthreads();
    }
    y[t] = values[t];
}
