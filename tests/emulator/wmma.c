/* SPDX-License-Identifier: Apache-2.0 */
/* wmma.c - wmma.load, wmma.mma and wmma.store of every shape, type and layout, in global and shared memory, and their counts.
 *
 * All elements are small integers, so that every sum is exact: D must be equal. The expected numbers of requests are those of
 * the SASS that ptxas 13.0 makes for sm_86. */
#include "run_ptx.h"

enum { TEXT_BYTES = 8192, REGION = 8192, REGIONS = 4, WORDS = REGIONS * REGION / 4 };

typedef struct wmma_type {
    const char *name;
    int bits;
    bool is_integer, is_unsigned;
} wmma_type_t;

static const wmma_type_t f16 = {"f16", 16, 0, 0}, bf16 = {"bf16", 16, 0, 0}, tf32 = {"tf32", 32, 0, 0},
                         f32 = {"f32", 32, 0, 0}, f64 = {"f64", 64, 0, 0}, s8 = {"s8", 8, 1, 0}, u8 = {"u8", 8, 1, 1},
                         s4 = {"s4", 4, 1, 0}, u4 = {"u4", 4, 1, 1}, b1 = {"b1", 1, 1, 1}, s32 = {"s32", 32, 1, 0};

/* Types, shapes, and modifiers of wmma.mma before the shape and behind it. */
typedef struct wmma_form {
    const wmma_type_t *a, *c, *d;
    const char *shapes, *prefix, *types;
} wmma_form_t;

static const wmma_form_t forms[] = {{&f16, &f32, &f32, "m16n16k16 m8n32k16 m32n8k16", "", "f32.f32"},
                                    {&f16, &f16, &f16, "m16n16k16 m8n32k16 m32n8k16", "", "f16.f16.satfinite"},
                                    {&f16, &f16, &f32, "m16n16k16 m8n32k16 m32n8k16", "", "f32.f16"},
                                    {&bf16, &f32, &f32, "m16n16k16 m8n32k16 m32n8k16", "", "f32.bf16.bf16.f32"},
                                    {&tf32, &f32, &f32, "m16n16k8", "", "f32.tf32.tf32.f32"},
                                    {&f64, &f64, &f64, "m8n8k4", "", "f64.f64.f64.f64"},
                                    {&f64, &f64, &f64, "m8n8k4", "", "rz.f64.f64.f64.f64"},
                                    {&s8, &s32, &s32, "m16n16k16 m8n32k16 m32n8k16", "", "s32.s8.s8.s32"},
                                    {&u8, &s32, &s32, "m16n16k16 m8n32k16 m32n8k16", "", "s32.u8.u8.s32.satfinite"},
                                    {&s4, &s32, &s32, "m8n8k32", "", "s32.s4.s4.s32"},
                                    {&u4, &s32, &s32, "m8n8k32", "", "s32.u4.u4.s32.satfinite"},
                                    {&b1, &s32, &s32, "m8n8k128", "xor.popc.", "s32.b1.b1.s32"},
                                    {&b1, &s32, &s32, "m8n8k128", "and.popc.", "s32.b1.b1.s32"}};

/* A matrix in memory. */
typedef struct matrix {
    const wmma_type_t *type;
    int rows, columns, stride;
    bool is_column_major;
    int32_t values[1024];
} matrix_t;

typedef struct wmma_case {
    const wmma_form_t *form;
    int m, n, k;
    matrix_t a, b, c, d;
    bool is_shared;
    uint64_t seed;
} wmma_case_t;

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

static uint64_t encode(const wmma_type_t *type, int32_t value)
{
    double wide = value;
    float single = (float)value;
    uint64_t bits64;
    uint32_t bits;
    memcpy(&bits64, &wide, 8);
    memcpy(&bits, &single, 4);
    if (type->is_integer)
        return (uint32_t)value & (type->bits == 32 ? ~0u : (1u << type->bits) - 1);
    if (type->bits != 16)
        return type->bits == 64 ? bits64 : bits;
    if (strcmp(type->name, "bf16") == 0)
        return bits >> 16;
    return value ? (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)) : 0;
}

static int position_of(const matrix_t *matrix, int i)
{
    int row = i / matrix->columns, column = i % matrix->columns;
    return matrix->is_column_major ? column * matrix->stride + row : row * matrix->stride + column;
}

static void put(unsigned char *memory, const wmma_type_t *type, int position, uint64_t bits)
{
    if (type->bits >= 8)
        memcpy(memory + position * (type->bits / 8), &bits, (size_t)type->bits / 8);
    else
        memory[position * type->bits / 8] |= (unsigned char)(bits << position * type->bits % 8);
}

static void write_matrix(const matrix_t *matrix, unsigned char *memory)
{
    for (int i = 0; i < matrix->rows * matrix->columns; i++)
        put(memory, matrix->type, position_of(matrix, i), encode(matrix->type, matrix->values[i]));
}

static matrix_t make_matrix(wmma_case_t *test, const wmma_type_t *type, int rows, int columns, bool is_column_major)
{
    matrix_t matrix = {.type = type, .rows = rows, .columns = columns, .is_column_major = is_column_major};
    int line = is_column_major ? rows : columns, step = type->bits < 8 ? line : 16;
    matrix.stride = line + step;
    for (int i = 0; i < rows * columns; i++) {
        test->seed = test->seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(test->seed >> 33);
        matrix.values[i] = type->bits == 1     ? (int32_t)(random & 1)
                           : type->is_unsigned ? (int32_t)(random % 16)
                                               : (int32_t)(random % 7) - 3;
    }
    return matrix;
}

static void multiply(wmma_case_t *test)
{
    bool is_and = strncmp(test->form->prefix, "and", 3) == 0;
    for (int i = 0; i < test->m * test->n; i++) {
        int row = i / test->n, column = i % test->n;
        int32_t sum = test->c.values[i];
        for (int k = 0; k < test->k; k++) {
            int32_t x = test->a.values[row * test->k + k], y = test->b.values[k * test->n + column];
            sum += test->form->a->bits > 1 ? x * y : is_and ? (x & y) : (x ^ y);
        }
        test->d.values[i] = sum;
    }
}

/* ---- Kernel -------------------------------------------------------------------------------------------------------- */

static void append(char *text, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, TEXT_BYTES - length, format, arguments);
    va_end(arguments);
}

static void append_list(char *text, char name, int count)
{
    for (int i = 0; i < count; i++)
        append(text, "%s%%%c%d", i ? ", " : "{", name, i);
    append(text, "}");
}

/* Registers of a fragment, as the manual lists them. */
static int registers_of(const matrix_t *matrix, char name)
{
    int elements = matrix->rows * matrix->columns;
    if (matrix->type == &f16 && (name == 'a' || name == 'b'))
        return 8;
    return matrix->type->bits == 64 ? elements / 32 : elements * matrix->type->bits / 32 / 32;
}

/* The regions of A, B, C and D follow each other. With `is_shared`, they are copied to shared memory and back. */
static void write_kernel(const wmma_case_t *test, char *text)
{
    const char *space = test->is_shared ? "shared" : "global", *base = test->is_shared ? "%s" : "%g";
    const matrix_t *matrices[] = {&test->a, &test->b, &test->c, &test->d};
    char shape[32];
    snprintf(shape, sizeof shape, "m%dn%dk%d", test->m, test->n, test->k);
    snprintf(text, TEXT_BYTES,
             "%s.visible .entry k(.param .u64 out)\n{\n.shared .align 32 .b8 memory[%d];\n"
             ".reg .b32 %%s, %%t, %%x, %%i, %%j; .reg .b64 %%g, %%h; .reg .pred %%p;\n",
             PTX_HEADER, REGIONS * REGION);
    for (int i = 0; i < 4; i++)
        append(text, ".reg .b%d %%%c<32>;\n", matrices[i]->type->bits == 64 ? 64 : 32, "abcd"[i]);
    append(text,
           "ld.param.u64 %%g, [out];\nmov.u32 %%s, memory;\nmov.u32 %%t, %%laneid;\nmad.wide.u32 %%h, %%t, 4, %%g;\n"
           "mad.lo.u32 %%j, %%t, 4, %%s;\nmov.u32 %%i, 0;\n");
    if (test->is_shared)
        append(
            text,
            "L: ld.global.b32 %%x, [%%h];\nst.shared.b32 [%%j], %%x;\nadd.u64 %%h, %%h, 128;\nadd.u32 %%j, %%j, 128;\n"
            "add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %d;\n@%%p bra L;\nbar.warp.sync -1;\n",
            WORDS / 32);
    for (int i = 0; i < 3; i++) {
        append(text, "wmma.load.%c.sync.aligned.%s.%s.%s.%s ", "abc"[i], matrices[i] -> is_column_major ? "col" : "row",
               shape, space, matrices[i]->type->name);
        append_list(text, "abc"[i], registers_of(matrices[i], "abc"[i]));
        append(text, ", [%s+%d], %d;\n", base, i * REGION, matrices[i]->stride);
    }
    append(text, "wmma.mma.%ssync.aligned.%s.%s.%s.%s ", test->form->prefix, test->a.is_column_major ? "col" : "row",
           test->b.is_column_major ? "col" : "row", shape, test->form->types);
    for (int i = 0; i < 4; i++) {
        append_list(text, "dabc"[i], registers_of(matrices[(i + 3) % 4], "dabc"[i]));
        append(text, i < 3 ? ", " : ";\n");
    }
    append(text, "wmma.store.d.sync.aligned.%s.%s.%s.%s [%s+%d], ", test->d.is_column_major ? "col" : "row", shape,
           space, test->d.type->name, base, 3 * REGION);
    append_list(text, 'd', registers_of(&test->d, 'd'));
    append(text, ", %d;\n", test->d.stride);
    if (test->is_shared)
        append(
            text,
            "bar.warp.sync -1;\nmad.wide.u32 %%h, %%t, 4, %%g;\nmad.lo.u32 %%j, %%t, 4, %%s;\nmov.u32 %%i, 0;\n"
            "M: ld.shared.b32 %%x, [%%j];\nst.global.b32 [%%h], %%x;\nadd.u64 %%h, %%h, 128;\nadd.u32 %%j, %%j, 128;\n"
            "add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, %d;\n@%%p bra M;\n",
            WORDS / 32);
    append(text, "ret;\n}\n");
}

/* Runs a kernel on `memory`. The caller destroys the emulator. */
static rung_emulator *run(const char *text, unsigned char *memory)
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address;
    rung_emulator_options options = rung_emulator_options_default();
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    options.count_accesses = true;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "wmma.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, REGIONS * REGION, "memory", &address), RUNG_OK);
    assert_int_equal(rung_emulator_write(emulator, address, memory, REGIONS * REGION), RUNG_OK);
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
    if (rung_emulator_finding_count(emulator) > 0)
        fail_msg("%s\n%s", rung_emulator_finding_at(emulator, 0)->text, text);
    assert_int_equal(rung_emulator_read(emulator, address, memory, REGIONS * REGION), RUNG_OK);
    return emulator;
}

static wmma_case_t make_case(const wmma_form_t *form, const char *shape, int variant)
{
    wmma_case_t test = {.form = form, .is_shared = variant & 8, .seed = (uint64_t)variant + 1};
    bool is_small = form->a->bits < 8; /* A is row-major, B column-major */
    sscanf(shape, "m%dn%dk%d", &test.m, &test.n, &test.k);
    test.a = make_matrix(&test, form->a, test.m, test.k, !is_small && (variant & 1));
    test.b = make_matrix(&test, form->a, test.k, test.n, is_small || (variant & 2));
    test.c = make_matrix(&test, form->c, test.m, test.n, variant & 4);
    test.d = make_matrix(&test, form->d, test.m, test.n, variant & 4);
    return test;
}

static rung_emulator *run_case(wmma_case_t *test, unsigned char *memory)
{
    static char text[TEXT_BYTES];
    const matrix_t *matrices[] = {&test->a, &test->b, &test->c};
    memset(memory, 0, REGIONS * REGION);
    for (int i = 0; i < 3; i++)
        write_matrix(matrices[i], memory + i * REGION);
    write_kernel(test, text);
    return run(text, memory);
}

/* ---- Tests --------------------------------------------------------------------------------------------------------- */

static void test_results(void **state)
{
    static unsigned char memory[REGIONS * REGION], expected[REGION];
    int count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (const char *shape = forms[i].shapes; shape; shape = strchr(shape, ' '), shape += shape ? 1 : 0)
            for (int variant = 0; variant < 16; variant++, count++) {
                wmma_case_t test = make_case(&forms[i], shape, variant);
                multiply(&test);
                rung_emulator_destroy(run_case(&test, memory));
                memset(expected, 0, sizeof expected);
                write_matrix(&test.d, expected);
                if (memcmp(expected, memory + 3 * REGION, REGION) != 0)
                    fail_msg("m%dn%dk%d %s, variant %d: D is wrong", test.m, test.n, test.k, forms[i].types, variant);
            }
    print_message("%d cases\n", count);
}

/* Finds the row of an instruction whose text contains `name`. */
static const rung_emulator_line *find_line(rung_emulator *emulator, const char *name)
{
    for (int64_t i = 0; i < rung_emulator_line_count(emulator); i++)
        if (strstr(rung_emulator_line_at(emulator, i)->instruction, name))
            return rung_emulator_line_at(emulator, i);
    fail_msg("no counts of %s", name);
    return NULL;
}

/* Form, shape, variant (bits: A, B, C and D column-major, shared memory), instruction; requests, bytes per lane, and sectors or
 * wavefronts. Lines of memory are 16 elements longer than the matrix. */
static const struct {
    int form;
    const char *shape;
    int variant;
    const char *instruction;
    int64_t requests, width, cost;
} counted[] = {
    {0, "m16n16k16", 0, "wmma.load.a", 4, 4, 32}, /* LDG.32 of 8 rows with 16 bytes each */
    {0, "m16n16k16", 1, "wmma.load.a", 4, 4, 32},
    {0, "m32n8k16", 0, "wmma.load.a", 8, 4, 64},
    {0, "m32n8k16", 0, "wmma.load.b", 2, 4, 16},
    {0, "m16n16k16", 8, "wmma.load.a", 1, 16, 16}, /* LDSM.x4; rows are 64 bytes apart: 4 wavefronts per matrix */
    {0, "m32n8k16", 8, "wmma.load.a", 2, 16, 32},
    {0, "m8n32k16", 8, "wmma.load.a", 1, 16, 8},  /* LDSM.x2 */
    {0, "m16n16k16", 0, "wmma.load.c", 4, 8, 32}, /* LDG.64 */
    {0, "m16n16k16", 4, "wmma.load.c", 8, 4, 32}, /* LDG.32 of 4 columns with 32 bytes each */
    {0, "m8n32k16", 0, "wmma.load.c", 8, 4, 32},
    {0, "m16n16k16", 0, "wmma.store.d", 4, 8, 32},
    {0, "m16n16k16", 12, "wmma.store.d", 8, 4, 32}, /* STS.32; columns are 128 bytes apart: 4 wavefronts */
    {1, "m16n16k16", 0, "wmma.load.c", 4, 4, 32},
    {1, "m16n16k16", 8, "wmma.load.c", 4, 4, 16}, /* LDS.32 */
    {4, "m16n16k8", 0, "wmma.load.a", 4, 4, 32},
    {5, "m8n8k4", 0, "wmma.load.a", 1, 8, 8},
    {5, "m8n8k4", 0, "wmma.load.c", 1, 16, 16},
    {5, "m8n8k4", 4, "wmma.load.c", 2, 8, 16},
    {7, "m16n16k16", 0, "wmma.load.a", 2, 4, 16},
    {7, "m16n16k16", 1, "wmma.load.a", 8, 1, 32},
    {7, "m16n16k16", 8, "wmma.load.a", 1, 16, 4}}; /* LDSM.x2; rows are 32 bytes apart: 2 wavefronts per matrix */

static void test_counts(void **state)
{
    static unsigned char memory[REGIONS * REGION];
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        wmma_case_t test = make_case(&forms[counted[i].form], counted[i].shape, counted[i].variant);
        rung_emulator *emulator = run_case(&test, memory);
        const rung_emulator_line *line = find_line(emulator, counted[i].instruction);
        int64_t cost = test.is_shared ? line->wavefronts : line->sectors;
        if (line->requests != counted[i].requests || line->width != counted[i].width || cost != counted[i].cost)
            fail_msg("%s of %s %s, variant %d: %lld requests of %d bytes, cost %lld; expected %lld of %lld, cost %lld",
                     counted[i].instruction, counted[i].shape, forms[counted[i].form].types, counted[i].variant,
                     (long long)line->requests, (int)line->width, (long long)cost, (long long)counted[i].requests,
                     (long long)counted[i].width, (long long)counted[i].cost);
        rung_emulator_destroy(emulator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results), cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
