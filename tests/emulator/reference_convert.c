/* SPDX-License-Identifier: Apache-2.0 */
/* reference_convert.c - cvt: sources are exact numbers of MPFR, and results are rounded once. */
#include <math.h>
#include <string.h>

#include "rounding.h"

/* Returns a source as an exact number. */
static mpfr_ptr exact(const combination_t *combination, const type_t *type, uint64_t bits)
{
    static mpfr_t value;
    static bool is_ready;
    if (!is_ready)
        mpfr_init2(value, 66);
    is_ready = true;
    if (type->kind == KIND_FLOAT) {
        double number = format_decode(type->format, bits);
        bool is_flushed = slot_has(combination, "ftz") && type->bits == 32 &&
                          fabs(number) < format_min_normal(type->format);
        mpfr_set_d(value, is_flushed ? copysign(0, number) : number, MPFR_RNDN);
    } else if (type->kind == KIND_SIGNED) {
        mpfr_set_sj(value, (intmax_t)integer_of(bits, type), MPFR_RNDN);
    } else {
        mpfr_set_uj(value, (uintmax_t)integer_of(bits, type), MPFR_RNDN);
    }
    return value;
}

/* ---- To integers --------------------------------------------------------------------------------------------------- */

static void round_to_integral(const combination_t *combination, mpfr_ptr value)
{
    switch (slot_has(combination, "rnd") ? rounding_of(combination) : TO_ZERO) {
    case TO_ZERO: mpfr_trunc(value, value); break;
    case DOWN: mpfr_floor(value, value); break;
    case UP: mpfr_ceil(value, value); break;
    default: mpfr_rint(value, value, MPFR_RNDN); break;
    }
}

/* Clamps to the range of the type. */
static wide_t clamped(mpfr_ptr value, const type_t *type)
{
    if (type->kind == KIND_SIGNED) {
        wide_t max = ((wide_t)1 << (type->bits - 1)) - 1, number = mpfr_get_sj(value, MPFR_RNDN);
        return number > max ? max : number < -max - 1 ? -max - 1 : number;
    }
    wide_t max = ((wide_t)1 << type->bits) - 1, number = mpfr_sgn(value) < 0 ? 0 : mpfr_get_uj(value, MPFR_RNDN);
    return number > max ? max : number;
}

static void to_integer(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *to = &combination->type, *from = &combination->stype;
    mpfr_ptr value = exact(combination, from, in[0]);
    wide_t number;
    if (from->kind != KIND_FLOAT && !slot_has(combination, "sat")) {
        number = integer_of(low_bits((uint64_t)integer_of(in[0], from), to->bits), to);
    } else if (mpfr_nan_p(value)) {
        bool is_zero = from->bits != 64 && to->bits != 64;
        number = is_zero ? 0 : integer_of((uint64_t)1 << (to->bits - 1), to);
    } else {
        if (from->kind == KIND_FLOAT)
            round_to_integral(combination, value);
        number = clamped(value, to);
    }
    expected->bits[0] = low_bits((uint64_t)number,
                                 combination->operands[0].register_bits); /* extended to the register */
}

/* ---- To floating point --------------------------------------------------------------------------------------------- */

static bool rounds_to_integer(const combination_t *combination)
{
    const char *name = slot_value(combination, "rnd");
    return strlen(name) == 3 && name[2] == 'i';
}

static void to_float(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *to = &combination->type, *from = &combination->stype;
    mpfr_ptr value = exact(combination, from, in[0]);
    if (rounds_to_integer(combination) && mpfr_number_p(value))
        round_to_integral(combination, value);
    double rounded = round_exact(value, to->format,
                                 rounds_to_integer(combination) ? NEAREST : rounding_of(combination));
    if (slot_has(combination, "satfinite") && !isnan(rounded) && fabs(rounded) > format_max(to->format))
        rounded = copysign(format_max(to->format), rounded);
    bool has_ftz = slot_has(combination, "ftz") && (to->bits == 32);
    if (has_ftz && fabs(rounded) < format_min_normal(to->format))
        rounded = copysign(0, rounded);
    if (slot_has(combination, "sat"))
        rounded = isnan(rounded) || rounded <= 0 ? 0 : rounded > 1 ? 1 : rounded;
    if (slot_has(combination, "relu") && rounded <= 0)
        rounded = 0;
    expected->bits[0] = format_encode(to->format, rounded);
    bool keeps_payload = to->bits == 64 || strcmp(from->name, "bf16") == 0 || strcmp(to->name, "tf32") == 0;
    if (isnan(rounded) && !to->format->has_nan)
        expected->bits[0] = format_encode(to->format, format_max(to->format));
    else if (isnan(rounded) && keeps_payload)
        expected->tolerance[0] = ANY_NAN;
    if (strcmp(to->name, "tf32") == 0)
        expected->bits[0] <<= 13;
}

/* ---- Scales -------------------------------------------------------------------------------------------------------- */

/* The magnitude becomes a power of two, from 2^-127 to 2^127. */
static void to_scale(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    double value = fabs(format_decode(combination->stype.format, in[0]));
    uint64_t beyond = slot_has(combination, "satfinite") ? 254 : 255;
    int power = -127;
    if (isnan(value) || isinf(value)) {
        expected->bits[0] = isnan(value) ? 255 : beyond;
        return;
    }
    while (power < 127 && ldexp(1, power + 1) <= value)
        power++;
    if (rounding_of(combination) == UP && ldexp(1, power) < value)
        power++;
    expected->bits[0] = power > 127 ? beyond : (uint64_t)(power + 127);
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------- */

/* Converts pairs: the first source of two is the upper element. */
static void to_pair(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    combination_t one = *combination;
    const type_t *from = &combination->stype;
    one.type.count = one.stype.count = 1;
    for (int element = 0; element < 2; element++) {
        expected_t part = {0};
        uint64_t bits = from->count == 2 ? in[0] >> element * from->bits : in[1 - element];
        if (one.type.format->is_scale)
            to_scale(&one, &bits, &part);
        else
            to_float(&one, &bits, &part);
        expected->bits[0] |= part.bits[0] << element * one.type.bits;
        if (isnan(format_decode(one.type.format, part.bits[0])) && one.type.bits == 8)
            expected->tolerance[0] = ANY_NAN;
    }
}

/* ---- cvt.pack ------------------------------------------------------------------------------------------------------ */

static void pack_integers(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *to = &combination->type, *from = &combination->stype;
    uint64_t upper = low_bits((uint64_t)clamped(exact(combination, from, in[0]), to), to->bits);
    uint64_t lower = low_bits((uint64_t)clamped(exact(combination, from, in[1]), to), to->bits);
    uint64_t rest = slot_has(combination, "ctype") ? low_bits(in[2], 32) << 2 * to->bits : 0;
    expected->bits[0] = low_bits(rest | upper << to->bits | lower, 32);
}

reference_fn reference_convert(const combination_t *combination)
{
    if (strcmp(combination->row->opcode, "cvt") != 0)
        return NULL;
    if (slot_has(combination, "pack"))
        return pack_integers;
    if (combination->type.count == 2)
        return to_pair;
    return combination->type.kind == KIND_FLOAT ? to_float : to_integer;
}
