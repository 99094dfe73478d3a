/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch_bitonic_sort.cu - the barrier is inside of the branch that compares */
// rung: grid=1 block=128 keys=i32[128]
__global__ void bitonic_sort(int *keys)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = keys[t];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int partner = t ^ stride;
            if (partner > t) {
                bool up = (t & size) == 0;
                if ((s[t] > s[partner]) == up) {
                    int swap = s[t];
                    s[t] = s[partner];
                    s[partner] = swap;
                }
                __syncthreads(); // BUG barrier
            }
        }
    keys[t] = s[t];
}
