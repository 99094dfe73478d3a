/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_volatile_warp.cu - the last warp uses volatile and __syncwarp() */
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
        float value = s[t] + s[t + 32];
        for (int d = 16; d > 0; d /= 2) {
            s[t] = value;
            __syncwarp();
            value += s[(t + d) & 31];
            __syncwarp();
        }
        if (t == 0)
            partial[blockIdx.x] = value;
    }
}
