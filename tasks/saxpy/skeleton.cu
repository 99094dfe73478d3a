/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - SAXPY: scale a vector and add it to another. Try it: rung grade saxpy FILE */
// rung: grid=(n+255)/256 block=256

__global__ void saxpy(float factor, const float *x, float *y, int n)
{
    /* TODO: y[i] = factor * x[i] + y[i] for each i below n. */
}
