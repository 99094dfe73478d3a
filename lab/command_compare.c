/* SPDX-License-Identifier: Apache-2.0 */
/* command_compare.c - rung compare: what became slower or faster between results of rung bench. */
#include <stdlib.h>

#include "comparison.h"
#include "options.h"
#include "target.h"

static bool load(const char *file, lab_results *results)
{
    char why[512];
    if (lab_results_load(file, results, why, sizeof why))
        return true;
    fprintf(stderr, "rung: %s\n", why);
    return false;
}

static int compare(const lab_options *options, const lab_side *before, const lab_side *after)
{
    lab_comparison comparison;
    if (!lab_comparison_make(before, after, &comparison)) {
        fprintf(stderr, "rung: out of memory\n");
        return LAB_USAGE;
    }
    if (options->json)
        lab_comparison_print_json(&comparison, stdout);
    else
        lab_comparison_print(&comparison, stdout);
    int code = lab_comparison_code(&comparison);
    if (code == LAB_NOTHING)
        fprintf(stderr, "rung: no row has a time on both sides\n");
    lab_comparison_free(&comparison);
    return code;
}

/* How many of the files are old: half of two, else those in front of "--". -1 if that is not clear. */
static int count_old(const lab_options *options)
{
    int old = options->argument_count - options->behind_dashes;
    if (options->behind_dashes > 0)
        return old > 0 ? old : -1;
    return options->argument_count == 2 ? 1 : -1;
}

int lab_command_compare(const lab_options *options)
{
    int count = options->argument_count, old = count_old(options), read = 0, code = LAB_USAGE;
    if (old < 0)
        return lab_usage("compare",
                         "give two results of rung bench -o FILE, the old one first; several per side with -- "
                         "between the sides");
    lab_results *files = calloc((size_t)count, sizeof *files);
    while (files && read < count && load(options->arguments[read], &files[read]))
        read++;
    if (files && read == count)
        code = compare(options, &(lab_side){files, old}, &(lab_side){files + old, count - old});
    for (int i = 0; i < read; i++)
        lab_results_free(&files[i]);
    free(files);
    return code;
}
