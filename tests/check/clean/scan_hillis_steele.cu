/* SPDX-License-Identifier: Apache-2.0 */
/* scan_hillis_steele.cu - two buffers */
// rung: grid=1 block=256 x=i32[256] y=i32[256]:none
__global__ void inclusive_scan(const int *x, int *y)
{
    __shared__ int temp[2][256];
    int t = threadIdx.x, now = 0;
    temp[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        temp[1 - now][t] = temp[now][t] + (t >= d ? temp[now][t - d] : 0);
        now = 1 - now;
        __syncthreads();
    }
    y[t] = temp[now][t];
}
