/* SPDX-License-Identifier: Apache-2.0 */
/* warp_merge_sort.cu - cub::WarpMergeSort: sorts 128 items per warp. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/warp/warp_merge_sort.cuh>

struct less {
    __device__ bool operator()(int a, int b) const { return a < b; }
};

extern "C" __global__ void warp_merge_sort(const int *in, int *out)
{
    typedef cub::WarpMergeSort<int, 4> sort;
    __shared__ typename sort::TempStorage storage[4];
    int items[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    sort(storage[threadIdx.x / 32]).Sort(items, less());
    for (int i = 0; i < 4; i++)
        out[first + i] = items[i];
}
