/* SPDX-License-Identifier: Apache-2.0 */
/* recursion.cu - a recursive device function */
// rung: grid=1 block=32 out=i32[32]:none
__device__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void numbers(int *out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x % 8);
}
