/* SPDX-License-Identifier: Apache-2.0 */
/* scan_look_back.cu - each block waits for the one before, with fences */
// rung: grid=4 block=64 x=i32[256] y=i32[256]:none totals=i32[4]:none status=i32[4]:zero
__global__ void chained_scan(const int *x, int *y, int *totals, int *status)
{
    __shared__ int s[64];
    __shared__ int before;
    int t = threadIdx.x, b = blockIdx.x;
    s[t] = x[b * 64 + t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int other = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += other;
        __syncthreads();
    }
    if (t == 0) {
        int sum = 0;
        if (b > 0) {
            while (atomicAdd(&status[b - 1], 0) == 0)
                ;
            __threadfence();
            sum = totals[b - 1];
        }
        before = sum;
        totals[b] = sum + s[63];
        __threadfence();
        atomicExch(&status[b], 1);
    }
    __syncthreads();
    y[b * 64 + t] = before + s[t];
}
