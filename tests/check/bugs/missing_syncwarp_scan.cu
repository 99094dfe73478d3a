/* SPDX-License-Identifier: Apache-2.0 */
/* missing_syncwarp_scan.cu - a warp scan in shared memory */
// rung: grid=1 block=128 x=i32[128] y=i32[128]:none
__global__ void warp_scan(const int *x, int *y)
{
    __shared__ int temp[4][32];
    int lane = threadIdx.x % 32, *row = temp[threadIdx.x / 32];
    int value = x[threadIdx.x];
    row[lane] = value; // BUG race
    for (int d = 1; d < 32; d *= 2) {
        if (lane >= d)
            value += row[lane - d]; // BUG race
        row[lane] = value; // BUG race
    }
    y[threadIdx.x] = value;
}
