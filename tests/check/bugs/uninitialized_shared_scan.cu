/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_shared_scan.cu - the padding of the tree is not set */
// rung: grid=1 block=64 x=i32[n] y=i32[n]:none n=100
__global__ void exclusive_scan(const int *x, int *y, int n)
{
    __shared__ int temp[128];
    int t = threadIdx.x, offset = 1;
    if (2 * t < n)
        temp[2 * t] = x[2 * t];
    if (2 * t + 1 < n)
        temp[2 * t + 1] = x[2 * t + 1];
    for (int d = 64; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d)
            temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1]; // BUG uninitialized
    }
    if (t == 0)
        temp[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, swap = temp[left];
            temp[left] = temp[right];
            temp[right] += swap;
        }
    }
    __syncthreads();
    if (2 * t < n)
        y[2 * t] = temp[2 * t];
    if (2 * t + 1 < n)
        y[2 * t + 1] = temp[2 * t + 1];
}
