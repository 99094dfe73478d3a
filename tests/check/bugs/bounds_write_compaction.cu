/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_write_compaction.cu - the output has room for half of the elements only */
// rung: grid=4 block=128 x=i32[512] out=i32[256]:none count=i32[1]:zero
__global__ void keep_positive(const int *x, int *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0) {
        int at = atomicAdd(count, 1);
        out[at] = x[i]; // BUG out-of-bounds
    }
}
