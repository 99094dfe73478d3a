/* SPDX-License-Identifier: Apache-2.0 */
/* missing_syncwarp_reduction.cu - the last warp of a reduction without volatile and __syncwarp() */
// rung: grid=2 block=128 x=f32[256] partial=f32[2]:none
__global__ void block_sum(const float *x, float *partial)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    if (t < 64)
        s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16]; // BUG race
        s[t] += s[t + 8]; // BUG race
        s[t] += s[t + 4]; // BUG race
        s[t] += s[t + 2]; // BUG race
        s[t] += s[t + 1]; // BUG race
    }
    if (t == 0)
        partial[blockIdx.x] = s[0];
}
