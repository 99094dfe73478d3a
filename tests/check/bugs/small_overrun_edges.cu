/* SPDX-License-Identifier: Apache-2.0 */
/* small_overrun_edges.cu - reads the end of the last bucket */
// rung: grid=1 block=64 starts=i32[buckets]:iota sizes=i32[buckets]:none buckets=50
__global__ void bucket_sizes(const int *starts, int *sizes, int buckets)
{
    int b = threadIdx.x;
    if (b < buckets)
        sizes[b] = starts[b + 1] - starts[b]; // BUG out-of-bounds
}
