/* SPDX-License-Identifier: Apache-2.0 */
/* scan_look_back_packed.cu - status and value in one word of 64 bits */
// rung: grid=4 block=32 x=i32[128] y=i32[128]:none state=u64[4]:zero ticket=u32[1]:zero
__global__ void chained_scan(const int *x, int *y, unsigned long long *state, unsigned *ticket)
{
    unsigned b = 0;
    if (threadIdx.x == 0)
        b = atomicAdd(ticket, 1u);
    b = __shfl_sync(0xffffffffu, b, 0);
    int value = x[b * 32 + threadIdx.x], lane = threadIdx.x;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d)
            value += other;
    }
    unsigned before = 0;
    if (lane == 31) {
        if (b > 0) {
            unsigned long long seen;
            do
                seen = atomicAdd(&state[b - 1], 0ull);
            while (seen >> 32 == 0);
            before = (unsigned)seen;
        }
        atomicExch(&state[b], 1ull << 32 | (before + (unsigned)value));
    }
    before = __shfl_sync(0xffffffffu, before, 31);
    y[b * 32 + lane] = value + (int)before;
}
