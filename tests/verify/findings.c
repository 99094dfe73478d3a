/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - what is said of a kernel of the user's: the trait that wrong problems have in common, and
 * Oclgrind's log turned into findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verify/oclgrind_check.h"
#include "verify/failure_traits.h"

static const lab_kernel_traits tile = {.bm = 16, .bn = 16, .bk = 8};

/* All suites' edges, each right or wrong by what `is_wrong` says. */
static void describe_failures(bool (*is_wrong)(const lab_case *), char *text, size_t capacity)
{
    lab_failure_counts tally = {0};
    lab_case_list list = lab_suite_cases(LAB_SUITE_full, tile);
    lab_cases_prepend_dense(&list, tile);
    assert_true(list.cases[0].m == 1 && list.cases[0].n == 1 && list.cases[0].k == 1);
    assert_true(list.count > 50);
    for (int64_t i = 0; i < list.count; i++)
        lab_failure_counts_add(&tally, &list.cases[i], tile, !is_wrong(&list.cases[i]), false);
    free(list.cases);
    lab_failure_counts_explain(&tally, text, capacity);
}

/* clang-format off */
static bool never(const lab_case *problem) { return problem->m < 0; }
static bool always(const lab_case *problem) { return problem->m >= 0; }
static bool sums(const lab_case *problem) { return problem->k > 0 && problem->alpha != 0; }
static bool beta(const lab_case *problem) { return problem->beta != 0; }
static bool no_beta(const lab_case *problem) { return problem->beta == 0; }
static bool k_edge(const lab_case *problem) { return problem->k % 8 != 0 && problem->alpha != 0; }
static bool n_edge(const lab_case *problem) { return lab_case_for_kernel(problem).n % 16 != 0; }
static bool long_k(const lab_case *problem) { return problem->k > 8 && problem->alpha != 0; }
/* clang-format on */
static bool strided_b(const lab_case *problem)
{
    lab_case seen = lab_case_for_kernel(problem);
    return !lab_strides_are_dense(seen.b, seen.n);
}
/* A kernel that reads a[row * k + i]: it ignores the strides of A, and the items of a batch. */
static bool dense_only(const lab_case *problem)
{
    lab_case seen = lab_case_for_kernel(problem);
    return sums(problem) && (!lab_strides_are_dense(seen.a, seen.k) || problem->batch > 1);
}
static bool rows(const lab_case *problem)
{
    return sums(problem) && lab_case_for_kernel(problem).m > 1;
}
static bool two_mistakes(const lab_case *problem)
{
    return k_edge(problem) || beta(problem);
}

static void traits_are_named(void **state)
{
    static const struct {
        bool (*is_wrong)(const lab_case *);
        const char *begins;
    } mistakes[] = {
        {never, ""},
        {always, "wrong on every problem"},
        {sums, "wrong whenever k > 0 and alpha is not 0"},
        {beta, "wrong only if beta is not 0"},
        {no_beta, "wrong only if beta is 0"},
        {k_edge, "wrong only if k is not a multiple of BK"},
        {n_edge, "wrong only if n is not a multiple of BN"},
        {long_k, "wrong only if k is larger than BK"},
        {strided_b, "correct for dense matrices, wrong only if B is a strided or transposed view"},
        {dense_only,
         "correct for dense matrices, wrong only if A is a strided or transposed view: index A by its strides"},
        {rows, "wrong only if C has more than one row"},
        {two_mistakes, "wrong on "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        char text[512];
        describe_failures(mistakes[i].is_wrong, text, sizeof text);
        if (strncmp(text, mistakes[i].begins, strlen(mistakes[i].begins)) != 0 || !*mistakes[i].begins != !*text)
            fail_msg("mistake %zu: \"%s\", expected \"%s\"", i, text, mistakes[i].begins);
    }
}

static void out_of_bounds_writes_are_reported(void **state)
{
    lab_failure_counts tally = {0};
    const lab_case problem = {.m = 3, .n = 3, .k = 3, .alpha = 1, .batch = 1};
    char text[512];
    (void)state;
    lab_failure_counts_add(&tally, &problem, tile, false, true);
    lab_failure_counts_explain(&tally, text, sizeof text);
    assert_int_equal(strncmp(text, "writes outside C", 16), 0);
}

static const rung_kernel_info mine = {.file = "folder/mine.cu", .source = "", .number = -1};

static void races_have_lines(void **state)
{
    static const char log[] =
        "\nRead-write data race at local memory address 0x1000000000000\n\tKernel: mine\n\t\n"
        "\tFirst entity:  Global(1,0,0)\n\t  %10 = load float\n\tAt line 35 (column 20) of folder/mine.cu:\n\t  \n\t\n"
        "\tSecond entity: Global(0,0,0)\n\t  store float\n\tAt line 30 (column 36) of folder/mine.cu:\n\t  x\n\n"
        "Read-write data race at local memory address 0x1000000000004\n"
        "\tAt line 30 (column 1) of folder/mine.cu:\n\t  x\n\tAt line 35 (column 20) of folder/mine.cu:\n\t  x\n\n"
        "Oclgrind: 2 errors generated - suppressing further errors\n";
    lab_kernel_check check = {.count = 0};
    (void)state;
    lab_oclgrind_check_parse_log(log, &mine, &check);
    assert_int_equal(check.count, 1);
    assert_int_equal(check.findings[0].kind, LAB_FINDING_DATA_RACE);
    assert_int_equal(check.findings[0].line, 30);
    assert_non_null(
        strstr(check.findings[0].text, "line 35 reads what line 30 writes; put __syncthreads() between them"));
    assert_false(lab_kernel_check_is_unsafe(&check));
}

/* With a barrier between the two lines, the race is between one iteration of a loop and the next. */
static void races_across_iterations_are_reported(void **state)
{
    static const char log[] =
        "Read-write data race at local memory address 0x1000000000000\n"
        "\tAt line 5 (column 20) of mine.cu:\n\t  x\n\tAt line 2 (column 36) of mine.cu:\n\t  x\n";
    rung_kernel_info kernel = mine;
    lab_kernel_check check = {.count = 0};
    (void)state;
    kernel.source = "loop\nstore\n\n__syncthreads();\nread\nend\n";
    lab_oclgrind_check_parse_log(log, &kernel, &check);
    assert_int_equal(check.count, 1);
    assert_int_equal(check.findings[0].line, 2);
    assert_non_null(strstr(check.findings[0].text, "lines 2 and 5 access the same element in successive iterations"));
    assert_non_null(strstr(check.findings[0].text, "at the end of the loop body"));
    kernel.source = "loop\nstore\n// __syncthreads();\n\nread\n__syncthreads();\n";
    check.count = 0;
    lab_oclgrind_check_parse_log(log, &kernel, &check);
    assert_non_null(
        strstr(check.findings[0].text, "lines 2 and 5 access the same element; put __syncthreads() between them"));
}

/* What a word of the dialect does stands in its header: that is no line of the user's. */
static void other_files_have_no_line(void **state)
{
    static const char log[] = "Invalid write of size 4 at global memory address 0x3000000000384\n\tKernel: mine\n"
                              "\tAt line 272 (column 8) of dialect.h:\n\t  x\n\n"
                              "Uninitialized value written to global memory address 0x3000000000000\n"
                              "\tAt line 272 (column 8) of dialect.h:\n\t  x\n";
    lab_kernel_check check = {.count = 0};
    (void)state;
    lab_oclgrind_check_parse_log(log, &mine, &check);
    assert_int_equal(check.count, 1); /* the second follows from the first */
    assert_int_equal(check.findings[0].kind, LAB_FINDING_OUT_OF_BOUNDS);
    assert_int_equal(check.findings[0].line, 0);
    assert_true(lab_kernel_check_is_unsafe(&check));
}

static void unknown_log_lines_are_quoted(void **state)
{
    lab_kernel_check check = {.count = 0};
    (void)state;
    lab_oclgrind_check_parse_log("Something new\n\tAt line 7 (column 8) of mine.cu:\n", &mine, &check);
    assert_int_equal(check.count, 1);
    assert_string_equal(check.findings[0].text, "Oclgrind reports: Something new");
    assert_int_equal(check.findings[0].line, 7);
    check.count = 0;
    lab_oclgrind_check_parse_log("", &mine, &check);
    assert_int_equal(check.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traits_are_named),
        cmocka_unit_test(out_of_bounds_writes_are_reported),
        cmocka_unit_test(races_have_lines),
        cmocka_unit_test(other_files_have_no_line),
        cmocka_unit_test(races_across_iterations_are_reported),
        cmocka_unit_test(unknown_log_lines_are_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
