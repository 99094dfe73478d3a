/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_split_k_semaphore.cu - slices are added in order, with a semaphore per tile */
// rung: grid=1,1,4 block=8,8 a=f32[8*32] b=f32[32*8] c=f32[64]:none semaphore=i32[1]:zero
__global__ void sgemm(const float *a, const float *b, float *c, int *semaphore)
{
    int row = threadIdx.y, col = threadIdx.x, slice = blockIdx.z;
    float sum = 0.0f;
    for (int i = slice * 8; i < slice * 8 + 8; i++)
        sum += a[row * 32 + i] * b[i * 8 + col];
    if (row == 0 && col == 0)
        while (atomicAdd(semaphore, 0) != slice)
            ;
    __syncthreads();
    __threadfence();
    c[row * 8 + col] = slice == 0 ? sum : c[row * 8 + col] + sum;
    __threadfence();
    __syncthreads();
    if (row == 0 && col == 0)
        atomicExch(semaphore, slice + 1);
}
