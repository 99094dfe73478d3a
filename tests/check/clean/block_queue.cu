/* SPDX-License-Identifier: Apache-2.0 */
/* block_queue.cu - threads of a block take work from a shared counter */
// rung: grid=1 block=64 x=i32[200] y=i32[200]:none n=200
__global__ void work(const int *x, int *y, int n)
{
    __shared__ int next;
    if (threadIdx.x == 0)
        next = 0;
    __syncthreads();
    for (int i = atomicAdd(&next, 1); i < n; i = atomicAdd(&next, 1)) {
        int steps = 0;
        for (int v = x[i] + 27; v != 1; v = v % 2 ? 3 * v + 1 : v / 2)
            steps++;
        y[i] = steps;
    }
}
