/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_per_thread - wrong: coalesced accesses */
// rung: grid=(n+8191)/8192 block=256

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    for (int i = first; i < first + 32 && i < n; i++)
        c[i] = a[i] + b[i];
}
