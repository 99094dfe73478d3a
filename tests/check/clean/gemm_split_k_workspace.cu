/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_split_k_workspace.cu - a second kernel adds the slices */
// rung: kernel=slices grid=4 block=16,16 a=f32[16*64] b=f32[64*16] work=f32[4*256]:none
// rung: kernel=add grid=1 block=256 work=f32[4*256]:none c=f32[256]:none
__global__ void slices(const float *a, const float *b, float *work)
{
    int row = threadIdx.y, col = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 16; i < blockIdx.x * 16 + 16; i++)
        sum += a[row * 64 + i] * b[i * 16 + col];
    work[blockIdx.x * 256 + row * 16 + col] = sum;
}
__global__ void add(const float *work, float *c)
{
    float sum = 0.0f;
    for (int s = 0; s < 4; s++)
        sum += work[s * 256 + threadIdx.x];
    c[threadIdx.x] = sum;
}
