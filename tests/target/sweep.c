/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - lists of sizes and parameters expand to what they say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "target/parameters.h"
#include "target/sweep.h"

static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];

static const char source[] = "/* mine - a kernel */\n"
                             "#ifndef TILE\n#define TILE 8 // 8 16\n#endif\n"
                             "#ifndef PAD\n#define PAD 0\n#endif\n"
                             "#if TILE > 32\n#error \"too large\"\n#endif\n"
                             "// preset wide: TILE=32,PAD=4\n";

static const char other_source[] = "/* other - another kernel */\n"
                                   "#ifndef TILE\n#define TILE 8 // 8 64\n#endif\n"
                                   "#ifndef COLUMNS\n#define COLUMNS 1\n#endif\n";

static rung_kernel *kernel, *other;

static int open_kernel(void **state)
{
    (void)state;
    return rung_kernel_from_source(NULL, "opencl", "mine.cu", source, &kernel) != RUNG_OK ||
           rung_kernel_from_source(NULL, "opencl", "other.cu", other_source, &other) != RUNG_OK;
}

static int close_kernel(void **state)
{
    (void)state;
    rung_kernel_destroy(kernel);
    rung_kernel_destroy(other);
    return 0;
}

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(lab_sweep_parameters(kernel, NULL, texts), 1);
    assert_string_equal(texts[0], "");
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=16,32", texts), 2);
    assert_string_equal(texts[0], "TILE=16");
    assert_string_equal(texts[1], "TILE=32");
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=8,16,PAD=0,1,2", texts), 6);
    assert_string_equal(texts[5], "TILE=16,PAD=2");
    assert_int_equal(lab_sweep_parameters(kernel, "wide,PAD=1", texts), 1);
    assert_string_equal(texts[0], "wide,PAD=1");
}

static void test_unsupported_parameters(void **state)
{
    (void)state;
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=32,64", texts), 1);
    assert_string_equal(texts[0], "TILE=32");
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=64", texts), 0);
    assert_int_equal(lab_sweep_parameters(kernel, "COLUMNS=1,4", texts), 1);
    assert_string_equal(texts[0], "");
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=", texts), -1);
    assert_int_equal(lab_sweep_parameters(kernel, "TILE=1,2,3,4,5,6,7,8,9,PAD=1,2,3,4,5,6,7,8", texts),
                     -1); /* more than there is room for */
}

/* Checks the text against the first `count` of {kernel, other}; "" if it is valid. */
static const char *expect_expansion(int count, const char *text)
{
    static char why[512];
    const rung_kernel *kernels[] = {kernel, other};
    return lab_sweep_check(kernels, count, text, why, sizeof why) ? "" : why;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" has no \"%s\"", text, part);
}

static void test_unknown_names_are_errors(void **state)
{
    (void)state;
    assert_string_equal(expect_expansion(1, NULL), "");
    assert_string_equal(expect_expansion(1, "TILE=16,PAD=1"), "");
    assert_string_equal(expect_expansion(1, "wide,PAD=1"), "");
    has(expect_expansion(1, "TYLE=16"),
        "mine.cu has no parameter TYLE (did you mean TILE?); it has the parameters TILE, PAD");
    has(expect_expansion(1, "tile=16"), "did you mean TILE?");
    has(expect_expansion(1, "wid"), "mine.cu has no preset wid (did you mean wide?); it has the preset wide");
    has(expect_expansion(1, "TILE=16,PADD=1"), "did you mean PAD?");
    has(expect_expansion(1, "COLUMNS=4"), "no parameter COLUMNS;");
    has(expect_expansion(1, "TILE="), "is malformed at \"TILE=\"");
    const rung_kernel *none[] = {NULL};
    char why[256];
    assert_false(lab_sweep_check(none, 1, "TILE=16", why, sizeof why));
    has(why, "rung_gemm has no parameter TILE; it has no parameters");
}

static void test_names_apply_to_the_kernels_that_have_them(void **state)
{
    char own[64];
    (void)state;
    assert_string_equal(expect_expansion(2, "TILE=16,PAD=1,COLUMNS=4"), "");
    has(expect_expansion(2, "TYLE=16"),
        "the chosen kernels have no parameter TYLE (did you mean TILE?); they have the parameters TILE, "
        "PAD, COLUMNS");
    assert_true(lab_parameters_select(other, "wide,PAD=0,1,TILE=8,16,COLUMNS=4", own, sizeof own));
    assert_string_equal(own, "TILE=8,16,COLUMNS=4");
    assert_true(lab_parameters_select(other, "PAD=1", own, sizeof own));
    assert_string_equal(own, "");
    assert_false(lab_parameters_select(other, "TILE=8,COLUMNS=4", own, sizeof "TILE=8,COLUMNS="));
    assert_int_equal(lab_sweep_parameters(other, "wide,TILE=8,16", texts), 2);
    assert_string_equal(texts[1], "TILE=16");
}

static void test_values_that_no_kernel_accepts_are_errors(void **state)
{
    (void)state;
    has(expect_expansion(1, "TILE=32,64"), "no kernel accepts TILE=64: mine.cu rejects these parameters: too large");
    assert_string_equal(expect_expansion(2, "TILE=32,64"), ""); /* the other kernel takes 64 */
    has(expect_expansion(1, "PAD=1,x"), "no preset x");
    has(expect_expansion(1, "PAD=1,2x"), "no kernel accepts PAD=2x");
    has(expect_expansion(1, "TILE=1,2,3,4,5,6,7,8,9,PAD=1,2,3,4,5,6,7,8"), "more than 64 combinations");
}

static void test_sizes(void **state)
{
    int64_t sizes[LAB_SWEEP_MAX];
    (void)state;
    assert_int_equal(lab_sweep_sizes("256", sizes), 1);
    assert_int_equal(lab_sweep_sizes("128:512:128,1000", sizes), 5);
    assert_int_equal(sizes[3], 512);
    assert_int_equal(sizes[4], 1000);
    const char *const wrong[] = {"", "x", "0", "-4", "5:4", "1:9:0", "1:100000", "1:2:3:4", "1.5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(lab_sweep_sizes(wrong[i], sizes), -1);
    /* Not cut to 256, and not past the largest number. */
    char zeros[120];
    memset(zeros, '0', sizeof zeros);
    memcpy(zeros + 92, "2560", sizeof "2560");
    assert_int_equal(lab_sweep_sizes(zeros, sizes), -1);
    assert_int_equal(lab_sweep_sizes("9223372036854775000:9223372036854775807:500", sizes), 2);
}

static void is_shape(lab_shape shape, int64_t m, int64_t n, int64_t k)
{
    assert_int_equal(shape.m, m);
    assert_int_equal(shape.n, n);
    assert_int_equal(shape.k, k);
}

static void test_shapes(void **state)
{
    lab_shape shapes[LAB_SWEEP_MAX];
    (void)state;
    assert_int_equal(lab_sweep_shapes("64,128:384:128,1x4096x512,7", shapes), 6);
    is_shape(shapes[0], 64, 64, 64);
    is_shape(shapes[3], 384, 384, 384);
    is_shape(shapes[4], 1, 4096, 512);
    is_shape(shapes[5], 7, 7, 7);
    const char *const wrong[] = {"",     "x",     "12x",    "1x2",     "1x2x3x4", "x1x2",  "1xx2",
                                 "1x2x", "0x1x1", "1x-2x3", "1x2x3:4", "5:4",     "1:100", "1:40,1:40"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(lab_sweep_shapes(wrong[i], shapes), -1);
    char zeros[120];
    memset(zeros, '0', sizeof zeros);
    memcpy(zeros, "8x8x", 4);
    memcpy(zeros + 92, "2560", sizeof "2560");
    assert_int_equal(lab_sweep_shapes(zeros, shapes), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_unsupported_parameters),
        cmocka_unit_test(test_unknown_names_are_errors),
        cmocka_unit_test(test_names_apply_to_the_kernels_that_have_them),
        cmocka_unit_test(test_values_that_no_kernel_accepts_are_errors),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, open_kernel, close_kernel);
}
