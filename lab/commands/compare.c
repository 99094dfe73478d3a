/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - the command `rung compare`: reads the files and calls lab/compare. */
#include <stdlib.h>

#include "compare/compare.h"
#include "cli/options.h"
#include "target/target.h"

static int compare(const lab_options *options, const lab_compare_side *before, const lab_compare_side *after)
{
    lab_comparison comparison;
    if (!lab_comparison_create(before, after, &comparison))
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    (options->json ? lab_comparison_print_json : lab_comparison_print)(&comparison, stdout);
    int code = lab_comparison_exit_code(&comparison);
    if (code == LAB_EXIT_UNAVAILABLE)
        lab_fail(code, "nothing to compare: no row has a time on both sides");
    lab_comparison_free(&comparison);
    return code;
}

/* Returns the number of old files: one of two, else those before "--"; -1 if this is ambiguous. */
static int count_old_files(const lab_options *options)
{
    int old = options->argument_count - options->arguments_after_dashes;
    if (options->arguments_after_dashes > 0)
        return old > 0 ? old : -1;
    return options->argument_count == 2 ? 1 : -1;
}

int lab_command_compare(const lab_options *options)
{
    int count = options->argument_count, old = count_old_files(options), read = 0, code = LAB_EXIT_USAGE;
    char why[512] = "out of memory";
    if (old < 0)
        return lab_usage_error("compare",
                               "give two results of rung bench -o FILE, the old one first; several per side with -- "
                               "between the sides");
    lab_results *files = calloc((size_t)count, sizeof *files);
    while (files && read < count && lab_results_load(options->arguments[read], &files[read], why, sizeof why))
        read++;
    if (files && read == count)
        code = compare(options, &(lab_compare_side){files, old}, &(lab_compare_side){files + old, count - old});
    else
        lab_fail(code, "%s", why);
    for (int i = 0; i < read; i++)
        lab_results_free(&files[i]);
    free(files);
    return code;
}
