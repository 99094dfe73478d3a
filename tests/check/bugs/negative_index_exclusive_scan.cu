/* SPDX-License-Identifier: Apache-2.0 */
/* negative_index_exclusive_scan.cu - the exclusive result of the first element reads the one before */
// rung: grid=1 block=128 x=i32[128] y=i32[128]:none
__global__ void exclusive_scan(const int *x, int *y)
{
    __shared__ int temp[2][128];
    int t = threadIdx.x, now = 0;
    temp[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        temp[1 - now][t] = temp[now][t] + (t >= d ? temp[now][t - d] : 0);
        now = 1 - now;
        __syncthreads();
    }
    y[t] = temp[now][t - 1]; // BUG out-of-bounds
}
