/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - see types.h. */
#include "types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Formats ------------------------------------------------------------------------------------------------------- */

static const format_t formats[] = {
    {"f16", 5, 10, true, true, false},   {"bf16", 8, 7, true, true, false},   {"f32", 8, 23, true, true, false},
    {"f64", 11, 52, true, true, false},  {"tf32", 8, 10, true, true, false},  {"e4m3", 4, 3, false, true, false},
    {"e5m2", 5, 2, true, true, false},   {"e3m2", 3, 2, false, false, false}, {"e2m3", 2, 3, false, false, false},
    {"e2m1", 2, 1, false, false, false}, {"ue8m0", 8, 0, false, true, true}};

static int bias_of(const format_t *format)
{
    return (1 << (format->exponent_bits - 1)) - 1;
}

static uint64_t all_ones(int bits)
{
    return bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
}

bool format_is_nan(const format_t *format, uint64_t bits)
{
    if (!format->has_nan)
        return false;
    uint64_t magnitude = bits & all_ones(format->exponent_bits + format->fraction_bits);
    uint64_t infinity = all_ones(format->exponent_bits) << format->fraction_bits;
    return format->has_infinity ? magnitude > infinity
                                : magnitude == all_ones(format->exponent_bits + format->fraction_bits);
}

double format_decode(const format_t *format, uint64_t bits)
{
    int exponent = (int)(bits >> format->fraction_bits & all_ones(format->exponent_bits));
    uint64_t fraction = bits & all_ones(format->fraction_bits);
    double sign = bits >> (format->exponent_bits + format->fraction_bits) & 1 ? -1 : 1;
    if (format_is_nan(format, bits))
        return NAN;
    if (format->is_scale)
        return ldexp(1, exponent - 127);
    if (format->has_infinity && exponent == (int)all_ones(format->exponent_bits))
        return sign * INFINITY;
    if (exponent > 0)
        fraction |= (uint64_t)1 << format->fraction_bits;
    else
        exponent = 1;
    return sign * ldexp((double)fraction, exponent - bias_of(format) - format->fraction_bits);
}

double format_min_normal(const format_t *format)
{
    return ldexp(1, 1 - bias_of(format));
}

double format_max(const format_t *format)
{
    uint64_t infinity = all_ones(format->exponent_bits) << format->fraction_bits;
    uint64_t largest = format->has_infinity ? infinity - 1
                                            : all_ones(format->exponent_bits + format->fraction_bits) - format->has_nan;
    return format_decode(format, largest);
}

uint64_t format_encode(const format_t *format, double value)
{
    uint64_t magnitude;
    int width = format->exponent_bits + format->fraction_bits, exponent;
    if (isnan(value))
        return all_ones(width);
    uint64_t sign = signbit(value) ? (uint64_t)1 << width : 0;
    value = fabs(value);
    if (isinf(value)) {
        magnitude = all_ones(format->exponent_bits) << format->fraction_bits;
    } else if (value < format_min_normal(format)) {
        magnitude = (uint64_t)ldexp(value, bias_of(format) - 1 + format->fraction_bits);
    } else {
        double fraction = frexp(value, &exponent); /* in [0.5, 1) */
        magnitude = (uint64_t)ldexp(fraction, format->fraction_bits + 1);
        magnitude += (uint64_t)(exponent + bias_of(format) - 2) << format->fraction_bits;
    }
    return sign | magnitude;
}

/* ---- Types --------------------------------------------------------------------------------------------------------- */

bool type_of(const char *name, type_t *type)
{
    char element[16];
    memset(type, 0, sizeof *type);
    snprintf(type->name, sizeof type->name, "%s", name);
    snprintf(element, sizeof element, "%s", name);
    type->count = 1;
    size_t length = strlen(element);
    if (length > 2 && strcmp(element + length - 2, "x2") == 0) {
        element[length - 2] = 0;
        type->count = 2;
    }
    if (strcmp(element, "pred") == 0) {
        type->kind = KIND_PREDICATE;
        type->bits = 1;
        return true;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, element) == 0) {
            type->kind = KIND_FLOAT;
            type->format = &formats[i];
            type->bits = 1 + formats[i].exponent_bits + formats[i].fraction_bits;
            if (strcmp(element, "tf32") == 0)
                type->bits = 32;
            else if (formats[i].is_scale || type->bits == 6) /* elements of 6 bits have a byte each */
                type->bits = 8;
            return true;
        }
    type->kind = *element == 's' ? KIND_SIGNED : *element == 'u' ? KIND_UNSIGNED : KIND_BITS;
    type->bits = atoi(element + 1);
    return strchr("sub", *element) && type->bits > 0;
}

/* ---- Operands ------------------------------------------------------------------------------------------------------ */

uint64_t operand_hash(uint64_t x, uint64_t y)
{
    uint64_t z = x * 0x9e3779b97f4a7c15u + y * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Zeros, subnormals, powers of two, halfway cases, limits of other types, infinities and NaNs. */
static uint64_t special_float(const format_t *format, int index)
{
    static const double values[] = {1,       2,          0.5,          1.5,          2.5,    3.5,     0.49999999,
                                    3,       127.5,      128,          255.5,        256,    32767.5, 32768,
                                    65504,   65519.9,    65520,        65536,        448,    464,     57344,
                                    61440,   2147483647, 2147483648.0, 4294967296.0, 0x1p63, 0x1p64,  0x1.8p-15,
                                    0x1p-24, 0x1p-25,    0x1.8p-9,     0x1p-149};
    static const uint64_t scales[] = {0, 1, 2, 126, 127, 128, 252, 253, 254, 255};
    if (format->is_scale)
        return scales[index % 10];
    int fraction = format->fraction_bits, width = format->exponent_bits + fraction;
    uint64_t one = 1, infinity = all_ones(format->exponent_bits) << fraction, sign = (uint64_t)(index & 1) << width;
    switch (index / 2) {
    case 0: return sign;
    case 1: return sign | one;
    case 2: return sign | all_ones(fraction); /* the largest subnormal */
    case 3: return sign | one << fraction;    /* the least normal */
    case 4: return sign | (infinity - 1);     /* the largest number; in e4m3 another one */
    case 5: return sign | infinity;
    case 6: return sign | infinity | one; /* a signaling NaN with a payload */
    case 7: return sign | infinity | one << (fraction - 1) | one;
    case 8: return sign | (uint64_t)bias_of(format) << fraction; /* 1 */
    case 9: return sign | (((uint64_t)bias_of(format) << fraction) + 1);
    case 10: return sign | (((uint64_t)bias_of(format) << fraction) - 1);
    default: break;
    }
    /* The rest: truncate a double of the list to the format. */
    double value = values[(unsigned)(index * 7 + index / 22) % (sizeof values / sizeof *values)];
    if (value > format_max(format) || value < format_min_normal(format))
        return sign | ((one << fraction) + (uint64_t)index);
    int exponent;
    double digits = floor(ldexp(frexp(value, &exponent), fraction + 1));
    return sign | format_encode(format, ldexp(digits, exponent - fraction - 1));
}

static uint64_t special_integer(int bits, int index)
{
    uint64_t one = 1, top = one << (bits - 1);
    static const uint64_t small[] = {0,  1,  2,  3,  4,  5,   7,   8,   15,  16,  17, 31,
                                     32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 257};
    int count = sizeof small / sizeof *small;
    if (index < count)
        return small[index];
    switch (index - count) {
    case 0: return ~(uint64_t)0;
    case 1: return top;
    case 2: return top - 1;
    case 3: return top + 1;
    case 4: return 0 - (uint64_t)2;
    case 5: return 0xffff;
    case 6: return 0x8000;
    case 7: return 0x7fff;
    case 8: return 0xff80;
    case 9: return 0x7fffffff;
    case 10: return 0x80000000u;
    case 11: return 0xffffffffu;
    case 12: return 0x1000001; /* halfway between two floats */
    case 13: return 0x1000003;
    case 14: return ((uint64_t)1 << 53) + 1;
    case 15: return 0x5555555555555555u;
    case 16: return 0xaaaaaaaaaaaaaaaau;
    case 17: return 0x00ff00ff00ff00ffu;
    default: return top >> (index % bits);
    }
}

static uint64_t random_float(const format_t *format, uint64_t random)
{
    uint64_t bits = operand_hash(random, 1);
    if (format->is_scale)
        return bits & 0xff;
    int fraction = format->fraction_bits, width = format->exponent_bits + fraction;
    if (random >> 8 & 1) { /* an exponent near that of 1, so that sums and products stay in range */
        uint64_t exponent = (uint64_t)bias_of(format) + (random >> 16) % 8 - 4;
        bits = (bits & ~(all_ones(format->exponent_bits) << fraction)) | exponent << fraction;
    }
    if (random >> 9 & 1) /* trailing zeros give halfway cases and exact results */
        bits &= ~all_ones((int)((random >> 24) % (unsigned)(fraction + 1)));
    return bits & all_ones(width + 1);
}

static uint64_t element_at(const type_t *type, int position, int64_t index)
{
    uint64_t random = operand_hash((uint64_t)index, (uint64_t)position), special = random >> 32;
    if (index < OPERAND_PAIRS) {
        special = position == 0 ? (uint64_t)index / OPERAND_SPECIALS : position == 1 ? (uint64_t)index : special;
    } else if (position == 1 && random % 8 == 4) { /* close to the first operand, perhaps with the other sign */
        uint64_t near = element_at(type, 0, index) + (random >> 16) % 5 - 2;
        return random >> 24 & 1 ? near : near ^ (uint64_t)1 << (type->bits - 1);
    } else if (random % 4 != 0) {
        if (type->format)
            return random_float(type->format, random);
        return operand_hash(random, 2) >> (random >> 8 & 1 ? (random >> 16) % 64 : 0);
    }
    int choice = (int)(special % OPERAND_SPECIALS);
    return type->format ? special_float(type->format, choice) : special_integer(type->bits, choice);
}

uint64_t operand_at(const type_t *type, int position, int64_t index)
{
    if (type->kind == KIND_PREDICATE)
        return operand_hash((uint64_t)index, (uint64_t)position + 100) & 1;
    if (type->count == 1) {
        uint64_t value = element_at(type, position, index);
        return type->bits >= 16 ? value
                                : value ^ operand_hash((uint64_t)index, 7) << type->bits; /* upper bits do not count */
    }
    uint64_t upper = element_at(type, position, index), lower = element_at(type, position, index * 5 + 3);
    return upper << type->bits | (lower & all_ones(type->bits));
}
