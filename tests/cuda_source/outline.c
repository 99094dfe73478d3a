/* SPDX-License-Identifier: Apache-2.0 */
/* outline.c - kernels, functions, structs and launches of CUDA files are found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cuda_source/cuda_outline.h"

static lab_cuda_outline outline;

static void parse_text(const char *text)
{
    lab_cuda_outline_free(&outline);
    assert_true(lab_cuda_outline_read(text, strlen(text), &outline));
}

static const char *text_of(lab_token_range range)
{
    static char texts[4][256];
    static int turn;
    rungi_string_view view = lab_tokens_text(&outline.tokens, range.first, range.last);
    char *text = texts[turn++ % 4];
    snprintf(text, sizeof *texts, "%.*s", (int)view.length, view.text);
    return text;
}

static const char *name_of(int token)
{
    return text_of((lab_token_range){token, token});
}

static void test_tokens(void **state)
{
    (void)state;
    parse_text(
        "int a = 1'000; /* { */ // }\nconst char *s = \"}\\\"{\"; char c = '{';\nauto r = R\"x(})x\";\nfloat f = 1e-5f - x;\n");
    assert_true(lab_token_is(&outline.tokens, 3, "1'000"));
    assert_int_equal(outline.tokens.items[5].line, 2);
    for (int i = 0; i < outline.tokens.count; i++)
        assert_int_equal(outline.tokens.items[i].match, -1);
    assert_true(lab_token_is(&outline.tokens, outline.tokens.count - 4, "1e-5f"));
}

static void test_conditions(void **state)
{
    (void)state;
    parse_text("#if 0\n__global__ void no() {\n#else\n__global__ void yes() {}\n#endif\n"
               "#ifdef X\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n__global__ void last() {}\n");
    assert_int_equal(outline.function_count, 3);
    assert_string_equal(name_of(outline.functions[0].name), "yes");
    assert_string_equal(name_of(outline.functions[2].name), "last");
}

static void test_kernels(void **state)
{
    (void)state;
    parse_text("template <typename T, int BM = 64, const int BN = (2 > 1) ? 8 : 4>\n"
               "__global__ void __launch_bounds__(BM * BN, 2)\n"
               "gemm(int M, const T *__restrict__ A, T B[], float4 *, size_t n = 3) { if (M) { } }\n"
               "namespace deep::er { extern \"C\" { __global__ void inner(void); } }\n"
               "static __device__ inline float helper(float x) { return x; }\n");
    assert_int_equal(outline.function_count, 3);
    const lab_cuda_function *gemm = &outline.functions[0], *inner = &outline.functions[1];
    assert_int_equal(gemm->kind, LAB_FUNCTION_KERNEL);
    assert_string_equal(name_of(gemm->name), "gemm");
    assert_int_equal(gemm->template_count, 3);
    assert_string_equal(name_of(gemm->template_parameters[1].name), "BM");
    assert_string_equal(text_of(gemm->template_parameters[1].preset), "64");
    assert_string_equal(text_of(gemm->template_parameters[2].type), "const int");
    assert_int_equal(gemm->parameter_count, 5);
    assert_string_equal(text_of(gemm->parameters[1].type), "const T *__restrict__");
    assert_string_equal(name_of(gemm->parameters[1].name), "A");
    assert_string_equal(name_of(gemm->parameters[2].name), "B");
    assert_int_equal(gemm->parameters[3].name, -1);
    assert_string_equal(name_of(gemm->parameters[4].name), "n");
    assert_string_equal(text_of(gemm->body), "{ if (M) { } }");
    assert_int_equal(inner->parameter_count, 0);
    assert_string_equal(inner->scope, "deep::er::");
    assert_true(inner->body.last < inner->body.first);
    assert_int_equal(outline.functions[2].kind, LAB_FUNCTION_DEVICE);
}

static void test_classes(void **state)
{
    (void)state;
    parse_text(
        "typedef struct { int width; float *elements; } Matrix;\n"
        "class Runner : public Base {\npublic:\n  Runner(int n) : size{n}, other(n) { go(); }\n"
        "  void go() { k<<<size, 32>>>(size); }\n  bool operator()(int x) const { return x; }\nprivate: int size = 3;\n};\n"
        "struct Matrix f(int x) { return {}; }\nint table[] = {1, 2};\nauto lambda = [](int x) { return x; };\n"
        "__global__ void k(int n) {}\n");
    assert_int_equal(outline.struct_count, 2);
    assert_string_equal(name_of(outline.structs[0].name), "Matrix");
    assert_string_equal(name_of(outline.structs[1].name), "Runner");
    assert_int_equal(outline.function_count, 5);
    assert_true(outline.functions[1].is_member);
    assert_string_equal(name_of(outline.functions[3].name), "f");
    assert_int_equal(outline.launch_count, 1);
    assert_int_equal(outline.launches[0].function, 1);
    assert_int_equal(lab_cuda_launched_kernel(&outline, &outline.launches[0]), 4);
}

static void test_launches(void **state)
{
    (void)state;
    parse_text(
        "void run(int M) {\n  dim3 g(M / 2, 3);\n"
        "  ns::gemm<float, Pair<int, Deep<4>>>\n     <<<g, dim3(16, 16), 2 * sizeof(float), 0>>>(M, A, f(x, y), B[1], {1, 2});\n"
        "  std::cout << M << 3; plain<<<1,32>>>();\n}\n");
    assert_int_equal(outline.launch_count, 2);
    const lab_cuda_launch *launch = &outline.launches[0];
    assert_string_equal(text_of(launch->kernel), "ns::gemm");
    assert_string_equal(text_of(launch->templates), "float, Pair<int, Deep<4>>");
    assert_string_equal(text_of(launch->grid), "g");
    assert_string_equal(text_of(launch->block), "dim3(16, 16)");
    assert_string_equal(text_of(launch->shared), "2 * sizeof(float)");
    assert_int_equal(launch->argument_count, 5);
    assert_string_equal(text_of(launch->arguments[2]), "f(x, y)");
    assert_int_equal(launch->line, 4);
    assert_int_equal(outline.launches[1].argument_count, 0);
    assert_int_equal(lab_cuda_launched_kernel(&outline, launch), -1);
}

/* Calls of the runtime are launches, and variables are replaced by the kernels that they hold. */
static void test_launch_forms(void **state)
{
    (void)state;
    parse_text(
        "__global__ void a(int *x, int n) {}\ntemplate <int T> __global__ void b(int *x, int n) {}\n"
        "void run(int *x, int n) {\n  void *args[] = {(void *)&x, &n};\n"
        "  cudaLaunchKernel((const void *)&a, 1, dim3(32), args, 64, 0);\n"
        "  cudaLaunchCooperativeKernel(reinterpret_cast<void *>(b<4>), 2, 32, args);\n"
        "  auto k = a; if (n) k = b<8>; k<<<3, 32>>>(x, n);\n}\n"
        "void start(void (*k)(int *, int), int m) { k<<<m, 32>>>(0, m); }\nvoid go() { start(a, 5); start(&b<2>, 6); }\n");
    static const char *const kernels[] = {"a", "b", "a", "b", "a", "b"};
    static const char *const templates[] = {"", "4", "", "8", "", "2"};
    assert_int_equal(outline.launch_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(text_of(outline.launches[i].kernel), kernels[i]);
        assert_string_equal(text_of(outline.launches[i].templates), templates[i]);
        assert_int_equal(lab_cuda_launched_kernel(&outline, &outline.launches[i]), i % 2);
        assert_int_equal(outline.launches[i].argument_count, 2);
        assert_int_equal(outline.launches[i].call > 0, i > 3);
    }
    assert_string_equal(text_of(outline.launches[0].block), "dim3(32)");
    assert_string_equal(text_of(outline.launches[0].shared), "64");
    assert_string_equal(text_of(outline.launches[0].arguments[0]), "x");
    assert_int_equal(outline.launches[0].line, 5);
    assert_false(outline.launches[0].is_cooperative);
    assert_true(outline.launches[1].is_cooperative);
}

/* Fields are found among functions, labels and constants; a function knows its class. */
static void test_fields(void **state)
{
    (void)state;
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    parse_text(
        "template <class T> class V {\n  T *p, *q;\npublic:\n  V(T *a) : p{a}, q(a) { int local; }\n"
        "  T get() { T value = *p; return value; }\n  static const int S = 4;\n  void run();\nprivate:\n  int n = 3;\n};\n"
        "template <class T> void V<T>::run() {}\nvoid other() {}\n");
    assert_int_equal(outline.struct_count, 1);
    assert_string_equal(text_of(outline.structs[0].templates), "class T");
    assert_int_equal(lab_cuda_struct_fields(&outline, &outline.structs[0], fields), 3);
    assert_string_equal(name_of(fields[0].name), "p");
    assert_string_equal(name_of(fields[1].name), "q");
    assert_string_equal(name_of(fields[2].name), "n");
    int count = outline.function_count;
    assert_ptr_equal(lab_cuda_class_of(&outline, &outline.functions[0]), outline.structs);
    assert_ptr_equal(lab_cuda_class_of(&outline, &outline.functions[count - 2]), outline.structs);
    assert_null(lab_cuda_class_of(&outline, &outline.functions[count - 1]));
}

/* Broken files give some outline and no crash. */
static void test_broken_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "}",
                                        "{",
                                        "((((",
                                        "<<<",
                                        "k<<<",
                                        "k<<<1,2>>>",
                                        "void f() { k<<<1,2>>>(",
                                        "template <",
                                        "template <int",
                                        "#",
                                        "#if",
                                        "\"",
                                        "R\"(",
                                        "/*",
                                        "struct",
                                        "struct {",
                                        "namespace",
                                        "__global__",
                                        "__global__ void (",
                                        "operator",
                                        "x ( ) : y",
                                        "a<b<c<d",
                                        "1e",
                                        "'",
                                        "\\",
                                        "void f() { cudaLaunchKernel(",
                                        "void f() { cudaLaunchKernel((void *), 1, 2, a); }",
                                        "void f() { cudaLaunchKernel(k, 1, 2, (void *[]){&a, ); }",
                                        "void f() { cudaLaunchKernel(reinterpret_cast<, 1, 2, {}); }",
                                        "void f(int k) { k = ; k<<<1,2>>>(); } void g() { f(",
                                        "void >::f() { k<<<1,2>>>(); }"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        parse_text(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),  cmocka_unit_test(test_conditions),   cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_launches),     cmocka_unit_test(test_launch_forms),
        cmocka_unit_test(test_fields),  cmocka_unit_test(test_broken_files),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lab_cuda_outline_free(&outline);
    return failed;
}
