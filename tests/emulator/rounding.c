/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.c - see rounding.h. */
#include "rounding.h"

#include <math.h>
#include <string.h>

direction_t rounding_of(const combination_t *combination)
{
    const char *name = slot_value(combination, "rnd");
    if (strcmp(name, "rna") == 0)
        return NEAREST_AWAY;
    switch (*name ? name[1] : 'n') {
    case 'z': return TO_ZERO;
    case 'm': return DOWN;
    case 'p': return UP;
    default: return NEAREST;
    }
}

mpfr_rnd_t mpfr_mode(direction_t direction)
{
    static const mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU, MPFR_RNDN};
    return modes[direction];
}

mpfr_ptr rounded_variable(const format_t *format)
{
    static mpfr_t variables[64];
    static bool is_ready[64];
    int digits = format->fraction_bits + 1;
    if (!is_ready[digits])
        mpfr_init2(variables[digits], digits);
    is_ready[digits] = true;
    return variables[digits];
}

double finish_rounding(const format_t *format, int ternary, direction_t direction, bool *is_tiny)
{
    mpfr_ptr value = rounded_variable(format);
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    double min = format_min_normal(format);
    if (is_tiny) {
        int above = mpfr_cmp_d(value, min), below = mpfr_cmp_d(value, -min);
        *is_tiny = (above < 0 || (above == 0 && ternary > 0)) && (below > 0 || (below == 0 && ternary < 0));
    }
    mpfr_set_emin(2 - bias - format->fraction_bits);
    mpfr_set_emax(format->has_infinity ? bias + 1 : bias + 2);
    ternary = mpfr_check_range(value, ternary, mpfr_mode(direction));
    mpfr_subnormalize(value, ternary, mpfr_mode(direction));
    double result = mpfr_get_d(value, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    return result;
}

double round_exact(mpfr_srcptr value, const format_t *format, direction_t direction)
{
    mpfr_ptr rounded = rounded_variable(format);
    if (direction == NEAREST_AWAY && mpfr_regular_p(value)) {
        /* Away from zero if that is not farther: compare the distances, which are exact with enough digits. */
        mpfr_t down, up;
        mpfr_inits2(2000, down, up, (mpfr_ptr)0);
        double lower = finish_rounding(format, mpfr_set(rounded, value, MPFR_RNDZ), TO_ZERO, NULL);
        direction_t away = mpfr_sgn(value) > 0 ? UP : DOWN;
        double upper = finish_rounding(format, mpfr_set(rounded, value, mpfr_mode(away)), away, NULL);
        /* Beyond the largest number, the next one would be a power of two. */
        double next = isinf(upper) ? copysign(ldexp(1, 1 << (format->exponent_bits - 1)), upper) : upper;
        mpfr_sub_d(down, value, lower, MPFR_RNDN);
        mpfr_d_sub(up, next, value, MPFR_RNDN);
        bool is_up = mpfr_cmpabs(down, up) >= 0;
        mpfr_clears(down, up, (mpfr_ptr)0);
        return is_up ? upper : lower;
    }
    return finish_rounding(format, mpfr_set(rounded, value, mpfr_mode(direction)), direction, NULL);
}

void store_element(const combination_t *combination, const type_t *type, int element, double value, bool is_tiny,
                   expected_t *expected)
{
    const format_t *format = type->format;
    bool has_ftz = slot_has(combination, "ftz") && type->bits <= 32 && type->bits >= 16;
    double other = value;
    if (has_ftz && fabs(value) < format_min_normal(format))
        value = other = copysign(0, value);
    else if (has_ftz &&
             is_tiny) /* rounded up to the least normal number: the manual does not say what is flushed first */
        other = copysign(0, value);
    if (slot_has(combination, "sat")) {
        value = isnan(value) || value <= 0 ? 0 : value > 1 ? 1 : value;
        other = isnan(other) || other <= 0 ? 0 : other > 1 ? 1 : other;
    }
    if (slot_has(combination, "relu") && value <= 0)
        value = other = 0;
    uint64_t bits = format_encode(format, value), second = format_encode(format, other);
    expected->bits[0] |= bits << element * type->bits;
    expected->other |= second << element * type->bits;
    expected->has_other |= bits != second;
    if (isnan(value) && type->bits == 64)
        expected->tolerance[0] = ANY_NAN; /* NaN payloads of double precision are not documented */
}
