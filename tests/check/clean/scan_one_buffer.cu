/* SPDX-License-Identifier: Apache-2.0 */
/* scan_one_buffer.cu - one buffer with two barriers per step */
// rung: grid=2 block=128 x=i32[256] y=i32[256]:none
__global__ void inclusive_scan(const int *x, int *y)
{
    __shared__ int temp[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    temp[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int other = t >= d ? temp[t - d] : 0;
        __syncthreads();
        temp[t] += other;
        __syncthreads();
    }
    y[i] = temp[t];
}
