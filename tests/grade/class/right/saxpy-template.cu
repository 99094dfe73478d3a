/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy-template - A template with a functor, several elements per thread, and other names for parameters that are matched by position. */
constexpr int THREADS = 64;
constexpr int EACH = 4;
// rung: grid=(n+THREADS*EACH-1)/(THREADS*EACH) block=THREADS

template <typename T> struct add_scaled {
    T alpha;
    __device__ T operator()(T x, T y) const { return alpha * x + y; }
};

template <typename F> __device__ void for_each_element(const float *x, float *y, int n, F f)
{
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
#pragma unroll
    for (int part = 0; part < EACH; ++part) {
        const int i = first + part * THREADS;
        if (i < n)
            y[i] = f(x[i], y[i]);
    }
}

__global__ void saxpy(float alpha, const float *x, float *y, int count)
{
    for_each_element(x, y, count, add_scaled<float>{alpha});
}
