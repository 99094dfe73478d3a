/* SPDX-License-Identifier: Apache-2.0 */
/* mma.c - every form of mma.sync against sums in the order of k that are computed element by element, and instructions that
 * share A. */
#include "run_ptx.h"

#include <math.h>

enum { LANES = 32, K_MAX = 64, ROUNDS = 20 };

/* A type of elements: bits, and the number that these bits are. */
typedef struct element {
    const char *name;
    int bits;
    double (*value)(uint64_t bits);
} element_t;

static double value_f16(uint64_t bits)
{
    return (double)rung_f16_to_f32((uint16_t)bits);
}

static double value_bf16(uint64_t bits)
{
    return (double)rung_bf16_to_f32((uint16_t)bits);
}

static double value_f32(uint64_t bits)
{
    float value;
    uint32_t word = (uint32_t)bits;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

static double value_tf32(uint64_t bits)
{
    return value_f32(bits & ~UINT64_C(0x1fff));
}

static double value_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Decodes a number of 8 bits by the definition of its format. */
static double value_fp8(uint64_t bits, int fraction_bits, int bias)
{
    int exponent = (int)(bits >> fraction_bits) & ((1 << (7 - fraction_bits)) - 1);
    int fraction = (int)bits & ((1 << fraction_bits) - 1);
    double value = exponent ? ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)
                            : ldexp(fraction, 1 - bias - fraction_bits);
    return bits & 0x80 ? -value : value;
}

static double value_e4m3(uint64_t bits)
{
    return (bits & 0x7f) == 0x7f ? NAN : value_fp8(bits, 3, 7);
}

static double value_e5m2(uint64_t bits)
{
    if ((bits & 0x7c) == 0x7c)
        return bits & 3 ? NAN : bits & 0x80 ? -INFINITY : INFINITY;
    return value_fp8(bits, 2, 15);
}

static double value_s8(uint64_t bits)
{
    return (int8_t)bits;
}

static double value_u8(uint64_t bits)
{
    return (uint8_t)bits;
}

static double value_s4(uint64_t bits)
{
    return (int)(bits & 15) - (bits & 8 ? 16 : 0);
}

static double value_u4(uint64_t bits)
{
    return (int)(bits & 15);
}

static double value_s32(uint64_t bits)
{
    return (int32_t)(uint32_t)bits;
}

static const element_t elements[] = {{"f16", 16, value_f16},  {"bf16", 16, value_bf16}, {"tf32", 32, value_tf32},
                                     {"f32", 32, value_f32},  {"f64", 64, value_f64},   {"e4m3", 8, value_e4m3},
                                     {"e5m2", 8, value_e5m2}, {"s8", 8, value_s8},      {"u8", 8, value_u8},
                                     {"s4", 4, value_s4},     {"u4", 4, value_u4},      {"s32", 32, value_s32}};

static const element_t *element_called(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strcmp(elements[i].name, name) == 0)
            return &elements[i];
    fail_msg("no type %s", name);
    return NULL;
}

/* One instruction. */
typedef struct form {
    int m, k;
    const char *d, *a, *b;
    bool saturates;
} form_t;

#define INTEGERS(m, k, s, u)                                                           \
    {m, k, "s32", s, s, false}, {m, k, "s32", s, u, true}, {m, k, "s32", u, s, false}, \
    {                                                                                  \
        m, k, "s32", u, u, true                                                        \
    }
#define FP8(k, d)                                                                                            \
    {16, k, d, "e4m3", "e4m3", false}, {16, k, d, "e4m3", "e5m2", false}, {16, k, d, "e5m2", "e4m3", false}, \
    {                                                                                                        \
        16, k, d, "e5m2", "e5m2", false                                                                      \
    }
static const form_t forms[] = {{16, 8, "f32", "f16", "f16", false},
                               {16, 16, "f32", "f16", "f16", false},
                               {16, 8, "f16", "f16", "f16", false},
                               {16, 16, "f16", "f16", "f16", false},
                               {16, 8, "f32", "bf16", "bf16", false},
                               {16, 16, "f32", "bf16", "bf16", false},
                               {16, 4, "f32", "tf32", "tf32", false},
                               {16, 8, "f32", "tf32", "tf32", false},
                               {8, 4, "f64", "f64", "f64", false},
                               {16, 4, "f64", "f64", "f64", false},
                               {16, 8, "f64", "f64", "f64", false},
                               {16, 16, "f64", "f64", "f64", false},
                               INTEGERS(8, 16, "s8", "u8"),
                               INTEGERS(16, 16, "s8", "u8"),
                               INTEGERS(16, 32, "s8", "u8"),
                               INTEGERS(8, 32, "s4", "u4"),
                               INTEGERS(16, 32, "s4", "u4"),
                               INTEGERS(16, 64, "s4", "u4"),
                               FP8(16, "f32"),
                               FP8(32, "f32"),
                               FP8(16, "f16"),
                               FP8(32, "f16")};

/* ---- Kernel -------------------------------------------------------------------------------------------------------- */

static int register_bits(const element_t *type)
{
    return type->bits == 64 ? 64 : 32;
}

static int register_count(const element_t *type, int count)
{
    return count * type->bits / register_bits(type) / LANES;
}

typedef struct layout {
    const element_t *type;
    int rows, columns, registers;
    char name;
    int first; /* 32-bit word of a lane in memory */
} layout_t;

/* A kernel that loads registers, multiplies and stores D. Lane l has `words` words from 4 * words * l on. */
static void write_kernel(const form_t *form, const layout_t parts[4], int words, char *text, size_t capacity)
{
    int used = snprintf(text, capacity, "%s.visible .entry k(.param .u64 out)\n{\n.reg .b64 %%x<4>; .reg .b32 %%t;\n",
                        ".version 8.8\n.target sm_90\n.address_size 64\n");
    char list[4][400];
    for (int i = 0; i < 4; i++) {
        const layout_t *part = &parts[i];
        int bits = register_bits(part->type), at = snprintf(list[i], sizeof list[i], "{");
        used += snprintf(text + used, capacity - (size_t)used, ".reg .b%d %%%c<%d>;\n", bits, part->name,
                         part->registers);
        for (int r = 0; r < part->registers; r++)
            at += snprintf(list[i] + at, sizeof list[i] - (size_t)at, "%s%%%c%d", r ? ", " : "", part->name, r);
        snprintf(list[i] + at, sizeof list[i] - (size_t)at, "}");
    }
    used += snprintf(text + used, capacity - (size_t)used,
                     "mov.u32 %%t, %%tid.x;\nld.param.u64 %%x0, [out];\nmul.wide.u32 %%x1, %%t, %d;\n"
                     "add.s64 %%x0, %%x0, %%x1;\n",
                     4 * words);
    for (int i = 1; i < 4; i++)
        for (int r = 0; r < parts[i].registers; r++)
            used += snprintf(text + used, capacity - (size_t)used, "ld.global.b%d %%%c%d, [%%x0+%d];\n",
                             register_bits(parts[i].type), parts[i].name, r,
                             4 * parts[i].first + r * register_bits(parts[i].type) / 8);
    used += snprintf(text + used, capacity - (size_t)used,
                     "mma.sync.aligned.m%dn8k%d.row.col%s.%s.%s.%s.%s %s, %s, %s, %s;\n", form->m, form->k,
                     form->saturates ? ".satfinite" : "", form->d, form->a, form->b, form->d, list[0], list[1], list[2],
                     list[3]);
    for (int r = 0; r < parts[0].registers; r++)
        used += snprintf(text + used, capacity - (size_t)used, "st.global.b%d [%%x0+%d], %%d%d;\n",
                         register_bits(parts[0].type), 4 * parts[0].first + r * register_bits(parts[0].type) / 8, r);
    snprintf(text + used, capacity - (size_t)used, "ret;\n}\n");
}

/* ---- Reference ----------------------------------------------------------------------------------------------------- */

/* Returns the bits of an element, found as the PTX manual describes the fragments: A by rows, B by columns, C by rows. */
static uint64_t element_at(const layout_t *part, const uint32_t *memory, int words, int row, int column)
{
    int per_register = register_bits(part->type) / part->type->bits, lane, index;
    bool is_sum = part->name == 'c' || part->name == 'd';
    if (is_sum) { /* two neighbors in a row per lane */
        lane = row % 8 * 4 + column / 2;
        index = column % 2 + 2 * (row / 8);
    } else {
        int major = part->name == 'a' ? row : column, k = part->name == 'a' ? column : row;
        int in_group = k % (4 * per_register), groups = part->name == 'a' ? part->rows / 8 : 1;
        lane = major % 8 * 4 + in_group / per_register;
        index = in_group % per_register + per_register * (major / 8 + groups * (k / (4 * per_register)));
    }
    uint64_t word = 0;
    int at = words * lane + part->first + index / per_register * (register_bits(part->type) / 32);
    memcpy(&word, memory + at, (size_t)register_bits(part->type) / 8);
    word >>= index % per_register * part->type->bits;
    return part->type->bits == 64 ? word : word & ((UINT64_C(1) << part->type->bits) - 1);
}

/* Adds the products of a row and a column to C in the order of k. */
static double reference(const form_t *form, const layout_t parts[4], const uint32_t *memory, int words, int row,
                        int column)
{
    double sum = parts[3].type->value(element_at(&parts[3], memory, words, row, column));
    for (int k = 0; k < form->k; k++) {
        double a = parts[1].type->value(element_at(&parts[1], memory, words, row, k));
        double b = parts[2].type->value(element_at(&parts[2], memory, words, k, column));
        sum = strcmp(form->d, "f64") == 0 ? fma(a, b, sum)
              : form->d[0] == 'f'         ? (double)fmaf((float)a, (float)b, (float)sum)
                                          : sum + a * b;
    }
    if (strcmp(form->d, "f16") == 0)
        return (double)rung_f16_to_f32(rung_f16_from_f32((float)sum));
    if (form->d[0] == 'f')
        return sum;
    if (form->saturates)
        return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (int32_t)(uint32_t)(int64_t)sum;
}

/* ---- Comparison ---------------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static uint32_t random_word(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

/* Fills a lane's registers. Most values are of similar size, so that sums round; some rounds take any bits. */
static void fill(const layout_t *part, uint32_t *words, bool takes_any)
{
    for (int r = 0; r < part->registers * register_bits(part->type) / 32; r++) {
        uint32_t word = random_word();
        if (!takes_any && part->type->bits == 16)
            word = (word & 0x83ff83ff) | (part->type->name[0] == 'b' ? 0x3f003f80 : 0x38003c00);
        else if (!takes_any && part->type->bits == 32 && part->type->name[0] != 's')
            word = (word & 0x807fffff) | 0x3f800000;
        else if (!takes_any && part->type->bits == 64 && r % 2)
            word = (word & 0x800fffff) | 0x3ff00000;
        words[part->first + r] = word;
    }
}

static void compare(const form_t *form, const layout_t parts[4], const uint32_t *memory, int words)
{
    for (int row = 0; row < form->m; row++)
        for (int column = 0; column < 8; column++) {
            double expected = reference(form, parts, memory, words, row, column);
            double actual = parts[0].type->value(element_at(&parts[0], memory, words, row, column));
            if (!(expected == actual || (isnan(expected) && isnan(actual))))
                fail_msg("m%dn8k%d %s %s %s: row %d, column %d is %a instead of %a", form->m, form->k, form->d, form->a,
                         form->b, row, column, actual, expected);
        }
}

static void run_form(const form_t *form)
{
    enum { WORDS_MAX = 64, TEXT = 16384 };
    layout_t parts[4] = {{.type = element_called(form->d), .rows = form->m, .columns = 8, .name = 'd'},
                         {.type = element_called(form->a), .rows = form->m, .columns = form->k, .name = 'a'},
                         {.type = element_called(form->b), .rows = form->k, .columns = 8, .name = 'b'},
                         {.type = element_called(form->d), .rows = form->m, .columns = 8, .name = 'c'}};
    uint32_t memory[LANES * WORDS_MAX];
    char text[TEXT];
    int words = 0;
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address;
    for (int i = 0; i < 4; i++) {
        parts[i].registers = register_count(parts[i].type, parts[i].rows * parts[i].columns);
        parts[i].first = words;
        words += parts[i].registers * register_bits(parts[i].type) / 32;
        words += words % 2;
    }
    assert_true(words <= WORDS_MAX);
    write_kernel(form, parts, words, text, sizeof text);
    assert_int_equal(rung_emulator_create(NULL, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "mma.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4 * LANES * words, "out", &address), RUNG_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (int lane = 0; lane < LANES; lane++)
            for (int i = 0; i < 4; i++)
                fill(&parts[i], memory + words * lane, round % 4 == 3);
        void *arguments[] = {&address};
        rung_emulator_launch launch = rung_emulator_launch_of(1, LANES, arguments);
        assert_int_equal(rung_emulator_write(emulator, address, memory, 4 * LANES * words), RUNG_OK);
        assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
        assert_int_equal(rung_emulator_read(emulator, address, memory, 4 * LANES * words), RUNG_OK);
        compare(form, parts, memory, words);
    }
    rung_emulator_destroy(emulator);
}

static void multiplies_like_the_definition(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        run_form(&forms[i]);
}

/* Runs two instructions with the same registers of A and stores D of the second one. In between, lane 5 changes A if
 * `changes`; if it `begins` with the changed A, the first instruction has it, too. */
static void run_twice(const char *type, bool changes, bool begins, uint32_t out[4 * LANES])
{
    static const char change[] = "setp.eq.u32 %p0, %t, 5;\n@%p0 xor.b32 %r3, %r3, 0x01000080;\n";
    char text[4096], mma[512];
    snprintf(mma, sizeof mma,
             "mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 {%%r8,%%r9,%%r10,%%r11}, {%%r0,%%r1,%%r2,%%r3}, "
             "{%%r4,%%r5}, {%%r12,%%r12,%%r12,%%r12};\n",
             type, type);
    snprintf(text, sizeof text,
             "%s%smov.u32 %%r12, 0;\nmad.lo.u32 %%r0, %%t, 0x00030005, 0x3c003c00;\nadd.u32 %%r1, %%r0, 0x00110007;\n"
             "add.u32 %%r2, %%r1, 0x00010013;\nadd.u32 %%r3, %%r2, 0x00050003;\nadd.u32 %%r4, %%r1, %%t;\n"
             "add.u32 %%r5, %%r4, %%t;\n%s%sadd.u32 %%r4, %%r4, 1;\n%s%smad.wide.u32 %%rd2, %%t, 16, %%rd0;\n"
             "st.global.v4.b32 [%%rd2], {%%r8,%%r9,%%r10,%%r11};\nret;\n}\n",
             PTX_HEADER, PTX_KERNEL, begins ? change : "", mma, changes && !begins ? change : "", mma);
    assert_int_equal(run_ptx(text, LANES, out, 4 * (int64_t)LANES, 0, 0).status, RUNG_OK);
}

/* The emulator remembers the A of the last instruction: it must see a change of one lane. */
static void sees_that_a_changes(void **unused)
{
    static const char *const types[] = {"f16", "bf16"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        uint32_t same[4 * LANES], changed[4 * LANES], expected[4 * LANES];
        run_twice(types[i], false, false, same);
        run_twice(types[i], true, false, changed);
        run_twice(types[i], true, true, expected);
        assert_memory_equal(changed, expected, sizeof changed);
        assert_memory_not_equal(changed, same, sizeof changed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(multiplies_like_the_definition),
                                       cmocka_unit_test(sees_that_a_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
