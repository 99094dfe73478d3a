/* SPDX-License-Identifier: Apache-2.0 */
/* endless_loop_hash_insert.cu - the table is full */
// rung: grid=1 block=32 keys=i32[32]:iota table=i32[16]:zero
__global__ void insert(const int *keys, int *table)
{
    int key = keys[threadIdx.x] + 1, slot = key % 16;
    while (atomicCAS(&table[slot], 0, key) != 0) // BUG infinite-loop
        slot = (slot + 1) % 16; // BUG infinite-loop
}
