/* SPDX-License-Identifier: Apache-2.0 */
/* negative_index_string_search.cu - steps back to the start of the word, also before the text */
// rung: grid=2 block=128 text=u8[n] starts=i32[n]:none n=256
__global__ void word_starts(const unsigned char *text, int *starts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int at = i;
    while (text[at] != 0) // BUG out-of-bounds
        at--;
    starts[i] = at + 1;
}
