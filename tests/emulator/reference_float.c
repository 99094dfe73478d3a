/* SPDX-License-Identifier: Apache-2.0 */
/* reference_float.c - floating-point arithmetic, correctly rounded by MPFR; approximate instructions within the error
 * that the manual states. */
#include <math.h>
#include <string.h>

#include "rounding.h"

static bool opcode_is(const combination_t *combination, const char *opcode)
{
    return strcmp(combination->row->opcode, opcode) == 0;
}

/* An operand as a number, after .ftz. */
static double source(const combination_t *combination, const type_t *type, uint64_t bits, int element)
{
    double value = format_decode(type->format, bits >> element * type->bits);
    bool is_flushed = slot_has(combination, "ftz") && fabs(value) < format_min_normal(type->format);
    return is_flushed ? copysign(0, value) : value;
}

/* ---- Correctly rounded --------------------------------------------------------------------------------------------- */

static int apply(const char *opcode, mpfr_ptr result, mpfr_ptr *in, mpfr_rnd_t mode)
{
    if (strcmp(opcode, "add") == 0)
        return mpfr_add(result, in[0], in[1], mode);
    if (strcmp(opcode, "sub") == 0)
        return mpfr_sub(result, in[0], in[1], mode);
    if (strcmp(opcode, "mul") == 0)
        return mpfr_mul(result, in[0], in[1], mode);
    if (strcmp(opcode, "div") == 0)
        return mpfr_div(result, in[0], in[1], mode);
    if (strcmp(opcode, "rcp") == 0)
        return mpfr_ui_div(result, 1, in[0], mode);
    if (strcmp(opcode, "sqrt") == 0)
        return mpfr_sqrt(result, in[0], mode);
    return mpfr_fma(result, in[0], in[1], in[2], mode);
}

static mpfr_ptr variable(int index)
{
    static mpfr_t variables[3];
    static bool is_ready[3];
    if (!is_ready[index])
        mpfr_init2(variables[index], 53);
    is_ready[index] = true;
    return variables[index];
}

static int source_count(const combination_t *combination)
{
    int count = 0;
    for (int i = 0; i < combination->operand_count; i++)
        count += !combination->operands[i].is_destination;
    return count;
}

static void rounded_operation(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    direction_t direction = rounding_of(combination);
    mpfr_ptr values[3];
    for (int element = 0; element < type->count; element++) {
        for (int i = 0; i < source_count(combination) && i < 3; i++) {
            values[i] = variable(i);
            mpfr_set_d(values[i], source(combination, type, in[i], element), MPFR_RNDN);
        }
        bool is_tiny;
        int ternary = apply(combination->row->opcode, rounded_variable(type->format), values, mpfr_mode(direction));
        double result = finish_rounding(type->format, ternary, direction, &is_tiny);
        store_element(combination, type, element, result, is_tiny, expected);
    }
}

/* ---- Sign and order ------------------------------------------------------------------------------------------------ */

static void change_sign(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    for (int element = 0; element < type->count; element++) {
        double value = source(combination, type, in[0], element);
        if (isnan(value))
            expected->tolerance[0] = ANY_NAN;
        value = opcode_is(combination, "abs") ? fabs(value) : -value;
        expected->bits[0] |= format_encode(type->format, value) << element * type->bits;
    }
}

/* -0 is less than +0. */
static bool is_less(double x, double y)
{
    return x < y || (x == 0 && y == 0 && signbit(x) && !signbit(y));
}

static double extreme_of(const combination_t *combination, double x, double y)
{
    bool sign = (signbit(x) != 0) != (signbit(y) != 0), has_abs = slot_has(combination, "abs");
    bool has_xor = slot_has(combination, "xorsign"), wants_min = opcode_is(combination, "min");
    double result;
    x = has_abs ? fabs(x) : x;
    y = has_abs ? fabs(y) : y;
    if ((isnan(x) && isnan(y)) || (slot_has(combination, "NaN") && (isnan(x) || isnan(y))))
        return NAN;
    if (isnan(x) || isnan(y))
        result = isnan(x) ? y : x;
    else
        result = is_less(x, y) == wants_min ? x : y;
    return has_xor ? copysign(result, sign ? -1 : 1) : result;
}

/* The sign of a NaN counts for .xorsign; format_decode() drops it. */
static double signed_source(const combination_t *combination, const type_t *type, uint64_t bits, int element)
{
    double value = source(combination, type, bits, element);
    return copysign(value, bits >> ((element + 1) * type->bits - 1) & 1 ? -1 : 1);
}

static void extreme(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    for (int element = 0; element < type->count; element++) {
        double result = signed_source(combination, type, in[0], element);
        for (int i = 1; i < source_count(combination); i++)
            result = extreme_of(combination, result, signed_source(combination, type, in[i], element));
        expected->bits[0] |= format_encode(type->format, result) << element * type->bits;
        if (isnan(result) && type->bits == 64)
            expected->tolerance[0] = ANY_NAN;
    }
}

/* ---- Approximations ------------------------------------------------------------------------------------------------ */

static double function_of(const char *opcode, double x, double y)
{
    mpfr_ptr value = variable(0), other = variable(1);
    static mpfr_t result;
    static bool is_ready;
    if (!is_ready)
        mpfr_init2(result, 53);
    is_ready = true;
    mpfr_set_d(value, x, MPFR_RNDN);
    mpfr_set_d(other, y, MPFR_RNDN);
    if (strcmp(opcode, "rsqrt") == 0 && x == 0)
        return 1 / x;
    strcmp(opcode, "div") == 0     ? mpfr_div(result, value, other, MPFR_RNDN)
    : strcmp(opcode, "rcp") == 0   ? mpfr_ui_div(result, 1, value, MPFR_RNDN)
    : strcmp(opcode, "sqrt") == 0  ? mpfr_sqrt(result, value, MPFR_RNDN)
    : strcmp(opcode, "rsqrt") == 0 ? mpfr_rec_sqrt(result, value, MPFR_RNDN)
    : strcmp(opcode, "sin") == 0   ? mpfr_sin(result, value, MPFR_RNDN)
    : strcmp(opcode, "cos") == 0   ? mpfr_cos(result, value, MPFR_RNDN)
    : strcmp(opcode, "lg2") == 0   ? mpfr_log2(result, value, MPFR_RNDN)
    : strcmp(opcode, "ex2") == 0   ? mpfr_exp2(result, value, MPFR_RNDN)
                                   : mpfr_tanh(result, value, MPFR_RNDN);
    return mpfr_get_d(result, MPFR_RNDN);
}

/* The distance of adjacent numbers of the format at a value. */
static double ulp(const format_t *format, double value)
{
    int exponent;
    double least = format_min_normal(format);
    frexp(fabs(value) < least ? least : value, &exponent);
    return ldexp(1, exponent - 1 - format->fraction_bits);
}

/* The error that the manual allows. */
static double bound_of(const combination_t *combination, double x, double value)
{
    const char *opcode = combination->row->opcode;
    const type_t *type = &combination->type;
    double unit = ulp(type->format, value);
    if (type->bits == 64)
        return strcmp(opcode, "rsqrt") == 0 && !slot_has(combination, "ftz") ? 2 * unit : ldexp(fabs(value), -20);
    if (type->bits == 16)
        return strcmp(opcode, "tanh") == 0 ? ldexp(1, -type->format->fraction_bits) + unit : 2 * unit;
    if (strcmp(opcode, "sin") == 0 || strcmp(opcode, "cos") == 0)
        return fabs(x) <= 3.1416 ? 0x1p-20 : 2;
    if (strcmp(opcode, "lg2") == 0)
        return 0x1p-22 + unit;
    return strcmp(opcode, "tanh") == 0 ? ldexp(fabs(value), -10) + unit : 2 * unit;
}

static void approximation(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    bool divides = opcode_is(combination, "div"), flushes = slot_has(combination, "ftz");
    double least = format_min_normal(type->format);
    expected->tolerance[0] = WITHIN_BOUND;
    for (int element = 0; element < type->count; element++) {
        double x = source(combination, type, in[0], element),
               y = divides ? source(combination, type, in[1], element) : 0;
        double value = function_of(combination->row->opcode, x, y);
        double bound = isnan(value) || isinf(value) ? 0 : bound_of(combination, x, value);
        if (divides && fabs(y) > 0x1p126)
            bound = INFINITY; /* outside of the range that the manual describes */
        if (flushes && fabs(value) < least * (1 + 0x1p-6))
            bound += fabs(value);
        if (!isinf(value) && fabs(value) > format_max(type->format) * (1 - 0x1p-5))
            bound = INFINITY; /* rounds to infinity or not */
        expected->value[element] = value;
        expected->bound[element] = bound;
    }
}

reference_fn reference_float(const combination_t *combination)
{
    static const char *const rounded[] = {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"};
    static const char *const approximate[] = {"div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"};
    if (combination->type.kind != KIND_FLOAT)
        return NULL;
    bool is_approximate = slot_has(combination, "approx") || slot_has(combination, "full");
    for (size_t i = 0; is_approximate && i < sizeof approximate / sizeof *approximate; i++)
        if (opcode_is(combination, approximate[i]))
            return approximation;
    for (size_t i = 0; !is_approximate && i < sizeof rounded / sizeof *rounded; i++)
        if (opcode_is(combination, rounded[i]))
            return rounded_operation;
    if (opcode_is(combination, "abs") || opcode_is(combination, "neg"))
        return change_sign;
    return opcode_is(combination, "min") || opcode_is(combination, "max") ? extreme : NULL;
}
