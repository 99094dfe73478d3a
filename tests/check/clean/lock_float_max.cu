/* SPDX-License-Identifier: Apache-2.0 */
/* lock_float_max.cu - a maximum of floats by compare and swap */
// rung: grid=4 block=32 x=f32[128] best=i32[1]:zero
__global__ void maximum(const float *x, int *best)
{
    float value = x[blockIdx.x * 32 + threadIdx.x];
    int old = *(volatile int *)best, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= value)
            break;
        old = atomicCAS(best, seen, __float_as_int(value));
    } while (old != seen);
}
