/* SPDX-License-Identifier: Apache-2.0 */
/* task_file.c - task.toml: what is accepted, and the sentence for each mistake. */
#define _GNU_SOURCE /* strdup */
#include "grade/task_case.h"
#include "grade/variant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char good[] = "title = \"Sum\"\n"
                           "kernel = \"sum\"\n"
                           "reference = \"reference.cu\"\n"
                           "sizes = [\"n\"]\n"
                           "[[argument]]\nname = \"x\"\ntype = \"f32\"\nrole = \"in\"\ncount = \"n\"\nrange = [2, 3]\n"
                           "[[argument]]\nname = \"y\"\ntype = \"i32\"\nrole = \"out\"\ncount = \"2*n\"\n"
                           "[[argument]]\nname = \"k\"\ntype = \"i32\"\nrole = \"scalar\"\nrange = [5, 6]\n"
                           "[[argument]]\nname = \"n\"\ntype = \"i32\"\nrole = \"size\"\n"
                           "[[shape]]\nn = 7\n"
                           "[[hidden]]\ncount = 3\nn = [10, 90, 10]\n"
                           "[[variant]]\nname = \"K\"\nvalues = [3, -4]\ntext = \"K is {}, not {}1.\"\n"
                           "[[variant]]\nname = \"OP\"\nvalues = [0, 1, 2]\ntext = [\"sum\", \"max\", \"min\"]\n"
                           "[[part]]\nname = \"right\"\npoints = 5\nshapes = \"all\"\n";

static char folder[] = "/tmp/rung-task-XXXXXX";

/* Writes task.toml and reads it. */
static bool read_task(const char *text, lab_task *task, char *why, size_t capacity)
{
    char path[256];
    snprintf(path, sizeof path, "%s/task.toml", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return lab_task_read(folder, task, why, capacity);
}

static void accepts_a_task(void **state)
{
    lab_task task;
    char why[1024] = "";
    lab_task_case cases[LAB_TASK_CASES_MAX], again[LAB_TASK_CASES_MAX];
    (void)state;
    assert_true(read_task(good, &task, why, sizeof why));
    assert_int_equal(task.argument_count, 4);
    assert_int_equal(task.points, 5);
    assert_int_equal(lab_task_draw_cases(&task, 3, cases, LAB_TASK_CASES_MAX), 4);
    assert_int_equal(cases[0].sizes[0], 7);
    for (int i = 1; i < 4; i++) {
        assert_true(cases[i].is_hidden);
        assert_true(cases[i].sizes[0] >= 10 && cases[i].sizes[0] <= 90 && cases[i].sizes[0] % 10 == 0);
    }
    assert_int_equal(lab_task_draw_cases(&task, 4, again, LAB_TASK_CASES_MAX), 4);
    assert_true(cases[1].sizes[0] != again[1].sizes[0] || cases[2].sizes[0] != again[2].sizes[0] ||
                cases[3].sizes[0] != again[3].sizes[0]);
    assert_true(lab_task_case_fill(&cases[0], 3, why, sizeof why));
    for (int i = 0; i < 7; i++)
        assert_true(cases[0].arguments[0].values[i] >= 2 && cases[0].arguments[0].values[i] <= 3);
    assert_int_equal(cases[0].arguments[1].count, 14);
    assert_true(cases[0].arguments[2].values[0] == 5 || cases[0].arguments[2].values[0] == 6);
    assert_true(cases[0].arguments[3].values[0] == 7);
    lab_task_case_free(&cases[0]);
    lab_task_free(&task);
}

/* Every student has one variant, which no other text than the task and the ID decides. */
static void chooses_variants(void **state)
{
    lab_task task;
    char why[1024] = "", text[256], id[16];
    int counts[2][3] = {{0}};
    int64_t ones[LAB_TASK_SIZES_MAX] = {1}, value;
    (void)state;
    assert_true(read_task(good, &task, why, sizeof why));
    snprintf(task.name, sizeof task.name, "sum"); /* the folder has a random name */
    lab_variant_describe(&task, text, sizeof text);
    assert_string_equal(text, "K = 3, OP = 0");
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "s%d", i);
        assert_true(lab_variant_choose(&task, id, why, sizeof why));
        counts[task.variables[0].chosen][task.variables[1].chosen]++;
    }
    assert_int_equal(counts[0][0], 0); /* the variant of the public solution */
    for (int i = 1; i < 6; i++)
        assert_in_range(counts[i / 3][i % 3], 150, 250);
    /* These values are part of the interface: students have printed their variants. */
    assert_true(lab_variant_choose(&task, "ann", why, sizeof why));
    lab_variant_describe(&task, text, sizeof text);
    assert_string_equal(text, "K = 3, OP = 2");
    lab_variant_sentence(&task.variables[0], text, sizeof text);
    assert_string_equal(text, "K is 3, not 31.");
    assert_true(lab_task_evaluate(&task, ones, "n + 2 * K", &value, why, sizeof why));
    assert_int_equal(value, 7);
    assert_false(lab_variant_choose(&task, "", why, sizeof why));
    assert_false(lab_variant_choose(&task, "a\nb", why, sizeof why));
    lab_task_free(&task);
}

/* Gives constants the values of a variant. */
static void changes_constants(void **state)
{
    static const char source[] =
        "#define K 3 // K\n#  define OP  (1+ 2) /* op */\nconstexpr int K = 5;\n#define K(x) 3\n"
        "#define KK 3\n// #define K 3\nint f = K;\n#if 0\n#define K 3\n#endif\n";
    static const char changed[] = "#define K -4 // K\n#  define OP  2 /* op */\nconstexpr int K = -4;\n#define K(x) 3\n"
                                  "#define KK 3\n// #define K 3\nint f = K;\n#if 0\n#define K 3\n#endif\n";
    lab_task task;
    char why[1024];
    (void)state;
    assert_true(read_task(good, &task, why, sizeof why));
    task.variables[0].chosen = 1;
    task.variables[1].chosen = 2;
    char *text = strdup(source);
    size_t bytes = strlen(source);
    assert_true(lab_variant_apply(&task, &text, &bytes));
    assert_int_equal(bytes, strlen(changed));
    assert_memory_equal(text, changed, bytes);
    free(text);
    lab_task_free(&task);
}

static void compares_within_the_bound(void **state)
{
    static const char text[] = "title = \"t\"\nkernel = \"k\"\nreference = \"r\"\nsizes = [\"n\"]\n"
                               "[[argument]]\nname = \"y\"\ntype = \"f32\"\nrole = \"out\"\ncount = \"n\"\n"
                               "roundings = \"2\"\n[[shape]]\nn = 3\n"
                               "[[part]]\nname = \"p\"\npoints = 1\nshapes = \"public\"\n";
    lab_task task;
    lab_task_case one;
    char why[1024];
    (void)state;
    assert_true(read_task(text, &task, why, sizeof why));
    assert_int_equal(lab_task_draw_cases(&task, 1, &one, 1), 1);
    assert_true(lab_task_case_fill(&one, 1, why, sizeof why));
    for (int i = 0; i < 3; i++)
        one.arguments[0].expected[i] = 1;
    one.arguments[0].scale[2] = 100;
    const float within[] = {1 + 0x1p-23f, 1 - 0x1p-23f, 1 + 200 * 0x1p-24f};
    assert_int_equal(lab_task_case_compare(&one, 0, within).wrong, 0);
    const float beyond[] = {1, 1 + 0x1p-22f, 1 + 202 * 0x1p-24f};
    lab_task_comparison comparison = lab_task_case_compare(&one, 0, beyond);
    assert_int_equal(comparison.wrong, 2);
    assert_int_equal(comparison.first, 1);
    lab_task_case_free(&one);
    lab_task_free(&task);
}

/* Replaces one text by another in the good task. */
static void rejects(const char *from, const char *to, const char *sentence)
{
    char text[4096], why[2048] = "";
    const char *at = strstr(good, from);
    lab_task task;
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    if (read_task(text, &task, why, sizeof why))
        fail_msg("accepted: %s", to);
    if (!strstr(why, sentence))
        fail_msg("\"%s\" is reported as \"%s\", not \"%s\"", to, why, sentence);
}

static void explains_mistakes(void **state)
{
    (void)state;
    rejects("title = \"Sum\"", "", "title is missing");
    rejects("title = \"Sum\"", "title = 5", "line 1: title is an integer; it must be a string");
    rejects("title = \"Sum\"", "title = \"Sum\"\ntitel = \"x\"", "line 2: unknown key titel");
    rejects("kernel = \"sum\"", "kernel = \"a b\"", "line 2: kernel must be a name of C");
    rejects("sizes = [\"n\"]", "sizes = []", "line 4: sizes has 0 names");
    rejects("type = \"f32\"", "type = \"float\"", "line 7: type is \"float\"; valid types are f64");
    rejects("role = \"in\"", "role = \"input\"", "role is \"input\"; valid roles are in, out, inout, size, scalar");
    rejects("count = \"n\"", "count = \"m\"", "count: \"m\" is not an integer argument");
    rejects("role = \"out\"", "role = \"in\"", "no [[argument]] has the role \"out\"");
    rejects("range = [2, 3]", "range = [3, 2]", "range must be [LOW, HIGH]");
    rejects("n = 7", "n = 0", "n is not valid");
    rejects("n = 7", "", "n is missing");
    rejects("[[shape]]\nn = 7\n", "", "there is no [[shape]]");
    rejects("n = [10, 90, 10]", "n = [90, 10]", "n is not valid");
    rejects("points = 5", "points = -1", "points is -1; valid values are 0 to 10000");
    rejects("shapes = \"all\"", "", "needs one of shapes, findings and metric");
    rejects("shapes = \"all\"", "shapes = \"some\"", "must be \"public\", \"hidden\" or \"all\"");
    rejects("shapes = \"all\"", "findings = [\"rcae\"]", "\"rcae\" is not a kind of finding");
    rejects("shapes = \"all\"", "metric = \"speed\"", "metric is \"speed\"; valid metrics are global_sector_ratio");
    rejects("shapes = \"all\"", "metric = \"launches\"\nat_most = 1", "needs a shape with measured = true");
    rejects("[[part]]", "[[prat]]", "unknown table prat");
    rejects("values = [3, -4]", "values = [3]", "values has 1 numbers; use 2 to 16");
    rejects("values = [3, -4]", "values = [3, 3]", "values must be an array of different integers");
    rejects("values = [3, -4]", "values = [3, \"x\"]", "values must be an array of different integers");
    rejects("name = \"K\"", "name = \"n\"", "name must be a name of C that is no size and no other variable");
    rejects("name = \"OP\"", "name = \"K\"", "name must be a name of C that is no size and no other variable");
    rejects("\"max\", \"min\"]", "\"max\"]", "text must be a sentence, or an array with one sentence per value");
    rejects("text = \"K is {}, not {}1.\"", "", "text is missing");
    rejects("title = \"Sum\"", "title = \"Sum", "line 1: the string has no closing \"");
}

static int remove_folder(void **state)
{
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/task.toml", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_a_task), cmocka_unit_test(compares_within_the_bound),
                                       cmocka_unit_test(explains_mistakes), cmocka_unit_test(chooses_variants),
                                       cmocka_unit_test(changes_constants)};
    if (!mkdtemp(folder))
        return 77;
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
