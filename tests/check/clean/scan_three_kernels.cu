/* SPDX-License-Identifier: Apache-2.0 */
/* scan_three_kernels.cu - scan of blocks, of their sums, and addition */
// rung: kernel=scan_blocks grid=4 block=64 x=i32[256] y=i32[256]:none sums=i32[4]:none
// rung: kernel=scan_sums grid=1 block=32 sums=i32[4]:none count=4
// rung: kernel=add_sums grid=4 block=64 y=i32[256]:none sums=i32[4]:none
__global__ void scan_blocks(const int *x, int *y, int *sums)
{
    __shared__ int temp[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    temp[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int other = t >= d ? temp[t - d] : 0;
        __syncthreads();
        temp[t] += other;
        __syncthreads();
    }
    y[i] = temp[t];
    if (t == 63)
        sums[blockIdx.x] = temp[t];
}
__global__ void scan_sums(int *sums, int count)
{
    if (threadIdx.x == 0)
        for (int i = 1; i < count; i++)
            sums[i] += sums[i - 1];
}
__global__ void add_sums(int *y, const int *sums)
{
    if (blockIdx.x > 0)
        y[blockIdx.x * 64 + threadIdx.x] += sums[blockIdx.x - 1];
}
