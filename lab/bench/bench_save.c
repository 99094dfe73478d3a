/* SPDX-License-Identifier: Apache-2.0 */
/* bench_save.c - rung bench: writes and checks the files of --output (see bench_result.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_result.h"
#include "io/output_file.h"
#include "target/target.h"

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
    if (baseline && lab_output_is_same_file(name, baseline))
        return lab_fail(LAB_EXIT_USAGE, "%s is also the file of --baseline; give another file with %s", name, option);
    if (lab_output_open(name, &file)) {
        bool is_direct = file.is_direct;
        lab_output_discard(&file);
        if (!is_direct)
            return LAB_EXIT_SUCCESS;
        errno = EINVAL; /* saving after each problem replaces the file, which does not work for a device or a pipe */
    }
    return lab_fail(LAB_EXIT_USAGE, "%s cannot be written: %s; give a regular file in a writable folder with %s",
                    *name ? name : "\"\"", strerror(errno), option);
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
    lab_fail(LAB_EXIT_USAGE, "%s could not be written: %s; the existing file is unchanged", name, strerror(errno));
    return false;
}
