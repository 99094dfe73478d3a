/* SPDX-License-Identifier: Apache-2.0 */
/* sort_radix.cu - four bits per pass within a block */
// rung: grid=1 block=64 keys=u32[64]
__global__ void radix_sort(unsigned *keys)
{
    __shared__ unsigned a[64];
    __shared__ int zeros[64];
    int t = threadIdx.x;
    a[t] = keys[t];
    __syncthreads();
    for (int bit = 0; bit < 4; bit++) {
        unsigned key = a[t];
        int zero = !(key >> bit & 1);
        zeros[t] = zero;
        __syncthreads();
        int before = 0, total = 0;
        for (int i = 0; i < 64; i++) {
            before += i < t ? zeros[i] : 0;
            total += zeros[i];
        }
        __syncthreads();
        a[zero ? before : total + t - before] = key;
        __syncthreads();
    }
    keys[t] = a[t];
}
