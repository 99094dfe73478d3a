/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - see baseline.h. */
#include "baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_runs.h"
#include "comparison.h"
#include "file.h"
#include "output_file.h"

const char *lab_baseline_look(const char *name, bool *is_executable)
{
    char why[256];
    int first = ' ';
    FILE *file = lab_file_open(name, INT64_MAX, why, sizeof why);
    *is_executable = false;
    if (!file)
        return "--baseline is a file: a result of rung bench -o FILE, or another executable of rung";
    while (first == ' ' || first == '\n' || first == '\t' || first == '\r')
        first = fgetc(file);
    fclose(file);
    *is_executable = first != '{' && access(name, X_OK) == 0;
    return first == '{' || *is_executable ? NULL
                                          : "--baseline is neither a result of rung bench -o FILE nor an executable";
}

/* Options that are the parent's alone. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"baseline", "baseline-json", "json", "csv",    "quiet", "trace",
                                      "arch",     "machine",       "seed", "output", "color", "runs"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

bool lab_baseline_start(const lab_options *options, const lab_bench *bench, lab_turns *turns)
{
    enum { ARGUMENTS = 96 };
    char *list[ARGUMENTS] = {(char *)options->baseline, (char *)"bench"}, seed[64];
    int count = 2, first_made;
    if (options->argument)
        list[count++] = (char *)options->argument;
    if (options->argument2)
        list[count++] = (char *)options->argument2;
    list[count++] = (char *)"--json";
    list[count++] = (char *)"--quiet";
    snprintf(seed, sizeof seed, "--seed=%lld", (long long)bench->seed);
    if (bench->inputs != LAB_INPUTS_WHOLE)
        list[count++] = seed;
    first_made = count;
    count += lab_options_given(options, is_own, list + count, ARGUMENTS - 1 - count);
    bool started = lab_turns_start(options->baseline, list, turns);
    for (int i = first_made; i < count; i++)
        free(list[i]);
    return started;
}

/* This run, as it would be read from its file. */
static bool read_own(const lab_bench *bench, lab_results *results, char *why, size_t capacity)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        snprintf(why, capacity, "out of memory");
        return false;
    }
    lab_bench_write_json(bench, out);
    bool good = fclose(out) == 0 && lab_results_read(text, length, "this run", results, why, capacity);
    free(text);
    return good;
}

/* Replaces the file as a whole. One of several runs writes to a file that its parent has opened, by its number. False,
 * with errno set, on failure. */
static bool write_file(const char *name, const char *text, size_t length)
{
    lab_output_file file;
    if (lab_bench_is_part()) {
        FILE *out = fopen(name, "wbe");
        bool good = out && fwrite(text, 1, length, out) == length;
        return out && fclose(out) == 0 && good;
    }
    if (!lab_output_begin(name, &file))
        return false;
    fwrite(text, 1, length, file.stream); /* commit checks it */
    return lab_output_commit(&file);
}

/* What the child wrote, or what is in the file. */
static bool read_old(const lab_options *options, lab_turns *turns, lab_results *results, char *why, size_t capacity)
{
    size_t length = 0;
    if (turns->role != LAB_PARENT)
        return lab_results_load(options->baseline, results, why, capacity);
    char *text = lab_turns_finish(turns, &length);
    if (!text) {
        snprintf(why, capacity, "%s", turns->failed ? turns->why : "out of memory");
        return false;
    }
    bool good = lab_results_read(text, length, options->baseline, results, why, capacity);
    if (good && options->baseline_json && !write_file(options->baseline_json, text, length)) {
        snprintf(why, capacity, "%s could not be written: %s; a file that was there is unchanged",
                 options->baseline_json, strerror(errno));
        lab_results_free(results);
        good = false;
    }
    free(text);
    return good;
}

int lab_baseline_compare(const lab_options *options, const lab_bench *bench, lab_turns *turns)
{
    lab_results before = {.count = 0}, after = {.count = 0};
    lab_comparison comparison;
    char why[768] = "out of memory";
    int code = LAB_USAGE;
    /* With --json and --csv, standard output is for those. */
    FILE *out = options->json || options->csv ? stderr : stdout;
    if (read_old(options, turns, &before, why, sizeof why) && read_own(bench, &after, why, sizeof why) &&
        lab_comparison_make(&(lab_side){&before, 1}, &(lab_side){&after, 1}, &comparison)) {
        if (!lab_bench_is_part()) {
            fprintf(out, "\ncompared with %s\n", options->baseline);
            lab_comparison_print(&comparison, out);
        }
        code = lab_comparison_code(&comparison);
        snprintf(why, sizeof why, "no row has a time on both sides: %s and this run", options->baseline);
        lab_comparison_free(&comparison);
    }
    if (code == LAB_USAGE || code == LAB_NOTHING)
        fprintf(stderr, "rung: %s\n", why);
    lab_results_free(&before);
    lab_results_free(&after);
    return code;
}
