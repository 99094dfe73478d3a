/* SPDX-License-Identifier: Apache-2.0 */
/* request_trace.c - tests which requests rung_emulator_set_trace() records, and that they are those of the counts. */
#include "emulator/counted_kernel.h"

/* Ten rounds of one load with a stride of 8 bytes, one store to shared memory with conflicts of two lanes, and one load with
 * half of the lanes. */
static const char rounds[] =
    "shl.b32 %r6, %r1, 3;\ncvt.u64.u32 %rd8, %r6;\nadd.u64 %rd8, %rd1, %rd8;\n"
    "add.u32 %r7, %r4, %r6;\nand.b32 %r9, %r1, 31;\nsetp.lt.u32 %p2, %r9, 16;\nmov.u32 %r8, 0;\n"
    "again:\nld.global.f32 %f1, [%rd8];\nst.shared.f32 [%r7], %f1;\n"
    "@%p2 ld.shared.f32 %f2, [%r4];\nadd.u64 %rd8, %rd8, 4;\nadd.u32 %r8, %r8, 1;\n"
    "setp.lt.u32 %p1, %r8, 10;\n@%p1 bra again;\n";

static machine_t run_traced(int64_t threads, int64_t warps, int64_t requests, uint32_t blocks, uint32_t block)
{
    machine_t machine = create_machine(threads);
    load_body(&machine, "test", rounds);
    assert_int_equal(rung_emulator_set_trace(machine.emulator, warps, requests), RUNG_OK);
    launch(&machine, "test", blocks, block);
    return machine;
}

/* Without a bound in the way, the requests of each row add up to the row. */
static void records_what_is_counted(void **state)
{
    (void)state;
    machine_t machine = run_traced(1, 6, 100, 3, 64);
    int64_t rows = 0;
    for (int64_t i = 0; i < rung_emulator_line_count(machine.emulator); i++) {
        rung_emulator_line row = *rung_emulator_line_at(machine.emulator, i), sum = {0};
        if (row.kind >= RUNG_EMULATOR_CONSTANT_LOAD)
            continue;
        rows++;
        for (int64_t j = 0; j < rung_emulator_request_count(machine.emulator); j++) {
            const rung_emulator_request *request = rung_emulator_request_at(machine.emulator, j);
            if (request->line != row.line || request->kind != row.kind || strcmp(request->array, row.array) != 0)
                continue;
            assert_int_equal(request->width, row.width);
            assert_string_equal(request->instruction, row.instruction);
            sum.requests++;
            sum.lanes += __builtin_popcount(request->mask);
            sum.sectors += request->sectors;
            sum.lines += request->lines;
            sum.ideal_sectors += request->ideal_sectors;
            sum.wavefronts += request->wavefronts;
            sum.ideal_wavefronts += request->ideal_wavefronts;
        }
        assert_int_equal(sum.requests, row.requests);
        assert_int_equal(sum.lanes, row.lanes);
        assert_int_equal(sum.sectors, row.sectors);
        assert_int_equal(sum.lines, row.lines);
        assert_int_equal(sum.ideal_sectors, row.ideal_sectors);
        assert_int_equal(sum.wavefronts, row.wavefronts);
        assert_int_equal(sum.ideal_wavefronts, row.ideal_wavefronts);
    }
    assert_int_equal(rows, 3);
    assert_int_equal(rung_emulator_request_count(machine.emulator), 6 * 3 * 10);
    rung_emulator_destroy(machine.emulator);
}

/* The addresses are those of the lanes, in the order of the rounds. */
static void records_addresses(void **state)
{
    (void)state;
    machine_t machine = run_traced(1, 1, 100, 1, 32);
    int64_t loads = 0;
    for (int64_t i = 0; i < rung_emulator_request_count(machine.emulator); i++) {
        const rung_emulator_request *request = rung_emulator_request_at(machine.emulator, i);
        if (request->kind == RUNG_EMULATOR_SHARED_LOAD)
            assert_int_equal(request->mask, 0xffff);
        if (request->kind != RUNG_EMULATOR_GLOBAL_LOAD)
            continue;
        assert_string_equal(request->array, "x");
        assert_int_equal(request->array_start, machine.x);
        assert_int_equal(request->mask, 0xffffffff);
        assert_int_equal(request->order, 3 * loads);
        for (uint64_t lane = 0; lane < LANES; lane++)
            assert_int_equal(request->addresses[lane], machine.x + 8 * lane + 4 * (uint64_t)loads);
        loads++;
    }
    assert_int_equal(loads, 10);
    rung_emulator_destroy(machine.emulator);
}

static void keeps_the_bounds(void **state)
{
    (void)state;
    machine_t machine = run_traced(1, 4, 3, 3, 64);
    assert_int_equal(rung_emulator_request_count(machine.emulator), 4 * 3 * 3);
    for (int64_t i = 0; i < rung_emulator_request_count(machine.emulator); i++) {
        const rung_emulator_request *request = rung_emulator_request_at(machine.emulator, i);
        assert_true(request->warp < 4 && request->order < 9);
    }
    assert_null(rung_emulator_request_at(machine.emulator, 4 * 3 * 3));
    rung_emulator_counts_clear(machine.emulator);
    assert_int_equal(rung_emulator_request_count(machine.emulator), 0);
    assert_int_equal(rung_emulator_set_trace(machine.emulator, 257, 1), RUNG_STATUS_INVALID);
    assert_int_equal(rung_emulator_set_trace(machine.emulator, 1, -1), RUNG_STATUS_INVALID);
    assert_int_equal(rung_emulator_set_trace(NULL, 1, 1), RUNG_STATUS_INVALID);
    assert_int_equal(rung_emulator_set_trace(machine.emulator, 0, 0), RUNG_OK);
    launch(&machine, "test", 3, 64);
    assert_int_equal(rung_emulator_request_count(machine.emulator), 0);
    assert_int_equal(requests_of(&machine, RUNG_EMULATOR_GLOBAL_LOAD, 4), 60);
    rung_emulator_destroy(machine.emulator);
}

/* The counts are those of a launch without a trace, and the trace does not depend on the number of threads. */
static void records_alike_with_any_number_of_threads(void **state)
{
    (void)state;
    machine_t none = run_traced(1, 0, 0, 20, 96), one = run_traced(1, 9, 5, 20, 96), four = run_traced(4, 9, 5, 20, 96);
    int64_t count = rung_emulator_request_count(one.emulator);
    assert_int_equal(count, 9 * 3 * 5);
    assert_int_equal(rung_emulator_request_count(four.emulator), count);
    for (int64_t i = 0; i < count; i++) {
        const rung_emulator_request *x = rung_emulator_request_at(one.emulator, i);
        const rung_emulator_request *y = rung_emulator_request_at(four.emulator, i);
        assert_int_equal(x->line, y->line);
        assert_int_equal(x->warp, y->warp);
        assert_int_equal(x->order, y->order);
        assert_int_equal(x->mask, y->mask);
        assert_memory_equal(x->addresses, y->addresses, sizeof x->addresses);
    }
    for (int64_t i = 0; i < rung_emulator_line_count(none.emulator); i++) {
        const rung_emulator_line *x = rung_emulator_line_at(none.emulator, i);
        const rung_emulator_line *y = rung_emulator_line_at(one.emulator, i);
        assert_int_equal(x->requests, y->requests);
        assert_int_equal(x->sectors, y->sectors);
        assert_int_equal(x->wavefronts, y->wavefronts);
    }
    rung_emulator_destroy(none.emulator);
    rung_emulator_destroy(one.emulator);
    rung_emulator_destroy(four.emulator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_what_is_counted),
        cmocka_unit_test(records_addresses),
        cmocka_unit_test(keeps_the_bounds),
        cmocka_unit_test(records_alike_with_any_number_of_threads),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
