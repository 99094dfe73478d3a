/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton - Layer normalisation: two passes. Try it: rung grade layer_norm FILE */
// rung: grid=rows block=128

__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols)
{
    /* TODO: for each row, y[i] = (x[i] - mean) / sqrt(variance + 1e-5) * gamma[i] + beta[i]. The
     * variance is the mean of (x[i] - mean) * (x[i] - mean). One block per row. */
}
