/* SPDX-License-Identifier: Apache-2.0 */
/* c_library.h - stub of the C library for NVRTC: what kernels use works, the rest is declared so that host code parses.
 * Functions with any arguments are templates, because device code has no variadic functions. */
#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef signed long long int64_t; /* as in NVIDIA's headers for NVRTC */
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
typedef signed char int_fast8_t;
typedef unsigned char uint_fast8_t;
typedef int int_fast32_t;
typedef unsigned int uint_fast32_t;
typedef long ssize_t;
typedef long off_t;
typedef long long time_t;
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;

#ifndef INT8_MAX
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_MAX 9223372036854775807L
#define UINT64_MAX 18446744073709551615UL
#define SIZE_MAX 18446744073709551615UL
#endif
#ifndef CHAR_BIT
#define CHAR_BIT 8
#endif
#ifndef INT_MAX
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-9223372036854775807L - 1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define ULLONG_MAX 18446744073709551615ULL
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-7F
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF __int_as_float(0x7f800000)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define CLOCKS_PER_SEC 1000000
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define EOF (-1)
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRId32 "d"
#define PRIu32 "u"

#define RUNG_STUB(type, name) template <class... RungArguments> inline type name(const RungArguments &...)
#define RUNG_STUB_0(type, name) \
    RUNG_STUB(type, name)       \
    {                           \
        return 0;               \
    }

struct FILE;
#define stdin ((FILE *)0)
#define stdout ((FILE *)0)
#define stderr ((FILE *)0)
RUNG_STUB_0(FILE *, fopen)
RUNG_STUB_0(FILE *, popen)
RUNG_STUB_0(int, fclose)
RUNG_STUB_0(int, pclose)
RUNG_STUB_0(int, fprintf)
RUNG_STUB_0(int, sprintf)
RUNG_STUB_0(int, snprintf)
RUNG_STUB_0(int, fscanf)
RUNG_STUB_0(int, sscanf)
RUNG_STUB_0(int, scanf)
RUNG_STUB_0(int, puts)
RUNG_STUB_0(int, putchar)
RUNG_STUB_0(int, fputs)
RUNG_STUB_0(int, fflush)
RUNG_STUB_0(int, fseek)
RUNG_STUB_0(long, ftell)
RUNG_STUB_0(int, getchar)
RUNG_STUB_0(int, fgetc)
RUNG_STUB_0(int, feof)
RUNG_STUB_0(char *, fgets)
RUNG_STUB_0(size_t, fread)
RUNG_STUB_0(size_t, fwrite)
RUNG_STUB_0(int, perror)
RUNG_STUB_0(int, rewind)

RUNG_STUB(void, exit)
{
}
RUNG_STUB(void, abort)
{
}
RUNG_STUB(void, srand)
{
}
RUNG_STUB(void, srand48)
{
}
RUNG_STUB(void, qsort)
{
}
RUNG_STUB_0(int, atexit)
RUNG_STUB_0(int, rand)
RUNG_STUB_0(long, random)
RUNG_STUB_0(double, drand48)
RUNG_STUB_0(void *, calloc)
RUNG_STUB_0(void *, realloc)
RUNG_STUB_0(void *, aligned_alloc)
RUNG_STUB_0(void *, memalign)
RUNG_STUB_0(int, posix_memalign)
RUNG_STUB_0(int, atoi)
RUNG_STUB_0(long, atol)
RUNG_STUB_0(long long, atoll)
RUNG_STUB_0(double, atof)
RUNG_STUB_0(long, strtol)
RUNG_STUB_0(unsigned long, strtoul)
RUNG_STUB_0(unsigned long long, strtoull)
RUNG_STUB_0(double, strtod)
RUNG_STUB_0(float, strtof)
RUNG_STUB_0(char *, getenv)
RUNG_STUB_0(int, system)

RUNG_STUB_0(size_t, strlen)
RUNG_STUB_0(int, strcmp)
RUNG_STUB_0(int, strncmp)
RUNG_STUB_0(int, strcasecmp)
RUNG_STUB_0(int, memcmp)
RUNG_STUB_0(char *, strcpy)
RUNG_STUB_0(char *, strncpy)
RUNG_STUB_0(char *, strcat)
RUNG_STUB_0(char *, strchr)
RUNG_STUB_0(char *, strrchr)
RUNG_STUB_0(char *, strstr)
RUNG_STUB_0(char *, strtok)
RUNG_STUB_0(char *, strdup)
RUNG_STUB_0(const char *, strerror)
RUNG_STUB_0(void *, memmove)
RUNG_STUB_0(int, isdigit)
RUNG_STUB_0(int, isspace)
RUNG_STUB_0(int, tolower)
RUNG_STUB_0(int, toupper)

struct timeval {
    long tv_sec, tv_usec;
};
struct timespec {
    long tv_sec, tv_nsec;
};
struct timezone;
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year;
};
#define CLOCK_MONOTONIC 1
#define CLOCK_REALTIME 0
RUNG_STUB_0(int, gettimeofday)
RUNG_STUB_0(int, clock_gettime)
RUNG_STUB_0(time_t, time)
RUNG_STUB_0(double, difftime)
RUNG_STUB_0(int, usleep)
RUNG_STUB_0(int, sleep)
RUNG_STUB_0(int, access)
RUNG_STUB_0(int, getopt)

RUNG_STUB_0(int, omp_get_max_threads)
RUNG_STUB_0(int, omp_get_thread_num)
RUNG_STUB_0(int, omp_get_num_threads)
RUNG_STUB_0(int, omp_set_num_threads)
RUNG_STUB_0(double, omp_get_wtime)

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
