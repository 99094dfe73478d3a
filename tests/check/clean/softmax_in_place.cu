/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_in_place.cu - online maximum and sum, result in place */
// rung: grid=3 block=32 x=f32[3*40] cols=40
__global__ void softmax(float *x, int cols)
{
    float best = -3.4e38f, sum = 0.0f, *row = x + blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += 32) {
        float next = fmaxf(best, row[i]);
        sum = sum * __expf(best - next) + __expf(row[i] - next);
        best = next;
    }
    for (int d = 16; d > 0; d /= 2) {
        float other_best = __shfl_xor_sync(0xffffffffu, best, d), other_sum = __shfl_xor_sync(0xffffffffu, sum, d);
        float next = fmaxf(best, other_best);
        sum = sum * __expf(best - next) + other_sum * __expf(other_best - next);
        best = next;
    }
    for (int i = threadIdx.x; i < cols; i += 32)
        row[i] = __expf(row[i] - best) / sum;
}
