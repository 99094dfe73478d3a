/* SPDX-License-Identifier: Apache-2.0 */
/* execute_compare.c - setp, set and testp. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

/* Returns the comparison's result after .and, .or or .xor with the last operand. */
static uint32_t combine(const ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t result)
{
    if (!instruction->combine)
        return result;
    uint32_t c = rungi_ptx_predicate(warp, instruction->operand[3]) ^
                 (instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u);
    return instruction->combine == 1 ? result & c : instruction->combine == 2 ? result | c : result ^ c;
}

/* Writes the result of a comparison: combined with a third predicate, and its complement to a second destination. */
static void write_comparison(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t result, uint32_t mask)
{
    uint32_t opposite = combine(warp, instruction, ~result);
    result = combine(warp, instruction, result);
    rungi_ptx_set_predicate(warp, instruction->operand[0], result, mask);
    if (instruction->operand[PTX_OPERANDS_MAX - 1])
        rungi_ptx_set_predicate(warp, instruction->operand[PTX_OPERANDS_MAX - 1], opposite, mask);
}

/* The value that set writes for true, in a destination or in each half of a pair. */
static uint32_t value_of_true(ptx_type_t type)
{
    switch (type) {
    case PTX_F32: return 0x3f800000;
    case PTX_F16:
    case PTX_F16X2: return 0x3c00;
    case PTX_BF16:
    case PTX_BF16X2: return 0x3f80;
    default: return ~0u;
    }
}

static void write_set(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t result, uint32_t mask)
{
    uint32_t yes = value_of_true((ptx_type_t)instruction->type);
    result = combine(warp, instruction, result);
    if (rungi_ptx_type_bits((ptx_type_t)instruction->type) == 16) {
        uint16_t *d = OPERAND(0);
        FOR_LANES(d[lane] = result >> lane & 1 ? (uint16_t)yes : 0)
    } else {
        uint32_t *d = OPERAND(0);
        FOR_LANES(d[lane] = result >> lane & 1 ? yes : 0)
    }
}

/* Compares all lanes: those that are inactive may hold anything and do not count. */
#define COMPARE(name, T, LOAD, expression)                                                        \
    static inline uint32_t compare_##name(ptx_warp_t *warp, const ptx_instruction_t *instruction) \
    {                                                                                             \
        const T *a = OPERAND(1), *b = OPERAND(2);                                                 \
        uint32_t flags[PTX_WARP_LANES];                                                           \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                       \
            LOAD;                                                                                 \
            flags[lane] = (expression) ? ~0u : 0u;                                                \
        }                                                                                         \
        return mask_of(flags);                                                                    \
    }                                                                                             \
    EXECUTOR(setp_##name)                                                                         \
    {                                                                                             \
        write_comparison(warp, instruction, compare_##name(warp, instruction), mask);             \
    }                                                                                             \
    EXECUTOR(set_##name)                                                                          \
    {                                                                                             \
        write_set(warp, instruction, compare_##name(warp, instruction), mask);                    \
    }

#define COMPARE_INTEGERS(type, T)                               \
    COMPARE(eq_##type, T, T x = a[lane]; T y = b[lane], x == y) \
    COMPARE(ne_##type, T, T x = a[lane]; T y = b[lane], x != y) \
    COMPARE(lt_##type, T, T x = a[lane]; T y = b[lane], x < y)  \
    COMPARE(le_##type, T, T x = a[lane]; T y = b[lane], x <= y) \
    COMPARE(gt_##type, T, T x = a[lane]; T y = b[lane], x > y)  \
    COMPARE(ge_##type, T, T x = a[lane]; T y = b[lane], x >= y)
COMPARE_INTEGERS(s16, int16_t)
COMPARE_INTEGERS(s32, int32_t)
COMPARE_INTEGERS(s64, int64_t)
COMPARE_INTEGERS(u16, uint16_t)
COMPARE_INTEGERS(u32, uint32_t)
COMPARE_INTEGERS(u64, uint64_t)

/* F is the type of the comparison; READ converts an element of T. */
#define LOAD_FLOATS(F, READ)          \
    F x = READ(a[lane], instruction); \
    F y = READ(b[lane], instruction)
#define COMPARE_FLOATS(type, T, F, READ)                            \
    COMPARE(eq_##type, T, LOAD_FLOATS(F, READ), x == y)             \
    COMPARE(ne_##type, T, LOAD_FLOATS(F, READ), x<y || x> y)        \
    COMPARE(lt_##type, T, LOAD_FLOATS(F, READ), x < y)              \
    COMPARE(le_##type, T, LOAD_FLOATS(F, READ), x <= y)             \
    COMPARE(gt_##type, T, LOAD_FLOATS(F, READ), x > y)              \
    COMPARE(ge_##type, T, LOAD_FLOATS(F, READ), x >= y)             \
    COMPARE(equ_##type, T, LOAD_FLOATS(F, READ), !(x < y || x > y)) \
    COMPARE(neu_##type, T, LOAD_FLOATS(F, READ), !(x == y))         \
    COMPARE(ltu_##type, T, LOAD_FLOATS(F, READ), !(x >= y))         \
    COMPARE(leu_##type, T, LOAD_FLOATS(F, READ), !(x > y))          \
    COMPARE(gtu_##type, T, LOAD_FLOATS(F, READ), !(x <= y))         \
    COMPARE(geu_##type, T, LOAD_FLOATS(F, READ), !(x < y))          \
    COMPARE(num_##type, T, LOAD_FLOATS(F, READ), x == x && y == y)  \
    COMPARE(nan_##type, T, LOAD_FLOATS(F, READ), x != x || y != y)

static inline float read_f32(float value, const ptx_instruction_t *instruction)
{
    return instruction->flags & PTX_FLAG_FTZ ? flush_f32(value) : value;
}

static inline double read_f64(double value, const ptx_instruction_t *instruction)
{
    (void)instruction;
    return value;
}

static inline float read_f16(uint16_t bits, const ptx_instruction_t *instruction)
{
    float value = f16_to_f32(bits);
    return (instruction->flags & PTX_FLAG_FTZ) && fabsf(value) < 0x1p-14f ? copysignf(0, value) : value;
}

static inline float read_bf16(uint16_t bits, const ptx_instruction_t *instruction)
{
    (void)instruction;
    return bf16_to_f32(bits);
}
COMPARE_FLOATS(f32, float, float, read_f32)
COMPARE_FLOATS(f64, double, double, read_f64)
COMPARE_FLOATS(f16, uint16_t, float, read_f16)
COMPARE_FLOATS(bf16, uint16_t, float, read_bf16)

/* ---- Packed halves: p is the result of the lower half, q of the upper one ------------------------------------------ */

#define COMPARE_PAIR(name, READ, expression)                                                               \
    static void compare_##name(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t result[2]) \
    {                                                                                                      \
        const uint16_t *a = OPERAND(1), *b = OPERAND(2);                                                   \
        result[0] = result[1] = 0;                                                                         \
        for (int i = 0; i < 2 * PTX_WARP_LANES; i++) {                                                     \
            float x = READ(a[i], instruction), y = READ(b[i], instruction);                                \
            result[i % 2] |= (uint32_t)(expression) << i / 2;                                              \
        }                                                                                                  \
    }                                                                                                      \
    EXECUTOR(setp_##name)                                                                                  \
    {                                                                                                      \
        uint32_t result[2];                                                                                \
        compare_##name(warp, instruction, result);                                                         \
        write_pair(warp, instruction, result, mask);                                                       \
    }                                                                                                      \
    EXECUTOR(set_##name)                                                                                   \
    {                                                                                                      \
        uint32_t result[2];                                                                                \
        compare_##name(warp, instruction, result);                                                         \
        write_set_pair(warp, instruction, result, mask);                                                   \
    }

static void write_pair(ptx_warp_t *warp, const ptx_instruction_t *instruction, const uint32_t result[2], uint32_t mask)
{
    uint32_t lower = combine(warp, instruction, result[0]), upper = combine(warp, instruction, result[1]);
    rungi_ptx_set_predicate(warp, instruction->operand[0], lower, mask);
    rungi_ptx_set_predicate(warp, instruction->operand[PTX_OPERANDS_MAX - 1], upper, mask);
}

static void write_set_pair(ptx_warp_t *warp, const ptx_instruction_t *instruction, const uint32_t result[2],
                           uint32_t mask)
{
    uint32_t lower = combine(warp, instruction, result[0]), upper = combine(warp, instruction, result[1]);
    uint32_t yes = value_of_true((ptx_type_t)instruction->type) & 0xffff;
    uint32_t *d = OPERAND(0);
    FOR_LANES(d[lane] = (upper >> lane & 1 ? yes << 16 : 0) | (lower >> lane & 1 ? yes : 0))
}

#define COMPARE_PAIRS(type, READ)                     \
    COMPARE_PAIR(eq_##type, READ, x == y)             \
    COMPARE_PAIR(ne_##type, READ, x<y || x> y)        \
    COMPARE_PAIR(lt_##type, READ, x < y)              \
    COMPARE_PAIR(le_##type, READ, x <= y)             \
    COMPARE_PAIR(gt_##type, READ, x > y)              \
    COMPARE_PAIR(ge_##type, READ, x >= y)             \
    COMPARE_PAIR(equ_##type, READ, !(x < y || x > y)) \
    COMPARE_PAIR(neu_##type, READ, !(x == y))         \
    COMPARE_PAIR(ltu_##type, READ, !(x >= y))         \
    COMPARE_PAIR(leu_##type, READ, !(x > y))          \
    COMPARE_PAIR(gtu_##type, READ, !(x <= y))         \
    COMPARE_PAIR(geu_##type, READ, !(x < y))          \
    COMPARE_PAIR(num_##type, READ, x == x && y == y)  \
    COMPARE_PAIR(nan_##type, READ, x != x || y != y)
COMPARE_PAIRS(f16x2, read_f16)
COMPARE_PAIRS(bf16x2, read_bf16)

/* ---- testp --------------------------------------------------------------------------------------------------------- */

#define TEST(name, T, expression)                                             \
    EXECUTOR(testp_##name)                                                    \
    {                                                                         \
        const T *a = OPERAND(1);                                              \
        uint32_t result = 0;                                                  \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                   \
            T x = a[lane];                                                    \
            result |= (uint32_t)((expression) != 0) << lane;                  \
        }                                                                     \
        rungi_ptx_set_predicate(warp, instruction->operand[0], result, mask); \
    }
#define TESTS(type, T)                                            \
    TEST(finite_##type, T, isfinite(x))                           \
    TEST(infinite_##type, T, isinf(x))                            \
    TEST(number_##type, T, !isnan(x))                             \
    TEST(notanumber_##type, T, isnan(x))                          \
    TEST(normal_##type, T, isnormal(x) || x == 0) /* zeros too */ \
    TEST(subnormal_##type, T, fpclassify(x) == FP_SUBNORMAL)
TESTS(f32, float)
TESTS(f64, double)

#define E_BOTH(comparison) E(setp_##comparison), E(set_##comparison)
#define E_ALIAS(name, comparison)              \
    {"setp_" name, execute_setp_##comparison}, \
    {                                          \
        "set_" name, execute_set_##comparison  \
    }
#define E_INTEGERS(type) \
    E_BOTH(eq_##type), E_BOTH(ne_##type), E_BOTH(lt_##type), E_BOTH(le_##type), E_BOTH(gt_##type), E_BOTH(ge_##type)
#define E_UNSIGNED(type)                                                                \
    E_INTEGERS(type), E_ALIAS("lo_" #type, lt_##type), E_ALIAS("ls_" #type, le_##type), \
        E_ALIAS("hi_" #type, gt_##type), E_ALIAS("hs_" #type, ge_##type)
#define E_BITS(bits) E_ALIAS("eq_b" #bits, eq_u##bits), E_ALIAS("ne_b" #bits, ne_u##bits)
#define E_FLOATS(type)                                                                                \
    E_INTEGERS(type), E_BOTH(equ_##type), E_BOTH(neu_##type), E_BOTH(ltu_##type), E_BOTH(leu_##type), \
        E_BOTH(gtu_##type), E_BOTH(geu_##type), E_BOTH(num_##type), E_BOTH(nan_##type)
#define E_TESTS(type)                                                                                     \
    E(testp_finite_##type), E(testp_infinite_##type), E(testp_number_##type), E(testp_notanumber_##type), \
        E(testp_normal_##type), E(testp_subnormal_##type)
PTX_EXECUTORS(compare) = {E_INTEGERS(s16), E_INTEGERS(s32), E_INTEGERS(s64), E_UNSIGNED(u16), E_UNSIGNED(u32),
                          E_UNSIGNED(u64), E_BITS(16),      E_BITS(32),      E_BITS(64),      E_FLOATS(f32),
                          E_FLOATS(f64),   E_FLOATS(f16),   E_FLOATS(bf16),  E_FLOATS(f16x2), E_FLOATS(bf16x2),
                          E_TESTS(f32),    E_TESTS(f64),    {NULL, NULL}};
