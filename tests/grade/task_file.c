/* SPDX-License-Identifier: Apache-2.0 */
/* task_file.c - task.toml: what is accepted, and the sentence for each mistake. */
#include "grade/task_case.h"

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
                                       cmocka_unit_test(explains_mistakes)};
    if (!mkdtemp(folder))
        return 77;
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
