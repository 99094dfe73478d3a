/* SPDX-License-Identifier: Apache-2.0 */
/* warp_load_store.cu - cub::WarpLoad and cub::WarpStore through shared memory. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/warp/warp_load.cuh>

#include <cub/warp/warp_store.cuh>

extern "C" __global__ void warp_load_store(int *in, int *out)
{
    typedef cub::WarpLoad<int, 4, cub::WARP_LOAD_TRANSPOSE> load;
    typedef cub::WarpStore<int, 4, cub::WARP_STORE_TRANSPOSE> store;
    __shared__ typename load::TempStorage loads[4];
    __shared__ typename store::TempStorage stores[4];
    int items[4], warp = threadIdx.x / 32, first = blockIdx.x * 512 + warp * 128;
    load(loads[warp]).Load(in + first, items);
    for (int i = 0; i < 4; i++)
        items[i] -= 7;
    store(stores[warp]).Store(out + first, items);
}
