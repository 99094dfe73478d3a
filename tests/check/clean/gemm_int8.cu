/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_int8.cu - dp4a on packed bytes */
// rung: grid=1 block=16,16 a=i32[16*8] b=i32[16*8] c=i32[256]:none
__global__ void igemm(const int *a, const int *b, int *c)
{
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum = __dp4a(a[threadIdx.y * 8 + i], b[threadIdx.x * 8 + i], sum);
    c[threadIdx.y * 16 + threadIdx.x] = sum;
}
