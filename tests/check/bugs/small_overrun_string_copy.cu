/* SPDX-License-Identifier: Apache-2.0 */
/* small_overrun_string_copy.cu - the terminating zero is written behind the string */
// rung: grid=1 block=32 from=u8[20] to=u8[20]:none length=20
__global__ void copy(const unsigned char *from, unsigned char *to, int length)
{
    if (threadIdx.x < length)
        to[threadIdx.x] = from[threadIdx.x];
    if (threadIdx.x == 0)
        to[length] = 0; // BUG out-of-bounds
}
