/* SPDX-License-Identifier: Apache-2.0 */
/* trap_tag_check.cu - a node with an unknown tag stops the kernel */
// rung: grid=1 block=64 tags=u8[64] out=i32[64]:none
__device__ int kind_of(unsigned char tag)
{
    if (tag > 6)
        asm volatile("trap;"); // BUG trap
    return tag * 3;
}
__global__ void classify(const unsigned char *tags, int *out)
{
    out[threadIdx.x] = kind_of(tags[threadIdx.x]); // BUG trap
}
