/* SPDX-License-Identifier: Apache-2.0 */
/* block_load_store.cu - cub::BlockLoad and cub::BlockStore through shared memory, with an incomplete last block. */
// rung: grid=2 block=128 in=i32[n]:in.npy out=i32[n]:none n=1000
#include <cub/block/block_load.cuh>

#include <cub/block/block_store.cuh>

extern "C" __global__ void block_load_store(int *in, int *out, int n)
{
    typedef cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> load;
    typedef cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE> store;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
    } storage;
    int items[4], first = blockIdx.x * 512, valid = n - first < 512 ? n - first : 512;
    load(storage.load).Load(in + first, items, valid, 0);
    __syncthreads();
    for (int i = 0; i < 4; i++)
        items[i] = 3 * items[i] + 1;
    store(storage.store).Store(out + first, items, valid);
}
