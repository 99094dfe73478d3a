/* SPDX-License-Identifier: Apache-2.0 */
/* quadratic - wrong: memory traffic */
// rung: grid=(n+255)/256 block=256

__global__ void scan(const int *x, int *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int sum = 0;
    for (int j = 0; j <= i && i < n; j++)
        sum += x[j];
    if (i < n)
        y[i] = sum;
}
