/* SPDX-License-Identifier: Apache-2.0 */
/* launch_line.c - the descriptions of rung check: lines of NAME=VALUE, integer expressions, parameters in PTX text, types. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "check/integer_expression.h"
#include "check/launch_line.h"
#include "check/ptx_parameters.h"

static char why[1024];

static void assert_view(rungi_string_view view, const char *text)
{
    if (!rungi_string_view_equals(view, text))
        fail_msg("\"%.*s\" is not \"%s\"", (int)view.length, view.text, text);
}

static lab_launch_lines read_text(const char *text, int count)
{
    lab_launch_lines lines = {.items = NULL};
    if (!lab_launch_lines_read(text, &lines, why, sizeof why))
        fail_msg("%s: %s", text, why);
    assert_int_equal(lines.count, count);
    return lines;
}

static void values_may_have_blanks(void **unused)
{
    (void)unused;
    lab_launch_lines lines = read_text(
        " grid=(n + 255) / 256, 2 block=dim3(16, x==1 ? 4 : 8)  p={ a=1, b=2 } x = 3\t; kernel=k ;\n; block=2 ", 3);
    const lab_launch_line *line = &lines.items[0];
    assert_view(line->grid, "(n + 255) / 256, 2");
    assert_view(line->block, "dim3(16, x==1 ? 4 : 8)");
    assert_int_equal(line->argument_count, 1);
    assert_view(line->arguments[0].name, "p");
    assert_view(line->arguments[0].value, "{ a=1, b=2 } x = 3");
    assert_view(lines.items[1].kernel, "k");
    assert_view(lines.items[2].block, "2");
    free(lines.items);
}

static void arrays_have_types_counts_and_contents(void **unused)
{
    (void)unused;
    lab_launch_lines lines = read_text(
        "x=f32[n] y=bf16[ 2 * (n + a[1]) ]:zero A.data=u8[4]:dir/file.npy z=y n=sizeof(int)", 1);
    const lab_launch_argument *arguments = lines.items[0].arguments;
    assert_int_equal(lines.items[0].argument_count, 5);
    assert_true(arguments[0].is_array && !arguments[0].has_contents);
    assert_int_equal(arguments[0].type, LAB_ELEMENT_f32);
    assert_int_equal(arguments[0].contents, LAB_CONTENTS_random);
    assert_view(arguments[0].count, "n");
    assert_int_equal(arguments[1].type, LAB_ELEMENT_bf16);
    assert_int_equal(arguments[1].contents, LAB_CONTENTS_zero);
    assert_view(arguments[1].count, "2 * (n + a[1])");
    assert_view(arguments[2].name, "A.data");
    assert_int_equal(arguments[2].contents, LAB_CONTENTS_FILE);
    assert_view(arguments[2].file, "dir/file.npy");
    assert_false(arguments[3].is_array);
    assert_view(arguments[4].value, "sizeof(int)");
    free(lines.items);
}

static void roles_of_parameters_are_a_key(void **unused)
{
    (void)unused;
    lab_launch_lines lines = read_text("block=16,16 args=lda=K,flag=1 argsize=3", 1);
    assert_view(lines.items[0].roles, "lda=K,flag=1");
    assert_int_equal(lines.items[0].argument_count, 1);
    assert_view(lines.items[0].arguments[0].name, "argsize");
    free(lines.items);
}

static void comments_are_launches(void **unused)
{
    static const char text[] = "// rung: grid=1 block=2\r\nint x; // rung: no\n  // rung: grid=3 block=4";
    lab_launch_lines lines = {.items = NULL};
    (void)unused;
    assert_true(lab_launch_lines_read_comments(text, strlen(text), &lines, why, sizeof why));
    assert_int_equal(lines.count, 2);
    assert_view(lines.items[0].block, "2");
    assert_int_equal(lines.items[0].line, 1);
    assert_view(lines.items[1].grid, "3");
    assert_int_equal(lines.items[1].line, 3);
    free(lines.items);
}

static void invalid_lines_are_rejected(void **unused)
{
    static const char *const texts[] = {"x",          "x=",           "=1",      "x=f33[1]",      "x=f32[1", "x=f32[ ]",
                                        "x=f32[1]:a", "x=f32[1]zero", "x=1 x=2", "grid=1 grid=2", "1x=2",    "x=1; y"};
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lab_launch_lines lines = {.items = NULL};
        if (lab_launch_lines_read(texts[i], &lines, why, sizeof why))
            fail_msg("%s is accepted", texts[i]);
        assert_true(*why);
        free(lines.items);
    }
}

static const lab_integer_name names[] = {{{"n", 1}, 1000}, {{"p10", 3}, -7}};

static bool evaluate(const char *text, int64_t *value)
{
    return lab_integer_evaluate(rungi_string_view_of(text, strlen(text)), names, 2, value, why, sizeof why);
}

static void expressions_follow_c(void **unused)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"1", 1},
                 {" (n + 255) / 256 ", 4},
                 {"2+3*4-6/4%3", 13},
                 {"-p10*-2", -14},
                 {"p10/2", -3},
                 {"p10%2", -1},
                 {"1<<3+1", 16},
                 {"n>>2", 250},
                 {"0x1F", 31},
                 {"017", 15},
                 {"0", 0},
                 {"8-3-2", 3},
                 {"-(-(2))", 2},
                 {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {"",
                                      "1+",
                                      "(1",
                                      "1)",
                                      "m",
                                      "1 2",
                                      "n/0",
                                      "n%0",
                                      "1<<63",
                                      "1<2",
                                      "2.5",
                                      "08a",
                                      "9223372036854775807+1",
                                      "9223372036854775808",
                                      "-9223372036854775807-2",
                                      "4611686018427387904*2",
                                      "n$"};
    int64_t value;
    (void)unused;
    assert_false(lab_integer_evaluate((rungi_string_view){0}, names, 2, &value, why, sizeof why));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!evaluate(cases[i].text, &value))
            fail_msg("%s: %s", cases[i].text, why);
        assert_int_equal(value, cases[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (evaluate(bad[i], &value))
            fail_msg("%s is %lld", bad[i], (long long)value);
    char deep[1000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    assert_false(evaluate(deep, &value));
}

static void parameters_of_ptx_have_types(void **unused)
{
    static const char text[] = "// .entry k(\n.visible .entry other(.param .u32 a)\n{\n}\n"
                               ".entry k (\n .param .u64 .ptr .global .align 16 a, // .param .f32\n"
                               " .param .align 8 .b8 b[24],\n .param .f32 c\n)\n.maxntid 128\n{ .reg .b32 %r; }\n";
    lab_ptx_parameter parameters[4];
    (void)unused;
    assert_int_equal(lab_ptx_parameters_read(text, strlen(text), "k", parameters, 4), 3);
    assert_string_equal(parameters[0].type, "u64");
    assert_string_equal(parameters[1].type, "b8");
    assert_string_equal(parameters[2].type, "f32");
    assert_int_equal(lab_ptx_parameters_read(text, strlen(text), "k", parameters, 2), 2);
    assert_int_equal(lab_ptx_parameters_read(text, strlen(text), "missing", parameters, 4), 0);
}

static void elements_keep_their_values(void **unused)
{
    (void)unused;
    for (int type = 0; type < LAB_ELEMENT_TYPE_COUNT; type++) {
        unsigned char memory[24] = {0};
        lab_element_write((lab_element_type)type, memory, 1, 5);
        assert_true(lab_element_read((lab_element_type)type, memory, 1) == 5);
        assert_true(lab_element_read((lab_element_type)type, memory, 0) == 0);
        assert_true(lab_element_read((lab_element_type)type, memory, 2) == 0);
        if (lab_element_type_kind((lab_element_type)type) == LAB_KIND_UNSIGNED)
            continue;
        lab_element_write((lab_element_type)type, memory, 1, -2);
        assert_true(lab_element_read((lab_element_type)type, memory, 1) == -2);
    }
    assert_int_equal(lab_element_type_of_numpy("<f4"), LAB_ELEMENT_f32);
    assert_int_equal(lab_element_type_of_numpy("|b1"), LAB_ELEMENT_u8);
    assert_int_equal(lab_element_type_of_numpy(">f4"), LAB_ELEMENT_TYPE_COUNT);
    assert_int_equal(lab_element_type_of_numpy(""), LAB_ELEMENT_TYPE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_have_blanks),     cmocka_unit_test(arrays_have_types_counts_and_contents),
        cmocka_unit_test(comments_are_launches),      cmocka_unit_test(invalid_lines_are_rejected),
        cmocka_unit_test(expressions_follow_c),       cmocka_unit_test(parameters_of_ptx_have_types),
        cmocka_unit_test(elements_keep_their_values), cmocka_unit_test(roles_of_parameters_are_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
