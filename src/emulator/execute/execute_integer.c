/* SPDX-License-Identifier: Apache-2.0 */
/* execute_integer.c - integer arithmetic. */
#include "emulator/execute/execute.h"

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

/* ---- Wrap-around arithmetic ---------------------------------------------------------------------------------------- */

#define WRAPPING(bits, U)                                \
    BINARY(add_b##bits, U, U, U, x + y)                  \
    BINARY(sub_b##bits, U, U, U, x - y)                  \
    BINARY(mul_b##bits, U, U, U, (uint64_t)x *y)         \
    TERNARY(mad_b##bits, U, U, U, U, (uint64_t)x *y + z) \
    UNARY(neg_b##bits, U, U, 0 - (uint64_t)x)
WRAPPING(16, uint16_t)
WRAPPING(32, uint32_t)
WRAPPING(64, uint64_t)

/* ---- Types matter -------------------------------------------------------------------------------------------------- */

/* WIDE has twice the bits. */
#define TYPED(type, T, WIDE, bits)                                                      \
    BINARY(mul_hi_##type, T, T, T, ((WIDE)x * y) >> bits)                               \
    TERNARY(mad_hi_##type, T, T, T, T, (uint64_t)(((WIDE)x * y) >> bits) + (uint64_t)z) \
    BINARY(min_##type, T, T, T, x < y ? x : y)                                          \
    BINARY(max_##type, T, T, T, x > y ? x : y)                                          \
    TERNARY(sad_##type, T, T, T, T, (x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x) + (uint64_t)z)
TYPED(u16, uint16_t, uint32_t, 16)
TYPED(s16, int16_t, int32_t, 16)
TYPED(u32, uint32_t, uint64_t, 32)
TYPED(s32, int32_t, int64_t, 32)
TYPED(u64, uint64_t, uint128_t, 64)
TYPED(s64, int64_t, int128_t, 64)

#define WIDENING(type, T, WIDE)                           \
    BINARY(mul_wide_##type, WIDE, T, T, (WIDE)x *(WIDE)y) \
    TERNARY(mad_wide_##type, WIDE, T, T, WIDE, (uint64_t)((WIDE)x * (WIDE)y) + (uint64_t)z)
WIDENING(u16, uint16_t, uint32_t)
WIDENING(s16, int16_t, int32_t)
WIDENING(u32, uint32_t, uint64_t)
WIDENING(s32, int32_t, int64_t)

UNARY(abs_s16, int16_t, int16_t, x < 0 ? -x : x)
UNARY(abs_s32, uint32_t, int32_t, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
UNARY(abs_s64, uint64_t, int64_t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
BINARY(min_relu_s32, int32_t, int32_t, int32_t, (x < y ? x : y) < 0 ? 0 : (x < y ? x : y))
BINARY(max_relu_s32, int32_t, int32_t, int32_t, (x > y ? x : y) < 0 ? 0 : (x > y ? x : y))

static inline int32_t saturate_s32(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

BINARY(add_sat_s32, int32_t, int32_t, int32_t, saturate_s32((int64_t)x + y))
BINARY(sub_sat_s32, int32_t, int32_t, int32_t, saturate_s32((int64_t)x - y))
TERNARY(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t, saturate_s32((((int64_t)x * y) >> 32) + z))

/* ---- Division ------------------------------------------------------------------------------------------------------ */

/* Reports lanes that divide by zero. Their result is all ones, as on the hardware. */
#define REPORT_ZERO(b)                                                \
    if (warp->block->launch->checks & RUNG_EMULATOR_CHECK_ARITHMETIC) \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)             \
            if ((mask >> lane & 1) && (b)[lane] == 0)                 \
                rungi_ptx_report(warp, RUNG_EMULATOR_DIVISION_BY_ZERO, lane, 0, 0, "an integer is divided by zero");

#define DIVIDING(type, T, U, is_signed)                                                                               \
    EXECUTOR(div_##type)                                                                                              \
    {                                                                                                                 \
        T *d = OPERAND(0);                                                                                            \
        const T *a = OPERAND(1), *b = OPERAND(2);                                                                     \
        REPORT_ZERO(b)                                                                                                \
        FOR_LANES(T x = a[lane]; T y = b[lane]; d[lane] = (T)(y == 0                    ? (T)-1                       \
                                                              : is_signed && y == (T)-1 ? (T)(0 - (U)x)               \
                                                                                        : (T)(x / y)))                \
    }                                                                                                                 \
    EXECUTOR(rem_##type)                                                                                              \
    {                                                                                                                 \
        T *d = OPERAND(0);                                                                                            \
        const T *a = OPERAND(1), *b = OPERAND(2);                                                                     \
        REPORT_ZERO(b)                                                                                                \
        FOR_LANES(T x = a[lane]; T y = b[lane]; d[lane] = (T)(y == 0 ? x : is_signed && y == (T)-1 ? 0 : (T)(x % y))) \
    }
DIVIDING(u16, uint16_t, uint16_t, 0)
DIVIDING(s16, int16_t, uint16_t, 1)
DIVIDING(u32, uint32_t, uint32_t, 0)
DIVIDING(s32, int32_t, uint32_t, 1)
DIVIDING(u64, uint64_t, uint64_t, 0)
DIVIDING(s64, int64_t, uint64_t, 1)

/* ---- 24-bit arithmetic --------------------------------------------------------------------------------------------- */

static inline int64_t low_24_s(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

static inline uint64_t low_24_u(uint32_t x)
{
    return x & 0xffffff;
}

BINARY(mul24_lo_u32, uint32_t, uint32_t, uint32_t, low_24_u(x) * low_24_u(y))
BINARY(mul24_hi_u32, uint32_t, uint32_t, uint32_t, (low_24_u(x) * low_24_u(y)) >> 16)
BINARY(mul24_lo_s32, int32_t, int32_t, int32_t, low_24_s(x) * low_24_s(y))
BINARY(mul24_hi_s32, int32_t, int32_t, int32_t, (low_24_s(x) * low_24_s(y)) >> 16)
TERNARY(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, low_24_u(x) * low_24_u(y) + z)
TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, ((low_24_u(x) * low_24_u(y)) >> 16) + z)
TERNARY(mad24_lo_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(low_24_s(x) * low_24_s(y)) + z)
TERNARY(mad24_hi_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)((low_24_s(x) * low_24_s(y)) >> 16) + z)
TERNARY(mad24_hi_sat_s32, int32_t, int32_t, int32_t, int32_t, saturate_s32(((low_24_s(x) * low_24_s(y)) >> 16) + z))

/* ---- Extended precision -------------------------------------------------------------------------------------------- */

/* Adds x, y and a carry, and stores the carry of the sum. Subtraction adds the complement; its carry is "no borrow", and
 * the condition code holds the borrow. */
#define CARRYING(name, U, WIDE, bits, expression, reads, writes)                                      \
    EXECUTOR(name)                                                                                    \
    {                                                                                                 \
        U *d = OPERAND(0);                                                                            \
        const U *a = OPERAND(1), *b = OPERAND(2);                                                     \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                           \
            if (!(mask >> lane & 1))                                                                  \
                continue;                                                                             \
            WIDE x = a[lane], y = b[lane], carry = reads ? warp->carry >> lane & 1 : 0;               \
            WIDE result = expression;                                                                 \
            d[lane] = (U)result;                                                                      \
            if (writes)                                                                               \
                warp->carry = (warp->carry & ~(1u << lane)) | (uint32_t)(result >> bits & 1) << lane; \
        }                                                                                             \
    }
#define CARRY_CHAIN(bits, U, WIDE)                                \
    CARRYING(add_cc_b##bits, U, WIDE, bits, x + y + carry, 0, 1)  \
    CARRYING(addc_b##bits, U, WIDE, bits, x + y + carry, 1, 0)    \
    CARRYING(addc_cc_b##bits, U, WIDE, bits, x + y + carry, 1, 1) \
    CARRYING(sub_cc_b##bits, U, WIDE, bits, x - y - carry, 0, 1)  \
    CARRYING(subc_b##bits, U, WIDE, bits, x - y - carry, 1, 0)    \
    CARRYING(subc_cc_b##bits, U, WIDE, bits, x - y - carry, 1, 1)
CARRY_CHAIN(32, uint32_t, uint64_t)
CARRY_CHAIN(64, uint64_t, uint128_t)

#define MULTIPLY_CARRYING(name, type, T, U, WIDE, bits, shift, reads, writes)                                    \
    EXECUTOR(name##_##type)                                                                                      \
    {                                                                                                            \
        U *d = OPERAND(0);                                                                                       \
        const T *a = OPERAND(1), *b = OPERAND(2);                                                                \
        const U *c = OPERAND(3);                                                                                 \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                                      \
            if (!(mask >> lane & 1))                                                                             \
                continue;                                                                                        \
            U product = (U)(((WIDE)a[lane] * (WIDE)b[lane]) >> shift);                                           \
            U carry = reads ? (U)(warp->carry >> lane & 1) : 0;                                                  \
            U sum = (U)(product + c[lane]), result = (U)(sum + carry);                                           \
            d[lane] = result;                                                                                    \
            if (writes)                                                                                          \
                warp->carry = (warp->carry & ~(1u << lane)) | (uint32_t)(sum < product || result < sum) << lane; \
        }                                                                                                        \
    }
#define MULTIPLY_CARRY_CHAIN(type, T, U, WIDE, bits)                 \
    MULTIPLY_CARRYING(mad_lo_cc, type, T, U, WIDE, bits, 0, 0, 1)    \
    MULTIPLY_CARRYING(mad_hi_cc, type, T, U, WIDE, bits, bits, 0, 1) \
    MULTIPLY_CARRYING(madc_lo, type, T, U, WIDE, bits, 0, 1, 0)      \
    MULTIPLY_CARRYING(madc_hi, type, T, U, WIDE, bits, bits, 1, 0)   \
    MULTIPLY_CARRYING(madc_lo_cc, type, T, U, WIDE, bits, 0, 1, 1)   \
    MULTIPLY_CARRYING(madc_hi_cc, type, T, U, WIDE, bits, bits, 1, 1)
MULTIPLY_CARRY_CHAIN(u32, uint32_t, uint32_t, uint64_t, 32)
MULTIPLY_CARRY_CHAIN(s32, int32_t, uint32_t, int64_t, 32)
MULTIPLY_CARRY_CHAIN(u64, uint64_t, uint64_t, uint128_t, 64)
MULTIPLY_CARRY_CHAIN(s64, int64_t, uint64_t, int128_t, 64)

/* ---- Packed integers ----------------------------------------------------------------------------------------------- */

#define PACKED(name, T, expression)                                               \
    EXECUTOR(name)                                                                \
    {                                                                             \
        T *d = OPERAND(0);                                                        \
        const T *a = OPERAND(1), *b = OPERAND(2);                                 \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                         \
            for (int i = 2 * lane; (mask >> lane & 1) && i < 2 * lane + 2; i++) { \
                T x = a[i], y = b[i];                                             \
                d[i] = (T)(expression);                                           \
            }                                                                     \
    }
PACKED(add_b16x2, uint16_t, x + y)
PACKED(min_u16x2, uint16_t, x < y ? x : y)
PACKED(max_u16x2, uint16_t, x > y ? x : y)
PACKED(min_s16x2, int16_t, x < y ? x : y)
PACKED(max_s16x2, int16_t, x > y ? x : y)
PACKED(min_relu_s16x2, int16_t, (x < y ? x : y) < 0 ? 0 : (x < y ? x : y))
PACKED(max_relu_s16x2, int16_t, (x > y ? x : y) < 0 ? 0 : (x > y ? x : y))

/* ---- Dot products -------------------------------------------------------------------------------------------------- */

static inline int32_t byte_of(uint32_t word, int index, bool is_signed)
{
    return is_signed ? (int8_t)(word >> 8 * index) : (uint8_t)(word >> 8 * index);
}

static inline uint32_t dot4(uint32_t x, uint32_t y, uint32_t sum, bool x_signed, bool y_signed)
{
    for (int i = 0; i < 4; i++)
        sum += (uint32_t)(byte_of(x, i, x_signed) * byte_of(y, i, y_signed));
    return sum;
}

/* Two 16-bit values of x and two bytes of y, the lower or the upper ones. */
static inline uint32_t dot2(uint32_t x, uint32_t y, uint32_t sum, bool x_signed, bool y_signed, int first)
{
    for (int i = 0; i < 2; i++) {
        int32_t half = x_signed ? (int16_t)(x >> 16 * i) : (uint16_t)(x >> 16 * i);
        sum += (uint32_t)(half * byte_of(y, first + i, y_signed));
    }
    return sum;
}

#define DOT(x_type, y_type, x_signed, y_signed)                                                                        \
    TERNARY(dp4a_##x_type##_##y_type, uint32_t, uint32_t, uint32_t, uint32_t, dot4(x, y, z, x_signed, y_signed))       \
    TERNARY(dp2a_lo_##x_type##_##y_type, uint32_t, uint32_t, uint32_t, uint32_t, dot2(x, y, z, x_signed, y_signed, 0)) \
    TERNARY(dp2a_hi_##x_type##_##y_type, uint32_t, uint32_t, uint32_t, uint32_t, dot2(x, y, z, x_signed, y_signed, 2))
DOT(u32, u32, false, false)
DOT(u32, s32, false, true)
DOT(s32, u32, true, false)
DOT(s32, s32, true, true)

#define E_WRAPPING(bits) E(add_b##bits), E(sub_b##bits), E(mul_b##bits), E(mad_b##bits), E(neg_b##bits)
#define E_TYPED(type) \
    E(mul_hi_##type), E(mad_hi_##type), E(min_##type), E(max_##type), E(sad_##type), E(div_##type), E(rem_##type)
#define E_CARRY(bits) \
    E(add_cc_b##bits), E(addc_b##bits), E(addc_cc_b##bits), E(sub_cc_b##bits), E(subc_b##bits), E(subc_cc_b##bits)
#define E_MULTIPLY_CARRY(type)                                                                            \
    E(mad_lo_cc_##type), E(mad_hi_cc_##type), E(madc_lo_##type), E(madc_hi_##type), E(madc_lo_cc_##type), \
        E(madc_hi_cc_##type)
#define E_DOT(types) E(dp4a_##types), E(dp2a_lo_##types), E(dp2a_hi_##types)
PTX_EXECUTORS(integer) = {E_WRAPPING(16),
                          E_WRAPPING(32),
                          E_WRAPPING(64),
                          E_TYPED(u16),
                          E_TYPED(s16),
                          E_TYPED(u32),
                          E_TYPED(s32),
                          E_TYPED(u64),
                          E_TYPED(s64),
                          E(mul_wide_u16),
                          E(mul_wide_s16),
                          E(mul_wide_u32),
                          E(mul_wide_s32),
                          E(mad_wide_u16),
                          E(mad_wide_s16),
                          E(mad_wide_u32),
                          E(mad_wide_s32),
                          E(abs_s16),
                          E(abs_s32),
                          E(abs_s64),
                          E(min_relu_s32),
                          E(max_relu_s32),
                          E(add_sat_s32),
                          E(sub_sat_s32),
                          E(mad_hi_sat_s32),
                          E(mul24_lo_u32),
                          E(mul24_hi_u32),
                          E(mul24_lo_s32),
                          E(mul24_hi_s32),
                          E(mad24_lo_u32),
                          E(mad24_hi_u32),
                          E(mad24_lo_s32),
                          E(mad24_hi_s32),
                          E(mad24_hi_sat_s32),
                          E_CARRY(32),
                          E_CARRY(64),
                          E_MULTIPLY_CARRY(u32),
                          E_MULTIPLY_CARRY(s32),
                          E_MULTIPLY_CARRY(u64),
                          E_MULTIPLY_CARRY(s64),
                          E(add_b16x2),
                          E(min_u16x2),
                          E(max_u16x2),
                          E(min_s16x2),
                          E(max_s16x2),
                          E(min_relu_s16x2),
                          E(max_relu_s16x2),
                          E_DOT(u32_u32),
                          E_DOT(u32_s32),
                          E_DOT(s32_u32),
                          E_DOT(s32_s32),
                          {NULL, NULL}};
