/* SPDX-License-Identifier: Apache-2.0 */
/* cpp_library.h - stub of the C++ library for NVRTC. Type traits, limits, min, max, swap, pair, array and the functions of
 * <cmath> work in kernels. Containers, streams, clocks and random numbers only parse. */
#pragma once

#include "rung_stubs/c_library.h"

namespace std {
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

template <class T, T v>
struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const { return v; }
    constexpr T operator()() const { return v; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool b>
using bool_constant = integral_constant<bool, b>;
template <class...>
using void_t = void;
template <bool b, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    typedef T type;
};
template <bool b, class T = void>
using enable_if_t = typename enable_if<b, T>::type;
template <bool b, class T, class F>
struct conditional {
    typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
    typedef F type;
};
template <bool b, class T, class F>
using conditional_t = typename conditional<b, T, F>::type;
#define RUNG_TRAIT(name, pattern, result)       \
    template <class T>                          \
    struct name {                               \
        typedef T type;                         \
    };                                          \
    template <class T>                          \
    struct name<pattern> {                      \
        typedef result type;                    \
    };                                          \
    template <class T>                          \
    using name##_t = typename name<T>::type;
RUNG_TRAIT(remove_const, const T, T)
RUNG_TRAIT(remove_volatile, volatile T, T)
RUNG_TRAIT(remove_pointer, T *, T)
#undef RUNG_TRAIT
template <class T>
struct remove_reference {
    typedef T type;
};
template <class T>
struct remove_reference<T &> {
    typedef T type;
};
template <class T>
struct remove_reference<T &&> {
    typedef T type;
};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
struct remove_cv {
    typedef remove_const_t<remove_volatile_t<T>> type;
};
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
struct decay {
    typedef remove_cv_t<remove_reference_t<T>> type;
};
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
struct add_const {
    typedef const T type;
};
template <class T, class U>
struct is_same : false_type {};
template <class T>
struct is_same<T, T> : true_type {};
template <class T, class U>
inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T, class... U>
inline constexpr bool rung_is_one_of = (is_same_v<remove_cv_t<T>, U> || ...);
template <class T>
struct is_void : bool_constant<is_same_v<remove_cv_t<T>, void>> {};
template <class T>
struct is_floating_point : bool_constant<rung_is_one_of<T, float, double>> {};
template <class T>
struct is_integral
    : bool_constant<rung_is_one_of<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int,
                                   long, unsigned long, long long, unsigned long long>> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T>
struct is_signed<T, false> : false_type {};
template <class T>
struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class T>
struct is_pointer : false_type {};
template <class T>
struct is_pointer<T *> : true_type {};
template <class T>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class T>
struct is_reference : false_type {};
template <class T>
struct is_reference<T &> : true_type {};
template <class T>
struct is_array : false_type {};
template <class T, size_t n>
struct is_array<T[n]> : true_type {};
template <class B, class D>
struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class T>
struct is_class : bool_constant<__is_class(T)> {};
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class F, class T>
struct is_convertible : bool_constant<__is_convertible_to(F, T)> {};
template <class T>
struct is_invocable : true_type {};
#define RUNG_VALUE(name) \
    template <class T>   \
    inline constexpr bool name##_v = name<T>::value;
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
template <class B, class D>
inline constexpr bool is_base_of_v = is_base_of<B, D>::value;
template <class F, class T>
inline constexpr bool is_convertible_v = is_convertible<F, T>::value;
template <class T>
struct make_unsigned {
    typedef T type;
};
template <>
struct make_unsigned<int> {
    typedef unsigned int type;
};
template <>
struct make_unsigned<long> {
    typedef unsigned long type;
};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <size_t bytes, size_t align = 16>
struct aligned_storage {
    struct type {
        alignas(align) unsigned char data[bytes];
    };
};
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T>
remove_reference_t<T> &&declval();
template <class T, T... values>
struct integer_sequence {
    static constexpr size_t size() { return sizeof...(values); }
};
template <size_t... values>
using index_sequence = integer_sequence<size_t, values...>;
template <size_t n, size_t... values>
struct rung_index_sequence : rung_index_sequence<n - 1, n - 1, values...> {};
template <size_t... values>
struct rung_index_sequence<0, values...> {
    typedef index_sequence<values...> type;
};
template <size_t n>
using make_index_sequence = typename rung_index_sequence<n>::type;

/* ---- <limits> ---- */

inline constexpr float rung_infinity = __builtin_bit_cast(float, 0x7f800000);
inline constexpr float rung_nan = __builtin_bit_cast(float, 0x7fc00000);

template <class T>
struct numeric_limits;
#define RUNG_LIMITS(T, least, smallest, greatest, step)                  \
    template <>                                                          \
    struct numeric_limits<T> {                                           \
        static constexpr bool is_specialized = true;                     \
        static constexpr T lowest() { return smallest; }                 \
        static constexpr T min() { return least; }                       \
        static constexpr T max() { return greatest; }                    \
        static constexpr T epsilon() { return step; }                    \
        static constexpr T infinity() { return rung_infinity; } \
        static constexpr T quiet_NaN() { return rung_nan; }  \
    };
#define RUNG_INTEGER_LIMITS(T, smallest, greatest)        \
    template <>                                           \
    struct numeric_limits<T> {                            \
        static constexpr bool is_specialized = true;      \
        static constexpr T lowest() { return smallest; }  \
        static constexpr T min() { return smallest; }     \
        static constexpr T max() { return greatest; }     \
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

template <class T>
constexpr const T &min(const T &a, const T &b)
{
    return b < a ? b : a;
}
template <class T>
constexpr const T &max(const T &a, const T &b)
{
    return a < b ? b : a;
}
template <class T>
constexpr T max(initializer_list<T> list)
{
    T best = *list.begin();
    for (const T &value : list)
        best = best < value ? value : best;
    return best;
}
template <class T>
constexpr T min(initializer_list<T> list)
{
    T best = *list.begin();
    for (const T &value : list)
        best = value < best ? value : best;
    return best;
}
template <class T>
constexpr const T &clamp(const T &value, const T &low, const T &high)
{
    return value < low ? low : high < value ? high : value;
}
template <class T>
constexpr void swap(T &a, T &b)
{
    T c = a;
    a = b;
    b = c;
}
template <class T, class U = T>
constexpr T exchange(T &a, U &&b)
{
    T old = a;
    a = b;
    return old;
}
template <class A, class B>
struct pair {
    A first;
    B second;
    constexpr pair() : first(), second() {}
    constexpr pair(const A &a, const B &b) : first(a), second(b) {}
};
template <class A, class B>
constexpr pair<A, B> make_pair(const A &a, const B &b)
{
    return pair<A, B>(a, b);
}
template <class T, size_t n>
struct array {
    T rung_items[n > 0 ? n : 1];
    constexpr T &operator[](size_t i) { return rung_items[i]; }
    constexpr const T &operator[](size_t i) const { return rung_items[i]; }
    constexpr size_t size() const { return n; }
    constexpr T *data() { return rung_items; }
    constexpr const T *data() const { return rung_items; }
    constexpr T *begin() { return rung_items; }
    constexpr T *end() { return rung_items + n; }
    constexpr const T *begin() const { return rung_items; }
    constexpr const T *end() const { return rung_items + n; }
    constexpr void fill(const T &value)
    {
        for (size_t i = 0; i < n; i++)
            rung_items[i] = value;
    }
};
template <class... T>
struct tuple {
    constexpr tuple(const T &...) {}
};
template <class... T>
constexpr tuple<T...> make_tuple(const T &...values)
{
    return tuple<T...>(values...);
}
#define RUNG_FUNCTOR(name, symbol)                                            \
    template <class T = void>                                                 \
    struct name {                                                             \
        constexpr T operator()(const T &a, const T &b) const { return a symbol b; } \
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
using ::cbrt;
using ::ceil;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::hypot;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::pow;
using ::round;
using ::rint;
using ::lround;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;
using ::atof;
using ::atoi;
using ::calloc;
using ::clock;
using ::exit;
using ::fclose;
using ::fopen;
using ::fprintf;
using ::free;
using ::getenv;
using ::malloc;
using ::memcmp;
using ::memcpy;
using ::memset;
using ::printf;
using ::puts;
using ::rand;
using ::snprintf;
using ::sprintf;
using ::srand;
using ::strcmp;
using ::strlen;
using ::strcpy;
using ::strstr;
using ::time;

/* ---- What only parses ---- */

/* A reference to nothing: declared, never defined. */
template <class T>
T &rung_reference();

#define RUNG_STUB_VOID(name) \
    RUNG_STUB(void, name) {}
RUNG_STUB_VOID(copy)
RUNG_STUB_VOID(fill)
RUNG_STUB_VOID(fill_n)
RUNG_STUB_VOID(for_each)
RUNG_STUB_VOID(generate)
RUNG_STUB_VOID(generate_n)
RUNG_STUB_VOID(iota)
RUNG_STUB_VOID(nth_element)
RUNG_STUB_VOID(random_shuffle)
RUNG_STUB_VOID(shuffle)
RUNG_STUB_VOID(sort)
RUNG_STUB_VOID(transform)
#undef RUNG_STUB_VOID
RUNG_STUB_0(bool, equal)
template <class I, class T, class... A>
inline T accumulate(const I &, const I &, T first, const A &...)
{
    return first;
}
template <class I, class... A>
inline I max_element(I first, const A &...)
{
    return first;
}
template <class I, class... A>
inline I min_element(I first, const A &...)
{
    return first;
}
template <class I, class... A>
inline I find(I first, const A &...)
{
    return first;
}

template <class T>
struct allocator {};
template <class T, class A = allocator<T>>
struct vector {
    typedef T value_type;
    typedef T *iterator;
    vector() {}
    explicit vector(size_t) {}
    vector(size_t, const T &) {}
    vector(initializer_list<T>) {}
    template <class I>
    vector(I, I)
    {
    }
    T *begin() const { return nullptr; }
    T *end() const { return nullptr; }
    T *data() const { return nullptr; }
    T &front() const { return *data(); }
    T &back() const { return *data(); }
    T &operator[](size_t i) const { return data()[i]; }
    T &at(size_t i) const { return data()[i]; }
    size_t size() const { return 0; }
    bool empty() const { return true; }
    void clear() {}
    void pop_back() {}
    template <class... X>
    void push_back(const X &...)
    {
    }
    template <class... X>
    void emplace_back(const X &...)
    {
    }
    template <class... X>
    void resize(const X &...)
    {
    }
    template <class... X>
    void reserve(const X &...)
    {
    }
    template <class... X>
    void assign(const X &...)
    {
    }
    template <class... X>
    void insert(const X &...)
    {
    }
};
template <class T>
using deque = vector<T>;
template <class T>
using list = vector<T>;
template <class T, class... A>
using set = vector<T>;
template <class T, class... A>
using unordered_set = vector<T>;
template <class T>
using queue = vector<T>;
template <class T>
using stack = vector<T>;

struct string {
    static constexpr size_t npos = ~(size_t)0;
    string() {}
    template <class... A>
    string(const A &...)
    {
    }
    const char *c_str() const { return ""; }
    size_t size() const { return 0; }
    size_t length() const { return 0; }
    bool empty() const { return true; }
    char &operator[](size_t) const { return rung_reference<char>(); }
    char *begin() const { return nullptr; }
    char *end() const { return nullptr; }
    template <class... A>
    size_t find(const A &...) const
    {
        return 0;
    }
    template <class... A>
    string substr(const A &...) const
    {
        return *this;
    }
    template <class T>
    string &operator+=(const T &)
    {
        return *this;
    }
    template <class T>
    string operator+(const T &) const
    {
        return *this;
    }
    template <class T>
    bool operator==(const T &) const
    {
        return true;
    }
    template <class T>
    bool operator!=(const T &) const
    {
        return true;
    }
};
inline string operator+(const char *, const string &text) { return text; }
typedef string string_view;
RUNG_STUB(string, to_string) { return string(); }
RUNG_STUB_0(int, stoi)
RUNG_STUB_0(long, stol)
RUNG_STUB_0(unsigned long, stoul)
RUNG_STUB_0(float, stof)
RUNG_STUB_0(double, stod)

template <class K, class V, class... A>
struct map {
    typedef pair<const K, V> value_type;
    map() {}
    map(initializer_list<value_type>) {}
    V &operator[](const K &) { return rung_reference<V>(); }
    V &at(const K &) const { return rung_reference<V>(); }
    value_type *begin() const { return nullptr; }
    value_type *end() const { return nullptr; }
    value_type *find(const K &) const { return nullptr; }
    size_t count(const K &) const { return 0; }
    size_t size() const { return 0; }
    template <class... X>
    void insert(const X &...)
    {
    }
};
template <class K, class V, class... A>
using unordered_map = map<K, V>;

struct ios_base {};
struct ios {
    static constexpr int in = 1, out = 2, binary = 4, app = 8, ate = 16, beg = 0, end = 1, cur = 2, fixed = 0, left = 0;
};
struct ostream {
    template <class... A>
    ostream(const A &...)
    {
    }
    template <class T>
    ostream &operator<<(const T &)
    {
        return *this;
    }
    ostream &operator<<(ostream &(*)(ostream &)) { return *this; }
    template <class T>
    ostream &operator>>(const T &)
    {
        return *this;
    }
    operator bool() const { return true; }
    bool operator!() const { return false; }
    bool is_open() const { return true; }
    bool good() const { return true; }
    bool eof() const { return true; }
    string str() const { return string(); }
    RUNG_STUB(void, open) {}
    RUNG_STUB(void, close) {}
    RUNG_STUB(void, flush) {}
    RUNG_STUB(void, write) {}
    RUNG_STUB(void, read) {}
    RUNG_STUB(void, seekg) {}
    RUNG_STUB(long, tellg) { return 0; }
    RUNG_STUB(int, precision) { return 0; }
    RUNG_STUB(int, setf) { return 0; }
};
typedef ostream istream;
typedef ostream iostream;
typedef ostream ofstream;
typedef ostream ifstream;
typedef ostream fstream;
typedef ostream stringstream;
typedef ostream ostringstream;
typedef ostream istringstream;
extern ostream cout, cerr, clog, cin;
inline ostream &endl(ostream &stream) { return stream; }
inline ostream &flush(ostream &stream) { return stream; }
inline ostream &fixed(ostream &stream) { return stream; }
inline ostream &scientific(ostream &stream) { return stream; }
inline ostream &left(ostream &stream) { return stream; }
inline ostream &right(ostream &stream) { return stream; }
inline ostream &boolalpha(ostream &stream) { return stream; }
RUNG_STUB_0(int, setw)
RUNG_STUB_0(int, setprecision)
RUNG_STUB_0(int, setfill)
RUNG_STUB_0(bool, getline)

struct exception {
    const char *what() const { return ""; }
};
struct runtime_error : exception {
    template <class T>
    runtime_error(const T &)
    {
    }
};
typedef runtime_error invalid_argument;
typedef runtime_error logic_error;
typedef runtime_error out_of_range;
typedef runtime_error bad_alloc;

template <class T>
struct unique_ptr {
    template <class... A>
    unique_ptr(const A &...)
    {
    }
    typename remove_pointer<T>::type *get() const { return nullptr; }
    T &operator*() const { return *get(); }
    T *operator->() const { return get(); }
};
template <class T>
struct unique_ptr<T[]> {
    template <class... A>
    unique_ptr(const A &...)
    {
    }
    T *get() const { return nullptr; }
    T &operator[](size_t i) const { return get()[i]; }
};
template <class T>
using shared_ptr = unique_ptr<T>;
template <class T, class... A>
inline unique_ptr<T> make_unique(const A &...)
{
    return unique_ptr<T>();
}
template <class T, class... A>
inline unique_ptr<T> make_shared(const A &...)
{
    return unique_ptr<T>();
}
template <class T>
struct optional {
    template <class... A>
    optional(const A &...)
    {
    }
    bool has_value() const { return false; }
    T value() const { return T(); }
    T operator*() const { return T(); }
};
struct nullopt_t {};
constexpr nullopt_t nullopt{};
template <class F>
struct function;
template <class R, class... A>
struct function<R(A...)> {
    function() {}
    template <class F>
    function(const F &)
    {
    }
    R operator()(A...) const { return R(); }
};
template <class T>
struct reference_wrapper;
struct mutex {};
template <class T>
struct lock_guard {
    lock_guard(T &) {}
};
struct thread {
    template <class... A>
    thread(const A &...)
    {
    }
    void join() {}
};

struct random_device {
    unsigned operator()() { return 0; }
};
struct mt19937 {
    template <class... A>
    mt19937(const A &...)
    {
    }
    RUNG_STUB(void, seed) {}
    unsigned operator()() { return 0; }
};
typedef mt19937 mt19937_64;
typedef mt19937 default_random_engine;
typedef mt19937 minstd_rand;
template <class T = double>
struct uniform_real_distribution {
    template <class... A>
    uniform_real_distribution(const A &...)
    {
    }
    template <class G>
    T operator()(G &)
    {
        return T();
    }
};
template <class T = double>
using normal_distribution = uniform_real_distribution<T>;
template <class T = int>
using uniform_int_distribution = uniform_real_distribution<T>;
typedef uniform_real_distribution<bool> bernoulli_distribution;

template <long n, long d = 1>
struct ratio {};
typedef ratio<1, 1000> milli;
typedef ratio<1, 1000000> micro;
typedef ratio<1, 1000000000> nano;
namespace chrono {
template <class T, class P = ratio<1>>
struct duration {
    template <class... A>
    duration(const A &...)
    {
    }
    T count() const { return T(); }
    template <class D>
    duration operator-(const D &) const
    {
        return *this;
    }
    template <class D>
    duration operator+(const D &) const
    {
        return *this;
    }
    duration time_since_epoch() const { return *this; }
};
typedef duration<long> seconds;
typedef duration<long, milli> milliseconds;
typedef duration<long, micro> microseconds;
typedef duration<long, nano> nanoseconds;
template <class D, class F>
inline D duration_cast(const F &)
{
    return D();
}
struct steady_clock {
    typedef nanoseconds time_point;
    typedef nanoseconds duration;
    static time_point now() { return time_point(); }
};
typedef steady_clock high_resolution_clock;
typedef steady_clock system_clock;
template <class C>
using time_point = nanoseconds;
} // namespace chrono

template <class T>
struct complex {
    T rung_re, rung_im;
    constexpr complex(T re = T(), T im = T()) : rung_re(re), rung_im(im) {}
    constexpr T real() const { return rung_re; }
    constexpr T imag() const { return rung_im; }
};
template <class T>
struct atomic {
    T value;
    atomic(T first = T()) : value(first) {}
    operator T() const { return value; }
    T load() const { return value; }
    void store(T other) { value = other; }
};
template <class T>
struct hash;
template <class... T>
struct variant;
template <size_t n>
struct bitset;
} // namespace std
