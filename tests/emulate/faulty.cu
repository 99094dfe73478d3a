/* SPDX-License-Identifier: Apache-2.0 */
/* faulty.cu - a program with a race, an access out of bounds and a read of memory that nobody wrote, which findings.sh expects
 * at these lines. Its exit status is 3. */
#include <cstdio>
__global__ void reverse(int *x)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x]; // race: the barrier is missing
}
__global__ void sum(const int *x, int *out, int n)
{
    int total = 0;
    for (int i = 0; i <= n; i++)
        total += x[i]; // out of bounds: i == n
    *out = total;
}
__global__ void copy(const int *x, int *out)
{
    out[threadIdx.x] = x[threadIdx.x]; // uninitialized
}
int main(int argc, char **)
{
    int *x, *y, *out;
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMalloc(&y, 64 * sizeof(int));
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMemset(x, 0, 64 * sizeof(int));
    reverse<<<1, 64>>>(x);
    reverse<<<1, 64>>>(x);
    copy<<<1, 64>>>(y, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    if (argc > 1) {
        sum<<<1, 1>>>(x, out, 64);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    return 3;
}
