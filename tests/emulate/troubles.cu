/* SPDX-License-Identifier: Apache-2.0 */
/* troubles.cu - a program whose argument selects one mistake, for troubles.sh. */
#include <cstdio>
#include <cstring>
namespace space {
template <typename T> __global__ void add_one(T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        x[i] = x[i] + 1; // reads and writes one element too many
}
}
__global__ void spin(volatile int *x)
{
    while (*x == 0) {
    }
}
int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "";
    int *x, local[64] = {0};
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMemset(x, 0, 64 * sizeof(int));
    if (strcmp(wanted, "bounds") == 0)
        space::add_one<int><<<2, 64>>>(x, 64);
    if (strcmp(wanted, "host") == 0)
        space::add_one<int><<<1, 32>>>(local, 31);
    if (strcmp(wanted, "limit") == 0)
        space::add_one<int><<<1, 2000>>>(x, 63);
    if (strcmp(wanted, "endless") == 0)
        spin<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
