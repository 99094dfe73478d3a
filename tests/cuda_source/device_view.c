/* SPDX-License-Identifier: Apache-2.0 */
/* device_view.c - the device view keeps lines, kernels and preprocessor lines, and blanks functions of the host. */
#include "support/unit.h"

#include "cuda_source/device_view.h"

static char *view;

static void look(const char *text, bool keeps_helpers)
{
    free(view);
    view = lab_device_view(text, strlen(text), keeps_helpers);
    assert_non_null(view);
    assert_int_equal(strlen(view), strlen(text));
    for (size_t i = 0; text[i]; i++)
        assert_int_equal(view[i] == '\n', text[i] == '\n');
}

static bool has(const char *words)
{
    return strstr(view, words) != NULL;
}

static void keeps_lines(void **state)
{
    static const char text[] =
        "#define N 3\nvoid host(int a)\n{\n#ifdef X\n    first();\n#else\n    second(\"}\");\n#endif\n}\n"
        "__global__ void k(int *p)\n{\n    *p = N;\n}\nint main() { k<<<1, 1>>>(0); }\n";
    (void)state;
    look(text, true);
    assert_true(has("#define N 3\n") && has("#ifdef X\n") && has("#else\n") && has("#endif\n"));
    assert_true(has("__global__ void k(int *p)\n{\n    *p = N;\n}\n"));
    assert_false(has("host") || has("first") || has("second") || has("main") || has("<<<"));
}

static void keeps_helpers_if_asked(void **state)
{
    static const char text[] = "int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
                               "template <class T> T twice(T a) { return 2 * a; }\n"
                               "constexpr int three() { return 3; }\n"
                               "int count() { return printf(\"x\"); }\n";
    (void)state;
    look(text, true);
    assert_true(has("ceil_div") && has("twice") && has("three"));
    assert_false(has("count"));
    look(text, false);
    assert_true(has("three"));
    assert_false(has("ceil_div") || has("twice") || has("template"));
}

static void keeps_device_code(void **state)
{
    static const char text[] = "__device__ int a() { return 1; }\n"
                               "__host__ __device__ inline int b() { return 2; }\n"
                               "template <int N> __global__ void c(int *p) { *p = N; }\n"
                               "template __global__ void c<3>(int *);\n"
                               "template <int N> void launch(int *p) { c<N><<<1, 1>>>(p); }\n"
                               "template void launch<3>(int *);\n";
    (void)state;
    look(text, false);
    assert_true(has("int a()") && has("int b()") && has("void c(int *p) { *p = N; }") && has("c<3>(int *);"));
    assert_false(has("launch"));
}

/* Members of the host lose their bodies, not their declarations. */
static void keeps_declarations_of_members(void **state)
{
    static const char text[] = "struct Matrix {\n    float *data;\n    int rows;\n"
                               "    Matrix(int n) : data(allocate(n)), rows(n) { fill(); }\n"
                               "    int count() const { return measure(rows); }\n"
                               "    __device__ float at(int i) const { return data[i]; }\n};\n";
    (void)state;
    look(text, false);
    assert_true(has("float *data;") && has("Matrix(int n) ;") && has("int count() const ;") && has("return data[i];"));
    assert_false(has("allocate") || has("measure") || has("fill"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_lines),
        cmocka_unit_test(keeps_helpers_if_asked),
        cmocka_unit_test(keeps_device_code),
        cmocka_unit_test(keeps_declarations_of_members),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(view);
    return failed;
}
