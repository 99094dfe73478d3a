/* SPDX-License-Identifier: Apache-2.0 */
/* cpp_library.h - stub of the part of the C++ library that only the host uses: containers, streams, clocks and random
 * numbers. It only parses. */
#pragma once

#include "rung_stubs/cpp_core.h"

namespace std
{
/* A reference to nothing: declared, never defined. */
template <class T> T &rung_reference();

#define RUNG_STUB_VOID(name) \
    RUNG_STUB(void, name)    \
    {                        \
    }
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
template <class I, class T, class... A> inline T accumulate(const I &, const I &, T first, const A &...)
{
    return first;
}
template <class I, class... A> inline I max_element(I first, const A &...)
{
    return first;
}
template <class I, class... A> inline I min_element(I first, const A &...)
{
    return first;
}
template <class C> inline auto begin(C &container) -> decltype(container.begin())
{
    return container.begin();
}
template <class C> inline auto end(C &container) -> decltype(container.end())
{
    return container.end();
}
template <class T, size_t n> inline T *begin(T (&array)[n])
{
    return array;
}
template <class T, size_t n> inline T *end(T (&array)[n])
{
    return array + n;
}
template <class I, class... A> inline I find(I first, const A &...)
{
    return first;
}

template <class T> struct allocator {
};
template <class T, class A = allocator<T>> struct vector {
    typedef T value_type;
    typedef T *iterator;
    vector()
    {
    }
    explicit vector(size_t)
    {
    }
    vector(size_t, const T &)
    {
    }
    vector(initializer_list<T>)
    {
    }
    template <class I> vector(I, I)
    {
    }
    T *begin() const
    {
        return nullptr;
    }
    T *end() const
    {
        return nullptr;
    }
    T *data() const
    {
        return nullptr;
    }
    T &front() const
    {
        return *data();
    }
    T &back() const
    {
        return *data();
    }
    T &operator[](size_t i) const
    {
        return data()[i];
    }
    T &at(size_t i) const
    {
        return data()[i];
    }
    size_t size() const
    {
        return 0;
    }
    bool empty() const
    {
        return true;
    }
    void clear()
    {
    }
    void pop_back()
    {
    }
    template <class... X> void push_back(const X &...)
    {
    }
    template <class... X> void emplace_back(const X &...)
    {
    }
    template <class... X> void resize(const X &...)
    {
    }
    template <class... X> void reserve(const X &...)
    {
    }
    template <class... X> void assign(const X &...)
    {
    }
    template <class... X> void insert(const X &...)
    {
    }
};
template <class T> using deque = vector<T>;
template <class T> using list = vector<T>;
template <class T, class... A> using set = vector<T>;
template <class T, class... A> using unordered_set = vector<T>;
template <class T> using queue = vector<T>;
template <class T> using stack = vector<T>;

struct string {
    static constexpr size_t npos = ~(size_t)0;
    string()
    {
    }
    template <class... A> string(const A &...)
    {
    }
    const char *c_str() const
    {
        return "";
    }
    size_t size() const
    {
        return 0;
    }
    size_t length() const
    {
        return 0;
    }
    bool empty() const
    {
        return true;
    }
    char &operator[](size_t) const
    {
        return rung_reference<char>();
    }
    char *begin() const
    {
        return nullptr;
    }
    char *end() const
    {
        return nullptr;
    }
    template <class... A> size_t find(const A &...) const
    {
        return 0;
    }
    template <class... A> string substr(const A &...) const
    {
        return *this;
    }
    template <class T> string &operator+=(const T &)
    {
        return *this;
    }
    template <class T> string operator+(const T &) const
    {
        return *this;
    }
    template <class T> bool operator==(const T &) const
    {
        return true;
    }
    template <class T> bool operator!=(const T &) const
    {
        return true;
    }
};
inline string operator+(const char *, const string &text)
{
    return text;
}
typedef string string_view;
RUNG_STUB(string, to_string)
{
    return string();
}
RUNG_STUB_0(int, stoi)
RUNG_STUB_0(long, stol)
RUNG_STUB_0(unsigned long, stoul)
RUNG_STUB_0(float, stof)
RUNG_STUB_0(double, stod)

template <class K, class V, class... A> struct map {
    typedef pair<const K, V> value_type;
    map()
    {
    }
    map(initializer_list<value_type>)
    {
    }
    V &operator[](const K &)
    {
        return rung_reference<V>();
    }
    V &at(const K &) const
    {
        return rung_reference<V>();
    }
    value_type *begin() const
    {
        return nullptr;
    }
    value_type *end() const
    {
        return nullptr;
    }
    value_type *find(const K &) const
    {
        return nullptr;
    }
    size_t count(const K &) const
    {
        return 0;
    }
    size_t size() const
    {
        return 0;
    }
    template <class... X> void insert(const X &...)
    {
    }
};
template <class K, class V, class... A> using unordered_map = map<K, V>;

struct ios_base {
};
struct ios {
    static constexpr int in = 1, out = 2, binary = 4, app = 8, ate = 16, beg = 0, end = 1, cur = 2, fixed = 0, left = 0;
};
struct ostream {
    template <class T> ostream &operator<<(const T &)
    {
        return *this;
    }
    ostream &operator<<(ostream &(*)(ostream &))
    {
        return *this;
    }
    template <class T> ostream &operator>>(const T &)
    {
        return *this;
    }
    operator bool() const
    {
        return true;
    }
    bool operator!() const
    {
        return false;
    }
    bool is_open() const
    {
        return true;
    }
    bool good() const
    {
        return true;
    }
    bool eof() const
    {
        return true;
    }
    string str() const
    {
        return string();
    }
    RUNG_STUB(void, open)
    {
    }
    RUNG_STUB(void, close)
    {
    }
    RUNG_STUB(void, flush)
    {
    }
    RUNG_STUB(void, write)
    {
    }
    RUNG_STUB(void, read)
    {
    }
    RUNG_STUB(void, seekg)
    {
    }
    RUNG_STUB(long, tellg)
    {
        return 0;
    }
    RUNG_STUB(int, precision)
    {
        return 0;
    }
    RUNG_STUB(int, setf)
    {
        return 0;
    }
};
struct fstream : ostream {
    template <class... A> fstream(const A &...)
    {
    }
};
typedef ostream istream;
typedef ostream iostream;
typedef fstream ofstream;
typedef fstream ifstream;
typedef fstream stringstream;
typedef fstream ostringstream;
typedef fstream istringstream;
static ostream cout, cerr, clog, cin;
inline ostream &endl(ostream &stream)
{
    return stream;
}
inline ostream &flush(ostream &stream)
{
    return stream;
}
inline ostream &fixed(ostream &stream)
{
    return stream;
}
inline ostream &scientific(ostream &stream)
{
    return stream;
}
inline ostream &left(ostream &stream)
{
    return stream;
}
inline ostream &right(ostream &stream)
{
    return stream;
}
inline ostream &boolalpha(ostream &stream)
{
    return stream;
}
RUNG_STUB_0(int, setw)
RUNG_STUB_0(int, setprecision)
RUNG_STUB_0(int, setfill)
RUNG_STUB_0(bool, getline)

struct exception {
    const char *what() const
    {
        return "";
    }
};
struct runtime_error : exception {
    template <class T> runtime_error(const T &)
    {
    }
};
typedef runtime_error invalid_argument;
typedef runtime_error logic_error;
typedef runtime_error out_of_range;
typedef runtime_error bad_alloc;

template <class T> struct unique_ptr {
    template <class... A> unique_ptr(const A &...)
    {
    }
    typename remove_pointer<T>::type *get() const
    {
        return nullptr;
    }
    T &operator*() const
    {
        return *get();
    }
    T *operator->() const
    {
        return get();
    }
};
template <class T> struct unique_ptr<T[]> {
    template <class... A> unique_ptr(const A &...)
    {
    }
    T *get() const
    {
        return nullptr;
    }
    T &operator[](size_t i) const
    {
        return get()[i];
    }
};
template <class T> using shared_ptr = unique_ptr<T>;
template <class T, class... A> inline unique_ptr<T> make_unique(const A &...)
{
    return unique_ptr<T>();
}
template <class T, class... A> inline unique_ptr<T> make_shared(const A &...)
{
    return unique_ptr<T>();
}
template <class T> struct optional {
    template <class... A> optional(const A &...)
    {
    }
    bool has_value() const
    {
        return false;
    }
    T value() const
    {
        return T();
    }
    T operator*() const
    {
        return T();
    }
};
struct nullopt_t {
};
constexpr nullopt_t nullopt{};
template <class F> struct function;
template <class R, class... A> struct function<R(A...)> {
    function()
    {
    }
    template <class F> function(const F &)
    {
    }
    R operator()(A...) const
    {
        return R();
    }
};
template <class T> struct reference_wrapper;
struct mutex {
};
template <class T> struct lock_guard {
    lock_guard(T &)
    {
    }
};
struct thread {
    template <class... A> thread(const A &...)
    {
    }
    void join()
    {
    }
};

struct random_device {
    unsigned operator()()
    {
        return 0;
    }
};
struct mt19937 {
    template <class... A> mt19937(const A &...)
    {
    }
    RUNG_STUB(void, seed)
    {
    }
    unsigned operator()()
    {
        return 0;
    }
};
typedef mt19937 mt19937_64;
typedef mt19937 default_random_engine;
typedef mt19937 minstd_rand;
template <class T = double> struct uniform_real_distribution {
    template <class... A> uniform_real_distribution(const A &...)
    {
    }
    template <class G> T operator()(G &)
    {
        return T();
    }
};
template <class T = double> using normal_distribution = uniform_real_distribution<T>;
template <class T = int> using uniform_int_distribution = uniform_real_distribution<T>;
typedef uniform_real_distribution<bool> bernoulli_distribution;

template <long n, long d = 1> struct ratio {
};
typedef ratio<1, 1000> milli;
typedef ratio<1, 1000000> micro;
typedef ratio<1, 1000000000> nano;
namespace chrono
{
template <class T, class P = ratio<1>> struct duration {
    template <class... A> duration(const A &...)
    {
    }
    T count() const
    {
        return T();
    }
    template <class D> duration operator-(const D &) const
    {
        return *this;
    }
    template <class D> duration operator+(const D &) const
    {
        return *this;
    }
    duration time_since_epoch() const
    {
        return *this;
    }
};
typedef duration<long> seconds;
typedef duration<long, milli> milliseconds;
typedef duration<long, micro> microseconds;
typedef duration<long, nano> nanoseconds;
template <class D, class F> inline D duration_cast(const F &)
{
    return D();
}
struct steady_clock {
    typedef nanoseconds time_point;
    typedef nanoseconds duration;
    static time_point now()
    {
        return time_point();
    }
};
typedef steady_clock high_resolution_clock;
typedef steady_clock system_clock;
template <class C> using time_point = nanoseconds;
} // namespace chrono

template <class T> struct complex {
    T rung_re, rung_im;
    constexpr complex(T re = T(), T im = T()) : rung_re(re), rung_im(im)
    {
    }
    constexpr T real() const
    {
        return rung_re;
    }
    constexpr T imag() const
    {
        return rung_im;
    }
};
template <class T> struct atomic {
    T value;
    atomic(T first = T()) : value(first)
    {
    }
    operator T() const
    {
        return value;
    }
    T load() const
    {
        return value;
    }
    void store(T other)
    {
        value = other;
    }
};
template <class T> struct hash;
template <class... T> struct variant;
template <size_t n> struct bitset;
} // namespace std
