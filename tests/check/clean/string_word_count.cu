/* SPDX-License-Identifier: Apache-2.0 */
/* string_word_count.cu - words begin after a zero byte */
// rung: grid=1 block=128 text=u8[n] count=i32[1]:none n=128
__global__ void words(const unsigned char *text, int *count, int n)
{
    int i = threadIdx.x;
    bool starts = i < n && text[i] != 0 && (i == 0 || text[i - 1] == 0);
    int total = __syncthreads_count(starts);
    if (i == 0)
        *count = total;
}
