/* SPDX-License-Identifier: Apache-2.0 */
/* string_search.cu - each thread compares at its own position */
// rung: grid=2 block=128 text=u8[256] word=u8[3] count=i32[1]:zero n=256 length=3
__global__ void search(const unsigned char *text, const unsigned char *word, int *count, int n, int length)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i + length > n)
        return;
    for (int k = 0; k < length; k++)
        if (text[i + k] != word[k])
            return;
    atomicAdd(count, 1);
}
