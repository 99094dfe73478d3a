/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_before_reuse_scan.cu - one buffer is read and written in the same step */
// rung: grid=1 block=256 x=i32[256] y=i32[256]:none
__global__ void inclusive_scan(const int *x, int *y)
{
    __shared__ int temp[256];
    int t = threadIdx.x;
    temp[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        if (t >= d)
            temp[t] += temp[t - d]; // BUG race
        __syncthreads();
    }
    y[t] = temp[t];
}
