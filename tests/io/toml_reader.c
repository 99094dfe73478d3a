/* SPDX-License-Identifier: Apache-2.0 */
/* toml_reader.c - the subset of TOML: what is read, and what is refused with its line. */
#include "io/toml_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void reads_values(void **state)
{
    static const char text[] = "# comment\n"
                               "a = \"x\\\"\\\\\\n\\t#\"  # comment\r\n"
                               "b = 'C:\\new'\n"
                               "c = -1_000\n"
                               "d = 1.5e-3\n"
                               "e = true\n"
                               "f = [1, [2.5],\n  # comment\n \"three\", false,\n]\n"
                               "[table]\n"
                               "a-b = 0\n"
                               "[[list]]\nn = 1\n[[list]]\nn = +2";
    lab_toml_document document;
    char why[256] = "";
    (void)state;
    assert_true(lab_toml_parse(text, &document, why, sizeof why));
    lab_toml_table *top = lab_toml_table_at(&document, "", 0);
    assert_string_equal(lab_toml_find(top, "a")->text, "x\"\\\n\t#");
    assert_string_equal(lab_toml_find(top, "b")->text, "C:\\new");
    assert_int_equal(lab_toml_find(top, "c")->integer, -1000);
    assert_true(lab_toml_find(top, "d")->number == 1.5e-3 && lab_toml_find(top, "d")->kind == LAB_TOML_FLOAT);
    assert_int_equal(lab_toml_find(top, "e")->kind, LAB_TOML_BOOLEAN);
    const lab_toml_value *f = lab_toml_find(top, "f");
    assert_int_equal(f->count, 4);
    assert_true(f->items[1].items[0].number == 2.5);
    assert_string_equal(f->items[2].text, "three");
    assert_null(lab_toml_find(top, "g"));
    assert_int_equal(lab_toml_find(lab_toml_table_at(&document, "table", 0), "a-b")->integer, 0);
    assert_int_equal(lab_toml_find(lab_toml_table_at(&document, "list", 1), "n")->integer, 2);
    assert_null(lab_toml_table_at(&document, "list", 2));
    assert_int_equal(lab_toml_line(top, "f"), 7);
    assert_true(lab_toml_describe_unread(&document, why, sizeof why));
    assert_string_equal(why, "line 13: unknown table list");
    lab_toml_table *first = lab_toml_table_at(&document, "list", 0);
    assert_true(lab_toml_describe_unread(&document, why, sizeof why));
    assert_string_equal(why, "line 14: unknown key n in list");
    lab_toml_find(first, "n");
    assert_false(lab_toml_describe_unread(&document, why, sizeof why));
    lab_toml_free(&document);
}

static void rejects(const char *text, const char *sentence)
{
    lab_toml_document document;
    char why[256] = "";
    if (lab_toml_parse(text, &document, why, sizeof why))
        fail_msg("accepted: %s", text);
    if (!strstr(why, sentence))
        fail_msg("%s: \"%s\" does not contain \"%s\"", text, why, sentence);
    assert_int_equal(document.count, 0);
}

static void rejects_the_rest(void **state)
{
    (void)state;
    rejects("a = 1\nb", "line 2: expected = after b");
    rejects("a =", "is not a value");
    rejects("a = 1\na = 2", "line 2: a is given in line 1, too");
    rejects("a = 01", "is not a value");
    rejects("a = 1.", "is not a value");
    rejects("a = .5", "is not a value");
    rejects("a = 1__0", "is not a value");
    rejects("a = 0x10", "is not a value");
    rejects("a = inf", "is not a value");
    rejects("a = 1979-05-27", "is not a value");
    rejects("a = 99999999999999999999", "the integer does not fit 64 bits");
    rejects("a = \"x", "line 1: the string has no closing \"");
    rejects("a = \"x\\u0041\"", "unknown escape");
    rejects("a = \"\"\"x\"\"\"", "strings of several lines");
    rejects("a = 'x", "no closing '");
    rejects("a = [1 2]", "needs a comma");
    rejects("a = [1,\n2", "line 2: the array");
    rejects("a = [1,\n", "line 2: the array has no closing ]");
    rejects("a = {b = 1}", "inline tables");
    rejects("a.b = 1", "dotted keys are not supported");
    rejects("\"a\" = 1", "quoted keys are not supported");
    rejects("a = 1 b = 2", "line 1: \"b = 2\" follows the value");
    rejects("[a\n", "the header has no closing ]");
    rejects("[[a]\n", "the header has no closing ]]");
    rejects("[a]\n[a]", "line 2: the table a begins in line 1, too");
    rejects("[[a]]\n[a]", "line 2: the table a begins");
    rejects("a = [[[[[[1]]]]]]", "nested too deeply");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_values), cmocka_unit_test(rejects_the_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
