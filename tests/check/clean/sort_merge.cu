/* SPDX-License-Identifier: Apache-2.0 */
/* sort_merge.cu - merges of pairs with two buffers */
// rung: grid=1 block=32 keys=i32[64] other=i32[64]:none
__global__ void merge_sort(int *keys, int *other)
{
    int *from = keys, *to = other, t = threadIdx.x;
    for (int width = 1; width < 64; width *= 2) {
        int start = t * 2 * width;
        if (start < 64) {
            int i = start, j = start + width;
            for (int at = start; at < start + 2 * width; at++) {
                bool left = i < start + width && (j >= start + 2 * width || from[i] <= from[j]);
                to[at] = left ? from[i++] : from[j++];
            }
        }
        __syncthreads();
        int *swap = from;
        from = to;
        to = swap;
    }
}
