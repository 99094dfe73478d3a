/* SPDX-License-Identifier: Apache-2.0 */
/* lock_matrix_update.cu - the old value is read before the lock is taken */
// rung: grid=4 block=1 c=f32[16]:zero x=f32[16] mutex=i32[1]:zero
__global__ void update(float *c, const float *x, int *mutex)
{
    for (int i = 0; i < 16; i++) {
        float value = c[i] + x[i] * (blockIdx.x + 1); // BUG race
        while (atomicCAS(mutex, 0, 1) != 0)
            ;
        __threadfence();
        c[i] = value; // BUG race
        __threadfence();
        atomicExch(mutex, 0);
    }
}
