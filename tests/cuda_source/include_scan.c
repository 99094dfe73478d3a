/* SPDX-License-Identifier: Apache-2.0 */
/* include_scan.c - the scan of #include lines finds stubs, files of the user, missing headers and paths outside. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "cuda_source/include_scan.h"

static char folder[] = "/tmp/rung-includes-XXXXXX";
static lab_include_list list;

static void scan(const char *text)
{
    const char *const user[] = {folder, NULL}, *const cuda[] = {NULL};
    lab_include_places places = {user, cuda};
    lab_includes_free(&list);
    lab_includes_scan(text, strlen(text), &places, &list);
    assert_false(list.out_of_memory);
}

static void expect(const char *name, lab_include_kind kind, int line)
{
    for (int i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, name) == 0) {
            assert_int_equal(list.items[i].kind, kind);
            assert_int_equal(list.items[i].line, line);
            return;
        }
    fail_msg("%s is not in the list", name);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void finds_all_kinds(void **state)
{
    (void)state;
    write_file("own.h", "#include \"deeper.h\"\n#include <vector>\n");
    write_file("deeper.h", "#include \"own.h\"\n#include \"gone.h\"\n");
    scan("#include \"own.h\"\n# include <stdio.h>\n\n%:include \"/etc/passwd\"\n#include \"../../etc/passwd\"\n"
         "#include <mma.h>\n#include <library/any.hpp>\n");
    expect("own.h", LAB_INCLUDE_USER, 0);
    expect("deeper.h", LAB_INCLUDE_USER, 0);
    expect("vector", LAB_INCLUDE_STUB, 0);
    expect("gone.h", LAB_INCLUDE_MISSING, 0);
    expect("stdio.h", LAB_INCLUDE_STUB, 2);
    expect("/etc/passwd", LAB_INCLUDE_OUTSIDE, 4);
    expect("../../etc/passwd", LAB_INCLUDE_OUTSIDE, 5);
    expect("mma.h", LAB_INCLUDE_CUDA, 6);
    expect("library/any.hpp", LAB_INCLUDE_MISSING, 7);
    assert_int_equal(list.count, 9);
}

/* Every spelling that hides a name is reported; kernels without Landlock reject it. */
static void finds_hidden_names(void **state)
{
    static const char *const texts[] = {"#include NAME\n", "#include \\\n\"/etc/passwd\"\n",
                                        "# /**/ include \"/etc/passwd\"\n", "#\\\ninclude \"/etc/passwd\"\n",
                                        "#include/**/\"/etc/passwd\"\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scan(texts[i]);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.items[0].kind, LAB_INCLUDE_COMPUTED);
    }
    scan("#define include 3\nint include = 1;\n#pragma once\n#if 0\n#endif\n");
    assert_int_equal(list.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_all_kinds), cmocka_unit_test(finds_hidden_names)};
    char path[256];
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lab_includes_free(&list);
    snprintf(path, sizeof path, "%s/own.h", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/deeper.h", folder);
    unlink(path);
    return rmdir(folder) == 0 ? failed : 1;
}
