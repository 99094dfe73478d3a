/* SPDX-License-Identifier: Apache-2.0 */
/* locations.c - findings name the line of the user's file that called the inlined code, also where one position of a header
 * was inlined by several calls. File 1 is the user's, file 2 the header. */
#include "support/unit.h"

#include <stdio.h>

#include "rung/emulator.h"

/* Every store is to memory that was freed, so that each of them is a finding. */
typedef struct expected {
    const char *file;
    int32_t line;
    int64_t count; /* stores of the line */
} expected_t;

/* Begins a kernel with %rd3 = b, %rd4 = a, %rd5 = 4 * tid.x. */
#define HEAD ".version 8.3\n.target sm_86\n.address_size 64\n"
#define TAIL ".file 1 \"user.cu\"\n.file 2 \"helper.cuh\"\n"
#define KERNEL(name)                                                                                        \
    ".visible .entry " name "(.param .u64 a, .param .u64 b)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<12>;\n"     \
    ".loc 1 2 0\nld.param.u64 %rd4, [a];\nld.param.u64 %rd3, [b];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 1;\n" \
    "mul.wide.u32 %rd5, %r1, 4;\n"
#define END "ret;\n}\n"
#define AT(line) ".loc 2 " line " 5, function_name $L0, "
#define FIRST AT("8") "inlined_at 1 6 9\n"  /* the call of the header's line 8 from line 6 */
#define SECOND AT("8") "inlined_at 1 7 9\n" /* from line 7 */

static char last_text[512]; /* of the last finding */

static void expect(const char *text, const char *name, const expected_t *expected, int64_t count)
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t a, b;
    rung_emulator_options options = rung_emulator_options_default();
    options.checks = RUNG_EMULATOR_CHECK_MEMORY;
    options.memory_bytes = 1 << 26;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "test.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_int_equal(rung_emulator_kernel_find(module, name, &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4096, "a", &a), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4096, "b", &b), RUNG_OK);
    assert_int_equal(rung_emulator_free(emulator, a), RUNG_OK);
    assert_int_equal(rung_emulator_free(emulator, b), RUNG_OK);
    void *arguments[] = {&a, &b};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        print_message("%s: %s:%d: %lld times: %s\n", name, finding->place.file, finding->place.line,
                      (long long)finding->count, finding->text);
    }
    assert_int_equal(rung_emulator_finding_count(emulator), count);
    for (int64_t i = 0; i < count; i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        assert_int_equal(finding->kind, RUNG_EMULATOR_USE_AFTER_FREE);
        assert_string_equal(finding->place.file, expected[i].file);
        assert_int_equal(finding->place.line, expected[i].line);
        assert_int_equal(finding->count, expected[i].count);
        snprintf(last_text, sizeof last_text, "%s", finding->text);
    }
    rung_emulator_destroy(emulator);
}

/* What nvcc 13.0 makes of an unrolled loop with two calls of a function of the header that stores twice with another one:
 * after the first iteration, the chains of calls are not repeated. */
static void calls_in_an_unrolled_loop_are_told_apart(void **state)
{
    (void)state;
    static const char text[] = HEAD KERNEL("k") ".loc 1 6 9\n" FIRST
        AT("4") "inlined_at 2 8 5\nadd.s64 %rd6, %rd4, %rd5;\nst.global.u32 [%rd6], %r2;\n" AT("9") "inlined_at 1 6 9\n" AT(
            "4") "inlined_at 2 9 5\nst.global.u32 [%rd6+128], %r2;\n"
                 ".loc 1 7 9\n" SECOND
                     AT("4") "inlined_at 2 8 5\nadd.s64 %rd7, %rd3, %rd5;\nst.global.u32 [%rd7], %r2;\n" AT("9") "inlined_at 1 7 9\n" AT("4") "inlined_at 2 9 5\nst.global.u32 [%rd7+128], %r2;\n" AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd6+256], %r2;\n" AT(
                         "4") "inlined_at 2 9 5\nst.global.u32 [%rd6+384], %r2;\n" AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd7+256], %r2;\n" AT("4") "inlined_at 2 9 5\nst.global.u32 [%rd7+384], %r2;\n" AT("4") "inlined_at 2 8 5\nadd.s64 %rd8, %rd6, 512;\nst.global.u32 [%rd8], %r2;\n" AT("4") "inlined_at 2 9 5\nst.global.u32 [%rd8+128], %r2;\n" END
                         TAIL;
    static const expected_t expected[] = {{"user.cu", 6, 6}, {"user.cu", 7, 4}};
    expect(text, "k", expected, 2);
}

/* A function with two lines: the second line of the second call is new there, and its chain is not repeated. */
static void a_call_continues_at_its_next_line(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k") ".loc 1 6 9\n" FIRST AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd4], %r2;\n" AT(
            "5") "inlined_at 2 8 5\nst.global.u32 [%rd4+4], %r2;\n"
                 ".loc 1 7 9\n" SECOND AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd3], %r2;\n" AT(
                     "5") "inlined_at 2 8 5\nst.global.u32 [%rd3+4], %r2;\nst.global.u32 [%rd3+8], %r2;\n" END TAIL;
    static const expected_t expected[] = {{"user.cu", 6, 2}, {"user.cu", 7, 3}};
    expect(text, "k", expected, 2);
}

/* The kernel's own line has computed the address. Only the call of line 6 has used it. */
static void a_shared_address_belongs_to_the_call_that_uses_it(void **state)
{
    (void)state;
    static const char text[] = HEAD KERNEL("k") ".loc 1 6 9\n" FIRST AT(
        "4") "inlined_at 2 8 5\nst.global.u32 [%rd4], %r2;\n"
             ".loc 1 7 9\n" SECOND AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd3], %r2;\n" AT(
                 "4") "inlined_at 2 8 5\nst.global.u32 [%rd4+4], %r2;\n" END TAIL;
    static const expected_t expected[] = {{"user.cu", 6, 2}, {"user.cu", 7, 1}};
    expect(text, "k", expected, 2);
}

/* Nothing says which call is meant: the finding has the line of the last one and names the other one. */
static void an_unknown_caller_is_a_line_of_the_user(void **state)
{
    (void)state;
    static const char text[] = HEAD KERNEL("k") ".loc 1 6 9\n" FIRST AT(
        "4") "inlined_at 2 8 5\nadd.s64 %rd6, %rd4, %rd5;\n"
             ".loc 1 7 9\n" SECOND AT("4") "inlined_at 2 8 5\nadd.s64 %rd7, %rd3, %rd5;\n"
                                           ".loc 1 9 1\nadd.s64 %rd8, %rd4, 64;\n" AT(
                                               "4") "inlined_at 2 8 5\nst.global.u32 [%rd8], %r2;\n" END TAIL;
    static const expected_t expected[] = {{"user.cu", 7, 1}};
    expect(text, "k", expected, 1);
    assert_non_null(strstr(last_text, "line 6 inlines the same code"));
}

/* Two calls of one line of the user are the same line. */
static void two_calls_of_one_line_are_one_line(void **state)
{
    (void)state;
    static const char text[] = HEAD KERNEL("k") ".loc 1 6 9\n" FIRST AT(
        "4") "inlined_at 2 8 5\nst.global.u32 [%rd4], %r2;\n"
             ".loc 1 6 30\n" AT("8") "inlined_at 1 6 30\n" AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd3], %r2;\n" AT(
                 "4") "inlined_at 2 8 5\nst.global.u32 [%rd4+4], %r2;\n" END TAIL;
    static const expected_t expected[] = {{"user.cu", 6, 3}};
    expect(text, "k", expected, 1);
}

/* The calls of one kernel do not count in another one. */
static void kernels_have_their_own_calls(void **state)
{
    (void)state;
    static const char text[] =
        HEAD KERNEL("k") ".loc 1 6 9\n" FIRST AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd4], %r2;\n" END KERNEL(
            "l") ".loc 1 7 9\n" SECOND AT("4") "inlined_at 2 8 5\nst.global.u32 [%rd4], %r2;\n"
                                               ".loc 1 8 1\nst.global.u32 [%rd4+4], %r2;\n" AT(
                                                   "4") "inlined_at 2 8 5\nst.global.u32 [%rd3], %r2;\n" END TAIL;
    static const expected_t of_k[] = {{"user.cu", 6, 1}}, of_l[] = {{"user.cu", 7, 2}, {"user.cu", 8, 1}};
    expect(text, "k", of_k, 1);
    expect(text, "l", of_l, 2);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_an_unrolled_loop_are_told_apart),
        cmocka_unit_test(a_call_continues_at_its_next_line),
        cmocka_unit_test(a_shared_address_belongs_to_the_call_that_uses_it),
        cmocka_unit_test(an_unknown_caller_is_a_line_of_the_user),
        cmocka_unit_test(two_calls_of_one_line_are_one_line),
        cmocka_unit_test(kernels_have_their_own_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
