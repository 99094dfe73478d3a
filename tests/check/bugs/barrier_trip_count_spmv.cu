/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_trip_count_spmv.cu - the loop over the nonzeros of a row contains a barrier */
// rung: grid=2 block=64 row_length=i32[128] values=f32[128*10] x=f32[64] y=f32[128]:none
__global__ void spmv_ell(const int *row_length, const float *values, const float *x, float *y)
{
    __shared__ float cache[64];
    int row = blockIdx.x * 64 + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < row_length[row]; j++) {
        cache[threadIdx.x] = x[(threadIdx.x + j) % 64];
        __syncthreads(); // BUG barrier
        sum += values[j * 128 + row] * cache[(row + j) % 64];
        __syncthreads(); // BUG barrier
    }
    y[row] = sum;
}
