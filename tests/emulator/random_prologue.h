/* SPDX-License-Identifier: Apache-2.0 */
/* random_prologue.h - what every file of random kernels begins with: operations that mean the same to nvcc and to the
 * host's compiler. */
#pragma once

/* Text up to 4095 characters is what C11 promises, so the parts are separate macros. */
#define PROLOGUE_PLATFORM                                                                                                  \
    "#ifdef __CUDACC__\n"                                                                                                  \
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;\n" \
    "typedef int int32_t; typedef unsigned uint32_t; typedef long int64_t; typedef unsigned long uint64_t;\n"              \
    "#define OP static __device__ __forceinline__\n#define FUNCTION static __device__ __noinline__\n"                      \
    "#define PHASE static __device__ __forceinline__\n#define DATA static __device__ __constant__ const\n"                 \
    "#define FALL_THROUGH\n"                                                                                               \
    "#define KERNEL(k) extern \"C\" __global__ void k(const uint32_t *in, uint32_t *out) { \\\n"                           \
    "    __shared__ uint32_t shared[64]; uint32_t t = threadIdx.x, at = blockIdx.x * 64 + t; \\\n"                         \
    "    k##_first(t, in + at * 16, shared, out); __syncthreads(); k##_last(t, in + at * 16, shared, out + at * 40); }\n"  \
    "OP uint32_t popcount_u(uint32_t x) { return (uint32_t)__popc((int)x); }\n"                                            \
    "OP uint32_t clz_u(uint32_t x) { return (uint32_t)__clz((int)x); }\n"                                                  \
    "OP uint64_t clz_q(uint64_t x) { return (uint64_t)__clzll((long long)x); }\n"                                          \
    "OP uint32_t reverse_u(uint32_t x) { return __brev(x); }\n"                                                            \
    "OP uint32_t mulhi_u(uint32_t x, uint32_t y) { return __umulhi(x, y); }\n"                                             \
    "OP int32_t mulhi_i(int32_t x, int32_t y) { return __mulhi(x, y); }\n"                                                 \
    "OP int64_t mulhi_l(int64_t x, int64_t y) { return __mul64hi(x, y); }\n"                                               \
    "OP uint32_t permute_u(uint32_t x, uint32_t y, uint32_t s) { return __byte_perm(x, y, s & 0x7777); }\n"                \
    "OP uint32_t sad_u(int32_t x, int32_t y, uint32_t z) { return __sad(x, y, z); }\n"                                     \
    "OP uint32_t rotate_u(uint32_t x, uint32_t y) { return __funnelshift_l(x, x, y); }\n"                                  \
    "OP uint32_t dot_u(int32_t x, int32_t y, int32_t z) { return (uint32_t)__dp4a(x, y, z); }\n"                           \
    "OP float float_of_bits(uint32_t x) { return __uint_as_float(x); }\n"                                                  \
    "OP int32_t bits_f(float x) { return x != x ? 0x7fffffff : __float_as_int(x); }\n"                                     \
    "OP int64_t bits_d(double x) { return x != x ? 0x7fffffffffffffffl : __double_as_longlong(x); }\n"                     \
    "OP int32_t min_i(int32_t x, int32_t y) { return min(x, y); }\nOP int32_t max_i(int32_t x, int32_t y) { return max(x, y); }\n"

#define PROLOGUE_HOST                                                                                                                      \
    "#else\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"                                                                 \
    "#define OP static inline\n#define FUNCTION static __attribute__((noinline))\n#define PHASE static\n"                                  \
    "#define DATA static const\n#define FALL_THROUGH __attribute__((fallthrough))\n"                                                       \
    "#define KERNEL(k) void k(const uint32_t *in, uint32_t *out, int blocks) { uint32_t shared[64]; \\\n"                                  \
    "    for (int b = 0; b < blocks; b++, in += 64 * 16, out += 64 * 40) { \\\n"                                                           \
    "        for (uint32_t t = 0; t < 64; t++) k##_first(t, in + t * 16, shared, out); \\\n"                                               \
    "        for (uint32_t t = 0; t < 64; t++) k##_last(t, in + t * 16, shared, out + t * 40); } }\n"                                      \
    "OP uint32_t popcount_u(uint32_t x) { uint32_t n = 0; for (; x; x &= x - 1) n++; return n; }\n"                                        \
    "OP uint64_t clz_q(uint64_t x) { uint64_t n = 0; while (n < 64 && !(x >> (63 - n))) n++; return n; }\n"                                \
    "OP uint32_t clz_u(uint32_t x) { return x ? (uint32_t)clz_q(x) - 32 : 32; }\n"                                                         \
    "OP uint32_t reverse_u(uint32_t x) { uint32_t r = 0; for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i); return r; }\n"        \
    "OP uint32_t mulhi_u(uint32_t x, uint32_t y) { return (uint32_t)((uint64_t)x * y >> 32); }\n"                                          \
    "OP int32_t mulhi_i(int32_t x, int32_t y) { return (int32_t)((int64_t)x * y >> 32); }\n"                                               \
    "OP int64_t mulhi_l(int64_t x, int64_t y) { return (int64_t)((__int128)x * y >> 64); }\n"                                              \
    "OP uint32_t permute_u(uint32_t x, uint32_t y, uint32_t s) { uint64_t v = (uint64_t)y << 32 | x; uint32_t r = 0;\n"                    \
    "    for (int i = 0; i < 4; i++) r |= (uint32_t)(v >> 8 * (s >> 4 * i & 7) & 255) << 8 * i; return r; }\n"                             \
    "OP uint32_t sad_u(int32_t x, int32_t y, uint32_t z) { int64_t d = (int64_t)x - y; return (uint32_t)(d < 0 ? -d : d) + z; }\n"         \
    "OP uint32_t rotate_u(uint32_t x, uint32_t y) { y &= 31; return x << y | (y ? x >> (32 - y) : 0); }\n"                                 \
    "OP uint32_t dot_u(int32_t x, int32_t y, int32_t z) { for (int i = 0; i < 4; i++)\n"                                                   \
    "    z = (int32_t)((uint32_t)z + (uint32_t)((int8_t)(x >> 8 * i) * (int8_t)(y >> 8 * i))); return (uint32_t)z; }\n"                    \
    "OP float float_of_bits(uint32_t x) { float r; memcpy(&r, &x, 4); return r; }\n"                                                       \
    "OP int32_t bits_f(float x) { int32_t r; memcpy(&r, &x, 4); return x != x ? 0x7fffffff : r; }\n"                                       \
    "OP int64_t bits_d(double x) { int64_t r; memcpy(&r, &x, 8); return x != x ? 0x7fffffffffffffffl : r; }\n"                             \
    "OP int32_t min_i(int32_t x, int32_t y) { return x < y ? x : y; }\nOP int32_t max_i(int32_t x, int32_t y) { return x > y ? x : y; }\n" \
    "#endif\n"

#define PROLOGUE_INTEGER                                                                                                                 \
    "typedef struct pair { uint32_t x; float y; int64_t z; } pair_t;\n"                                                                  \
    "DATA uint32_t table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 0xffffffff, 0x80000000, 77, 1000000007, 0, 31, 0x3f800000, 42};\n"               \
    "#define CASTS(suffix, type) OP type cast_##suffix##_(type x) { return x; }\n"                                                       \
    "#define cast_i(x) ((int32_t)(x))\n#define cast_u(x) ((uint32_t)(x))\n#define cast_l(x) ((int64_t)(x))\n"                            \
    "#define cast_q(x) ((uint64_t)(x))\n#define cast_f(x) ((float)(x))\n#define cast_d(x) ((double)(x))\n"                               \
    "#define cast_h(x) ((int16_t)(x))\n#define cast_b(x) ((uint8_t)(x))\n#define word(x) ((uint32_t)(x))\n"                              \
    "OP uint32_t fold(int64_t x) { return (uint32_t)x ^ (uint32_t)((uint64_t)x >> 32) * 31u; }\n"                                        \
    "OP int32_t add_i(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }\n"                                          \
    "OP int32_t sub_i(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }\n"                                          \
    "OP int32_t mul_i(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }\n"                                          \
    "OP int32_t div_i(int32_t x, int32_t y) { return y == 0 || y == -1 ? x : x / y; }\n"                                                 \
    "OP int32_t rem_i(int32_t x, int32_t y) { return y == 0 || y == -1 ? x : x % y; }\n"                                                 \
    "OP int32_t and_i(int32_t x, int32_t y) { return x & y; }\nOP int32_t not_i(int32_t x) { return ~x; }\n"                             \
    "OP int32_t shr_i(int32_t x, uint32_t y) { return x >> (y & 31); }\n"                                                                \
    "OP int32_t abs_i(int32_t x) { return x < 0 ? (int32_t)(0u - (uint32_t)x) : x; }\n"                                                  \
    "OP uint32_t add_u(uint32_t x, uint32_t y) { return x + y; }\nOP uint32_t sub_u(uint32_t x, uint32_t y) { return x - y; }\n"         \
    "OP uint32_t mul_u(uint32_t x, uint32_t y) { return x * y; }\nOP uint32_t div_u(uint32_t x, uint32_t y) { return y ? x / y : x; }\n" \
    "OP uint32_t rem_u(uint32_t x, uint32_t y) { return y ? x % y : x; }\nOP uint32_t xor_u(uint32_t x, uint32_t y) { return x ^ y; }\n" \
    "OP uint32_t or_u(uint32_t x, uint32_t y) { return x | y; }\nOP uint32_t shl_u(uint32_t x, uint32_t y) { return x << (y & 31); }\n"  \
    "OP uint32_t shr_u(uint32_t x, uint32_t y) { return x >> (y & 31); }\n"                                                              \
    "OP uint32_t logic_u(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (~x & z); }\n"                                           \
    "OP uint32_t field_u(uint32_t x, uint32_t y) { return x >> (y & 15) & 0x3ff; }\n"

#define PROLOGUE_WIDE                                                                                                                               \
    "OP int64_t add_l(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }\n"                                                     \
    "OP int64_t mul_l(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }\n"                                                     \
    "OP int64_t div_l(int64_t x, int64_t y) { return y == 0 || y == -1 ? x : x / y; }\n"                                                            \
    "OP int64_t rem_l(int64_t x, int64_t y) { return y == 0 || y == -1 ? x : x % y; }\n"                                                            \
    "OP int64_t shr_l(int64_t x, uint32_t y) { return x >> (y & 63); }\n"                                                                           \
    "OP int64_t wide_l(int32_t x, int32_t y) { return (int64_t)x * y; }\n"                                                                          \
    "OP uint64_t sub_q(uint64_t x, uint64_t y) { return x - y; }\nOP uint64_t mul_q(uint64_t x, uint64_t y) { return x * y; }\n"                    \
    "OP uint64_t div_q(uint64_t x, uint64_t y) { return y ? x / y : x; }\nOP uint64_t rem_q(uint64_t x, uint64_t y) { return y ? x % y : x; }\n"    \
    "OP uint64_t xor_q(uint64_t x, uint64_t y) { return x ^ y; }\nOP uint64_t shl_q(uint64_t x, uint32_t y) { return x << (y & 63); }\n"            \
    "OP uint64_t shr_q(uint64_t x, uint32_t y) { return x >> (y & 63); }\nOP uint64_t wide_q(uint32_t x, uint32_t y) { return (uint64_t)x * y; }\n" \
    "OP int16_t add_h(int16_t x, int16_t y) { return (int16_t)(x + y); }\nOP int16_t mul_h(int16_t x, int16_t y) { return (int16_t)(x * y); }\n"    \
    "OP uint8_t add_b(uint8_t x, uint8_t y) { return (uint8_t)(x + y); }\n"

#define PROLOGUE_FLOAT                                                                                               \
    "OP float add_f(float x, float y) { return x + y; }\nOP float sub_f(float x, float y) { return x - y; }\n"       \
    "OP float mul_f(float x, float y) { return x * y; }\nOP float div_f(float x, float y) { return x / y; }\n"       \
    "OP float root_f(float x) { return sqrtf(x); }\nOP float neg_f(float x) { return -x; }\n"                        \
    "OP float less_f(float x, float y) { return (x < y ? x : y) + 0.0f; }\n"                                         \
    "OP float sign_f(float x, float y) { return y != y ? x : copysignf(x, y); }\n"                                   \
    "OP double add_d(double x, double y) { return x + y; }\nOP double sub_d(double x, double y) { return x - y; }\n" \
    "OP double mul_d(double x, double y) { return x * y; }\nOP double div_d(double x, double y) { return x / y; }\n" \
    "OP double root_d(double x) { return sqrt(x); }\n"                                                               \
    "OP double double_of_word(uint32_t x) { return (double)float_of_bits(x); }\n"                                    \
    "OP int32_t from_float_i(float x) { return x > -2e9f && x < 2e9f ? (int32_t)x : 7; }\n"                          \
    "OP uint32_t from_float_u(float x) { return x > -0.5f && x < 4e9f ? (uint32_t)x : 9; }\n"                        \
    "OP int32_t from_double_i(double x) { return x > -2e9 && x < 2e9 ? (int32_t)x : 5; }\n"                          \
    "OP int64_t from_double_l(double x) { return x > -9e18 && x < 9e18 ? (int64_t)x : 3; }\n\n"

static const char *const random_prologue[] = {PROLOGUE_PLATFORM, PROLOGUE_HOST, PROLOGUE_INTEGER, PROLOGUE_WIDE,
                                              PROLOGUE_FLOAT};
