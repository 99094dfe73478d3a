/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_forms.c - every shape and type of mma and mma.sp, and ldmatrix, stmatrix and movmatrix, against references.
 *
 * The references place elements as the PTX manual's formulas for fragments say. All elements are small integers, so that
 * every sum is exact and its order does not matter: the bits of D must be equal. */
#include "matrix_reference.h"
#include "run_ptx.h"

enum { TEXT_BYTES = 1 << 14, SLOTS = 64 };

/* Appends to a text of TEXT_BYTES bytes. */
static void append(char *text, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, TEXT_BYTES - length, format, arguments);
    va_end(arguments);
}

/* ---- mma ----------------------------------------------------------------------------------------------------------- */

/* Writes a list of registers {%x0, %x1}. */
static void append_registers(char *text, char name, int count)
{
    for (int i = 0; i < count; i++)
        append(text, "%s%%%c%d", i ? ", " : "{", name, i);
    append(text, "}");
}

/* Each lane reads its registers from slots of 8 bytes in the order a, b, c and the metadata, and writes those of d. */
static void write_kernel(const form_t *form, const fragment_set_t *set, int selector, char *text)
{
    int counts[] = {set->a_registers, set->b_registers, set->c_registers, set->d_registers};
    bool are_wide[] = {form->a->bits == 64, form->a->bits == 64, form->c->bits == 64, form->d->bits == 64};
    int slot = 0;
    snprintf(
        text, TEXT_BYTES,
        ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%t, %%e; .reg .b64 %%i, %%o;\n");
    for (int i = 0; i < 4; i++)
        append(text, ".reg .b%d %%%c<32>;\n", are_wide[i] ? 64 : 32, "abcd"[i]);
    append(text,
           "mov.u32 %%t, %%laneid;\nld.param.u64 %%i, [in];\nld.param.u64 %%o, [out];\n"
           "mad.wide.u32 %%i, %%t, %d, %%i;\nmad.wide.u32 %%o, %%t, %d, %%o;\n",
           8 * SLOTS, 8 * SLOTS);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < counts[i]; j++)
            append(text, "ld.global.b%d %%%c%d, [%%i+%d];\n", are_wide[i] ? 64 : 32, "abc"[i], j, 8 * slot++);
    append(text, "ld.global.b32 %%e, [%%i+%d];\n%s ", 8 * slot, form->text);
    for (int i = 0; i < 4; i++) {
        append(text, i ? ", " : "");
        append_registers(text, "dabc"[i], counts[i ? i - 1 : 3]);
    }
    if (form->is_sparse)
        append(text, ", %%e, %d", selector);
    append(text, ";\n");
    for (int j = 0; j < counts[3]; j++)
        append(text, "st.global.b%d [%%o+%d], %%d%d;\n", are_wide[3] ? 64 : 32, 8 * j, j);
    append(text, "ret;\n}\n");
}

static void run_kernel(const char *text, const uint64_t in[32][SLOTS], uint64_t out[32][SLOTS])
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t in_address, out_address;
    rung_emulator_options options = rung_emulator_options_default();
    int64_t bytes = 32 * SLOTS * 8;
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "forms.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, bytes, "in", &in_address), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, bytes, "out", &out_address), RUNG_OK);
    assert_int_equal(rung_emulator_write(emulator, in_address, in, bytes), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, out_address, 0, 4, bytes / 4), RUNG_OK);
    void *arguments[] = {&in_address, &out_address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
    assert_int_equal(rung_emulator_finding_count(emulator), 0);
    assert_int_equal(rung_emulator_read(emulator, out_address, out, bytes), RUNG_OK);
    rung_emulator_destroy(emulator);
}

static void check_form(const form_t *form, int selector, uint64_t seed)
{
    static uint64_t in[32][SLOTS], out[32][SLOTS], expected[32][SLOTS];
    static char text[TEXT_BYTES];
    fragment_set_t set;
    memset(in, 0, sizeof in);
    memset(expected, 0, sizeof expected);
    reference_fragments(form, selector, seed, &set, in, expected);
    write_kernel(form, &set, selector, text);
    run_kernel(text, (const uint64_t(*)[SLOTS])in, out);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < set.d_registers; i++)
            if (out[lane][i] != expected[lane][i])
                fail_msg("%s, selector %d, lane %d, register %d: 0x%llx; expected 0x%llx", form->text, selector, lane,
                         i, (unsigned long long)out[lane][i], (unsigned long long)expected[lane][i]);
}

static void test_mma(void **state)
{
    form_t form;
    int count = 0;
    (void)state;
    for (int i = 0; form_at(i, &form); i++)
        for (int selector = 0; selector < form.selectors; selector++)
            for (uint64_t seed = 1; seed <= 3; seed++, count++)
                check_form(&form, selector, seed);
    print_message("%d forms with selectors and seeds\n", count);
    assert_true(count > 300);
}

/* 1 plus a product of 2^-60 or -2^-60, rounded in each mode. Every row of A has the factor in its first column. */
static void test_rounding(void **state)
{
    static const struct {
        const char *name, *factor;
        uint64_t expected;
    } modes[] = {{"", "3C30", 0x3ff0000000000000},    {".rn", "BC30", 0x3ff0000000000000},
                 {".rz", "3C30", 0x3ff0000000000000}, {".rz", "BC30", 0x3fefffffffffffff},
                 {".rm", "3C30", 0x3ff0000000000000}, {".rm", "BC30", 0x3fefffffffffffff},
                 {".rp", "3C30", 0x3ff0000000000001}, {".rp", "BC30", 0x3ff0000000000000}};
    static char text[TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < 2 * sizeof modes / sizeof *modes; i++) {
        bool is_small = i % 2; /* m8n8k4 and m16n8k16 */
        uint64_t out[4 * 32];
        snprintf(text, TEXT_BYTES,
                 ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
                 ".reg .b64 %%a<8>, %%b, %%d<4>, %%o; .reg .b32 %%t, %%u; .reg .pred %%p;\nmov.u32 %%t, %%laneid;\n"
                 "ld.param.u64 %%o, [out];\nmad.wide.u32 %%o, %%t, 32, %%o;\nand.b32 %%u, %%t, 3;\n"
                 "setp.eq.u32 %%p, %%u, 0;\nmov.f64 %%b, 0d3FF0000000000000;\n"
                 "selp.f64 %%a0, 0d%s000000000000, 0d0000000000000000, %%p;\nmov.b64 %%a1, %%a0;\n",
                 modes[i / 2].factor);
        for (int j = 2; j < 8; j++)
            append(text, "mov.b64 %%a%d, 0;\n", j);
        append(text, "mma.sync.aligned.%s.row.col.f64.f64.f64.f64%s ", is_small ? "m8n8k4" : "m16n8k16",
               modes[i / 2].name);
        append_registers(text, 'd', is_small ? 2 : 4);
        append(text, ", ");
        append_registers(text, 'a', is_small ? 1 : 8);
        append(text, is_small ? ", {%%b}, {%%b,%%b};\n" : ", {%%b,%%b,%%b,%%b}, {%%b,%%b,%%b,%%b};\n");
        for (int j = 0; j < (is_small ? 2 : 4); j++)
            append(text, "st.global.b64 [%%o+%d], %%d%d;\n", 8 * j, j);
        append(text, "ret;\n}\n");
        run_t run = run_ptx(text, 32, (uint32_t *)out, 256, RUNG_EMULATOR_CHECK_ALL, 0);
        assert_int_equal(run.status, RUNG_OK);
        for (int j = 0; j < 4 * 32; j++)
            assert_int_equal(out[j], j % 4 < (is_small ? 2 : 4) ? modes[i / 2].expected : 0);
    }
}

/* ---- ldmatrix, stmatrix, movmatrix --------------------------------------------------------------------------------- */

static const char *const orders[] = {"sync.aligned.m8n8.%s%s.shared.b16", "sync.aligned.%s.m8n8%s.shared.b16",
                                     "aligned.%s.b16%s.shared.m8n8.sync"};

/* Shared memory holds the number of each half. Row r of matrix j begins at byte 48 * (8 * j + r), so that rows are not
 * adjacent. Returns the half that lane `lane` gets of matrix j. */
static uint16_t expected_half(int lane, int j, int half, bool transposes)
{
    int row = lane / 4, column = lane % 4 * 2 + half;
    if (transposes) {
        int swap = row;
        row = column;
        column = swap;
    }
    return (uint16_t)(24 * (8 * j + row) + column);
}

static void test_ldmatrix(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    for (int variant = 0; variant < 18; variant++) {
        int count = 1 << variant % 3, transposes = variant / 3 % 2;
        char modifiers[128], number[8];
        uint32_t out[128] = {0};
        snprintf(number, sizeof number, "x%d", count);
        snprintf(modifiers, sizeof modifiers, orders[variant / 6], number, transposes ? ".trans" : "");
        snprintf(
            text, TEXT_BYTES,
            "%s.visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 s[1536];\n"
            ".reg .b32 %%r<4>, %%t, %%x, %%y, %%i; .reg .pred %%p; .reg .b64 %%o;\nmov.u32 %%t, %%laneid;\n"
            "ld.param.u64 %%o, [out];\nmad.wide.u32 %%o, %%t, 16, %%o;\nmov.u32 %%i, 0;\n"
            "L: mad.lo.u32 %%x, %%i, 32, %%t;\nshl.b32 %%x, %%x, 1;\nmov.u32 %%y, s;\nmad.lo.u32 %%y, %%x, 2, %%y;\n"
            "mad.lo.u32 %%x, %%x, 65537, 65536;\nst.shared.b32 [%%y], %%x;\nadd.u32 %%i, %%i, 1;\n"
            "setp.lt.u32 %%p, %%i, 12;\n@%%p bra L;\nbar.warp.sync -1;\nmov.u32 %%x, s;\nmad.lo.u32 %%x, %%t, 48, %%x;\n"
            "ldmatrix.%s {",
            PTX_HEADER, modifiers);
        for (int j = 0; j < count; j++)
            append(text, "%s%%r%d", j ? ", " : "", j);
        append(text, "}, [%%x];\n");
        for (int j = 0; j < count; j++)
            append(text, "st.global.b32 [%%o+%d], %%r%d;\n", 4 * j, j);
        append(text, "ret;\n}\n");
        run_t run = run_ptx(text, 32, out, 128, RUNG_EMULATOR_CHECK_ALL, 0);
        assert_int_equal(run.status, RUNG_OK);
        assert_int_equal(run.findings, 0);
        for (int i = 0; i < 128; i++) {
            int lane = i / 4, j = i % 4;
            uint32_t expected = (uint32_t)expected_half(lane, j, 1, transposes) << 16 |
                                expected_half(lane, j, 0, transposes);
            assert_int_equal(out[i], j < count ? expected : 0);
        }
    }
}

static void test_stmatrix(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    for (int variant = 0; variant < 18; variant++) {
        int count = 1 << variant % 3, transposes = variant / 3 % 2;
        char modifiers[128], number[8];
        uint32_t out[384] = {0};
        snprintf(number, sizeof number, "x%d", count);
        snprintf(modifiers, sizeof modifiers, orders[variant / 6], number, transposes ? ".trans" : "");
        /* Register j of lane t holds the halves 2 * t + 64 * j and 2 * t + 64 * j + 1. */
        snprintf(
            text, TEXT_BYTES,
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
            ".shared .align 16 .b8 s[1536];\n.reg .b32 %%r<4>, %%t, %%x, %%y, %%i; .reg .pred %%p; .reg .b64 %%o;\n"
            "mov.u32 %%t, %%laneid;\nld.param.u64 %%o, [out];\nmad.wide.u32 %%o, %%t, 4, %%o;\nmov.u32 %%y, s;\n"
            "mad.lo.u32 %%y, %%t, 4, %%y;\nmov.u32 %%i, 0;\nmov.u32 %%x, %%y;\n"
            "L: st.shared.b32 [%%x], -1;\nadd.u32 %%x, %%x, 128;\nadd.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, 12;\n"
            "@%%p bra L;\nbar.warp.sync -1;\n");
        for (int j = 0; j < count; j++)
            append(text, "mad.lo.u32 %%r%d, %%t, 131074, %d;\n", j, 65536 + 64 * j * 65537);
        append(text, "mov.u32 %%x, s;\nmad.lo.u32 %%x, %%t, 48, %%x;\nstmatrix.%s [%%x], {", modifiers);
        for (int j = 0; j < count; j++)
            append(text, "%s%%r%d", j ? ", " : "", j);
        append(
            text,
            "};\nbar.warp.sync -1;\nmov.u32 %%i, 0;\n"
            "M: ld.shared.b32 %%x, [%%y];\nst.global.b32 [%%o], %%x;\nadd.u32 %%y, %%y, 128;\nadd.u64 %%o, %%o, 128;\n"
            "add.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, 12;\n@%%p bra M;\nret;\n}\n");
        run_t run = run_ptx(text, 32, out, 384, RUNG_EMULATOR_CHECK_ALL, 0);
        assert_int_equal(run.status, RUNG_OK);
        assert_int_equal(run.findings, 0);
        for (int half = 0; half < 768; half++) {
            int line = half / 24, column = half % 24, row = line % 8, j = line / 8;
            int owner_row = transposes ? column : row, owner_column = transposes ? row : column;
            int lane = 4 * owner_row + owner_column / 2;
            uint16_t expected = 0xffff;
            if (j < count && column < 8)
                expected = (uint16_t)(2 * lane + 64 * j + owner_column % 2);
            assert_int_equal(out[half / 2] >> 16 * (half % 2) & 0xffff, expected);
        }
    }
}

static void test_movmatrix(void **state)
{
    uint32_t out[32];
    run_t run = run_ptx(PTX_HEADER PTX_KERNEL "mad.lo.u32 %r1, %t, 131074, 65536;\n" /* halves 2 * t and 2 * t + 1 */
                                              "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\n"
                                              "st.global.b32 [%rd1], %r2;\nret;\n}\n",
                        32, out, 32, RUNG_EMULATOR_CHECK_ALL, 0);
    (void)state;
    assert_int_equal(run.status, RUNG_OK);
    for (int lane = 0; lane < 32; lane++) {
        int row = lane / 4, column = lane % 4 * 2; /* of the result; the source's are exchanged */
        assert_int_equal(out[lane] & 0xffff, 8 * column + row);
        assert_int_equal(out[lane] >> 16, 8 * (column + 1) + row);
    }
}

/* ---- What is refused ----------------------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    static const struct {
        const char *statement, *message;
    } cases[] = {
        {"mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3};",
         "not known (valid is mma.sync.aligned.{m16n8k8/m16n8k16}.row.col.f32.f16.f16.f32)"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3};",
         "modifier"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4}, {%r6}, {%r0,%r1,%r2,%r3};",
         "registers"},
        {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
         "{%r4,%r5,%r6,%r7}, {%r0,%r1,%r2,%r3}, %r8, 2;",
         "0 to 1"},
        {"mma.sync.aligned.m0016n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3};",
         "m0016n8k8"},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r1];", "registers"},
        {"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0,%r2,%r3}, [%r1];", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_emulator *emulator;
        rung_emulator_module *module;
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s\nret;\n}\n", PTX_HEADER, PTX_KERNEL, cases[i].statement);
        assert_int_equal(rung_emulator_create(NULL, &emulator), RUNG_OK);
        assert_int_not_equal(rung_emulator_module_load(emulator, "refused.ptx", text, strlen(text), &module), RUNG_OK);
        if (!strstr(rung_error_text(), cases[i].message))
            fail_msg("%s: %s", cases[i].statement, rung_error_text());
        rung_emulator_destroy(emulator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mma),       cmocka_unit_test(test_rounding),
                                       cmocka_unit_test(test_ldmatrix),  cmocka_unit_test(test_stmatrix),
                                       cmocka_unit_test(test_movmatrix), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
