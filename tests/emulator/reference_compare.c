/* SPDX-License-Identifier: Apache-2.0 */
/* reference_compare.c - setp, set, testp and copysign. Every source is exact in double precision or in 128 bits. */
#include <math.h>
#include <string.h>

#include "reference.h"

static double source_float(const combination_t *combination, uint64_t bits, const type_t *type)
{
    double value = format_decode(type->format, bits);
    if (slot_has(combination, "ftz") && fabs(value) < format_min_normal(type->format))
        return copysign(0, value);
    return value;
}

/* -1, 0 or 1 for less, equal, greater; 2 if a number is not ordered with NaN. */
static int order(const combination_t *combination, uint64_t a, uint64_t b, const type_t *type)
{
    if (type->kind == KIND_FLOAT) {
        double x = source_float(combination, a, type), y = source_float(combination, b, type);
        return isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y;
    }
    wide_t x = integer_of(a, type), y = integer_of(b, type);
    return x < y ? -1 : x > y;
}

static bool holds(const char *comparison, int ordering)
{
    size_t length = strlen(comparison);
    char name[3] = {comparison[0], comparison[1], 0};
    if (strcmp(comparison, "num") == 0 || strcmp(comparison, "nan") == 0)
        return (ordering == 2) == (comparison[1] == 'a');
    if (ordering == 2)
        return length == 3; /* equ, ltu and the others are true for NaN */
    if (strcmp(name, "eq") == 0)
        return ordering == 0;
    if (strcmp(name, "ne") == 0)
        return ordering != 0;
    if (strcmp(name, "lt") == 0 || strcmp(name, "lo") == 0)
        return ordering < 0;
    if (strcmp(name, "le") == 0 || strcmp(name, "ls") == 0)
        return ordering <= 0;
    return strcmp(name, "gt") == 0 || strcmp(name, "hi") == 0 ? ordering > 0 : ordering >= 0;
}

static bool combine(const combination_t *combination, bool result, uint64_t c)
{
    const char *name = slot_value(combination, "bool");
    bool other = (c & 1) != combination->operands[combination->operand_count - 1].is_negated;
    if (!*name)
        return result;
    return *name == 'a' ? result && other : *name == 'o' ? result || other : result != other;
}

static void compare_to_predicates(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    const char *comparison = slot_value(combination, "cmp");
    bool result = holds(comparison, order(combination, in[0], in[1], type)), second = !result;
    if (type->count == 2) {
        type_t one = *type;
        one.count = 1;
        second = holds(comparison, order(combination, in[0] >> one.bits, in[1] >> one.bits, &one));
    }
    expected->bits[0] = combine(combination, result, in[2]);
    expected->bits[1] = combine(combination, second, in[2]);
}

static void compare_to_values(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *from = &combination->stype, *to = &combination->type;
    int bits = from->count == 2 ? from->bits : to->bits;
    for (int i = 0; i < from->count; i++) {
        bool result = holds(slot_value(combination, "cmp"),
                            order(combination, in[0] >> i * from->bits, in[1] >> i * from->bits, from));
        result = combine(combination, result, in[2]);
        uint64_t yes = to->kind == KIND_FLOAT ? format_encode(to->format, 1) : low_bits(~(uint64_t)0, bits);
        expected->bits[0] |= (result ? yes : 0) << i * bits;
    }
}

static void test(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const format_t *format = combination->type.format;
    const char *name = slot_value(combination, "test");
    double x = format_decode(format, in[0]);
    bool is_subnormal = x != 0 && fabs(x) < format_min_normal(format);
    if (strcmp(name, "finite") == 0)
        expected->bits[0] = !isnan(x) && !isinf(x);
    else if (strcmp(name, "infinite") == 0)
        expected->bits[0] = isinf(x) != 0;
    else if (strcmp(name, "number") == 0)
        expected->bits[0] = x == x;
    else if (strcmp(name, "notanumber") == 0)
        expected->bits[0] = x != x;
    else if (strcmp(name, "normal") == 0) /* zeros are normal numbers, says the manual */
        expected->bits[0] = !isnan(x) && !isinf(x) && !is_subnormal;
    else
        expected->bits[0] = is_subnormal;
}

static void copy_sign(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int last = combination->type.bits - 1;
    expected->bits[0] = low_bits(in[1], last) | (in[0] >> last & 1) << last;
}

reference_fn reference_compare(const combination_t *combination)
{
    const char *opcode = combination->row->opcode;
    if (strcmp(opcode, "setp") == 0)
        return compare_to_predicates;
    if (strcmp(opcode, "set") == 0)
        return compare_to_values;
    if (strcmp(opcode, "testp") == 0)
        return test;
    return strcmp(opcode, "copysign") == 0 ? copy_sign : NULL;
}
