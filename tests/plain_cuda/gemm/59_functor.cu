/* SPDX-License-Identifier: Apache-2.0 */
/* 59_functor - a GEMM class in a namespace, run by a generic kernel */
#include <cuda_runtime.h>

namespace gemm {

template <typename T> struct Params {
    int m, n, k;
    T alpha, beta;
    const T *a;
    const T *b;
    T *c;
};

template <typename T, int Tile> class TiledGemm {
public:
    struct SharedStorage {
        T a[Tile][Tile + 1];
        T b[Tile][Tile + 1];
    };

    __device__ TiledGemm(const Params<T> &params, SharedStorage &storage) : p_(params), s_(storage) {}

    __device__ void operator()() const
    {
        const int row = blockIdx.y * Tile + threadIdx.y;
        const int col = blockIdx.x * Tile + threadIdx.x;
        T acc{};
        for (int k0 = 0; k0 < p_.k; k0 += Tile) {
            s_.a[threadIdx.y][threadIdx.x] = at(p_.a, row, k0 + threadIdx.x, p_.m, p_.k);
            s_.b[threadIdx.y][threadIdx.x] = at(p_.b, k0 + threadIdx.y, col, p_.k, p_.n);
            __syncthreads();
            for (int i = 0; i < Tile; ++i) acc += s_.a[threadIdx.y][i] * s_.b[i][threadIdx.x];
            __syncthreads();
        }
        if (row < p_.m && col < p_.n) {
            T &out = p_.c[row * p_.n + col];
            out = p_.alpha * acc + p_.beta * out;
        }
    }

private:
    __device__ static T at(const T *x, int i, int j, int rows, int cols)
    {
        return i < rows && j < cols ? x[i * cols + j] : T{};
    }

    const Params<T> &p_;
    SharedStorage &s_;
};

template <class Operator, typename T> __global__ void run(const __grid_constant__ Params<T> params)
{
    __shared__ typename Operator::SharedStorage storage;
    Operator op(params, storage);
    op();
}

template <typename T> cudaError_t multiply(const Params<T> &params, cudaStream_t stream = nullptr)
{
    constexpr int Tile = 16;
    const dim3 block(Tile, Tile);
    const dim3 grid((params.n + Tile - 1) / Tile, (params.m + Tile - 1) / Tile);
    run<TiledGemm<T, Tile>, T><<<grid, block, 0, stream>>>(params);
    return cudaGetLastError();
}

} // namespace gemm

cudaError_t sgemm(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    return gemm::multiply<float>({m, n, k, alpha, beta, a, b, c});
}
