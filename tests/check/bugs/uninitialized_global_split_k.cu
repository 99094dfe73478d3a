/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_global_split_k.cu - the workspace has a hole where a slice has no work */
// rung: kernel=partial_sums grid=(n+63)/64,4 block=64 x=f32[k*n] work=f32[4*n]:none n=64 k=100 per=40
// rung: kernel=add_slices grid=1 block=64 work=f32[slices*n]:none y=f32[n]:none n=64 slices=4
__global__ void partial_sums(const float *x, float *work, int n, int k, int per)
{
    int col = blockIdx.x * 64 + threadIdx.x, first = blockIdx.y * per;
    if (first >= k)
        return;
    float sum = 0.0f;
    for (int i = first; i < min(first + per, k); i++)
        sum += x[i * n + col];
    work[blockIdx.y * n + col] = sum;
}
__global__ void add_slices(const float *work, float *y, int n, int slices)
{
    float sum = 0.0f;
    for (int s = 0; s < slices; s++)
        sum += work[s * n + threadIdx.x]; // BUG uninitialized
    y[threadIdx.x] = sum;
}
