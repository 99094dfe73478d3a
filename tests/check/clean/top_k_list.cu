/* SPDX-License-Identifier: Apache-2.0 */
/* top_k_list.cu - an insertion list in local memory */
// rung: grid=1 block=32 x=f32[32*30] best=f32[32*4]:none
__global__ void top4(const float *x, float *best)
{
    float list[4];
    for (int i = 0; i < 4; i++)
        list[i] = -3.4e38f;
    for (int i = 0; i < 30; i++) {
        float value = x[i * 32 + threadIdx.x];
        int at = 3;
        if (value <= list[3])
            continue;
        while (at > 0 && list[at - 1] < value) {
            list[at] = list[at - 1];
            at--;
        }
        list[at] = value;
    }
    for (int i = 0; i < 4; i++)
        best[threadIdx.x * 4 + i] = list[i];
}
