/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c - tests the emulator's counts of single requests, branches and instructions: small PTX texts whose counts are
 * known. */
#include "emulator/counted_kernel.h"

/* ---- Global and local memory --------------------------------------------------------------------------------------- */

static void counts_sectors_and_lines(void **state)
{
    (void)state;
    static const struct {
        const char *load;
        uint32_t step, start; /* table[lane] = start + lane * step */
        int64_t sectors, lines, ideal, bytes, distinct;
    } cases[] = {
        {"ld.global.f32 %f1, [%rd7];", 4, 0, 4, 1, 4, 128, 128},
        {"ld.global.f32 %f1, [%rd7];", 4, 4, 5, 2, 4, 128, 128},
        {"ld.global.f32 %f1, [%rd7];", 128, 0, 32, 32, 4, 128, 128},
        {"ld.global.f32 %f1, [%rd7];", 32, 16, 32, 8, 4, 128, 128},
        {"ld.global.f32 %f1, [%rd7];", 0, 64, 1, 1, 1, 128, 4},
        {"ld.global.u8 %r6, [%rd7];", 1, 0, 1, 1, 1, 32, 32},
        {"ld.global.f64 %d1, [%rd7];", 8, 0, 8, 2, 8, 256, 256},
        {"ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd7];", 16, 0, 16, 4, 16, 512, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t table[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++)
            table[lane] = cases[i].start + lane * cases[i].step;
        machine_t machine = run(cases[i].load, table);
        rung_emulator_line row = only_row(&machine, RUNG_EMULATOR_GLOBAL_LOAD);
        assert_int_equal(row.requests, 1);
        assert_int_equal(row.lanes, 32);
        assert_int_equal(row.partial, 0);
        assert_int_equal(row.sectors, cases[i].sectors);
        assert_int_equal(row.lines, cases[i].lines);
        assert_int_equal(row.ideal_sectors, cases[i].ideal);
        assert_int_equal(row.bytes, cases[i].bytes);
        assert_int_equal(row.distinct_bytes, cases[i].distinct);
        assert_int_equal(row.wavefronts, 0);
        assert_string_equal(row.array, "x");
        assert_memory_equal(row.instruction, cases[i].load, strlen(row.instruction));
        const rung_emulator_totals *totals = rung_emulator_get_totals(machine.emulator, "test");
        assert_non_null(totals);
        assert_int_equal(totals->global_bytes_read, 32 * cases[i].sectors);
        assert_int_equal(totals->global_bytes_written, 0);
        rung_emulator_destroy(machine.emulator);
    }
}

static void counts_lanes_of_a_guard(void **state)
{
    (void)state;
    machine_t machine = run("setp.lt.u32 %p1, %r1, 5;\n@%p1 st.global.f32 [%rd6], %f1;", NULL);
    rung_emulator_line row = only_row(&machine, RUNG_EMULATOR_GLOBAL_STORE);
    assert_int_equal(row.requests, 1);
    assert_int_equal(row.lanes, 5);
    assert_int_equal(row.partial, 1);
    assert_int_equal(row.sectors, 1);
    assert_int_equal(row.bytes, 20);
    rung_emulator_destroy(machine.emulator);
}

static void reports_no_array_for_several(void **state)
{
    (void)state;
    uint32_t table[LANES] = {0};
    machine_t machine = create_machine(1);
    table[7] = (uint32_t)(machine.y - machine.x);
    rung_emulator_write(machine.emulator, machine.table, table, sizeof table);
    load_body(&machine, "test", "ld.global.f32 %f1, [%rd7];");
    launch(&machine, "test", 1, LANES);
    rung_emulator_line row = only_row(&machine, RUNG_EMULATOR_GLOBAL_LOAD);
    assert_string_equal(row.array, "");
    assert_int_equal(row.sectors, 2);
    rung_emulator_destroy(machine.emulator);
}

static void interleaves_local_memory(void **state)
{
    (void)state;
    machine_t machine = run(".local .align 16 .b8 own[64];\n"
                            "st.local.f32 [own+8], %f1;\n"
                            "mov.u64 %rd8, own;\nand.b64 %rd9, %rd2, 28;\nadd.u64 %rd8, %rd8, %rd9;\n"
                            "ld.local.f32 %f2, [%rd8];",
                            NULL);
    rung_emulator_line store = only_row(&machine, RUNG_EMULATOR_LOCAL_STORE);
    rung_emulator_line load = only_row(&machine, RUNG_EMULATOR_LOCAL_LOAD);
    assert_int_equal(store.sectors, 4);
    assert_int_equal(store.lines, 1);
    assert_int_equal(load.sectors, 32); /* lane n reads its word n % 8 */
    assert_int_equal(load.lines, 8);
    assert_int_equal(load.ideal_sectors, 4);
    rung_emulator_destroy(machine.emulator);
}

/* ---- Shared memory ------------------------------------------------------------------------------------------------- */

static uint32_t stride_1(uint32_t lane)
{
    return lane;
}
static uint32_t stride_2(uint32_t lane)
{
    return 2 * lane;
}
static uint32_t stride_32(uint32_t lane)
{
    return 32 * lane;
}
static uint32_t stride_33(uint32_t lane)
{
    return 33 * lane;
}
static uint32_t same(uint32_t lane)
{
    return 0 * lane + 3;
}
static uint32_t pairs(uint32_t lane)
{
    return lane / 2;
}
static uint32_t pairs_by_2(uint32_t lane)
{
    return (lane & 1) + lane / 4 * 2;
}
static uint32_t quads(uint32_t lane)
{
    return lane / 4;
}
static uint32_t eight_rows(uint32_t lane)
{
    return lane % 8 * 8;
}

static void counts_wavefronts(void **state)
{
    (void)state;
    static const struct {
        const char *access;
        uint32_t (*element)(uint32_t lane);
        uint32_t bytes;
        int64_t wavefronts, ideal;
    } cases[] = {
        {"ld.shared.f32 %f1, [%r5];", stride_1, 4, 1, 1},
        {"ld.shared.f32 %f1, [%r5];", stride_2, 4, 2, 1},
        {"ld.shared.f32 %f1, [%r5];", stride_32, 4, 32, 1},
        {"ld.shared.f32 %f1, [%r5];", stride_33, 4, 1, 1},
        {"ld.shared.f32 %f1, [%r5];", same, 4, 1, 1},
        {"ld.shared.u8 %r6, [%r5];", stride_1, 1, 1, 1},
        {"ld.shared.u16 %h1, [%r5];", stride_2, 2, 1, 1},
        {"st.shared.f32 [%r5], %f1;", stride_2, 4, 2, 1},
        {"ld.shared.f64 %d1, [%r5];", stride_1, 8, 2, 2},
        {"ld.shared.f64 %d1, [%r5];", stride_2, 8, 4, 2},
        {"ld.shared.v2.f32 {%f1, %f2}, [%r5];", same, 8, 2, 2},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", stride_1, 16, 4, 4},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", stride_2, 16, 8, 4},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", pairs, 16, 2, 2},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", pairs_by_2, 16, 2, 2},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", quads, 16, 2, 2},
        {"ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5];", eight_rows, 16, 32, 4},
        {"st.shared.v4.f32 [%r5], {%f1, %f2, %f3, %f4};", stride_1, 16, 4, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", stride_1, 16, 4, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", pairs, 16, 4, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];", eight_rows, 16, 32, 4},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r5];", stride_1, 16, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t table[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++)
            table[lane] = cases[i].element(lane) * cases[i].bytes;
        machine_t machine = run(cases[i].access, table);
        bool is_store = cases[i].access[0] == 's';
        rung_emulator_line row = only_row(&machine, is_store ? RUNG_EMULATOR_SHARED_STORE : RUNG_EMULATOR_SHARED_LOAD);
        if (row.wavefronts != cases[i].wavefronts || row.ideal_wavefronts != cases[i].ideal)
            print_error("case %zu: %s\n", i, cases[i].access);
        assert_int_equal(row.requests, 1);
        assert_int_equal(row.wavefronts, cases[i].wavefronts);
        assert_int_equal(row.ideal_wavefronts, cases[i].ideal);
        assert_int_equal(row.sectors, 0);
        assert_string_equal(row.array, "first");
        rung_emulator_destroy(machine.emulator);
    }
}

static void counts_both_sides_of_a_copy(void **state)
{
    (void)state;
    machine_t machine = run(
        "shl.b32 %r6, %r1, 4;\nadd.u32 %r7, %r4, %r6;\ncvt.u64.u32 %rd8, %r6;\nadd.u64 %rd8, %rd1, %rd8;\n"
        "cp.async.cg.shared.global [%r7], [%rd8], 16;\ncp.async.wait_all;",
        NULL);
    rung_emulator_line load = only_row(&machine, RUNG_EMULATOR_GLOBAL_LOAD);
    rung_emulator_line store = only_row(&machine, RUNG_EMULATOR_SHARED_STORE);
    assert_int_equal(load.sectors, 16);
    assert_string_equal(load.array, "x");
    assert_int_equal(store.wavefronts, 4);
    assert_string_equal(store.array, "first");
    rung_emulator_destroy(machine.emulator);
}

/* ---- Atomics and branches ------------------------------------------------------------------------------------------ */

static void counts_atomic_conflicts(void **state)
{
    (void)state;
    static const struct {
        const char *atomic;
        uint32_t addresses;
        int64_t conflicts;
    } cases[] = {{"atom.global.add.u32 %r6, [%rd7], %r1;", 1, 31},
                 {"atom.global.add.u32 %r6, [%rd7], %r1;", 4, 28},
                 {"red.global.add.u32 [%rd7], %r1;", 32, 0},
                 {"atom.shared.add.u32 %r6, [%r5], %r1;", 2, 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t table[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++)
            table[lane] = lane % cases[i].addresses * 4;
        machine_t machine = run(cases[i].atomic, table);
        bool is_shared = strstr(cases[i].atomic, "shared") != NULL;
        rung_emulator_line row = only_row(&machine,
                                          is_shared ? RUNG_EMULATOR_SHARED_ATOMIC : RUNG_EMULATOR_GLOBAL_ATOMIC);
        assert_int_equal(row.atomic_conflicts, cases[i].conflicts);
        rung_emulator_destroy(machine.emulator);
    }
}

static void counts_divergent_branches(void **state)
{
    (void)state;
    machine_t machine = run("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra skip;\nadd.u32 %r6, %r1, 1;\nskip:\n"
                            "setp.lt.u32 %p2, %r1, 64;\n@%p2 bra end;\nadd.u32 %r6, %r1, 2;\nend:",
                            NULL);
    int64_t branches = 0, divergent = 0;
    for (int64_t i = 0; i < rung_emulator_line_count(machine.emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(machine.emulator, i);
        branches += row->kind == RUNG_EMULATOR_BRANCH ? row->requests : 0;
        divergent += row->divergent;
    }
    const rung_emulator_totals *totals = rung_emulator_get_totals(machine.emulator, "test");
    assert_non_null(totals);
    assert_int_equal(branches, 2);
    assert_int_equal(divergent, 1);
    assert_int_equal(totals->divergent_branches, 1);
    rung_emulator_destroy(machine.emulator);
}

static void counts_the_instruction_mix(void **state)
{
    (void)state;
    machine_t empty = run("", NULL),
              machine = run("fma.rn.f32 %f1, %f2, %f3, %f1;\nadd.f64 %d1, %d1, %d2;\n"
                            "rcp.approx.f32 %f1, %f2;\nxor.b32 %r6, %r1, 1;\nbar.sync 0;\n"
                            "ld.shared.f32 %f4, [%r5];\nst.global.f32 [%rd6], %f4;\n"
                            "shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;\nred.global.add.u32 [%rd6], 1;",
                            NULL);
    static const int64_t expected[RUNG_EMULATOR_OTHER + 1] = {
        [RUNG_EMULATOR_FLOAT] = 2,   [RUNG_EMULATOR_SPECIAL] = 1,
        [RUNG_EMULATOR_INTEGER] = 1, [RUNG_EMULATOR_SYNCHRONIZATION] = 1,
        [RUNG_EMULATOR_SHARED] = 1,  [RUNG_EMULATOR_GLOBAL] = 1,
        [RUNG_EMULATOR_WARP] = 1,    [RUNG_EMULATOR_ATOMIC] = 1};
    const rung_emulator_totals *before = rung_emulator_get_totals(empty.emulator, "test"),
                               *after = rung_emulator_get_totals(machine.emulator, "test");
    int64_t sum = 0;
    assert_true(before && after);
    assert_int_equal(after->mix_count, sizeof expected / sizeof *expected);
    for (int64_t i = 0; i < after->mix_count; i++) {
        if (after->mix[i] - before->mix[i] != expected[i])
            print_error("class %s\n", rung_emulator_class_name((rung_emulator_class)i));
        assert_int_equal(after->mix[i] - before->mix[i], expected[i]);
        sum += after->mix[i];
    }
    assert_int_equal(sum, after->warp_instructions);
    assert_int_equal(after->thread_instructions, 32 * after->warp_instructions);
    assert_int_equal(after->barriers, 1);
    rung_emulator_destroy(empty.emulator);
    rung_emulator_destroy(machine.emulator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_sectors_and_lines),
        cmocka_unit_test(counts_lanes_of_a_guard),
        cmocka_unit_test(reports_no_array_for_several),
        cmocka_unit_test(interleaves_local_memory),
        cmocka_unit_test(counts_wavefronts),
        cmocka_unit_test(counts_both_sides_of_a_copy),
        cmocka_unit_test(counts_atomic_conflicts),
        cmocka_unit_test(counts_divergent_branches),
        cmocka_unit_test(counts_the_instruction_mix),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
