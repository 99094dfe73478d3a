/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_local_top_k.cu - the list of the best values is not set */
// rung: grid=2 block=32 x=f32[64*50] best=f32[64*8]:none k=8
__global__ void top_k(const float *x, float *best, int k)
{
    float list[8];
    int row = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < 50; i++) {
        float value = x[row * 50 + i];
        int at = k - 1;
        if (value <= list[at]) // BUG uninitialized
            continue;
        while (at > 0 && list[at - 1] < value) { // BUG uninitialized
            list[at] = list[at - 1];
            at--;
        }
        list[at] = value;
    }
    for (int i = 0; i < k; i++)
        best[row * 8 + i] = list[i];
}
