/* SPDX-License-Identifier: Apache-2.0 */
/* lock_per_bin.cu - one lock per bin, all lanes of a warp compete */
// rung: grid=2 block=32 bins=i32[64] sums=i32[4]:zero locks=i32[4]:zero
__global__ void add(const int *bins, int *sums, int *locks)
{
    int bin = bins[blockIdx.x * 32 + threadIdx.x] % 4;
    bool done = false;
    while (!done) {
        if (atomicCAS(&locks[bin], 0, 1) == 0) {
            __threadfence();
            sums[bin] += 1;
            __threadfence();
            atomicExch(&locks[bin], 0);
            done = true;
        }
    }
}
