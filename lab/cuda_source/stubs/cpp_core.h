/* SPDX-License-Identifier: Apache-2.0 */
/* cpp_core.h - stub of the part of the C++ library that kernels use: type traits, limits, min, max, swap, pair, array and the
 * functions of <cmath>. They work in kernels. */
#pragma once

#include "rung_stubs/c_library.h"

namespace std
{
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::time_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
typedef decltype(nullptr) nullptr_t;
using ::FILE;

/* ---- <type_traits> ---- */

template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const
    {
        return v;
    }
    constexpr T operator()() const
    {
        return v;
    }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool b> using bool_constant = integral_constant<bool, b>;
template <class...> using void_t = void;
template <bool b, class T = void> struct enable_if {
};
template <class T> struct enable_if<true, T> {
    typedef T type;
};
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool b, class T, class F> struct conditional {
    typedef T type;
};
template <class T, class F> struct conditional<false, T, F> {
    typedef F type;
};
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
#define RUNG_TRAIT(name, pattern, result)     \
    template <class T> struct name {          \
        typedef T type;                       \
    };                                        \
    template <class T> struct name<pattern> { \
        typedef result type;                  \
    };                                        \
    template <class T> using name##_t = typename name<T>::type;
RUNG_TRAIT(remove_const, const T, T)
RUNG_TRAIT(remove_volatile, volatile T, T)
RUNG_TRAIT(remove_pointer, T *, T)
#undef RUNG_TRAIT
template <class T> struct remove_reference {
    typedef T type;
};
template <class T> struct remove_reference<T &> {
    typedef T type;
};
template <class T> struct remove_reference<T &&> {
    typedef T type;
};
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_cv {
    typedef remove_const_t<remove_volatile_t<T>> type;
};
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct decay {
    typedef remove_cv_t<remove_reference_t<T>> type;
};
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct add_const {
    typedef const T type;
};
template <class T, class U> struct is_same : false_type {
};
template <class T> struct is_same<T, T> : true_type {
};
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T, class... U> inline constexpr bool rung_is_one_of = (is_same_v<remove_cv_t<T>, U> || ...);
template <class T> struct is_void : bool_constant<is_same_v<remove_cv_t<T>, void>> {
};
template <class T> struct is_floating_point : bool_constant<rung_is_one_of<T, float, double>> {
};
template <class T>
struct is_integral : bool_constant<rung_is_one_of<T, bool, char, signed char, unsigned char, short, unsigned short, int,
                                                  unsigned int, long, unsigned long, long long, unsigned long long>> {
};
template <class T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {
};
template <class T, bool = is_arithmetic<T>::value> struct is_signed : bool_constant<(T(-1) < T(0))> {
};
template <class T> struct is_signed<T, false> : false_type {
};
template <class T> struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {
};
template <class T> struct is_pointer : false_type {
};
template <class T> struct is_pointer<T *> : true_type {
};
template <class T> struct is_const : false_type {
};
template <class T> struct is_const<const T> : true_type {
};
template <class T> struct is_reference : false_type {
};
template <class T> struct is_reference<T &> : true_type {
};
template <class T> struct is_array : false_type {
};
template <class T, size_t n> struct is_array<T[n]> : true_type {
};
template <class B, class D> struct is_base_of : bool_constant<__is_base_of(B, D)> {
};
template <class T> struct is_enum : bool_constant<__is_enum(T)> {
};
template <class T> struct is_class : bool_constant<__is_class(T)> {
};
template <class T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {
};
template <class F, class T> struct is_convertible : bool_constant<__is_convertible_to(F, T)> {
};
template <class T> struct is_invocable : true_type {
};
#define RUNG_VALUE(name) template <class T> inline constexpr bool name##_v = name<T>::value;
RUNG_VALUE(is_void)
RUNG_VALUE(is_floating_point)
RUNG_VALUE(is_integral)
RUNG_VALUE(is_arithmetic)
RUNG_VALUE(is_signed)
RUNG_VALUE(is_unsigned)
RUNG_VALUE(is_pointer)
RUNG_VALUE(is_const)
RUNG_VALUE(is_reference)
RUNG_VALUE(is_enum)
RUNG_VALUE(is_class)
RUNG_VALUE(is_trivially_copyable)
#undef RUNG_VALUE
template <class B, class D> inline constexpr bool is_base_of_v = is_base_of<B, D>::value;
template <class F, class T> inline constexpr bool is_convertible_v = is_convertible<F, T>::value;
template <class T> struct make_unsigned {
    typedef T type;
};
template <> struct make_unsigned<int> {
    typedef unsigned int type;
};
template <> struct make_unsigned<long> {
    typedef unsigned long type;
};
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <size_t bytes, size_t align = 16> struct aligned_storage {
    struct type {
        alignas(align) unsigned char data[bytes];
    };
};
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {
};
template <class T> remove_reference_t<T> &&declval();
template <class T, T... values> struct integer_sequence {
    static constexpr size_t size()
    {
        return sizeof...(values);
    }
};
template <size_t... values> using index_sequence = integer_sequence<size_t, values...>;
template <size_t n, size_t... values> struct rung_index_sequence : rung_index_sequence<n - 1, n - 1, values...> {
};
template <size_t... values> struct rung_index_sequence<0, values...> {
    typedef index_sequence<values...> type;
};
template <size_t n> using make_index_sequence = typename rung_index_sequence<n>::type;

/* ---- <limits> ---- */

inline constexpr float rung_infinity = __builtin_bit_cast(float, 0x7f800000);
inline constexpr float rung_nan = __builtin_bit_cast(float, 0x7fc00000);

template <class T> struct numeric_limits;
#define RUNG_LIMITS(T, least, smallest, greatest, step) \
    template <> struct numeric_limits<T> {              \
        static constexpr bool is_specialized = true;    \
        static constexpr T lowest()                     \
        {                                               \
            return smallest;                            \
        }                                               \
        static constexpr T min()                        \
        {                                               \
            return least;                               \
        }                                               \
        static constexpr T max()                        \
        {                                               \
            return greatest;                            \
        }                                               \
        static constexpr T epsilon()                    \
        {                                               \
            return step;                                \
        }                                               \
        static constexpr T infinity()                   \
        {                                               \
            return rung_infinity;                       \
        }                                               \
        static constexpr T quiet_NaN()                  \
        {                                               \
            return rung_nan;                            \
        }                                               \
    };
#define RUNG_INTEGER_LIMITS(T, smallest, greatest)   \
    template <> struct numeric_limits<T> {           \
        static constexpr bool is_specialized = true; \
        static constexpr T lowest()                  \
        {                                            \
            return smallest;                         \
        }                                            \
        static constexpr T min()                     \
        {                                            \
            return smallest;                         \
        }                                            \
        static constexpr T max()                     \
        {                                            \
            return greatest;                         \
        }                                            \
    };
RUNG_LIMITS(float, FLT_MIN, -FLT_MAX, FLT_MAX, FLT_EPSILON)
RUNG_LIMITS(double, DBL_MIN, -DBL_MAX, DBL_MAX, DBL_EPSILON)
RUNG_INTEGER_LIMITS(char, SCHAR_MIN, SCHAR_MAX)
RUNG_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
RUNG_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX)
RUNG_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX)
RUNG_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX)
RUNG_INTEGER_LIMITS(int, INT_MIN, INT_MAX)
RUNG_INTEGER_LIMITS(unsigned int, 0, UINT_MAX)
RUNG_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX)
RUNG_INTEGER_LIMITS(unsigned long, 0, ULONG_MAX)
RUNG_INTEGER_LIMITS(long long, LLONG_MIN, LLONG_MAX)
RUNG_INTEGER_LIMITS(unsigned long long, 0, ULLONG_MAX)
#undef RUNG_LIMITS
#undef RUNG_INTEGER_LIMITS

/* ---- <algorithm>, <utility>, <array> ---- */

template <class T> constexpr const T &min(const T &a, const T &b)
{
    return b < a ? b : a;
}
template <class T> constexpr const T &max(const T &a, const T &b)
{
    return a < b ? b : a;
}
template <class T> constexpr T max(initializer_list<T> list)
{
    T best = *list.begin();
    for (const T &value : list)
        best = best < value ? value : best;
    return best;
}
template <class T> constexpr T min(initializer_list<T> list)
{
    T best = *list.begin();
    for (const T &value : list)
        best = value < best ? value : best;
    return best;
}
template <class T> constexpr const T &clamp(const T &value, const T &low, const T &high)
{
    return value < low ? low : high < value ? high : value;
}
template <class T> constexpr void swap(T &a, T &b)
{
    T c = a;
    a = b;
    b = c;
}
template <class T, class U = T> constexpr T exchange(T &a, U &&b)
{
    T old = a;
    a = b;
    return old;
}
template <class A, class B> struct pair {
    A first;
    B second;
    constexpr pair() : first(), second()
    {
    }
    constexpr pair(const A &a, const B &b) : first(a), second(b)
    {
    }
};
template <class A, class B> constexpr pair<A, B> make_pair(const A &a, const B &b)
{
    return pair<A, B>(a, b);
}
template <class T, size_t n> struct array {
    T rung_items[n > 0 ? n : 1];
    constexpr T &operator[](size_t i)
    {
        return rung_items[i];
    }
    constexpr const T &operator[](size_t i) const
    {
        return rung_items[i];
    }
    constexpr size_t size() const
    {
        return n;
    }
    constexpr T *data()
    {
        return rung_items;
    }
    constexpr const T *data() const
    {
        return rung_items;
    }
    constexpr T *begin()
    {
        return rung_items;
    }
    constexpr T *end()
    {
        return rung_items + n;
    }
    constexpr const T *begin() const
    {
        return rung_items;
    }
    constexpr const T *end() const
    {
        return rung_items + n;
    }
    constexpr void fill(const T &value)
    {
        for (size_t i = 0; i < n; i++)
            rung_items[i] = value;
    }
};
template <class... T> struct tuple {
    constexpr tuple(const T &...)
    {
    }
};
template <class... T> constexpr tuple<T...> make_tuple(const T &...values)
{
    return tuple<T...>(values...);
}
#define RUNG_FUNCTOR(name, symbol)                           \
    template <class T = void> struct name {                  \
        constexpr T operator()(const T &a, const T &b) const \
        {                                                    \
            return a symbol b;                               \
        }                                                    \
    };
RUNG_FUNCTOR(plus, +)
RUNG_FUNCTOR(minus, -)
RUNG_FUNCTOR(multiplies, *)
RUNG_FUNCTOR(divides, /)
RUNG_FUNCTOR(less, <)
RUNG_FUNCTOR(greater, >)
#undef RUNG_FUNCTOR

/* ---- <cmath>, <cstdlib>, <cstring>, <cstdio>: NVRTC's own functions and the stubs of the C library ---- */

using ::abs;
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::atof;
using ::atoi;
using ::calloc;
using ::cbrt;
using ::ceil;
using ::clock;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exit;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::fclose;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::fopen;
using ::fprintf;
using ::free;
using ::getenv;
using ::hypot;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::lround;
using ::malloc;
using ::memcmp;
using ::memcpy;
using ::memset;
using ::pow;
using ::printf;
using ::puts;
using ::rand;
using ::rint;
using ::round;
using ::sin;
using ::sinh;
using ::snprintf;
using ::sprintf;
using ::sqrt;
using ::srand;
using ::strcmp;
using ::strcpy;
using ::strlen;
using ::strstr;
using ::tan;
using ::tanh;
using ::tgamma;
using ::time;
using ::trunc;
} // namespace std
