/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Scan: all prefix sums of an array. Try it: rung grade scan FILE */
// rung: grid=(n+255)/256 block=256
// Several lines launch several kernels, one after another. An array of your own is given in the line:
//     kernel=NAME grid=1 block=32 sums=i32[(n+255)/256]

__global__ void scan(const int *x, int *y, int n)
{
    /* TODO: y[i] = x[0] + x[1] + ... + x[i] for each i below n. */
}
