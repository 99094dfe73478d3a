/* SPDX-License-Identifier: Apache-2.0 */
/* 24_padded_tile - tiled product of square matrices with padding against bank conflicts */
#define TILE_DIM 32
#define PAD 1

// rung: grid=(n+TILE_DIM-1)/TILE_DIM,(n+TILE_DIM-1)/TILE_DIM block=TILE_DIM,TILE_DIM
__global__ void __launch_bounds__(TILE_DIM * TILE_DIM) mm_padded(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[TILE_DIM][TILE_DIM + PAD];
    __shared__ float tb[TILE_DIM][TILE_DIM + PAD]; // holds the tile of b transposed

    int lx = threadIdx.x, ly = threadIdx.y;
    int i = blockIdx.y * TILE_DIM + ly;
    int j = blockIdx.x * TILE_DIM + lx;
    int tiles = (n + TILE_DIM - 1) / TILE_DIM;
    float sum = 0.0f;

    for (int t = 0; t < tiles; ++t) {
        int ka = t * TILE_DIM + lx;
        int kb = t * TILE_DIM + ly;
        ta[ly][lx] = 0.0f;
        tb[lx][ly] = 0.0f;
        if (i < n && ka < n) ta[ly][lx] = a[i * n + ka];
        if (kb < n && j < n) tb[lx][ly] = b[kb * n + j];
        __syncthreads();
        for (int k = 0; k < TILE_DIM; ++k) sum += ta[ly][k] * tb[lx][k];
        __syncthreads();
    }
    if (i < n && j < n) c[i * n + j] = sum;
}
