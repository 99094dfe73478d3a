/* SPDX-License-Identifier: Apache-2.0 */
/* scan-shared_steps - Steps in shared memory with two barriers each, and one block that scans the sums. */
// rung: kernel=scan_part grid=(n+511)/512 block=512 ends=i32[(n+511)/512]
// rung: kernel=scan_ends grid=1 block=1 count=(n+511)/512
// rung: kernel=add_ends grid=(n+511)/512 block=512

__global__ void scan_part(const int *__restrict__ x, int *__restrict__ y, int *ends, int n)
{
    __shared__ int buffer[512];
    int t = threadIdx.x, i = blockIdx.x * 512 + t;
    buffer[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < 512; step <<= 1) {
        int left = t >= step ? buffer[t - step] : 0;
        __syncthreads();
        buffer[t] += left;
        __syncthreads();
    }
    if (i < n) y[i] = buffer[t];
    if (t == 511) ends[blockIdx.x] = buffer[t];
}

__global__ void scan_ends(int *ends, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        int own = ends[i];
        ends[i] = sum;
        sum += own;
    }
}

__global__ void add_ends(int *y, const int *ends, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += ends[blockIdx.x];
}
