/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Reduction: the sum of an array. Try it: rung grade reduction FILE */
// rung: grid=(n+1023)/1024 block=256

__global__ void reduce_sum(const float *x, float *sum, int n)
{
    /* TODO: add all n elements of x to sum[0], which is 0 at the beginning. There are four
     * elements per thread. */
}
