/* SPDX-License-Identifier: Apache-2.0 */
/* execute_convert.c - cvt between integers and floating-point types. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

/* ---- Frequent pairs ------------------------------------------------------------------------------------------------ */

UNARY(cvt_u64_u32, uint64_t, uint32_t, x)
UNARY(cvt_s64_s32, int64_t, int32_t, x)
UNARY(cvt_u32_u64, uint32_t, uint64_t, x)
UNARY(cvt_u32_u16, uint32_t, uint16_t, x)
UNARY(cvt_s32_s16, int32_t, int16_t, x)
UNARY(cvt_u16_u32, uint16_t, uint32_t, x)
UNARY(cvt_f32_s32, float, int32_t, x)
UNARY(cvt_f32_u32, float, uint32_t, x)
UNARY(cvt_f64_f32, double, float, x)
UNARY(cvt_f32_f16, float, uint16_t, canonical_f32(f16_to_f32(x)))
UNARY(cvt_f16_f32, uint16_t, float, f32_to_f16(x))
UNARY(cvt_bf16_f32, uint16_t, float, f32_to_bf16(x))
UNARY(cvt_f32_bf16, float, uint16_t, bf16_to_f32(x))

/* ---- Any pair ------------------------------------------------------------------------------------------------------ */

/* An exact number: an integer of up to 65 bits, or a double. Every source type fits one of them. */
typedef struct number {
    bool is_float;
    double value;       /* if is_float */
    uint64_t magnitude; /* otherwise, with its sign */
    bool is_negative;
} number_t;

static bool is_float_type(ptx_type_t type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}

static bool is_signed_type(ptx_type_t type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static number_t read_number(uint64_t bits, ptx_type_t type, uint32_t flags)
{
    int width = rungi_ptx_type_bits(type);
    number_t number = {.is_float = is_float_type(type)};
    if (type == PTX_F64) {
        number.value = f64_of_bits(bits);
    } else if (type == PTX_F32) {
        float value = f32_of_bits((uint32_t)bits);
        number.value = flags & PTX_FLAG_FTZ ? flush_f32(value) : value;
    } else if (type == PTX_F16) {
        number.value = f16_to_f32((uint16_t)bits);
    } else if (type == PTX_BF16) {
        number.value = bf16_to_f32((uint16_t)bits);
    } else {
        bits = width == 64 ? bits : bits & (((uint64_t)1 << width) - 1);
        number.is_negative = is_signed_type(type) && (bits >> (width - 1) & 1);
        if (number.is_negative)
            bits |= width == 64 ? 0 : ~(((uint64_t)1 << width) - 1);
        number.magnitude = number.is_negative ? 0 - bits : bits;
    }
    return number;
}

/* Rounds to an integer. */
static double round_to_integer(double value, int rounding)
{
    switch (rounding) {
    case PTX_ROUND_RZI: return trunc(value);
    case PTX_ROUND_RMI: return floor(value);
    case PTX_ROUND_RPI: return ceil(value);
    case PTX_ROUND_RNI: return nearbyint(value);
    default: return value;
    }
}

/* Converts to an integer type. A floating-point source is clamped to the type's range. NaN becomes 0; from or to 64 bits,
 * it becomes the number whose most significant bit alone is set. An integer source wraps around unless .sat is there. */
static uint64_t to_integer(number_t number, ptx_type_t type, const ptx_instruction_t *instruction)
{
    int width = rungi_ptx_type_bits(type);
    bool is_signed = is_signed_type(type);
    uint64_t max = (is_signed ? (uint64_t)1 << (width - 1) : width == 64 ? 0 : (uint64_t)1 << width) - 1;
    uint64_t min_magnitude = is_signed ? (uint64_t)1 << (width - 1) : 0;
    bool clamps = number.is_float || (instruction->flags & PTX_FLAG_SAT);
    if (number.is_float) {
        double value = round_to_integer(number.value, instruction->rounding ? instruction->rounding : PTX_ROUND_RZI);
        if (value != value)
            return width == 64 || instruction->source_type == PTX_F64 ? (uint64_t)1 << (width - 1) : 0;
        number.is_negative = value < 0;
        value = fabs(value);
        number.magnitude = value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
    }
    if (clamps && number.is_negative && number.magnitude > min_magnitude)
        number.magnitude = min_magnitude;
    if (clamps && !number.is_negative && number.magnitude > max)
        number.magnitude = max;
    return number.is_negative ? 0 - number.magnitude : number.magnitude;
}

/* Rounds a number to `digits` bits of mantissa and a least exponent, in any mode. Works on the exact magnitude
 * fraction * 2^exponent; bits that are lost from `fraction` before are in `is_inexact`. */
typedef struct float_format {
    int digits, min_exponent, max_exponent; /* of the least significant bit of subnormals; of the leading bit */
} float_format_t;

static const float_format_t format_f16 = {11, -24, 15}, format_bf16 = {8, -133, 127}, format_f32 = {24, -149, 127},
                            format_f64 = {53, -1074, 1023};

static bool rounds_up(uint64_t fraction, int lost, bool is_negative, int rounding)
{
    uint64_t rest = fraction & (((uint64_t)1 << lost) - 1), half = (uint64_t)1 << (lost - 1);
    switch (rounding) {
    case PTX_ROUND_RZ: return false;
    case PTX_ROUND_RM: return is_negative && rest != 0;
    case PTX_ROUND_RP: return !is_negative && rest != 0;
    case PTX_ROUND_RNA: return rest >= half;
    default: return rest > half || (rest == half && (fraction >> lost & 1));
    }
}

/* Returns fraction * 2^exponent, rounded to the format, as a double. Overflow returns infinity or the largest number. */
static double round_to_format(uint64_t fraction, int exponent, bool is_negative, const float_format_t *format,
                              int rounding)
{
    if (fraction == 0)
        return is_negative ? -0.0 : 0.0;
    int leading = 63 - __builtin_clzll(fraction) + exponent;
    int last = leading - format->digits + 1 > format->min_exponent ? leading - format->digits + 1
                                                                   : format->min_exponent;
    int lost = last - exponent;
    if (lost > 0) {
        if (lost > 62) { /* far below the least subnormal */
            fraction = 1;
            exponent = last - 2;
            lost = 2;
        }
        bool up = rounds_up(fraction, lost, is_negative, rounding);
        fraction = (fraction >> lost) + up;
        exponent = last;
    }
    double value = ldexp((double)fraction, exponent);
    if (value >= ldexp(1, format->max_exponent) * 2 || isinf(value)) {
        bool to_infinity = rounding == PTX_ROUND_RP   ? !is_negative
                           : rounding == PTX_ROUND_RM ? is_negative
                                                      : rounding != PTX_ROUND_RZ;
        value = to_infinity ? INFINITY : ldexp(2 - ldexp(1, 1 - format->digits), format->max_exponent);
    }
    return is_negative ? -value : value;
}

static double round_double(double value, const float_format_t *format, int rounding)
{
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    double fraction = frexp(fabs(value), &exponent);
    return round_to_format((uint64_t)ldexp(fraction, 53), exponent - 53, value < 0, format, rounding);
}

static const float_format_t *format_of(ptx_type_t type)
{
    return type == PTX_F16    ? &format_f16
           : type == PTX_BF16 ? &format_bf16
           : type == PTX_F32  ? &format_f32
                              : &format_f64;
}

/* Writes a double, which the type represents exactly. */
static uint64_t float_bits(double value, ptx_type_t type, uint32_t flags)
{
    if (type == PTX_F64)
        return f64_bits(value);
    if (type == PTX_F16)
        return f32_to_f16((float)value);
    if (type == PTX_BF16)
        return f32_to_bf16((float)value);
    float narrow = canonical_f32((float)value);
    return f32_bits(flags & PTX_FLAG_FTZ ? flush_f32(narrow) : narrow);
}

/* Applies .satfinite and .relu. */
static double restrict_range(double value, const float_format_t *format, uint32_t flags)
{
    if ((flags & PTX_FLAG_SATFINITE) && isinf(value))
        value = copysign(ldexp(2 - ldexp(1, 1 - format->digits), format->max_exponent), value);
    return (flags & PTX_FLAG_RELU) && value <= 0 ? 0 : value;
}

static uint64_t to_float(number_t number, ptx_type_t type, const ptx_instruction_t *instruction)
{
    const float_format_t *format = format_of(type);
    int rounding = instruction->rounding;
    if (!number.is_float) {
        double value = round_to_format(number.magnitude, 0, number.is_negative, format, rounding);
        if (instruction->flags & PTX_FLAG_SAT)
            value = value > 0 ? value < 1 ? value : 1 : 0;
        return float_bits(value, type, 0);
    }
    double value = rounding >= PTX_ROUND_RNI ? round_to_integer(number.value, rounding)
                                             : round_double(number.value, format, rounding);
    if (instruction->flags & PTX_FLAG_SAT)
        value = value > 0 ? value < 1 ? value : 1 : 0;
    value = restrict_range(value, format, instruction->flags);
    return float_bits(value, type, instruction->flags);
}

/* Converts one value at a time. Registers may be wider than the types. */
EXECUTOR(cvt)
{
    unsigned char *d = OPERAND(0);
    const unsigned char *a = OPERAND(1);
    size_t from_bytes = instruction->element_bytes, to_bytes = instruction->register_bytes;
    ptx_type_t to = (ptx_type_t)instruction->type, from = (ptx_type_t)instruction->source_type;
    for (size_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t bits = 0;
        if (!(mask >> lane & 1))
            continue;
        memcpy(&bits, a + lane * from_bytes, from_bytes > 8 ? 8 : from_bytes);
        number_t number = read_number(bits, from, instruction->flags);
        bits = is_float_type(to) ? to_float(number, to, instruction) : to_integer(number, to, instruction);
        int width = rungi_ptx_type_bits(to);
        if (!is_float_type(to) && width < 64) { /* extend to the register's size */
            bits &= ((uint64_t)1 << width) - 1;
            if (is_signed_type(to) && (bits >> (width - 1) & 1))
                bits |= ~(((uint64_t)1 << width) - 1);
        }
        memcpy(d + lane * to_bytes, &bits, to_bytes > 8 ? 8 : to_bytes);
    }
}

/* ---- Pairs and tf32 ------------------------------------------------------------------------------- */

static uint16_t narrow_half(float value, ptx_type_t type, const ptx_instruction_t *instruction)
{
    double rounded = round_double(value, format_of(type), instruction->rounding);
    return (uint16_t)float_bits(restrict_range(rounded, format_of(type), instruction->flags), type, 0);
}

/* a is the upper half, b the lower one. */
#define PACK(type, element)                                                            \
    EXECUTOR(cvt_pack_##type)                                                          \
    {                                                                                  \
        uint32_t *d = OPERAND(0);                                                      \
        const float *a = OPERAND(1), *b = OPERAND(2);                                  \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)                              \
            if (mask >> lane & 1)                                                      \
                d[lane] = (uint32_t)narrow_half(a[lane], element, instruction) << 16 | \
                          narrow_half(b[lane], element, instruction);                  \
    }
PACK(f16x2, PTX_F16)
PACK(bf16x2, PTX_BF16)

/* Rounds the bits of a float to 11 bits of mantissa, subnormal or not. Overflow carries into the exponent of infinity. */
static inline uint32_t round_tf32(uint32_t bits, uint32_t rounding)
{
    uint32_t up = rounding == PTX_ROUND_RNA ? 0x1000 : rounding == PTX_ROUND_RZ ? 0 : 0xfff + (bits >> 13 & 1);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : (bits + up) & ~0x1fffu;
}

/* 11 bits of mantissa in the place of a float. */
EXECUTOR(cvt_tf32)
{
    static const float_format_t format = {11, -136, 127};
    uint32_t *d = OPERAND(0), rounding = instruction->rounding;
    const float *a = OPERAND(1);
    if (!(instruction->flags & (PTX_FLAG_RELU | PTX_FLAG_SATFINITE))) {
        FOR_LANES(d[lane] = round_tf32(f32_bits(a[lane]), rounding))
        return;
    }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        double value = round_double(a[lane], &format, instruction->rounding);
        value = restrict_range(value, &format, instruction->flags);
        d[lane] = f32_bits(canonical_f32((float)value));
    }
}

/* ---- FP8, FP6 and FP4 ---------------------------------------------------------------------------------------------- */

/* e4m3 has no infinity: its largest exponent belongs to numbers up to 448. Formats of 4 and 6 bits have numbers only. */
typedef struct small_format {
    float_format_t numbers;
    int bits, fraction_bits, bias;
    double max;
    uint32_t from_nan;  /* what NaN becomes */
    uint32_t first_nan; /* the least magnitude that is NaN; 0x100 if there is none */
    int place;          /* bits per element of a pair */
} small_format_t;

static const small_format_t format_e4m3x2 = {{4, -9, 8}, 8, 3, 7, 448, 0x7f, 0x7f, 8};
static const small_format_t format_e5m2x2 = {{3, -16, 15}, 8, 2, 15, 57344, 0x7f, 0x7d, 8};
static const small_format_t format_e2m3x2 = {{4, -3, 2}, 6, 3, 1, 7.5, 0x1f, 0x100, 8};
static const small_format_t format_e3m2x2 = {{3, -4, 4}, 6, 2, 3, 28, 0x1f, 0x100, 8};
static const small_format_t format_e2m1x2 = {{2, -1, 2}, 4, 1, 1, 6, 0x7, 0x100, 4};

/* Rounds to nearest even. Every number beyond the largest becomes the largest: these conversions are .satfinite. */
static uint32_t narrow_small(float number, const small_format_t *format, uint32_t flags)
{
    double value = round_double(number, &format->numbers, PTX_ROUND_RN);
    if (value != value)
        return format->from_nan;
    if ((flags & PTX_FLAG_RELU) && value <= 0)
        return 0;
    uint32_t sign = signbit(value) ? 1u << (format->bits - 1) : 0;
    double magnitude = fabs(value) > format->max ? format->max : fabs(value);
    int exponent = magnitude == 0 ? 1 - format->bias : ilogb(magnitude);
    if (exponent < 1 - format->bias)
        exponent = 1 - format->bias;
    uint32_t digits = (uint32_t)ldexp(magnitude,
                                      format->fraction_bits - exponent); /* with the leading 1 of normal numbers */
    return sign | (digits + ((uint32_t)(exponent + format->bias - 1) << format->fraction_bits));
}

/* Returns the bits of an f16. Infinity of e5m2 has the value 2^16, which becomes that of f16. */
static uint32_t widen_small(uint32_t bits, const small_format_t *format, uint32_t flags)
{
    uint32_t sign = bits >> (format->bits - 1) & 1, magnitude = bits & ((1u << (format->bits - 1)) - 1);
    uint32_t fraction = magnitude & ((1u << format->fraction_bits) - 1);
    int exponent = (int)(magnitude >> format->fraction_bits);
    if (magnitude >= format->first_nan)
        return 0x7fff;
    if ((flags & PTX_FLAG_RELU) && sign)
        return 0;
    double value = exponent == 0 ? ldexp(fraction, 1 - format->bias - format->fraction_bits)
                                 : ldexp(fraction + (1u << format->fraction_bits),
                                         exponent - format->bias - format->fraction_bits);
    return f32_to_f16((float)value) | sign << 15;
}

/* a is the upper element, b the lower one. */
static uint32_t narrow_pair(float a, float b, const small_format_t *format, uint32_t flags)
{
    return narrow_small(a, format, flags) << format->place | narrow_small(b, format, flags);
}

static uint32_t widen_pair(uint32_t bits, const small_format_t *format, uint32_t flags)
{
    return widen_small(bits >> format->place, format, flags) << 16 | widen_small(bits, format, flags);
}

#define SMALL_PAIR(type)                                                                    \
    EXECUTOR(cvt_pack_##type##_f32)                                                         \
    {                                                                                       \
        uint16_t *d = OPERAND(0);                                                           \
        const float *a = OPERAND(1), *b = OPERAND(2);                                       \
        uint32_t flags = instruction->flags;                                                \
        FOR_LANES(d[lane] = (uint16_t)narrow_pair(a[lane], b[lane], &format_##type, flags)) \
    }                                                                                       \
    EXECUTOR(cvt_f16x2_##type)                                                              \
    {                                                                                       \
        uint32_t *d = OPERAND(0);                                                           \
        const uint16_t *a = OPERAND(1);                                                     \
        uint32_t flags = instruction->flags;                                                \
        FOR_LANES(d[lane] = widen_pair(a[lane], &format_##type, flags))                     \
    }
SMALL_PAIR(e4m3x2)
SMALL_PAIR(e5m2x2)
SMALL_PAIR(e2m3x2)
SMALL_PAIR(e3m2x2)
SMALL_PAIR(e2m1x2)

#define PAIR_OF_HALVES(type)                                                                               \
    EXECUTOR(cvt_##type##_f16x2)                                                                           \
    {                                                                                                      \
        uint16_t *d = OPERAND(0);                                                                          \
        const uint16_t *a = OPERAND(1);                                                                    \
        uint32_t flags = instruction->flags;                                                               \
        FOR_LANES(d[lane] = (uint16_t)narrow_pair(f16_to_f32(a[2 * (size_t)lane + 1]),                     \
                                                  f16_to_f32(a[2 * (size_t)lane]), &format_##type, flags)) \
    }
PAIR_OF_HALVES(e4m3x2)
PAIR_OF_HALVES(e5m2x2)

/* ---- Scales -------------------------------------------------------------------------------------------------------- */

/* Rounds the magnitude of a number to a power of two from 2^-127 to 2^127, down or up. Beyond, it becomes NaN, or the
 * largest power with .satfinite. Returns the exponent plus 127. */
static uint32_t narrow_ue8m0(float number, const ptx_instruction_t *instruction)
{
    uint32_t magnitude = f32_bits(number) & 0x7fffffff, exponent = magnitude >> 23;
    bool is_up = instruction->rounding == PTX_ROUND_RP && (magnitude & 0x7fffff) != 0;
    if (magnitude > 0x7f800000)
        return 0xff;
    if (is_up && magnitude > 0x00400000) /* 2^-127, which is subnormal */
        exponent++;
    return exponent == 0xff && (instruction->flags & PTX_FLAG_SATFINITE) ? 0xfe : exponent;
}

EXECUTOR(cvt_pack_ue8m0x2_f32)
{
    uint16_t *d = OPERAND(0);
    const float *a = OPERAND(1), *b = OPERAND(2);
    FOR_LANES(d[lane] = (uint16_t)(narrow_ue8m0(a[lane], instruction) << 8 | narrow_ue8m0(b[lane], instruction)))
}

EXECUTOR(cvt_ue8m0x2_bf16x2)
{
    uint16_t *d = OPERAND(0);
    const uint16_t *a = OPERAND(1);
    FOR_LANES(d[lane] = (uint16_t)(narrow_ue8m0(bf16_to_f32(a[2 * (size_t)lane + 1]), instruction) << 8 |
                                   narrow_ue8m0(bf16_to_f32(a[2 * (size_t)lane]), instruction)))
}

EXECUTOR(cvt_bf16x2_ue8m0x2)
{
    uint32_t *d = OPERAND(0);
    const uint16_t *a = OPERAND(1);
    (void)instruction;
    FOR_LANES(d[lane] = (uint32_t)f32_to_bf16(ue8m0_to_f32(a[lane] >> 8)) << 16 |
                        f32_to_bf16(ue8m0_to_f32(a[lane] & 0xff)))
}

/* ---- Packed integers ----------------------------------------------------------------------------------------------- */

static int32_t clamp_integer(int32_t value, int bits, bool is_signed)
{
    int32_t max = is_signed ? (1 << (bits - 1)) - 1 : (int32_t)((1u << bits) - 1), min = is_signed ? -max - 1 : 0;
    return value > max ? max : value < min ? min : value;
}

/* cvt.pack: saturates a and b, and puts them below the bits of c that move up. */
EXECUTOR(cvt_pack_int)
{
    uint32_t *d = OPERAND(0);
    const int32_t *a = OPERAND(1), *b = OPERAND(2);
    const uint32_t *c = instruction->operand[3] ? OPERAND(3) : NULL;
    int bits = rungi_ptx_type_bits((ptx_type_t)instruction->type);
    bool is_signed = rungi_ptx_type_kind((ptx_type_t)instruction->type) == PTX_KIND_SIGNED;
    uint32_t field = bits == 16 ? 0xffff : (1u << bits) - 1;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint32_t high = (uint32_t)clamp_integer(a[lane], bits, is_signed) & field;
        uint32_t low = (uint32_t)clamp_integer(b[lane], bits, is_signed) & field;
        d[lane] = (c && bits < 16 ? c[lane] << 2 * bits : 0) | high << bits | low;
    }
}

#define E_SMALL(type) E(cvt_pack_##type##_f32), E(cvt_f16x2_##type)
PTX_EXECUTORS(convert) = {E(cvt_u64_u32),        E(cvt_s64_s32),
                          E(cvt_u32_u64),        E(cvt_u32_u16),
                          E(cvt_s32_s16),        E(cvt_u16_u32),
                          E(cvt_f32_s32),        E(cvt_f32_u32),
                          E(cvt_f64_f32),        E(cvt_f32_f16),
                          E(cvt_f16_f32),        E(cvt_bf16_f32),
                          E(cvt_f32_bf16),       E(cvt),
                          E(cvt_pack_f16x2),     E(cvt_pack_bf16x2),
                          E(cvt_tf32),           E(cvt_pack_int),
                          E_SMALL(e4m3x2),       E_SMALL(e5m2x2),
                          E_SMALL(e2m3x2),       E_SMALL(e3m2x2),
                          E_SMALL(e2m1x2),       E(cvt_e4m3x2_f16x2),
                          E(cvt_e5m2x2_f16x2),   E(cvt_pack_ue8m0x2_f32),
                          E(cvt_ue8m0x2_bf16x2), E(cvt_bf16x2_ue8m0x2),
                          {NULL, NULL}};
