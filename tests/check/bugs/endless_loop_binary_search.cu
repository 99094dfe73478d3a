/* SPDX-License-Identifier: Apache-2.0 */
/* endless_loop_binary_search.cu - low = middle never ends */
// rung: grid=1 block=32 sorted=i32[64]:iota keys=i32[32] at=i32[32]:none
__global__ void search(const int *sorted, const int *keys, int *at)
{
    int low = 0, high = 63, key = keys[threadIdx.x];
    while (low < high) { // BUG infinite-loop
        int middle = (low + high) / 2; // BUG infinite-loop
        if (sorted[middle] <= key) // BUG infinite-loop
            low = middle; // BUG infinite-loop
        else
            high = middle - 1; // BUG infinite-loop
    }
    at[threadIdx.x] = low;
}
