/* SPDX-License-Identifier: Apache-2.0 */
/* hash_insert.cu - linear probing with compare and swap */
// rung: grid=2 block=32 keys=i32[64]:iota table=i32[128]:zero
__global__ void insert(const int *keys, int *table)
{
    int key = keys[blockIdx.x * 32 + threadIdx.x] + 1;
    unsigned slot = (unsigned)key * 2654435761u >> 25;
    for (;;) {
        int old = atomicCAS(&table[slot], 0, key);
        if (old == 0 || old == key)
            break;
        slot = (slot + 1) % 128;
    }
}
