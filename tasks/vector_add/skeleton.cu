/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - vector_add: c[i] = a[i] + b[i] for each i below n. Try it: rung grade vector_add FILE */
// The next line says how many blocks and threads to launch.
// rung: grid=(n+255)/256 block=256

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    /* TODO: find out which element this thread computes, and compute it. */
}
