/* SPDX-License-Identifier: Apache-2.0 */
/* double_buffer_scan.cu - ping and pong are not exchanged */
// rung: grid=1 block=64 x=i32[64] y=i32[64]:none
__global__ void scan(const int *x, int *y)
{
    __shared__ int buffers[2][64];
    int t = threadIdx.x;
    int *from = buffers[0], *to = buffers[0];
    from[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        to[t] = from[t] + (t >= d ? from[t - d] : 0); // BUG race
        __syncthreads();
        int *swap = from;
        from = to;
        to = swap;
    }
    y[t] = from[t];
}
