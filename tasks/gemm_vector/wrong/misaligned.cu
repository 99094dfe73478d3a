/* SPDX-License-Identifier: Apache-2.0 */
/* misaligned - wrong: public shapes, hidden shapes, no wrong accesses, no races, memory traffic, few shared memory requests, few global memory requests; found: misaligned */
#define TILE 64
#define BK 16
#define SIDE 16
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=SIDE*SIDE

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) float a_tile[BK][TILE + 1], b_tile[BK][TILE];
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    int a_row = threadIdx.x / 4, a_col = threadIdx.x % 4 * 4; // 64 rows of 16 elements
    int b_row = threadIdx.x / 16, b_col = threadIdx.x % 16 * 4; // 16 rows of 64 elements
    const float4 zeros = make_float4(0, 0, 0, 0);
    float4 sum[4] = {zeros, zeros, zeros, zeros};
    for (int k0 = 0; k0 < k; k0 += BK) {
        float4 a_four = zeros, b_four = zeros;
        if (first_row + a_row < m && k0 + a_col < k)
            a_four = *(const float4 *)&a[(first_row + a_row) * k + k0 + a_col];
        if (k0 + b_row < k && first_col + b_col < n)
            b_four = *(const float4 *)&b[(k0 + b_row) * n + first_col + b_col];
        a_tile[a_col][a_row] = a_four.x;
        a_tile[a_col + 1][a_row] = a_four.y;
        a_tile[a_col + 2][a_row] = a_four.z;
        a_tile[a_col + 3][a_row] = a_four.w;
        *(float4 *)&b_tile[b_row][b_col] = b_four;
        __syncthreads();
        for (int step = 0; step < BK; step++) {
            float4 a_values = *(const float4 *)&a_tile[step][y * 4];
            float4 b_values = *(const float4 *)&b_tile[step][x * 4];
            const float four[4] = {a_values.x, a_values.y, a_values.z, a_values.w};
            for (int i = 0; i < 4; i++) {
                sum[i].x += four[i] * b_values.x;
                sum[i].y += four[i] * b_values.y;
                sum[i].z += four[i] * b_values.z;
                sum[i].w += four[i] * b_values.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        if (first_row + y * 4 + i < m && first_col + x * 4 < n)
            *(float4 *)&c[(first_row + y * 4 + i) * n + first_col + x * 4] = sum[i];
}
