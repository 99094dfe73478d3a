/* SPDX-License-Identifier: Apache-2.0 */
/* bench_save.c - see bench_save.h. */
#include "bench/bench_save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress_line.h"
#include "io/output_file.h"

bool lab_bench_is_child_run(void)
{
    static int known = -1;
    if (known < 0) {
        known = getenv(LAB_CHILD_RUN_VARIABLE) != NULL;
        unsetenv(LAB_CHILD_RUN_VARIABLE); /* not for the processes that this one starts */
    }
    return known;
}

/* Checks that `name` can be written and is not the file of --baseline, which may be NULL. */
static int check_output_file(const char *name, const char *option, const char *baseline)
{
    lab_output_file file;
    if (baseline && lab_output_is_same_file(name, baseline)) {
        fprintf(stderr, "rung: %s is also the file of --baseline; give another file with %s\n", name, option);
        return LAB_EXIT_USAGE;
    }
    if (lab_output_open(name, &file)) {
        bool is_direct = file.is_direct;
        lab_output_discard(&file);
        if (!is_direct)
            return LAB_EXIT_SUCCESS;
        errno = EINVAL; /* saving after each problem replaces the file, which does not work for a device or a pipe */
    }
    fprintf(stderr, "rung: %s cannot be written: %s; give a regular file in a writable folder with %s\n",
            *name ? name : "\"\"", strerror(errno), option);
    return LAB_EXIT_USAGE;
}

int lab_bench_check_output(const lab_options *options)
{
    int code = options->output ? check_output_file(options->output, "--output", options->baseline) : LAB_EXIT_SUCCESS;
    if (code == LAB_EXIT_SUCCESS && options->baseline_json && !lab_bench_is_child_run())
        code = check_output_file(options->baseline_json, "--baseline-json", options->baseline);
    return code;
}

static void print_bench(void *data, FILE *out)
{
    lab_bench_print(data, out);
}

bool lab_bench_save(lab_bench_result *bench)
{
    return !bench->options->output || lab_bench_save_file(bench->options->output, print_bench, bench);
}

bool lab_bench_save_file(const char *name, void (*print)(void *data, FILE *out), void *data)
{
    lab_output_file file;
    if (lab_output_open(name, &file)) {
        print(data, file.stream);
        if (lab_output_commit(&file))
            return true;
    }
    int number = errno;
    lab_progress_hide();
    fprintf(stderr, "rung: %s could not be written: %s; the existing file is unchanged\n", name, strerror(number));
    return false;
}
