/* SPDX-License-Identifier: Apache-2.0 */
/* logged_reads.c - a write races with an earlier read of another warp, whatever the pattern of the read's addresses and
 * however many reads were made in between. It races with an earlier write of another value. */
#include "run_ptx.h"

enum { SHARED_BYTES = 16384 };

/* Reads of the first warp: of 4 or 16 bytes per lane, at `start` + factor * lane. */
typedef struct read_form {
    const char *instruction;
    uint32_t start, factor, bytes;
} read_form_t;

static const read_form_t forms[] = {{"ld.volatile.shared.u32 %r4, [%r3];", 0, 4, 4},
                                    {"ld.shared.u32 %r4, [%r3];", 0, 4, 4},
                                    {"ld.shared.u32 %r4, [%r3];", 128, 0, 4},
                                    {"ld.shared.u32 %r4, [%r3];", 0, 12, 4},
                                    {"ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 0, 16, 16},
                                    {"ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 4096, 32, 16}};

/* Runs two warps: all threads write shared memory; after a barrier, the first warp reads `repeats` times, and the second
 * one writes a word of every lane at each of two addresses. Returns the number of findings. */
static int64_t count_races(const read_form_t *form, int repeats, uint32_t first_write, uint32_t second_write)
{
    char text[4096];
    uint32_t out[64];
    snprintf(text, sizeof text,
             "%s.shared .align 16 .b8 s[%d];\n%s"
             "mov.u32 %%r0, s;\n"
             "mov.u32 %%r1, %%t;\nshl.b32 %%r1, %%r1, 2;\nadd.u32 %%r1, %%r1, %%r0;\nmov.u32 %%r2, 0;\n"
             "fill: st.shared.u32 [%%r1], %%t;\nadd.u32 %%r1, %%r1, 256;\nadd.u32 %%r2, %%r2, 256;\n"
             "setp.lt.u32 %%p1, %%r2, %d;\n@%%p1 bra fill;\n"
             "bar.sync 0;\nsetp.ge.u32 %%p0, %%t, 32;\n@%%p0 bra write;\n"
             "mad.lo.u32 %%r3, %%t, %u, %u;\nadd.u32 %%r3, %%r3, %%r0;\nmov.u32 %%r2, 0;\n"
             "again: %s\nadd.u32 %%r2, %%r2, 1;\nsetp.lt.u32 %%p1, %%r2, %d;\n@%%p1 bra again;\n"
             "st.global.u32 [%%rd1], %%r4;\nret;\n"
             "write: shl.b32 %%r1, %%t, 2;\nadd.u32 %%r1, %%r1, %%r0;\n"
             "st.shared.u32 [%%r1+%d], %%t;\nst.shared.u32 [%%r1+%d], %%t;\nret;\n}\n",
             PTX_HEADER, SHARED_BYTES, PTX_KERNEL, SHARED_BYTES, form->factor, form->start, form->instruction, repeats,
             (int)first_write - 128, (int)second_write - 128);
    run_t run = run_ptx(text, 64, out, 64, RUNG_EMULATOR_CHECK_ALL, 0);
    if (run.status != RUNG_OK)
        fail_msg("%s", run.error);
    assert_true(run.findings == 0 || run.kind == RUNG_EMULATOR_RACE);
    return run.findings;
}

/* 5000 reads are more than the log holds. */
static void writes_race_with_earlier_reads(void **unused)
{
    static const int repeats[] = {1, 5000};
    (void)unused;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t j = 0; j < sizeof repeats / sizeof *repeats; j++) {
            const read_form_t *form = &forms[i];
            uint32_t last = form->start + 31 * form->factor;
            assert_int_equal(count_races(form, repeats[j], 8192, 12288), 0);
            assert_true(count_races(form, repeats[j], form->start, 12288) > 0);
            assert_true(count_races(form, repeats[j], 8192, last) > 0);
            assert_true(count_races(form, repeats[j], 8192, last + form->bytes - 4) > 0);
            assert_int_equal(count_races(form, repeats[j], last + form->bytes, 12288), 0);
        }
}

/* Runs two warps that store to the same words of shared memory. Returns the number of findings. */
static int64_t count_write_races(const char *value, const char *store)
{
    char text[2048];
    uint32_t out[64];
    snprintf(text, sizeof text,
             "%s.shared .align 16 .b8 s[1024];\n%s"
             "mov.u32 %%r0, s;\nand.b32 %%r1, %%t, 31;\n%s\n"
             "shl.b32 %%r3, %%r1, 4;\nadd.u32 %%r3, %%r3, %%r0;\n%s\n"
             "bar.sync 0;\nld.shared.u8 %%r4, [%%r3];\nst.global.u32 [%%rd1], %%r4;\nret;\n}\n",
             PTX_HEADER, PTX_KERNEL, value, store);
    run_t run = run_ptx(text, 64, out, 64, RUNG_EMULATOR_CHECK_ALL, 0);
    if (run.status != RUNG_OK)
        fail_msg("%s", run.error);
    assert_true(run.findings == 0 || run.kind == RUNG_EMULATOR_RACE);
    return run.findings;
}

static void stores_of_the_same_value_do_not_race(void **unused)
{
    static const char *const stores[] = {"st.shared.u32 [%r3], %r2;", "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r2};",
                                         "cvt.u16.u32 %h0, %r2;\nst.shared.u16 [%r3], %h0;"};
    (void)unused;
    for (int i = 0; i < 3; i++) {
        char store[256];
        snprintf(store, sizeof store, "%s%s", i == 2 ? ".reg .b16 %h0;\n" : "", stores[i]);
        assert_int_equal(count_write_races("mov.b32 %r2, %r1;", store), 0);
        assert_true(count_write_races("mov.b32 %r2, %t;", store) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_race_with_earlier_reads),
                                       cmocka_unit_test(stores_of_the_same_value_do_not_race)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
