/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_local_polynomial.cu - the coefficient of the highest degree is skipped */
// rung: grid=1 block=64 x=f32[64] table=f32[16] y=f32[64]:none degree=7
__global__ void evaluate(const float *x, const float *table, float *y, int degree)
{
    float coefficients[16];
    for (int i = 0; i < degree; i++)
        coefficients[i] = table[(i * 5) % 16];
    float value = 0.0f;
    for (int i = degree; i >= 0; i--)
        value = value * x[threadIdx.x] + coefficients[i]; // BUG uninitialized
    y[threadIdx.x] = value;
}
