/* SPDX-License-Identifier: Apache-2.0 */
/* scan_warp_shared.cu - a warp scan in shared memory with __syncwarp() */
// rung: grid=1 block=128 x=i32[128] y=i32[128]:none
__global__ void warp_scan(const int *x, int *y)
{
    __shared__ int temp[4][32];
    int lane = threadIdx.x % 32, *row = temp[threadIdx.x / 32];
    int value = x[threadIdx.x];
    row[lane] = value;
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int other = lane >= d ? row[lane - d] : 0;
        __syncwarp();
        value += other;
        row[lane] = value;
        __syncwarp();
    }
    y[threadIdx.x] = value;
}
