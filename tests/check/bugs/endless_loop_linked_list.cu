/* SPDX-License-Identifier: Apache-2.0 */
/* endless_loop_linked_list.cu - the list has a cycle */
// rung: kernel=build grid=1 block=32 next=i32[32]:none
// rung: kernel=lengths grid=1 block=32 next=i32[32] length=i32[32]:none
__global__ void build(int *next)
{
    next[threadIdx.x] = (threadIdx.x + 1) % 32;
}
__global__ void lengths(const int *next, int *length)
{
    int count = 0;
    for (int node = threadIdx.x; node >= 0; node = next[node]) // BUG infinite-loop
        count++; // BUG infinite-loop
    length[threadIdx.x] = count;
}
