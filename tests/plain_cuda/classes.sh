#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# classes.sh - rung verify on kernels and launches that use classes: member functions, private fields, functors, and launches in
# member functions.
set -u
. "$(dirname "$0")/common.sh"

# Member functions in a kernel: static ones, those of a variable, and those of the matrices. Fields follow functions.
cat > "$work/members.cu" << 'EOF'
struct Tile {
    static const int SIZE = 16;
    static __device__ int row() { return blockIdx.y * SIZE + threadIdx.y; }
    static __device__ int col() { return blockIdx.x * SIZE + threadIdx.x; }
};
class Sum {
public:
    __device__ Sum() : sum(0) {}
    __device__ void add(float a, float b) { sum += a * b; }
    __device__ float get() const { return sum; }
private:
    float sum;
};
struct View {
    View(float *d, int r, int c) : data{d}, rows{r}, cols{c} {}
    View() = default;
    __device__ float get(int r, int c) const { float value = data[r * cols + c]; return value; }
    __device__ void set(int r, int c, float x) { int at = r * cols + c; data[at] = x; }
    float *data;
    int rows, cols;
};
__global__ void matmul(View A, View B, View C)
{
    int row = Tile::row(), col = Tile::col();
    if (row >= C.rows || col >= C.cols)
        return;
    Sum sum;
    for (int k = 0; k < A.cols; k++)
        sum.add(A.get(row, k), B.get(k, col));
    C.set(row, col, sum.get());
}
int main()
{
    View A, B, C;
    dim3 block(Tile::SIZE, Tile::SIZE), grid((C.cols + 15) / 16, (C.rows + 15) / 16);
    matmul<<<grid, block>>>(A, B, C);
}
EOF
run 0 verify "$work/members.cu"
says "A.data = A, A.rows = M, A.cols = K"
says "sizes any"

# Private fields of a class without a default constructor. The type follows from the constructor in the launch, and the matrix
# of a leading dimension from the pointer beside it.
cat > "$work/private.cu" << 'EOF'
template <typename T> class Mat {
    T *p;
    int ld;
public:
    Mat(T *p_, int ld_) : p(p_), ld(ld_) {}
    __device__ T &operator()(int r, int c) const { return p[r * ld + c]; }
};
template <typename T> __global__ void matmul(Mat<T> lhs, Mat<T> rhs, Mat<T> out, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N || col >= N)
        return;
    T sum = 0;
    for (int k = 0; k < N; k++)
        sum += lhs(row, k) * rhs(k, col);
    out(row, col) = sum;
}
void run(double *a, double *b, double *c, int N)
{
    dim3 block(16, 16), grid((N + 15) / 16, (N + 15) / 16);
    matmul<<<grid, block>>>(Mat<double>(a, N), Mat<double>(b, N), Mat<double>(c, N), N);
}
EOF
run 0 verify "$work/private.cu"
says "matmul<double>, private.cu:8"
says "N = size, lhs.p = A, lhs.ld = lda, rhs.p = B, rhs.ld = ldb, out.p = C, out.ld = ldc"
lacks "assumes"
run 0 explain "$work/private.cu"

# Launches in member functions, in the class and outside of it, with constants, fields and functions of the class.
kernel='int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * N + col];'
cat > "$work/inside.cu" << EOF
__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    $kernel
    C[row * N + col] = sum;
}
class Multiplier {
    int m, n, k;
    int side = 8;
    static const int BLOCK = 16;
    dim3 grid() const { return dim3((n + BLOCK - 1) / BLOCK, (m + BLOCK - 1) / BLOCK); }
public:
    Multiplier(int m, int n, int k) : m(m), n(n), k(k) {}
    void run(const float *A, const float *B, float *C)
    {
        dim3 block(BLOCK, BLOCK);
        matmul<<<grid(), block>>>(A, B, C, m, n, k);
        matmul<<<dim3((n + side - 1) / side, (m + side - 1) / side), dim3(side, side)>>>(A, B, C, m, n, k);
    }
};
EOF
run 0 verify "$work/inside.cu"
says "16 x 8 x 1 blocks of 16 x 16 x 1 threads for 128 x 256 x 64"
says "32 x 16 x 1 blocks of 8 x 8 x 1 threads for 128 x 256 x 64"
cat > "$work/outside.cu" << EOF
namespace gpu {
template <int BS> struct Gemm {
    static constexpr int kBlock = BS;
    void run(const float *A, const float *B, float *C);
    static __device__ void body(const float *A, const float *B, float *C, int M, int N, int K)
    {
        $kernel
        C[row * N + col] = sum;
    }
    int m_, n_, k_;
};
template <class G> __global__ void kernel(const float *A, const float *B, float *C, int M, int N, int K)
{
    G::body(A, B, C, M, N, K);
}
template <int BS> void Gemm<BS>::run(const float *A, const float *B, float *C)
{
    dim3 block(kBlock, kBlock), grid((n_ + kBlock - 1) / kBlock, (m_ + kBlock - 1) / kBlock);
    kernel<Gemm<BS>><<<grid, block>>>(A, B, C, m_, n_, k_);
}
}
int main()
{
    gpu::Gemm<8> gemm;
    gemm.run(0, 0, 0);
}
EOF
run 0 verify "$work/outside.cu"
says "32 x 16 x 1 blocks of 8 x 8 x 1 threads for 128 x 256 x 64"

# A kernel that is a member is refused by CUDA itself.
sed 's/static __device__ void body/static __global__ void body/; /kernel</d' "$work/outside.cu" > "$work/member_kernel.cu"
run 2 verify "$work/member_kernel.cu"
says "cannot be a member function"

# The type of a functor follows from the launch: a constructor, a variable, a number of the same template. The host code sets
# its fields.
cat > "$work/functor.cu" << EOF
struct Same { __device__ float operator()(float x) const { return x; } };
struct Relu { __device__ float operator()(float x) const { return x > 0 ? x : 0; } };
struct Scale { float by; __device__ float operator()(float x) const { return by * x; } };
template <class T, class F> __global__ void matmul(const T *A, const T *B, T *C, int M, int N, int K, F f)
{
    $kernel
    C[row * N + col] = f(sum);
}
void run(float *A, float *B, float *C, int M, int N, int K)
{
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    Scale scale{1.0f};
    matmul<<<grid, block>>>(A, B, C, M, N, K, Same{});
    matmul<<<grid, block>>>(A, B, C, M, N, K, Relu());
    matmul<<<grid, block>>>(A, B, C, M, N, K, scale);
}
EOF
run 0 verify "$work/functor.cu"
says "matmul<float, Same>"
says "matmul<float, Relu>"
says "C = relu(A * B)"
says "matmul<float, Scale>"
lacks "assumes"
sed -e '/run(/,$s/float \*/double */g' -e 's/float sum/double sum/' -e 's/float operator()(float/double operator()(double/' \
    -e '/Relu()/d' -e '/, scale)/d' "$work/functor.cu" > "$work/double.cu"
run 0 verify "$work/double.cu"
says "matmul<double, Same>"
# A functor that changes the result in another way.
sed -e 's/scale{1.0f}/scale{3.0f}/' -e '/Same{})/d' -e '/Relu()/d' "$work/functor.cu" > "$work/scaled.cu"
run 2 verify "$work/scaled.cu" --time-limit 250
says "pass a functor that returns its argument, or use rung check"
sed 's/Same{}/[] __device__ (float x) { return x; }/' "$work/functor.cu" > "$work/lambda.cu"
run 2 verify "$work/lambda.cu"
says "the launch passes a lambda, whose type has no name: write a struct with operator() in its place"
sed 's/Same{}/make()/' "$work/functor.cu" > "$work/made.cu"
run 2 verify "$work/made.cu"
says "give the values of the template parameters with --template T,F"

# A note names each header that was replaced by an empty one, in every command.
sed '1i #include "gone.h"' "$work/members.cu" > "$work/gone.cu"
note="gone.h (line 1) was not found; the compiler continues without it; -I FOLDER names the folder to read"
run 0 verify "$work/gone.cu"
says "note $note"
run 0 verify "$work/gone.cu" --json
says "\"notes\": [ \"$note\" ]"
run 0 explain "$work/gone.cu"
says "Note: $note."
sed '1i #include "gone.h"' "$RUNG_SOURCE/examples/cuda/saxpy.cu" > "$work/saxpy.cu"
run 0 check "$work/saxpy.cu"
says "note $note"
run 0 verify "$work/members.cu"
lacks "was not found"
exit $bad
