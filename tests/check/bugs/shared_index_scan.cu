/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index_scan.cu - the tree of the Blelloch scan reads temp[2 * n] */
// rung: grid=1 block=64 x=i32[128] y=i32[128]:none
__global__ void blelloch(const int *x, int *y)
{
    __shared__ int temp[128];
    int t = threadIdx.x, offset = 1;
    temp[2 * t] = x[2 * t];
    temp[2 * t + 1] = x[2 * t + 1];
    for (int d = 64; d > 0; d /= 2) {
        __syncthreads();
        if (t < d)
            temp[offset * (2 * t + 2)] += temp[offset * (2 * t + 1)]; // BUG out-of-bounds
        offset *= 2;
    }
    __syncthreads();
    y[2 * t] = temp[2 * t];
    y[2 * t + 1] = temp[2 * t + 1];
}
