/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - rung bench --output: what is measured stays measured, whatever happens to the
 * process. The file is written after each problem, beside its place, and put there by renaming, which
 * is done or not done and never half. */
#include "bench.h"

#include <errno.h>
#include <string.h>

#include "output_file.h"
#include "progress.h"
#include "target.h"

int lab_bench_check_file(const lab_options *options)
{
    lab_output_file file;
    if (!options->output)
        return LAB_GOOD;
    if (lab_output_begin(options->output, &file)) {
        bool is_direct = file.is_direct;
        lab_output_discard(&file);
        if (!is_direct)
            return LAB_GOOD;
        errno = EINVAL; /* the file is written again after each problem, which a device or a pipe does not replace */
    }
    fprintf(stderr, "rung: %s cannot be written: %s; name a regular file in a folder of yours with --output, or leave "
            "--output out to write to standard output\n", *options->output ? options->output : "\"\"", strerror(errno));
    return LAB_USAGE;
}

bool lab_bench_save(lab_bench *bench)
{
    lab_output_file file;
    if (!bench->options->output)
        return true;
    if (lab_output_begin(bench->options->output, &file)) {
        lab_bench_print(bench, file.stream);
        if (lab_output_commit(&file))
            return true;
    }
    int number = errno;
    lab_progress_break();
    fprintf(stderr, "rung: %s could not be written: %s; what was there before is unharmed\n", bench->options->output,
            strerror(number));
    return false;
}
