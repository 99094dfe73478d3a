/* SPDX-License-Identifier: Apache-2.0 */
/* solution - Scan: all prefix sums of an array. */
#define BLOCK 256
// rung: kernel=scan_blocks grid=(n+BLOCK-1)/BLOCK block=BLOCK sums=i32[(n+BLOCK-1)/BLOCK]
// rung: kernel=scan_sums grid=1 block=32 count=(n+BLOCK-1)/BLOCK
// rung: kernel=add_sums grid=(n+BLOCK-1)/BLOCK block=BLOCK

/* Returns the sum of the values of this lane and all lower lanes. */
__device__ int scan_warp(int value)
{
    for (int offset = 1; offset < 32; offset *= 2) {
        int lower = __shfl_up_sync(0xffffffff, value, offset);
        if (threadIdx.x % 32 >= offset)
            value += lower;
    }
    return value;
}

__global__ void scan_blocks(const int *x, int *y, int n, int *sums)
{
    __shared__ int warp_sums[BLOCK / 32];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int value = scan_warp(i < n ? x[i] : 0);
    if (threadIdx.x % 32 == 31)
        warp_sums[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 0; warp < threadIdx.x / 32; warp++)
        value += warp_sums[warp];
    if (i < n)
        y[i] = value;
    if (threadIdx.x == BLOCK - 1)
        sums[blockIdx.x] = value;
}

__global__ void scan_sums(int *sums, int count)
{
    int carry = 0;
    for (int first = 0; first < count; first += 32) {
        int i = first + threadIdx.x;
        int value = scan_warp(i < count ? sums[i] : 0) + carry;
        if (i < count)
            sums[i] = value;
        carry = __shfl_sync(0xffffffff, value, 31);
    }
}

__global__ void add_sums(int *y, int n, const int *sums)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        y[i] += sums[blockIdx.x - 1];
}
