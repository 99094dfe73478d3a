/* SPDX-License-Identifier: Apache-2.0 */
/* division_hash.cu - a table of zero buckets */
// rung: grid=1 block=64 keys=u32[64] table=u32[16]:zero buckets=0
__global__ void insert(const unsigned *keys, unsigned *table, unsigned buckets)
{
    unsigned key = keys[threadIdx.x], slot = key * 2654435761u % buckets; // BUG division-by-zero
    atomicMax(&table[slot & 15u], key);
}
