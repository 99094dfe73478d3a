/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - a value that a variable does not take is reported, with what it takes, once per context: a
 * misspelt one must not look as if it had been taken. */
#include "support/unit.h"

#include <stdio.h>

typedef struct environment_log {
    int count;
    char text[8192];
} environment_log_t;

static void log_line(void *user, const char *line)
{
    environment_log_t *lines = user;
    size_t used = strlen(lines->text);
    lines->count++;
    snprintf(lines->text + used, sizeof lines->text - used, "%s\n", line);
}

/* A context that multiplies on the CPU, so that all that is read at first use is read; twice. */
static environment_log_t lines_of(int verbose)
{
    float data[3][16] = {{1}, {1}, {0}};
    environment_log_t lines = {0};
    rung_context *context;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cpu", .verbose = verbose, .log = log_line, .log_user = &lines};
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rung_gemm(context, 1, rung_matrix_of(RUNG_F32, 4, 4, data[0]),
                                   rung_matrix_of(RUNG_F32, 4, 4, data[1]), 0, rung_matrix_of(RUNG_F32, 4, 4, data[2])),
                         RUNG_OK);
    rung_context_destroy(context);
    return lines;
}

static char long_path[8192];

/* A variable, a value that it does not take, and words of what it takes. */
static const struct {
    const char *name, *value, *valid;
} wrong[] = {
    {"RUNG_CPU_ISA", "avx51", "portable avx2 avx512 dot amx"},
    {"RUNG_CPU_ISA", "AVX2", "avx2"},
    {"RUNG_OVERLAP", "32M", "number of bytes"},
    {"RUNG_OVERLAP", "-1", "number of bytes"},
    {"RUNG_OVERLAP", "99999999999999999999", "number of bytes"},
    {"RUNG_THREADS", "many", "1 to 8192"},
    {"RUNG_THREADS", "0", "1 to 8192"},
    {"RUNG_THREADS", "8193", "1 to 8192"},
    {"RUNG_THREADS", "4 ", "1 to 8192"},
    {"RUNG_CPU_VENDOR", "mlk", "mkl openblas blis onednn ggml"},
    {"RUNG_DEVICE", "gpu", "cpu"},
    {"RUNG_DEVICE", "opencl:", "opencl"},
    {"RUNG_DEVICE", "cpu:x", "opencl"},
    {"RUNG_DEVICE", "cpu,", "opencl"},
    {"RUNG_BLAS", "of", "on or off"},
    {"RUNG_TUNING", long_path, "bytes"},
    {"XDG_CACHE_HOME", "cache", "absolute path"},
    {"XDG_CONFIG_HOME", "~/config", "absolute path"},
};

static const struct {
    const char *name, *value;
} right[] = {
    {"RUNG_CPU_ISA", "portable"},  {"RUNG_CPU_ISA", "amx"},
    {"RUNG_OVERLAP", "0"},         {"RUNG_OVERLAP", "1048576"},
    {"RUNG_THREADS", "1"},         {"RUNG_THREADS", "8192"},
    {"RUNG_CPU_VENDOR", "blis"},   {"RUNG_CPU_VENDOR", "/no/x.so"},
    {"RUNG_DEVICE", "cpu"},        {"RUNG_DEVICE", "cpu,cpu:1"},
    {"RUNG_BLAS", "off"},          {"RUNG_BLAS", "on"},
    {"RUNG_TUNING", "off"},        {"RUNG_VERBOSE", "0"},
    {"XDG_CACHE_HOME", "/tmp"},    {"RUNG_CPU_ISA", ""},
    {"RUNG_OVERLAP", ""},          {"RUNG_THREADS", ""},
#ifndef _WIN32 /* has no CUDA device */
    {"RUNG_DEVICE", "cpu,cuda:1"},
#endif
};

static void forget(const char *name)
{
    unsetenv(name);
    setenv("RUNG_TUNING", "off", 1);
}

static void invalid_values_are_reported_once(void **state)
{
    (void)state;
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv(wrong[i].name, wrong[i].value, 1);
        environment_log_t lines = lines_of(0);
        if (lines.count != 1 || !strstr(lines.text, wrong[i].name) || !strstr(lines.text, wrong[i].valid))
            fail_msg("%s=%.40s: %d lines:\n%s", wrong[i].name, wrong[i].value, lines.count, lines.text);
        lines = lines_of(1);
        char begin[64], *first;
        snprintf(begin, sizeof begin, "%s is \"", wrong[i].name);
        first = strstr(lines.text, begin);
        if (!first || strstr(first + 1, begin))
            fail_msg("%s=%.40s at verbose 1:\n%s", wrong[i].name, wrong[i].value, lines.text);
        assert_int_equal(lines_of(-1).count, 0);
        forget(wrong[i].name);
    }
}

static void valid_values_are_not_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        setenv(right[i].name, right[i].value, 1);
        environment_log_t lines = lines_of(0);
        if (lines.count != 0)
            fail_msg("%s=%s: %s", right[i].name, right[i].value, lines.text);
        forget(right[i].name);
    }
}

static void several_are_reported_each(void **state)
{
    (void)state;
    setenv("RUNG_CPU_ISA", "sse9", 1);
    setenv("RUNG_OVERLAP", "lots", 1);
    environment_log_t lines = lines_of(0);
    assert_int_equal(lines.count, 2);
    assert_non_null(strstr(lines.text, "\"sse9\""));
    assert_non_null(strstr(lines.text, "\"lots\""));
    forget("RUNG_CPU_ISA");
    forget("RUNG_OVERLAP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_values_are_reported_once),
        cmocka_unit_test(valid_values_are_not_reported),
        cmocka_unit_test(several_are_reported_each),
    };
    unit_clean_environment();
    unsetenv("RUNG_CPU_ISA");
    unsetenv("RUNG_BLAS");
    unsetenv("RUNG_CPU_VENDOR");
    unsetenv("RUNG_CLBLAST_TUNING");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
