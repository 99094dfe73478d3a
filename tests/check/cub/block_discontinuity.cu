/* SPDX-License-Identifier: Apache-2.0 */
/* block_discontinuity.cu - cub::BlockDiscontinuity: marks the first item of each run. */
// rung: grid=2 block=128 in=u8[1024]:bytes.npy out=i32[1024]:none
#include <cub/block/block_discontinuity.cuh>

struct differs {
    __device__ bool operator()(int a, int b) const { return a != b; }
};

extern "C" __global__ void block_discontinuity(const unsigned char *in, int *out)
{
    typedef cub::BlockDiscontinuity<int, 128> discontinuity;
    __shared__ typename discontinuity::TempStorage storage;
    int items[4], flags[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    discontinuity(storage).FlagHeads(flags, items, differs());
    for (int i = 0; i < 4; i++)
        out[first + i] = flags[i];
}
