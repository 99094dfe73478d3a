/* SPDX-License-Identifier: Apache-2.0 */
/* sort_odd_even.cu - odd-even transposition */
// rung: grid=1 block=64 keys=i32[128]
__global__ void odd_even(int *keys)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = keys[t];
    s[t + 64] = keys[t + 64];
    for (int step = 0; step < 128; step++) {
        __syncthreads();
        int i = 2 * t + (step & 1);
        if (i + 1 < 128 && s[i] > s[i + 1]) {
            int swap = s[i];
            s[i] = s[i + 1];
            s[i + 1] = swap;
        }
    }
    __syncthreads();
    keys[t] = s[t];
    keys[t + 64] = s[t + 64];
}
