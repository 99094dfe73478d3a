/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - see baseline.h. */
#include "bench/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/failure.h"
#include "io/input_file.h"
#include "io/output_file.h"
#include "target/target.h"

const char *lab_baseline_detect(const char *name, bool *is_executable)
{
    char why[256];
    int first = ' ';
    FILE *file = lab_file_open(name, INT64_MAX, why, sizeof why);
    *is_executable = false;
    if (!file)
        return "--baseline is a file that cannot be read; give a result of rung bench -o FILE or another rung executable";
    while (first == ' ' || first == '\n' || first == '\t' || first == '\r')
        first = fgetc(file);
    fclose(file);
    *is_executable = first != '{' && access(name, X_OK) == 0;
    return first == '{' || *is_executable ? NULL
                                          : "--baseline is neither a result of rung bench -o FILE nor an executable";
}

int lab_bench_arguments(const char *program, const lab_options *options, char *list[LAB_BENCH_ARGUMENTS_MAX])
{
    const char *const first[] = {program, "bench", options->argument, options->argument2};
    int count = 0;
    memset(list, 0, LAB_BENCH_ARGUMENTS_MAX * sizeof *list);
    for (int i = 0; i < 4 && first[i]; i++)
        list[count++] = (char *)(uintptr_t)first[i];
    lab_options_to_arguments(options, NULL, list + count, LAB_BENCH_ARGUMENTS_MAX - 1 - count);
    return count;
}

void lab_bench_arguments_free(char **list, int first)
{
    for (int i = first; list[i]; i++)
        free(list[i]);
}

bool lab_baseline_start(const lab_options *options, const lab_bench_result *bench, lab_interleave *interleave)
{
    lab_options child = *options;
    char seed[32], *list[LAB_BENCH_ARGUMENTS_MAX];
    snprintf(seed, sizeof seed, "%lld", (long long)bench->seed);
    child.baseline = child.baseline_json = child.csv = child.trace = child.arch = child.machine = NULL;
    child.output = child.color = child.runs = NULL;
    child.json = child.quiet = "";
    child.seed = bench->inputs == LAB_INPUTS_WHOLE ? NULL : seed;
    int first_allocated = lab_bench_arguments(options->baseline, &child, list);
    bool started = lab_interleave_start(options->baseline, list, interleave);
    lab_bench_arguments_free(list, first_allocated);
    return started;
}

bool lab_results_from_writer(void (*print)(void *data, FILE *out), void *data, const char *name, lab_results *results,
                             char *why, size_t capacity)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return lab_set_reason(why, capacity, "out of memory");
    print(data, out);
    bool is_read = fclose(out) == 0 && lab_results_parse(text, length, name, results, why, capacity);
    free(text);
    return is_read;
}

/* Replaces a file as a whole. One of several runs writes to a file that its parent has opened (/proc/self/fd/N) instead.
 * Returns false with errno set on failure. */
static bool write_file(const char *name, const char *text, size_t length)
{
    lab_output_file file;
    if (lab_bench_is_child_run()) {
        FILE *out = fopen(name, "wbe");
        bool is_written = out && fwrite(text, 1, length, out) == length;
        return out && fclose(out) == 0 && is_written;
    }
    if (!lab_output_open(name, &file))
        return false;
    fwrite(text, 1, length, file.stream); /* lab_output_commit() reports an error */
    return lab_output_commit(&file);
}

/* Reads the results of the child, or of the file of --baseline. */
static bool read_baseline(const lab_options *options, lab_interleave *interleave, lab_results *results, char *why,
                          size_t capacity)
{
    size_t length = 0;
    if (interleave->role != LAB_INTERLEAVE_PARENT)
        return lab_results_load(options->baseline, results, why, capacity);
    char *text = lab_interleave_collect(interleave, &length);
    if (!text)
        return lab_set_reason(why, capacity, "%s", interleave->failed ? interleave->why : "out of memory");
    bool is_read = lab_results_parse(text, length, options->baseline, results, why, capacity);
    if (is_read && options->baseline_json && !write_file(options->baseline_json, text, length)) {
        is_read = lab_set_reason(why, capacity, "%s could not be written: %s; an existing file is unchanged",
                                 options->baseline_json, strerror(errno));
        lab_results_free(results);
    }
    free(text);
    return is_read;
}

int lab_baseline_print_comparison(const char *baseline, const lab_compare_side *before, const lab_compare_side *after,
                                  FILE *out)
{
    lab_comparison comparison;
    if (!lab_comparison_create(before, after, &comparison))
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    if (out) {
        fprintf(out, "\ncompared with %s\n", baseline);
        lab_comparison_print(&comparison, out);
    }
    int code = lab_comparison_exit_code(&comparison);
    if (code == LAB_EXIT_USAGE || code == LAB_EXIT_UNAVAILABLE)
        fprintf(stderr, "rung: no row of %s and of this run has a time in both\n", baseline);
    lab_comparison_free(&comparison);
    return code;
}

static void print_json(void *bench, FILE *out)
{
    lab_bench_write_json(bench, out);
}

int lab_baseline_compare(const lab_options *options, const lab_bench_result *bench, lab_interleave *interleave)
{
    lab_results before = {.count = 0}, after = {.count = 0};
    char why[768];
    int code = LAB_EXIT_USAGE;
    /* With --json and --csv, standard output contains the results. */
    FILE *out = options->json || options->csv ? stderr : stdout;
    if (read_baseline(options, interleave, &before, why, sizeof why) &&
        lab_results_from_writer(print_json, (void *)(uintptr_t)bench, "this run", &after, why, sizeof why))
        code = lab_baseline_print_comparison(options->baseline, &(lab_compare_side){&before, 1},
                                             &(lab_compare_side){&after, 1}, lab_bench_is_child_run() ? NULL : out);
    else
        fprintf(stderr, "rung: %s\n", why);
    lab_results_free(&before);
    lab_results_free(&after);
    return code;
}
