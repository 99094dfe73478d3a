/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_votes.cu - __syncthreads_or() ends a loop of all threads */
// rung: grid=1 block=64 x=i32[64] steps=i32[1]:none
__global__ void bubble(int *x, int *steps)
{
    __shared__ int s[64];
    int t = threadIdx.x, count = 0, changed;
    s[t] = x[t];
    __syncthreads();
    do {
        changed = 0;
        for (int odd = 0; odd < 2; odd++) {
            int i = 2 * t + odd;
            if (i + 1 < 64 && s[i] > s[i + 1]) {
                int swap = s[i];
                s[i] = s[i + 1];
                s[i + 1] = swap;
                changed = 1;
            }
            __syncthreads();
        }
        count++;
    } while (__syncthreads_or(changed));
    x[t] = s[t];
    if (t == 0)
        *steps = count;
}
