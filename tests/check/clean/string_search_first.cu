/* SPDX-License-Identifier: Apache-2.0 */
/* string_search_first.cu - the first match with atomicMin() */
// rung: grid=2 block=128 text=u8[256] first=u32[1]:ones
__global__ void search(const unsigned char *text, unsigned *first)
{
    __shared__ unsigned best;
    unsigned i = blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x == 0)
        best = 0xffffffffu;
    __syncthreads();
    if (i + 1 < 256 && text[i] == 7 && text[i + 1] == 7)
        atomicMin(&best, i);
    __syncthreads();
    if (threadIdx.x == 0 && best != 0xffffffffu)
        atomicMin(first, best);
}
