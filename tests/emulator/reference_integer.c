/* SPDX-License-Identifier: Apache-2.0 */
/* reference_integer.c - integer arithmetic, bit fields, logic, shifts and byte permutation, from the manual's definitions.
 *
 * Values are computed without bounds in 128 bits and cut to the type's size at the end. */
#include <string.h>

#include "reference.h"

wide_t integer_of(uint64_t bits, const type_t *type)
{
    bits = low_bits(bits, type->bits);
    if (type->kind == KIND_SIGNED && bits >> (type->bits - 1) & 1)
        return (wide_t)bits - ((wide_t)1 << type->bits);
    return bits;
}

static bool opcode_is(const combination_t *combination, const char *opcode)
{
    return strcmp(combination->row->opcode, opcode) == 0;
}

static wide_t clamp(wide_t value, const type_t *type)
{
    wide_t max = ((wide_t)1 << (type->kind == KIND_SIGNED ? type->bits - 1 : type->bits)) - 1;
    wide_t min = type->kind == KIND_SIGNED ? -max - 1 : 0;
    return value < min ? min : value > max ? max : value;
}

static wide_t absolute(wide_t value)
{
    return value < 0 ? -value : value;
}

/* The least integer not above value / 2^bits. */
static wide_t shift_down(wide_t value, int bits)
{
    wide_t unit = (wide_t)1 << bits;
    return value >= 0 ? value / unit : -((-value + unit - 1) / unit);
}

/* ---- add, sub, mul, mad and their relatives ------------------------------------------------------------------------ */

static wide_t low_24(uint64_t bits, const type_t *type)
{
    type_t narrow = *type;
    narrow.bits = 24;
    return integer_of(bits, &narrow);
}

static wide_t product(const combination_t *combination, const uint64_t *in)
{
    const char *opcode = combination->row->opcode;
    const type_t *type = &combination->type;
    bool is_24 = strstr(opcode, "24") != NULL;
    wide_t x = is_24 ? low_24(in[0], type) : integer_of(in[0], type),
           y = is_24 ? low_24(in[1], type) : integer_of(in[1], type);
    if (slot_is(combination, "half", "hi")) {
        if (type->kind == KIND_UNSIGNED && type->bits == 64) /* does not fit a signed 128-bit integer */
            return (wide_t)(((uint128_t)x * (uint128_t)y) >> 64);
        return shift_down(x * y, is_24 ? 16 : type->bits);
    }
    return (wide_t)((uint128_t)x * (uint128_t)y);
}

static void multiply(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    bool adds = combination->row->opcode[1] == 'a', is_wide = slot_is(combination, "half", "wide");
    int bits = is_wide ? 2 * type->bits : type->bits;
    type_t result = *type;
    result.bits = bits;
    wide_t value = product(combination, in);
    if (combination->reads_carry || combination->writes_carry) {
        uint128_t sum = low_bits((uint64_t)value, bits);
        sum += low_bits(in[2], bits);
        sum += combination->reads_carry ? in[3] & 1 : 0;
        expected->bits[0] = low_bits((uint64_t)sum, bits);
        expected->bits[1] = (uint64_t)(sum >> bits & 1);
        return;
    }
    if (adds)
        value = (wide_t)((uint128_t)value + (uint128_t)integer_of(in[2], &result));
    if (slot_has(combination, "sat"))
        value = clamp(value, type);
    expected->bits[0] = low_bits((uint64_t)value, bits);
}

static void add_or_subtract(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    bool subtracts = *combination->row->opcode == 's';
    type_t plain = *type;
    if (combination->reads_carry || combination->writes_carry)
        plain.kind = KIND_UNSIGNED;
    wide_t x = integer_of(in[0], &plain), y = integer_of(in[1], &plain);
    if (combination->reads_carry)
        y += in[2] & 1;
    wide_t value = subtracts ? x - y : x + y;
    expected->bits[1] = value < 0 || value >> type->bits != 0;
    if (slot_has(combination, "sat"))
        value = clamp(value, type);
    expected->bits[0] = low_bits((uint64_t)value, type->bits);
}

static wide_t least_or_most(const combination_t *combination, wide_t x, wide_t y)
{
    wide_t value = (opcode_is(combination, "min") ? x < y : x > y) ? x : y;
    return slot_has(combination, "relu") && value < 0 ? 0 : value;
}

/* The result for one element; pairs consist of two. */
static wide_t element(const combination_t *combination, wide_t x, wide_t y)
{
    if (opcode_is(combination, "min") || opcode_is(combination, "max"))
        return least_or_most(combination, x, y);
    if (opcode_is(combination, "div"))
        return y == 0 ? 0 : x / y;
    if (opcode_is(combination, "rem"))
        return y == 0 ? 0 : x % y;
    if (opcode_is(combination, "abs"))
        return absolute(x);
    return opcode_is(combination, "neg") ? -x : x + y;
}

static void elementwise(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    bool divides = opcode_is(combination, "div") || opcode_is(combination, "rem");
    bool is_unary = opcode_is(combination, "abs") || opcode_is(combination, "neg");
    for (int i = 0; i < type->count; i++) {
        wide_t x = integer_of(in[0] >> i * type->bits, type);
        wide_t y = is_unary ? 0 : integer_of(in[1] >> i * type->bits, type);
        expected->bits[0] |= low_bits((uint64_t)element(combination, x, y), type->bits) << i * type->bits;
        if (divides && y == 0)
            expected->tolerance[0] = ANY_VALUE;
    }
}

static void sum_of_differences(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    wide_t value = absolute(integer_of(in[0], type) - integer_of(in[1], type)) + integer_of(in[2], type);
    expected->bits[0] = low_bits((uint64_t)value, type->bits);
}

static void dot_product(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    bool is_4 = opcode_is(combination, "dp4a");
    type_t x_type = combination->type, y_type = combination->stype;
    x_type.bits = is_4 ? 8 : 16;
    y_type.bits = 8;
    wide_t sum = (wide_t)in[2];
    int first = slot_is(combination, "half", "hi") ? 2 : 0;
    for (int i = 0; i < (is_4 ? 4 : 2); i++)
        sum += integer_of(in[0] >> i * x_type.bits, &x_type) * integer_of(in[1] >> (first + i) * 8, &y_type);
    expected->bits[0] = low_bits((uint64_t)sum, 32);
}

/* ---- Bits ---------------------------------------------------------------------------------------------------------- */

static int bit_of(uint64_t value, int64_t index)
{
    return (int)(value >> index & 1);
}

static void count_bits(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int bits = combination->type.bits, ones = 0, leading = 0;
    for (int i = 0; i < bits; i++)
        ones += bit_of(in[0], i);
    while (leading < bits && !bit_of(in[0], bits - 1 - leading))
        leading++;
    expected->bits[0] = (uint64_t)(opcode_is(combination, "popc") ? ones : leading);
}

static void find_bit(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int bits = combination->type.bits, position = bits - 1;
    int other = combination->type.kind == KIND_SIGNED ? bit_of(in[0], bits - 1) : 0;
    while (position >= 0 && bit_of(in[0], position) == other)
        position--;
    if (position >= 0 && slot_has(combination, "shiftamt"))
        position = bits - 1 - position;
    expected->bits[0] = low_bits((uint64_t)(int64_t)position, 32);
}

static void find_nth_set(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int64_t base = (int64_t)low_bits(in[1], 32), offset = (int32_t)in[2], left = offset < 0 ? -offset : offset;
    (void)combination;
    expected->bits[0] = 0xffffffff;
    if (base > 31) {
        expected->tolerance[0] = ANY_VALUE;
        return;
    }
    if (offset == 0 && bit_of(in[0], base))
        expected->bits[0] = (uint64_t)base;
    for (int64_t at = base; offset != 0 && at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
        if (bit_of(in[0], at) && --left == 0) {
            expected->bits[0] = (uint64_t)at;
            return;
        }
}

static void reverse_bits(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int bits = combination->type.bits;
    for (int i = 0; i < bits; i++)
        expected->bits[0] |= (uint64_t)bit_of(in[0], i) << (bits - 1 - i);
}

static void extract_field(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int last = combination->type.bits - 1, position = (int)(in[1] & 255), length = (int)(in[2] & 255), sign = 0;
    if (combination->type.kind == KIND_SIGNED && length > 0)
        sign = bit_of(in[0], position + length - 1 < last ? position + length - 1 : last);
    for (int i = 0; i <= last; i++)
        expected->bits[0] |= (uint64_t)(i < length && position + i <= last ? bit_of(in[0], position + i) : sign) << i;
}

static void insert_field(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int last = combination->type.bits - 1, position = (int)(in[2] & 255), length = (int)(in[3] & 255);
    expected->bits[0] = low_bits(in[1], last + 1);
    for (int i = 0; i < length && position + i <= last; i++) {
        expected->bits[0] &= ~((uint64_t)1 << (position + i));
        expected->bits[0] |= (uint64_t)bit_of(in[0], i) << (position + i);
    }
}

/* bmsk sets `width` bits from `start` on. */
static void make_mask(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    uint64_t start = low_bits(in[0], 32), width = low_bits(in[1], 32);
    bool clamps = slot_is(combination, "mode", "clamp");
    start = clamps ? start : start % 32;
    width = clamps ? width : width % 32;
    for (uint64_t i = 0; i < 32; i++)
        expected->bits[0] |= (uint64_t)(i >= start && i - start < width) << i;
}

static void extend_sign(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    uint64_t width = low_bits(in[1], 32);
    width = slot_is(combination, "mode", "wrap") ? width % 32 : width < 32 ? width : 32;
    int sign = combination->type.kind == KIND_SIGNED && width > 0 ? bit_of(in[0], (int64_t)width - 1) : 0;
    for (uint64_t i = 0; i < 32; i++)
        expected->bits[0] |= (uint64_t)(i < width ? bit_of(in[0], (int64_t)i) : sign) << i;
}

static int logic(const combination_t *combination, int x, int y)
{
    if (opcode_is(combination, "and"))
        return x & y;
    if (opcode_is(combination, "or"))
        return x | y;
    return opcode_is(combination, "xor") ? x ^ y : !x;
}

static void logic_bits(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    int sources = opcode_is(combination, "not") ? 1 : 2;
    for (int i = 0; i < combination->type.bits; i++) {
        int x = bit_of(in[0], i) ^ combination->operands[1].is_negated;
        int y = sources == 2 ? bit_of(in[1], i) ^ combination->operands[2].is_negated : 0;
        expected->bits[0] |= (uint64_t)logic(combination, x, y) << i;
    }
}

static void logical_not(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    expected->bits[0] = low_bits(in[0], combination->type.bits) == 0;
}

static void copy_predicate(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    expected->bits[0] = (in[0] & 1) ^ combination->operands[1].is_negated;
}

static void look_up(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    for (int i = 0; i < 32; i++) {
        int index = 4 * bit_of(in[0], i) + 2 * bit_of(in[1], i) + bit_of(in[2], i);
        expected->bits[0] |= (uint64_t)bit_of(combination->table, index) << i;
    }
    const operand_t *last = &combination->operands[combination->operand_count - 1];
    uint64_t q = (in[4] & 1) ^ last->is_negated;
    uint64_t is_set = expected->bits[0] != 0;
    expected->bits[1] = slot_is(combination, "bool", "or") ? is_set | q : is_set & q;
}

static void shift(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->type;
    uint64_t amount = low_bits(in[1], 32);
    int by = amount > (uint64_t)type->bits ? type->bits : (int)amount;
    wide_t value = integer_of(in[0], type);
    if (opcode_is(combination, "shl"))
        expected->bits[0] = low_bits((uint64_t)((uint128_t)value << by), type->bits);
    else
        expected->bits[0] = low_bits((uint64_t)shift_down(value, by), type->bits);
}

static void funnel_shift(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    uint64_t amount = low_bits(in[2], 32);
    amount = slot_is(combination, "mode", "wrap") ? amount % 32 : amount < 32 ? amount : 32;
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t from = slot_is(combination, "dir", "l") ? 32 + i - amount : i + amount; /* bit of {b, a} */
        expected->bits[0] |= (uint64_t)bit_of(from >= 32 ? in[1] : in[0], (int64_t)(from % 32)) << i;
    }
}

static void permute(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    static const struct {
        const char *mode;
        int selectors[4][4]; /* of result bytes 0 to 3 */
    } modes[] = {{"f4e", {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}},
                 {"b4e", {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}},
                 {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                 {"ecl", {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
                 {"ecr", {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}},
                 {"rc16", {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}};
    for (int i = 0; i < 4; i++) {
        int choice = (int)(in[2] >> 4 * i & 15);
        for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++)
            if (slot_is(combination, "mode", modes[mode].mode))
                choice = modes[mode].selectors[in[2] & 3][i];
        uint64_t from = (choice & 7) < 4 ? in[0] : in[1], byte = from >> 8 * (choice & 3) & 255;
        if (choice & 8)
            byte = byte >= 128 ? 255 : 0;
        expected->bits[0] |= byte << 8 * i;
    }
}

static void select_by_sign(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    const type_t *type = &combination->stype;
    bool is_first;
    if (type->kind == KIND_FLOAT) {
        double c = format_decode(type->format, in[2]);
        bool is_flushed = slot_has(combination, "ftz") && c > -format_min_normal(type->format);
        is_first = c >= 0 || (c < 0 && is_flushed);
    } else {
        is_first = integer_of(in[2], type) >= 0;
    }
    expected->bits[0] = low_bits(is_first ? in[0] : in[1], combination->type.bits);
}

static void select_by_predicate(const combination_t *combination, const uint64_t *in, expected_t *expected)
{
    bool c = (in[2] & 1) != combination->operands[3].is_negated;
    expected->bits[0] = low_bits(c ? in[0] : in[1], combination->type.bits);
}

reference_fn reference_integer(const combination_t *combination)
{
    static const struct {
        const char *opcode;
        reference_fn compute;
    } list[] = {{"add", add_or_subtract},    {"sub", add_or_subtract}, {"addc", add_or_subtract},
                {"subc", add_or_subtract},   {"mul", multiply},        {"mad", multiply},
                {"madc", multiply},          {"mul24", multiply},      {"mad24", multiply},
                {"sad", sum_of_differences}, {"div", elementwise},     {"rem", elementwise},
                {"abs", elementwise},        {"neg", elementwise},     {"min", elementwise},
                {"max", elementwise},        {"popc", count_bits},     {"clz", count_bits},
                {"bfind", find_bit},         {"fns", find_nth_set},    {"brev", reverse_bits},
                {"bfe", extract_field},      {"bfi", insert_field},    {"bmsk", make_mask},
                {"szext", extend_sign},      {"dp4a", dot_product},    {"dp2a", dot_product},
                {"and", logic_bits},         {"or", logic_bits},       {"xor", logic_bits},
                {"not", logic_bits},         {"cnot", logical_not},    {"lop3", look_up},
                {"shf", funnel_shift},       {"shl", shift},           {"shr", shift},
                {"prmt", permute},           {"slct", select_by_sign}, {"selp", select_by_predicate},
                {"mov", copy_predicate}};
    bool is_select = opcode_is(combination, "slct") || opcode_is(combination, "selp");
    if (combination->type.kind == KIND_FLOAT && !is_select)
        return NULL;
    if (combination->type.count == 2)
        return opcode_is(combination, "add") || opcode_is(combination, "min") || opcode_is(combination, "max")
                   ? elementwise
                   : NULL;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (opcode_is(combination, list[i].opcode))
            return list[i].compute;
    return NULL;
}
