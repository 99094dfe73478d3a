/* SPDX-License-Identifier: Apache-2.0 */
/* warp_exchange.cu - cub::WarpExchange: from striped to blocked order of each warp. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/warp/warp_exchange.cuh>

extern "C" __global__ void warp_exchange(const int *in, int *out)
{
    typedef cub::WarpExchange<int, 4> exchange;
    __shared__ typename exchange::TempStorage storage[4];
    int items[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    exchange(storage[threadIdx.x / 32]).StripedToBlocked(items, items);
    for (int i = 0; i < 4; i++)
        out[first + i] = items[i];
}
