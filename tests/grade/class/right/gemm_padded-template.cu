/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_padded-template - A template with the tile as parameter. */
// rung: template=32 grid=(n+31)/32,(m+31)/32 block=32,32

template <int T> struct tile_t {
    float v[T][T + 1];
    __device__ float &at(int y, int x) { return v[y][x]; }
};

template <int T> __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ tile_t<T> left, right;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.y * T + ty, j = blockIdx.x * T + tx, bj = blockIdx.x * T + ty;
    float s = 0;
    for (int p = 0; p < k; p += T) {
        const int q = p + tx;
        left.at(ty, tx) = 0;
        right.at(ty, tx) = 0;
        if (i < m && q < k)
            left.at(ty, tx) = a[i * k + q];
        if (bj < n && q < k)
            right.at(ty, tx) = b[bj * k + q];
        __syncthreads();
        for (int u = 0; u < T; ++u)
            s += left.at(ty, u) * right.at(tx, u);
        __syncthreads();
    }
    if (i < m && j < n)
        c[i * n + j] = s;
}
