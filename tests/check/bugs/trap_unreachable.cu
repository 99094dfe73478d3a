/* SPDX-License-Identifier: Apache-2.0 */
/* trap_unreachable.cu - __trap() in the default case */
// rung: grid=1 block=32 operations=i32[32] x=f32[32]
__global__ void interpret(const int *operations, float *x)
{
    switch (operations[threadIdx.x]) {
    case 0: x[threadIdx.x] += 1.0f; break;
    case 1: x[threadIdx.x] *= 2.0f; break;
    case 2: x[threadIdx.x] = -x[threadIdx.x]; break;
    default: __trap(); // BUG trap
    }
}
