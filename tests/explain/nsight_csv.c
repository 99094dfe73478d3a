/* SPDX-License-Identifier: Apache-2.0 */
/* nsight_csv.c - files of Nsight Compute are read in both layouts. The files here are written by hand after ncu's
 * documentation, because no GPU runs the tests. */
#include "explain/nsight_metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { DRAM, TIME, LOADS, VALUE_COUNT };

static char path[] = "/tmp/rung-test-XXXXXX";

/* Writes the text to the file and reads the three metrics of a kernel from it. */
static bool read_text(const char *text, const char *kernel, lab_nsight_values *values, char *why, size_t capacity)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    *values = (lab_nsight_values){
        .names = {"dram__bytes.sum", "gpu__time_duration.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
        .values = {NAN, NAN, NAN},
        .count = VALUE_COUNT};
    return lab_nsight_read(path, kernel, values, why, capacity);
}

static const char long_layout[] =
    "==PROF== Connected to process 7\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"7\",\"setup(float *, int)\",\"dram__bytes.sum\",\"Kbyte\",\"3.5\"\n"
    "\"1\",\"7\",\"sgemm(int, float \"\"x\"\")\",\"dram__bytes.sum\",\"Mbyte\",\"1,234.5\"\n"
    "\"1\",\"7\",\"sgemm(int, float \"\"x\"\")\",\"gpu__time_duration.sum\",\"usecond\",\"17.25\"\n"
    "\"1\",\"7\",\"sgemm(int, float \"\"x\"\")\",\"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\",\"\",\"100\"\n"
    "\"1\",\"7\",\"sgemm(int, float \"\"x\"\")\",\"l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum\",\"\",\"28\"\n"
    "\"2\",\"7\",\"sgemm(int, float \"\"x\"\")\",\"dram__bytes.sum\",\"byte\",\"1\"\n";

/* Of the launches the first with the name, with units, thousands, and copies added to loads. */
static void reads_one_metric_per_row(void **state)
{
    lab_nsight_values values;
    char why[256];
    (void)state;
    assert_true(read_text(long_layout, "sgemm", &values, why, sizeof why));
    assert_string_equal(values.kernel, "sgemm(int, float \"x\")");
    assert_true(values.values[DRAM] == 1234.5e6);
    assert_true(values.values[TIME] == 17250);
    assert_true(values.values[LOADS] == 128);
}

static void reads_the_first_kernel_without_the_name(void **state)
{
    lab_nsight_values values;
    char why[256];
    (void)state;
    assert_true(read_text(long_layout, "other", &values, why, sizeof why));
    assert_true(values.values[DRAM] == 3500);
    assert_true(isnan(values.values[TIME]));
}

static void reads_one_kernel_per_row(void **state)
{
    static const char text[] = "\"ID\",\"Kernel Name\",\"dram__bytes.sum\",\"gpu__time_duration.sum\",\"other\"\n"
                               "\"\",\"\",\"Gbyte\",\"ms\",\"\"\n"
                               "\"0\",\"setup\",\"1\",\"1\",\"2\"\n"
                               "\"1\",\"sgemm\",\"2\",\"0.5\",\"n/a\"\n"
                               "\"2\",\"sgemm\",\"3\",\"0.6\",\"n/a\"\n";
    lab_nsight_values values;
    char why[256];
    (void)state;
    assert_true(read_text(text, "sgemm", &values, why, sizeof why));
    assert_true(values.values[DRAM] == 2e9 && values.values[TIME] == 0.5e6 && isnan(values.values[LOADS]));
}

static void says_what_is_wrong(void **state)
{
    lab_nsight_values values;
    char why[256];
    (void)state;
    assert_false(read_text("", "sgemm", &values, why, sizeof why));
    assert_non_null(strstr(why, "has none of the metrics; write it with ncu --csv"));
    assert_false(read_text("\"ID\",\"Kernel Name\",\"x\"\n\"0\",\"sgemm\",\"1\"\n", "sgemm", &values, why, sizeof why));
    assert_false(lab_nsight_read("/nowhere/a.csv", "sgemm", &values, why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/a.csv: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_metric_per_row),
        cmocka_unit_test(reads_the_first_kernel_without_the_name),
        cmocka_unit_test(reads_one_kernel_per_row),
        cmocka_unit_test(says_what_is_wrong),
    };
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
