/* SPDX-License-Identifier: Apache-2.0 */
/* command_compare.c - rung compare: what became slower or faster between two results of rung bench. */
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

int lab_command_compare(const lab_options *options)
{
    lab_results before = {.count = 0}, after = {.count = 0};
    lab_comparison comparison;
    int code = LAB_USAGE;
    if (!options->argument || !options->argument2)
        return lab_usage("compare", "two results of rung bench --json are compared, the old one first");
    if (load(options->argument, &before) && load(options->argument2, &after) &&
        lab_comparison_make(&before, &after, &comparison)) {
        if (options->json)
            lab_comparison_print_json(&comparison, stdout);
        else
            lab_comparison_print(&comparison, stdout);
        code = lab_comparison_code(&comparison);
        if (code == LAB_NOTHING)
            fprintf(stderr, "rung: the two have no row in common that both have times of\n");
        lab_comparison_free(&comparison);
    }
    lab_results_free(&before);
    lab_results_free(&after);
    return code;
}
