/* SPDX-License-Identifier: Apache-2.0 */
/* count_rows.c - tests which accesses the emulator counts as merged, and its lists of lines, arrays and totals. */
#include "emulator/counted_kernel.h"

/* ---- Merged accesses ----------------------------------------------------------------------------------------------- */

/* %r10 is first + 16 * tid, and %r11 is first + 8 * tid. The widths are those of ptxas 13.0 for sm_86. */
static void merges_accesses_like_ptxas(void **state)
{
    (void)state;
    static const char addresses[] = "mad.lo.u32 %r10, %r1, 16, %r4;\nshl.b32 %r6, %r1, 3;\nadd.u32 %r11, %r4, %r6;\n";
    static const struct {
        const char *body;
        int64_t loads[5], stores[5]; /* of 1, 2, 4, 8 and 16 bytes */
    } cases[] = {
        {"ld.shared.f32 %f1, [%r10]; ld.shared.f32 %f2, [%r10+4]; ld.shared.f32 %f3, [%r10+8]; ld.shared.f32 %f4, [%r10+12];",
         {0, 0, 0, 0, 1},
         {0}},
        {"ld.shared.f32 %f1, [%r10+4]; ld.shared.f32 %f2, [%r10+12]; ld.shared.f32 %f3, [%r10+8];",
         {0, 0, 0, 0, 1},
         {0}},
        {"ld.shared.f32 %f1, [%r10]; ld.shared.f32 %f2, [%r10+4];", {0, 0, 0, 1, 0}, {0}},
        {"ld.shared.f32 %f1, [%r10+4]; ld.shared.f32 %f2, [%r10+8];", {0, 0, 2, 0, 0}, {0}},
        {"ld.shared.f32 %f1, [%r11]; ld.shared.f32 %f2, [%r11+4]; ld.shared.f32 %f3, [%r11+8];", {0, 0, 1, 1, 0}, {0}},
        {"ld.shared.f32 %f1, [%r10]; st.shared.f32 [%r10+64], %f1; ld.shared.f32 %f2, [%r10+4];",
         {0, 0, 2, 0, 0},
         {0, 0, 1}},
        {"ld.shared.f32 %f1, [%r10]; st.global.f32 [%rd6], %f1; ld.shared.f32 %f2, [%r10+4];", {0, 0, 0, 1, 0}, {0}},
        {"ld.shared.f32 %f1, [%r10]; bar.sync 0; ld.shared.f32 %f2, [%r10+4];", {0, 0, 2, 0, 0}, {0}},
        {"ld.shared.f32 %f1, [%r10]; add.u32 %r10, %r10, 32; ld.shared.f32 %f2, [%r10+4];", {0, 0, 2, 0, 0}, {0}},
        {"ld.shared.f32 %f1, [%r10]; add.u32 %r12, %r10, 4; ld.shared.f32 %f2, [%r12];", {0, 0, 0, 1, 0}, {0}},
        {"setp.lt.u32 %p1, %r1, 64; @%p1 ld.shared.f32 %f1, [%r10]; @%p1 ld.shared.f32 %f2, [%r10+4];",
         {0, 0, 2, 0, 0},
         {0}},
        {"ld.volatile.shared.f32 %f1, [%r10]; ld.volatile.shared.f32 %f2, [%r10+4];", {0, 0, 2, 0, 0}, {0}},
        {"ld.shared.v2.f32 {%f1, %f2}, [%r10]; ld.shared.f32 %f3, [%r10+8];", {0, 0, 0, 0, 1}, {0}},
        {"ld.shared.f64 %d1, [%r10]; ld.shared.f64 %d2, [%r10+8];", {0, 0, 0, 0, 1}, {0}},
        {"ld.shared.u16 %h1, [%r11]; ld.shared.u16 %h2, [%r11+2]; ld.shared.u16 %h3, [%r11+4];", {0, 0, 0, 1, 0}, {0}},
        {"ld.shared.u8 %r6, [%r11]; ld.shared.u8 %r7, [%r11+1];", {2, 0, 0, 0, 0}, {0}},
        {"st.shared.f32 [%r10+4], %f1; st.shared.f32 [%r10], %f2; st.shared.f32 [%r10+8], %f3;", {0}, {0, 0, 1, 1, 0}},
        {"st.shared.f32 [%r10], %f1; st.shared.f32 [%r10+32], %f2; st.shared.f32 [%r10+4], %f3;", {0}, {0, 0, 3, 0, 0}},
        {"ld.shared.f32 %f1, [first+16]; ld.shared.f32 %f2, [%r4+20];", {0, 0, 0, 1, 0}, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        snprintf(body, sizeof body, "%s%s", addresses, cases[i].body);
        machine_t machine = run(body, NULL);
        for (int width = 0; width < 5; width++) {
            int64_t loads = requests_of(&machine, RUNG_EMULATOR_SHARED_LOAD, 1 << width);
            int64_t stores = requests_of(&machine, RUNG_EMULATOR_SHARED_STORE, 1 << width);
            if (loads != cases[i].loads[width] || stores != cases[i].stores[width])
                print_error("width %d of %s\n", 1 << width, cases[i].body);
            assert_int_equal(loads, cases[i].loads[width]);
            assert_int_equal(stores, cases[i].stores[width]);
        }
        rung_emulator_destroy(machine.emulator);
    }
}

static void does_not_merge_global_accesses(void **state)
{
    (void)state;
    machine_t machine = run("shl.b64 %rd8, %rd2, 2;\nadd.u64 %rd8, %rd1, %rd8;\nld.global.f32 %f1, [%rd8];\n"
                            "ld.global.f32 %f2, [%rd8+4];",
                            NULL);
    assert_int_equal(requests_of(&machine, RUNG_EMULATOR_GLOBAL_LOAD, 4), 2);
    rung_emulator_destroy(machine.emulator);
}

/* ---- Lists --------------------------------------------------------------------------------------------------------- */

static const char located[] =
    ".version 8.0\n.target sm_86, debug\n.address_size 64\n"
    ".visible .entry lines(.param .u64 x, .param .u64 table)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n"
    ".shared .align 4 .b8 _ZZ5linesE4tile[256];\n"
    ".loc 1 10 1\nld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    ".loc 1 12 3\nld.global.f32 %f1, [%rd1];\n"
    ".loc 2 99 3, function_name $L__info_string0, inlined_at 1 14 5\nld.global.f32 %f2, [%rd1];\n"
    ".loc 1 15 3\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, _ZZ5linesE4tile;\nadd.u32 %r3, %r3, %r2;\nst.shared.f32 [%r3], %f1;\n"
    "ret;\n}\n"
    ".file 1 \"kernel.cu\"\n.file 2 \"library.h\"\n"
    ".section .debug_str\n{\n$L__info_string0:\n.b8 95\n.b8 0\n}\n";

static void lists_lines_of_the_user(void **state)
{
    (void)state;
    machine_t machine = create_machine(1);
    load(&machine, located);
    launch(&machine, "lines", 2, 64);
    static const struct {
        int line;
        const char *array, *instruction;
    } expected[] = {{12, "x", "ld.global.f32"}, {14, "x", "ld.global.f32"}, {15, "tile", "st.shared.f32"}};
    assert_int_equal(rung_emulator_line_count(machine.emulator), 3);
    for (int i = 0; i < 3; i++) {
        const rung_emulator_line *row = rung_emulator_line_at(machine.emulator, i);
        assert_string_equal(row->file, "kernel.cu");
        assert_string_equal(row->kernel, "lines");
        assert_string_equal(row->array, expected[i].array);
        assert_string_equal(row->instruction, expected[i].instruction);
        assert_int_equal(row->line, expected[i].line);
        assert_int_equal(row->requests, 4);
    }
    rung_emulator_destroy(machine.emulator);
}

static void adds_launches_until_cleared(void **state)
{
    (void)state;
    machine_t machine = create_machine(1);
    const rung_emulator_totals *totals, *other;
    load_body(&machine, "one", "ld.global.f32 %f1, [%rd6];");
    launch(&machine, "one", 1, LANES);
    launch(&machine, "one", 3, LANES);
    rung_emulator_module_unload(machine.module);
    load_body(&machine, "two", "ld.global.f32 %f1, [%rd6];");
    assert_null(rung_emulator_get_totals(machine.emulator, "two"));
    assert_non_null(strstr(rung_error_text(), "two"));
    launch(&machine, "two", 1, LANES);
    totals = rung_emulator_get_totals(machine.emulator, "one");
    assert_non_null(totals);
    assert_int_equal(totals->launches, 2);
    assert_int_equal(totals->global_bytes_read, 4 * 128);
    other = rung_emulator_get_totals(machine.emulator, "two");
    assert_non_null(other);
    assert_int_equal(4 * other->warp_instructions, totals->warp_instructions);
    totals = rung_emulator_get_totals(machine.emulator, NULL);
    assert_non_null(totals);
    assert_int_equal(totals->launches, 3);
    assert_int_equal(totals->mix[RUNG_EMULATOR_GLOBAL], 5 * other->mix[RUNG_EMULATOR_GLOBAL]);
    assert_int_equal(rung_emulator_line_count(machine.emulator), 4); /* of each kernel, the table and x */
    int64_t instructions = other->warp_instructions;
    rung_emulator_counts_clear(machine.emulator);
    assert_int_equal(rung_emulator_line_count(machine.emulator), 0);
    assert_null(rung_emulator_line_at(machine.emulator, 0));
    assert_null(rung_emulator_get_totals(machine.emulator, "one"));
    assert_null(rung_emulator_get_totals(NULL, NULL));
    totals = rung_emulator_get_totals(machine.emulator, NULL);
    assert_non_null(totals);
    assert_int_equal(totals->warp_instructions, 0);
    assert_int_equal(rung_emulator_set_checks(machine.emulator, 0, false), RUNG_OK);
    launch(&machine, "two", 1, LANES);
    totals = rung_emulator_get_totals(machine.emulator, "two");
    assert_non_null(totals);
    assert_int_equal(totals->warp_instructions, instructions);
    assert_int_equal(totals->global_bytes_read, 0);
    assert_int_equal(rung_emulator_line_count(machine.emulator), 0);
    rung_emulator_destroy(machine.emulator);
}

/* Blocks 0 and 1 read the same 8 sectors in two lines, twice; each writes the 4 sectors of its own place. */
static void counts_reuse_of_arrays(void **state)
{
    (void)state;
    machine_t machine = create_machine(2);
    load_body(&machine, "test",
              "mov.u32 %r6, %ctaid.x;\nmul.wide.u32 %rd8, %r6, 1024;\nadd.u64 %rd9, %rd6, %rd8;\n"
              "ld.global.f32 %f1, [%rd6];\nld.global.f32 %f2, [%rd6+128];\nld.global.f32 %f3, [%rd6];\n"
              "ld.global.f32 %f3, [%rd6+64];\nst.global.f32 [%rd9+4096], %f1;");
    launch(&machine, "test", 2, LANES);
    assert_int_equal(rung_emulator_array_count(machine.emulator), 1);
    const rung_emulator_array *x = rung_emulator_array_at(machine.emulator, 0);
    assert_string_equal(x->kernel, "test");
    assert_string_equal(x->array, "x");
    assert_int_equal(x->block_sectors_read, 16);
    assert_int_equal(x->block_lines_read, 4);
    assert_int_equal(x->block_sectors_written, 8);
    assert_int_equal(x->sectors_read, 8);
    assert_int_equal(x->sectors_written, 8);
    launch(&machine, "test", 1, LANES);
    x = rung_emulator_array_at(machine.emulator, 0);
    assert_int_equal(x->block_sectors_read, 24);
    assert_int_equal(x->sectors_read, 16);
    rung_emulator_counts_clear(machine.emulator);
    assert_int_equal(rung_emulator_array_count(machine.emulator), 0);
    rung_emulator_destroy(machine.emulator);
}

/* Patterns change with the block and in the loop, so that entries are replaced. */
static const char irregular[] =
    "mov.u32 %r6, %ctaid.x;\nmov.u32 %r7, 0;\nloop:\nmad.lo.u32 %r8, %r6, 7, %r7;\nmul.lo.u32 %r9, %r1, %r8;\n"
    "and.b32 %r9, %r9, 4095;\nshl.b32 %r9, %r9, 2;\ncvt.u64.u32 %rd8, %r9;\nadd.u64 %rd8, %rd1, %rd8;\n"
    "ld.global.f32 %f1, [%rd8];\nadd.u32 %r10, %r4, %r9;\nst.shared.f32 [%r10], %f1;\nsetp.lt.u32 %p2, %r1, %r8;\n"
    "@%p2 bra skip;\nld.shared.f32 %f2, [%r10];\nskip:\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 40;\n@%p1 bra loop;";

static void counts_alike_with_any_number_of_threads(void **state)
{
    (void)state;
    machine_t one = create_machine(1), four = create_machine(4);
    load_body(&one, "test", irregular);
    load_body(&four, "test", irregular);
    for (int i = 0; i < 2; i++) {
        launch(&one, "test", 50, 96);
        launch(&four, "test", 50, 96);
    }
    int64_t rows = rung_emulator_line_count(one.emulator);
    assert_int_equal(rows, rung_emulator_line_count(four.emulator));
    assert_true(rows >= 5);
    for (int64_t i = 0; i < rows; i++) {
        rung_emulator_line x = *rung_emulator_line_at(one.emulator, i), y = *rung_emulator_line_at(four.emulator, i);
        assert_string_equal(x.instruction, y.instruction);
        assert_string_equal(x.array, y.array);
        assert_int_equal(x.line, y.line);
        assert_int_equal(x.requests, y.requests);
        assert_int_equal(x.lanes, y.lanes);
        assert_int_equal(x.sectors, y.sectors);
        assert_int_equal(x.lines, y.lines);
        assert_int_equal(x.wavefronts, y.wavefronts);
        assert_int_equal(x.distinct_bytes, y.distinct_bytes);
        assert_int_equal(x.divergent, y.divergent);
    }
    rung_emulator_totals totals_one = *rung_emulator_get_totals(one.emulator, "test");
    rung_emulator_totals totals_four = *rung_emulator_get_totals(four.emulator, "test");
    assert_memory_equal(totals_one.mix, totals_four.mix, (size_t)totals_one.mix_count * sizeof *totals_one.mix);
    totals_one.mix = totals_four.mix = NULL;
    assert_memory_equal(&totals_one, &totals_four, sizeof totals_one);
    assert_int_equal(requests_of(&one, RUNG_EMULATOR_SHARED_STORE, 4), 2 * 50 * 3 * 40);
    rung_emulator_destroy(one.emulator);
    rung_emulator_destroy(four.emulator);
}

/* Checks take another path through the executors; the counts are the same. */
static void counts_alike_with_checks(void **state)
{
    (void)state;
    machine_t plain = create_machine(1), checked = create_machine(1);
    rung_emulator_set_checks(checked.emulator, RUNG_EMULATOR_CHECK_MEMORY, true);
    load_body(&plain, "test", irregular);
    load_body(&checked, "test", irregular);
    launch(&plain, "test", 5, 96);
    launch(&checked, "test", 5, 96);
    assert_int_equal(rung_emulator_line_count(plain.emulator), rung_emulator_line_count(checked.emulator));
    for (int64_t i = 0; i < rung_emulator_line_count(plain.emulator); i++) {
        const rung_emulator_line *x = rung_emulator_line_at(plain.emulator, i);
        const rung_emulator_line *y = rung_emulator_line_at(checked.emulator, i);
        assert_int_equal(x->requests, y->requests);
        assert_int_equal(x->sectors, y->sectors);
        assert_int_equal(x->wavefronts, y->wavefronts);
        assert_int_equal(x->bytes, y->bytes);
    }
    rung_emulator_destroy(plain.emulator);
    rung_emulator_destroy(checked.emulator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_accesses_like_ptxas), cmocka_unit_test(does_not_merge_global_accesses),
        cmocka_unit_test(lists_lines_of_the_user),    cmocka_unit_test(adds_launches_until_cleared),
        cmocka_unit_test(counts_reuse_of_arrays),     cmocka_unit_test(counts_alike_with_any_number_of_threads),
        cmocka_unit_test(counts_alike_with_checks),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
