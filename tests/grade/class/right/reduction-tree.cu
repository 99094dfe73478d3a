/* SPDX-License-Identifier: Apache-2.0 */
/* reduction-tree - A tree in shared memory with a barrier per step. */
// rung: grid=(n+1023)/1024 block=256

__global__ void reduce_sum(const float *x, float *sum, int n)
{
    __shared__ float s[256];
    const unsigned t = threadIdx.x;
    float mine = 0.0f;
    for (int part = 0; part < 4; part++) {
        int i = blockIdx.x * 1024 + part * 256 + t;
        if (i < n) mine += x[i];
    }
    s[t] = mine;
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(sum, s[0]);
}
