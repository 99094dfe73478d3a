/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.h - reads a B that has another type than A: narrow elements with scales, for
 * 15_quantized.
 *
 *   QUANTIZED_ARGUMENTS   ends the argument list of a kernel
 *   quantized_t           B and its scales, created by quantized_of()
 *   unit_t                UNIT adjacent elements of B, as they are stored
 *   load_unit()           loads a unit, and its scale if it has one scale
 *   unit_value()          returns an element of a unit: scale * (code - zero point), with the same
 *                         two roundings as rung_dequantize()
 *
 * The host defines:
 *
 *   B_TYPE                  TYPE_Q8_0 and so on
 *   SCALE_TYPE, ZERO_TYPE   types of the scales and zero points, TYPE_NONE if there are none
 *   BLOCK_ROWS, BLOCK_COLS  elements of a block along k and along n; 0: all of them. They are
 *                           constants because a division by them is made per unit
 *   B_UNITS                 1 if units of eight elements can be loaded: they adjoin along k or, if
 *                           B_MN_MAJOR is 1, along n; none crosses an edge; and their memory is
 *                           aligned to 4 bytes. Always 1 for Q8_0 and Q4_0, where 2 bytes suffice
 */
#ifndef RUNG_QUANTIZED_H
#define RUNG_QUANTIZED_H

#define TYPE_NONE   0
#define TYPE_F32    1
#define TYPE_F64    2
#define TYPE_F16    3
#define TYPE_BF16   4
#define TYPE_I8     5
#define TYPE_U8     7
#define TYPE_I4     8
#define TYPE_U4     9
#define TYPE_F8E4M3 10
#define TYPE_F8E5M2 11
#define TYPE_F4E2M1 12
#define TYPE_E8M0   13
#define TYPE_Q8_0   14
#define TYPE_Q4_0   15

#ifndef B_TYPE
#define B_TYPE TYPE_Q8_0
#endif
#ifndef SCALE_TYPE
#define SCALE_TYPE TYPE_NONE
#endif
#ifndef ZERO_TYPE
#define ZERO_TYPE TYPE_NONE
#endif
#ifndef BLOCK_ROWS
#define BLOCK_ROWS 0
#endif
#ifndef BLOCK_COLS
#define BLOCK_COLS 0
#endif
#ifndef B_UNITS
#define B_UNITS 1
#endif

#if defined(__OPENCL_C_VERSION__) && (SCALE_TYPE == TYPE_F64 || ZERO_TYPE == TYPE_F64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef unsigned char byte_t;

/* Where the scales are. `first_col` is the column of B at which the launch starts. The other numbers
 * are offsets of the three matrices from their pointers, in bytes. Flags 1 and 2: batch_offsets has
 * the offsets of the scales, or of the zero points, after those of the four other matrices. */
typedef struct {
    view_t  scales, zero_points;
    index_t first_col, flags, b_start, scales_start, zero_points_start;
} quantization_args_t;

#define QUANTIZED_ARGUMENTS                                                            \
    , GLOBAL const byte_t *__restrict__ scales, GLOBAL const byte_t *__restrict__ zero_points, \
      quantization_args_t quantization

/* ---- Numbers ---- */

/* E4M3 has the fields of an F16 with a smaller bias, no infinity, and one NaN per sign. */
DEVICE float value_of_f8e4m3(uint code)
{
    const uint sign = (code & 0x80) << 24, rest = code & 0x7f;
    const uint denormal = float_bits((float)(int)rest * 0x1p-9f);
    const uint normal = rest == 0x7f ? 0x7fc00000u : (rest << 20) + (120u << 23);
    return bits_float(sign | (rest < 8 ? denormal : normal));
}

/* E2M1 has one denormal number, 0.5, and neither infinities nor NaNs. */
DEVICE float value_of_f4e2m1(uint code)
{
    const uint sign = (code & 8) << 28, rest = code & 7;
    const uint denormal = rest == 0 ? 0 : 126u << 23;
    return bits_float(sign | (rest < 2 ? denormal : (rest << 22) + (126u << 23)));
}

/* 2^(code - 127), of which 2^-127 is denormal; 255 is the NaN. */
DEVICE float value_of_e8m0(uint code)
{
    return bits_float(code == 255 ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
}

/* Returns the number that a code of up to 16 bits means. The type is a constant. */
DEVICE float value_of(uint code, int type)
{
    switch (type) {
    case TYPE_F16: return float_of_f16((ushort)code);
    case TYPE_BF16: return float_of_bf16((ushort)code);
    case TYPE_Q8_0:
    case TYPE_I8: return (float)((int)(code ^ 0x80) - 0x80);
    case TYPE_I4: return (float)((int)(code ^ 8) - 8);
    case TYPE_Q4_0: return (float)((int)code - 8);
    case TYPE_F8E4M3: return value_of_f8e4m3(code);
    case TYPE_F8E5M2: return float_of_f16((ushort)(code << 8)); /* the upper byte of an F16 */
    case TYPE_F4E2M1: return value_of_f4e2m1(code);
    case TYPE_E8M0: return value_of_e8m0(code);
    default: return (float)(int)code; /* U8 and U4 */
    }
}

/* ---- Single elements ---- */

#define IS_4_BIT(type)  ((type) == TYPE_I4 || (type) == TYPE_U4 || (type) == TYPE_F4E2M1)
#define IS_16_BIT(type) ((type) == TYPE_F16 || (type) == TYPE_BF16)

/* Returns the code of an element. Elements of Q8_0 and Q4_0 are only loaded in units. */
DEVICE uint code_at(GLOBAL const byte_t *memory, index_t number, int type)
{
    if (IS_16_BIT(type))
        return ((GLOBAL const ushort *)memory)[number];
    if (IS_4_BIT(type))
        return (uint)memory[number >> 1] >> (number & 1) * 4 & 15;
    return memory[number];
}

/* Returns a scale or a zero point. */
DEVICE float number_at(GLOBAL const byte_t *memory, index_t number, int type)
{
    if (type == TYPE_F32)
        return ((GLOBAL const float *)memory)[number];
#if SCALE_TYPE == TYPE_F64 || ZERO_TYPE == TYPE_F64
    if (type == TYPE_F64)
        return (float)((GLOBAL const double *)memory)[number];
#endif
    return value_of(code_at(memory, number, type), type);
}

/* ---- B ---- */

#define HAS_BLOCKS  (B_TYPE == TYPE_Q8_0 || B_TYPE == TYPE_Q4_0) /* with scales in B itself */
#define HAS_SCALES  (HAS_BLOCKS || SCALE_TYPE != TYPE_NONE)
#define BLOCK_BYTES (B_TYPE == TYPE_Q8_0 ? 34 : 18)

#if B_UNITS
#define UNIT 8
#else
#define UNIT 1
#endif

/* Elements of a code in the words of a unit. The two halves of a byte of Q4_0 belong to different units. */
#define CODE_BITS (IS_16_BIT(B_TYPE) ? 16 : IS_4_BIT(B_TYPE) ? 4 : 8)
#define WORDS     ((UNIT * CODE_BITS + 31) / 32)

/* 1 if all elements of a unit have the same scale and zero point. */
#if UNIT == 1 || HAS_BLOCKS
#define ONE_SCALE 1
#elif B_MN_MAJOR
#define ONE_SCALE (BLOCK_COLS % UNIT == 0)
#else
#define ONE_SCALE (BLOCK_ROWS % UNIT == 0)
#endif

typedef struct {
    uint  words[WORDS];
    float scale, zero; /* if ONE_SCALE */
} unit_t;

typedef struct {
    GLOBAL const byte_t *b, *scales, *zero_points;
    view_t  b_view, scales_view, zero_points_view;
    index_t first_k, first_col; /* of this block's slice of k and of the launch, in all of B */
} quantized_t;

/* Returns B of this block's item and slice of k, for which `b_slice` is the view. */
DEVICE quantized_t quantized_of(GLOBAL const byte_t *b, view_t b_slice, GLOBAL const byte_t *scales,
                                GLOBAL const byte_t *zero_points, quantization_args_t quantization,
                                launch_args_t launch_args, GLOBAL const index_t *batch_offsets)
{
    quantized_t quantized;
    const index_t item = launch_args.batch_offsets_start + launch_args.first_item + blockIdx.y;
    quantized.b = b + quantization.b_start;
    quantized.scales = scales + quantization.scales_start;
    quantized.zero_points = zero_points + quantization.zero_points_start;
    quantized.b_view = b_slice;
    quantized.scales_view = quantization.scales;
    quantized.zero_points_view = quantization.zero_points;
    quantized.first_k = (index_t)blockIdx.z * launch_args.k_per_slice;
    quantized.first_col = quantization.first_col;
    if (quantization.flags & 1)
        quantized.scales_view.offset += batch_offsets[item + 4 * launch_args.batch];
    if (quantization.flags & 2)
        quantized.zero_points_view.offset += batch_offsets[item + 5 * launch_args.batch];
    return quantized;
}

/* Returns the index in a matrix of scales or zero points for element (k, col) of this block's slice. */
DEVICE index_t scale_index(const quantized_t *quantized, view_t view, index_t k, index_t col)
{
    index_t row = 0, block_col = 0;
#if BLOCK_ROWS > 0
    row = (quantized->first_k + k) / BLOCK_ROWS;
#endif
#if BLOCK_COLS > 0
    block_col = (quantized->first_col + col) / BLOCK_COLS;
#endif
    return at(view, row, block_col);
}

DEVICE float scale_at(const quantized_t *quantized, index_t k, index_t col)
{
#if HAS_BLOCKS
    const index_t number = at(quantized->b_view, k, col);
    return float_of_f16(*(GLOBAL const ushort *)(quantized->b + (number >> 5) * BLOCK_BYTES));
#elif SCALE_TYPE != TYPE_NONE
    return number_at(quantized->scales, scale_index(quantized, quantized->scales_view, k, col), SCALE_TYPE);
#else
    return 1;
#endif
}

DEVICE float zero_at(const quantized_t *quantized, index_t k, index_t col)
{
#if ZERO_TYPE != TYPE_NONE
    return number_at(quantized->zero_points, scale_index(quantized, quantized->zero_points_view, k, col), ZERO_TYPE);
#else
    return 0;
#endif
}

/* Loads the codes of the unit at (k, col). */
DEVICE void load_codes(unit_t *unit, const quantized_t *quantized, index_t k, index_t col)
{
    const index_t number = at(quantized->b_view, k, col); /* counts elements, those of blocks too */
#if UNIT == 1
    unit->words[0] = code_at(quantized->b, number, B_TYPE);
#elif HAS_BLOCKS
    const uint in_block = (uint)(number & (B_TYPE == TYPE_Q8_0 ? 31 : 15));
    GLOBAL const ushort *from = (GLOBAL const ushort *)(quantized->b + (number >> 5) * BLOCK_BYTES + 2 + in_block);
#pragma unroll
    for (uint i = 0; i < WORDS; i++) {
        unit->words[i] = from[2 * i] | (uint)from[2 * i + 1] << 16;
        if (B_TYPE == TYPE_Q4_0)
            unit->words[i] = unit->words[i] >> (number >> 4 & 1) * 4 & 0x0f0f0f0f;
    }
#else
    GLOBAL const uint *from = (GLOBAL const uint *)(quantized->b + number * CODE_BITS / 8);
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        unit->words[i] = from[i];
#endif
}

/* Loads the unit at (k, col), or zeros if it is not inside B. */
DEVICE void load_unit(unit_t *unit, const quantized_t *quantized, index_t k, index_t col, int inside)
{
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        unit->words[i] = 0;
    unit->scale = 0; /* outside of B, a zero times its scale must be zero */
    unit->zero = 0;
    if (!inside)
        return;
    load_codes(unit, quantized, k, col);
    if (ONE_SCALE) {
        unit->scale = scale_at(quantized, k, col);
        unit->zero = zero_at(quantized, k, col);
    }
}

/* Returns element i of the unit at (k, col), zero if it is not inside B. */
DEVICE float unit_value(const unit_t *unit, const quantized_t *quantized, index_t k, index_t col, uint i, int inside)
{
    const uint code = unit->words[i * CODE_BITS / 32] >> i * CODE_BITS % 32 & (1u << CODE_BITS) - 1;
    float value = value_of(code, B_TYPE), scale = unit->scale;
    if (!inside)
        return 0;
    if (ZERO_TYPE != TYPE_NONE)
        value -= ONE_SCALE ? unit->zero : zero_at(quantized, k + (B_MN_MAJOR ? 0 : i), col + (B_MN_MAJOR ? i : 0));
    if (HAS_SCALES) {
        if (!ONE_SCALE)
            scale = scale_at(quantized, k + (B_MN_MAJOR ? 0 : i), col + (B_MN_MAJOR ? i : 0));
        value *= scale;
    }
    return value;
}

#endif /* RUNG_QUANTIZED_H */
