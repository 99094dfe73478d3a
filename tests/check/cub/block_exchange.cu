/* SPDX-License-Identifier: Apache-2.0 */
/* block_exchange.cu - cub::BlockExchange: from blocked to striped order. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/block/block_exchange.cuh>

extern "C" __global__ void block_exchange(const int *in, int *out)
{
    typedef cub::BlockExchange<int, 128, 4> exchange;
    __shared__ typename exchange::TempStorage storage;
    int items[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    exchange(storage).BlockedToStriped(items, items);
    for (int i = 0; i < 4; i++)
        out[first + i] = items[i];
}
