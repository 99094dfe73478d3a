/* SPDX-License-Identifier: Apache-2.0 */
/* torch.h - stub of PyTorch's and pybind11's C++ interfaces: enough for functions of the host to be declared. */
#pragma once

#include "rung_stubs/cpp_library.h"
#include "rung_stubs/cuda_host.h"

namespace c10
{
enum class ScalarType { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
struct Half {
    unsigned short x;
};
struct BFloat16 {
    unsigned short x;
};
struct Device {
    int index() const
    {
        return 0;
    }
};
namespace cuda
{
struct CUDAGuard {
    template <class... A> CUDAGuard(const A &...)
    {
    }
};
} // namespace cuda
template <class T> using optional = std::optional<T>;
} // namespace c10

namespace at
{
using c10::BFloat16;
using c10::Half;
using c10::ScalarType;
constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kInt = ScalarType::Int,
                     kLong = ScalarType::Long, kHalf = ScalarType::Half, kFloat = ScalarType::Float,
                     kDouble = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
struct TensorOptions {
    template <class... A> TensorOptions dtype(const A &...) const
    {
        return *this;
    }
    template <class... A> TensorOptions device(const A &...) const
    {
        return *this;
    }
    ScalarType dtype() const
    {
        return ScalarType::Float;
    }
    template <class T> bool operator==(const T &) const
    {
        return true;
    }
};
struct Tensor {
    long size(int) const
    {
        return 0;
    }
    long stride(int) const
    {
        return 0;
    }
    long numel() const
    {
        return 0;
    }
    long dim() const
    {
        return 0;
    }
    int device_index() const
    {
        return 0;
    }
    bool is_cuda() const
    {
        return true;
    }
    bool is_contiguous() const
    {
        return true;
    }
    bool defined() const
    {
        return true;
    }
    ScalarType scalar_type() const
    {
        return ScalarType::Float;
    }
    ScalarType dtype() const
    {
        return ScalarType::Float;
    }
    TensorOptions options() const
    {
        return TensorOptions();
    }
    c10::Device device() const
    {
        return c10::Device();
    }
    std::vector<long> sizes() const
    {
        return std::vector<long>();
    }
    Tensor contiguous() const
    {
        return *this;
    }
    template <class... A> Tensor to(const A &...) const
    {
        return *this;
    }
    template <class... A> Tensor view(const A &...) const
    {
        return *this;
    }
    template <class T = void> T *data_ptr() const
    {
        return nullptr;
    }
    template <class T> T *data() const
    {
        return nullptr;
    }
    template <class T> T item() const
    {
        return T();
    }
};
template <class... A> inline Tensor zeros(const A &...)
{
    return Tensor();
}
template <class... A> inline Tensor empty(const A &...)
{
    return Tensor();
}
template <class... A> inline Tensor empty_like(const A &...)
{
    return Tensor();
}
template <class... A> inline Tensor zeros_like(const A &...)
{
    return Tensor();
}
template <class... A> inline Tensor full(const A &...)
{
    return Tensor();
}
namespace cuda
{
using c10::cuda::CUDAGuard;
struct Stream {
    cudaStream_t stream() const
    {
        return 0;
    }
    operator cudaStream_t() const
    {
        return 0;
    }
};
template <class... A> inline Stream getCurrentCUDAStream(const A &...)
{
    return Stream();
}
} // namespace cuda
} // namespace at

namespace torch
{
using namespace at;
constexpr int kCUDA = 1, kCPU = 0;
constexpr ScalarType kFloat32 = ScalarType::Float, kFloat16 = ScalarType::Half, kInt32 = ScalarType::Int,
                     kInt8 = ScalarType::Char, kInt64 = ScalarType::Long;
using Dtype = ScalarType;
using IntArrayRef = std::vector<long>;
using c10::Device;
template <class T> struct RestrictPtrTraits {
    typedef T *__restrict__ PtrType;
};
template <class T> struct DefaultPtrTraits {
    typedef T *PtrType;
};
template <class T, size_t n> struct rung_accessor {
    T *pointer;
    const long *extents, *steps;
    rung_accessor<T, n - 1> operator[](long i) const
    {
        return {pointer + i * steps[0], extents + 1, steps + 1};
    }
    long size(int i) const
    {
        return extents[i];
    }
    long stride(int i) const
    {
        return steps[i];
    }
    T *data() const
    {
        return pointer;
    }
};
template <class T> struct rung_accessor<T, 1> {
    T *pointer;
    const long *extents, *steps;
    T &operator[](long i) const
    {
        return pointer[i * steps[0]];
    }
    long size(int i) const
    {
        return extents[i];
    }
    T *data() const
    {
        return pointer;
    }
};
template <class T, size_t n, template <class> class P = DefaultPtrTraits, class I = int>
using PackedTensorAccessor32 = rung_accessor<T, n>;
template <class T, size_t n, template <class> class P = DefaultPtrTraits, class I = long>
using PackedTensorAccessor64 = rung_accessor<T, n>;
} // namespace torch

namespace c10
{
namespace cuda
{
using at::cuda::getCurrentCUDAStream;
}
} // namespace c10

namespace pybind11
{
struct module_ {
    template <class... A> module_ &def(const A &...)
    {
        return *this;
    }
};
} // namespace pybind11
namespace py = pybind11;

#define TORCH_CHECK(...)
#define TORCH_INTERNAL_ASSERT(...)
#define AT_ASSERTM(...)
#define AT_CUDA_CHECK(...)
#define C10_CUDA_CHECK(...)
#define C10_CUDA_KERNEL_LAUNCH_CHECK()
#define TORCH_EXTENSION_NAME rung_stub
#define PYBIND11_MODULE(name, variable) inline void rung_stub_module(pybind11::module_ &variable)
#define TORCH_LIBRARY(name, variable) inline void rung_stub_library(pybind11::module_ &variable)
#define AT_DISPATCH_FLOATING_TYPES(...)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...)
#define AT_DISPATCH_ALL_TYPES(...)
