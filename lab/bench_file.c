/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - rung bench --output: what is measured stays measured, whatever happens to the
 * process. The file is written after each problem, beside its place, and put there by renaming, which
 * is done or not done and never half. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#include "bench_runs.h"
#include "output_file.h"
#include "progress.h"
#include "target.h"

/* Checks that `name` can be written and is not the file of --baseline, which may be NULL. */
static int check_file(const char *name, const char *option, const char *baseline)
{
    lab_output_file file;
    if (baseline && lab_output_is(name, baseline)) {
        fprintf(stderr, "rung: %s is also the file of --baseline; name another file with %s\n", name, option);
        return LAB_USAGE;
    }
    if (lab_output_begin(name, &file)) {
        bool is_direct = file.is_direct;
        lab_output_discard(&file);
        if (!is_direct)
            return LAB_GOOD;
        errno = EINVAL; /* the file is written again after each problem, which a device or a pipe does not replace */
    }
    fprintf(stderr, "rung: %s cannot be written: %s; name a regular file in a folder of yours with %s\n",
            *name ? name : "\"\"", strerror(errno), option);
    return LAB_USAGE;
}

int lab_bench_check_file(const lab_options *options)
{
    int code = options->output ? check_file(options->output, "--output", options->baseline) : LAB_GOOD;
    if (code == LAB_GOOD && options->baseline_json && !lab_bench_is_part())
        code = check_file(options->baseline_json, "--baseline-json", options->baseline);
    return code;
}

static void print_bench(void *data, FILE *out)
{
    lab_bench_print(data, out);
}

bool lab_bench_save(lab_bench *bench)
{
    return !bench->options->output || lab_output_save(bench->options->output, print_bench, bench);
}

bool lab_output_save(const char *name, void (*print)(void *data, FILE *out), void *data)
{
    lab_output_file file;
    if (lab_output_begin(name, &file)) {
        print(data, file.stream);
        if (lab_output_commit(&file))
            return true;
    }
    int number = errno;
    lab_progress_break();
    fprintf(stderr, "rung: %s could not be written: %s; the existing file is unchanged\n", name, strerror(number));
    return false;
}
