/* SPDX-License-Identifier: Apache-2.0 */
/* sort_bitonic_global.cu - one launch per step in global memory */
// rung: grid=2 block=64 keys=i32[128] stride=1 size=2
// rung: grid=2 block=64 keys=i32[128] stride=2 size=4
// rung: grid=2 block=64 keys=i32[128] stride=1 size=4
__global__ void bitonic_step(int *keys, int stride, int size)
{
    int i = blockIdx.x * 64 + threadIdx.x, partner = i ^ stride;
    if (partner > i) {
        int a = keys[i], b = keys[partner];
        if ((a > b) == ((i & size) == 0)) {
            keys[i] = b;
            keys[partner] = a;
        }
    }
}
