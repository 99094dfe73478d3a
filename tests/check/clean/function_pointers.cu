/* SPDX-License-Identifier: Apache-2.0 */
/* function_pointers.cu - a table of device functions */
// rung: grid=1 block=32 x=f32[32]
typedef float (*operation)(float);
__device__ float twice(float x) { return 2.0f * x; }
__device__ float square(float x) { return x * x; }
__device__ operation table[2] = {twice, square};
__global__ void apply(float *x)
{
    x[threadIdx.x] = table[threadIdx.x % 2](x[threadIdx.x]);
}
