/* SPDX-License-Identifier: Apache-2.0 */
/* thrust.h - stub of Thrust's containers and algorithms of the host. */
#pragma once

#include "rung_stubs/cpp_library.h"
#include "rung_stubs/cuda_host.h"

namespace thrust
{
struct device_policy {
};
constexpr device_policy device{}, host{}, seq{};
template <class T> struct device_ptr {
    T *pointer;
    T *get() const
    {
        return pointer;
    }
    T &operator[](long i) const
    {
        return pointer[i];
    }
    T &operator*() const
    {
        return *pointer;
    }
    device_ptr operator+(long) const
    {
        return *this;
    }
};
template <class T> struct host_vector : std::vector<T> {
    using std::vector<T>::vector;
    template <class U> host_vector(const U &)
    {
    }
    host_vector()
    {
    }
};
template <class T> struct device_vector : std::vector<T> {
    using std::vector<T>::vector;
    template <class U> device_vector(const U &)
    {
    }
    device_vector()
    {
    }
    device_ptr<T> data()
    {
        return device_ptr<T>();
    }
};
template <class T> inline T *raw_pointer_cast(T *pointer)
{
    return pointer;
}
template <class T> inline T *raw_pointer_cast(const device_ptr<T> &pointer)
{
    return pointer.get();
}
template <class T> inline device_ptr<T> device_pointer_cast(T *pointer)
{
    return device_ptr<T>{pointer};
}
template <class T> using plus = std::plus<T>;
template <class T> using multiplies = std::multiplies<T>;
template <class T> struct maximum {
    T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
template <class T> struct minimum {
    T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};
#define RUNG_THRUST(name)                               \
    template <class... A> inline int name(const A &...) \
    {                                                   \
        return 0;                                       \
    }
RUNG_THRUST(copy)
RUNG_THRUST(fill)
RUNG_THRUST(sequence)
RUNG_THRUST(generate)
RUNG_THRUST(transform)
RUNG_THRUST(reduce)
RUNG_THRUST(transform_reduce)
RUNG_THRUST(inner_product)
RUNG_THRUST(sort)
RUNG_THRUST(sort_by_key)
RUNG_THRUST(exclusive_scan)
RUNG_THRUST(inclusive_scan)
RUNG_THRUST(for_each)
#undef RUNG_THRUST
} // namespace thrust
