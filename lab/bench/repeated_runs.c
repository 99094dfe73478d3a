/* SPDX-License-Identifier: Apache-2.0 */
/* repeated_runs.c - rung bench --runs N: the same measurement in N processes, merged into one result; see bench.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/baseline.h"
#include "bench/bench.h"
#include "bench/bench_session.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "io/temporary_file.h"
#include "process/child_process.h"

enum { RUNS_MAX = LAB_BENCH_RUNS_MAX, BASELINE_RUNS_DEFAULT = 10 };

typedef struct repeated_runs {
    const lab_options *options;
    int64_t runs;
    bool is_paired; /* --baseline is an executable */
    char budget[64], seed[64];
    lab_results *own, *partners; /* the results of each run, and of its interleaved partner */
    int count;                   /* of runs that succeeded */
    bool is_complete;
    bool save_failed;
} repeated_runs_t;

const char *lab_bench_count_runs(const lab_options *options, int64_t *runs)
{
    bool is_executable = false;
    *runs = 1;
    if (lab_bench_is_child_run())
        return NULL;
    const char *error = options->baseline ? lab_baseline_detect(options->baseline, &is_executable) : NULL;
    if (error)
        return error;
    *runs = is_executable ? BASELINE_RUNS_DEFAULT : 1;
    if (options->runs && (!lab_parse_integer(options->runs, runs) || *runs < 1 || *runs > RUNS_MAX))
        return "--runs must be an integer from 1 to 1000";
    if (*runs == 1)
        return NULL;
    if (options->csv || options->trace)
        return "--csv and --trace support one run only; add --runs 1";
    if (options->baseline_json && !is_executable)
        return LAB_BASELINE_JSON_USAGE;
    return NULL;
}

/* ---- One run -------------------------------------------------------------------------------------------- */

/* Starts a run, whose results go to `results` and whose messages go to `messages`. The child dies with its parent. It has a
 * process group of its own: Ctrl-C reaches only the parent, which forwards it once; a second signal would end the child at
 * once. Returns 0 and the child, or an errno. */
static int start_run(const lab_options *options, FILE *results, FILE *partner, FILE *messages, pid_t *child)
{
    char *list[LAB_BENCH_ARGUMENTS_MAX];
    int first_allocated = lab_bench_arguments("rung", options, list);
    int error = fcntl(fileno(partner), F_SETFD, 0) < 0 ? errno : 0; /* the child opens it as /proc/self/fd/N */
    fflush(NULL); /* else the child would write buffered output again */
    setenv(LAB_CHILD_RUN_VARIABLE, "1", 1);
    if (!error)
        error = lab_child_start("/proc/self/exe", list, NULL,
                                (lab_child_streams){-1, fileno(results), fileno(messages)}, child);
    unsetenv(LAB_CHILD_RUN_VARIABLE);
    lab_bench_arguments_free(list, first_allocated);
    return error;
}

/* Waits for the child without a time limit, and forwards an interruption once. Returns the child's exit code, or -1 if a
 * signal ended it. */
static int wait_for_run(pid_t child, const lab_progress *progress)
{
    enum { POLL_NS = 100000000 };
    bool is_forwarded = false;
    int status;
    while (lab_child_is_running(child, &status)) {
        if (lab_is_interrupted() && !is_forwarded) {
            kill(child, SIGTERM);
            is_forwarded = true;
        }
        lab_progress_show(progress);
        lab_sleep_ns(POLL_NS - LAB_CHILD_POLL_NS); /* rarely: the child measures */
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Starts one run and waits for it. Predictions (--arch, --machine) do not change from run to run: only the first run makes
 * them. Returns its exit code. */
static int run_child(const repeated_runs_t *set, int64_t index, FILE *results, FILE *partner, FILE *messages)
{
    lab_options options = *set->options;
    char baseline_json[64], what[64];
    pid_t child;
    snprintf(baseline_json, sizeof baseline_json, "/proc/self/fd/%d", fileno(partner));
    options.baseline = set->is_paired ? options.baseline : NULL;
    options.baseline_json = set->is_paired ? baseline_json : NULL;
    options.arch = index == 0 ? options.arch : NULL;
    options.machine = index == 0 ? options.machine : NULL;
    options.output = options.color = options.runs = NULL;
    options.json = options.quiet = "";
    options.budget = set->budget;
    options.seed = *set->seed ? set->seed : NULL;
    int error = start_run(&options, results, partner, messages, &child);
    if (error)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start a process: %s; %s", strerror(error),
                        lab_child_start_advice(error));
    snprintf(what, sizeof what, "run %lld of %lld", (long long)index + 1, (long long)set->runs);
    return wait_for_run(
        child, &(lab_progress){.what = what, .done = (double)index, .count = (double)set->runs, .units = "runs"});
}

static void copy_to_stderr(FILE *messages)
{
    size_t length;
    char *text = lab_temporary_read(messages, &length);
    if (text) {
        lab_progress_hide();
        fwrite(text, 1, length, stderr);
    }
    free(text);
}

static bool read_results(FILE *file, const char *name, lab_results *results)
{
    char why[512];
    size_t length;
    char *text = lab_temporary_read(file, &length);
    bool is_read = text && lab_results_parse(text, length, name, results, why, sizeof why);
    free(text);
    return is_read;
}

static bool is_complete(const lab_results *results)
{
    return lab_json_get_true(results->document.root, "complete");
}

/* Stores the results of a run. A run that was interrupted, or whose partner failed, counts only if it is the first, so that
 * there is something to show. */
static void keep_run_results(repeated_runs_t *set, FILE *results, FILE *partner_results)
{
    lab_results *own = &set->own[set->count], *partner = &set->partners[set->count];
    *own = *partner = (lab_results){.count = 0};
    bool is_first = set->count == 0;
    bool is_good = read_results(results, "a run", own) && (is_complete(own) || is_first);
    bool has_partner = is_good && set->is_paired && read_results(partner_results, "its baseline", partner) &&
                       is_complete(partner);
    if (is_good && (has_partner || !set->is_paired || is_first)) {
        set->count++;
        return;
    }
    lab_results_free(own);
    lab_results_free(partner);
}

/* Runs once and stores the results. Returns an exit code. */
static int run_once(repeated_runs_t *set, int64_t index)
{
    char why[4608];
    FILE *results = lab_temporary_open(), *partner = lab_temporary_open(), *messages = lab_temporary_open();
    FILE *const files[] = {results, partner, messages};
    int error = errno; /* of the last file, which fails if an earlier one does */
    int code = LAB_EXIT_USAGE;
    if (results && partner && messages) {
        code = run_child(set, index, results, partner, messages);
        if (index == 0 || (code != LAB_EXIT_SUCCESS && code != LAB_EXIT_INTERRUPTED))
            copy_to_stderr(messages);
        if (code < 0 && !lab_is_interrupted())
            fprintf(stderr, "rung: run %lld was killed\n", (long long)index + 1);
        if (code < 0)
            code = lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : LAB_EXIT_WRONG;
        keep_run_results(set, results, partner);
    } else {
        lab_temporary_error_text(error, why, sizeof why);
        fprintf(stderr, "rung: %s\n", why);
    }
    for (int i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    return code;
}

/* ---- Merging -------------------------------------------------------------------------------------------- */

/* One side of the merged result. */
typedef struct merged_side {
    const repeated_runs_t *set;
    bool is_baseline;
} merged_side_t;

static void write_json(void *data, FILE *out)
{
    const merged_side_t *side = data;
    const repeated_runs_t *set = side->set;
    const lab_results *partners = side->is_baseline ? set->own : set->partners;
    lab_bench_merge_write(&(lab_bench_merge){.runs = side->is_baseline ? set->partners : set->own,
                                             .partners = set->is_paired ? partners : NULL,
                                             .count = set->count,
                                             .is_old = side->is_baseline,
                                             .is_complete = set->is_complete},
                          out);
}

static void save(repeated_runs_t *set)
{
    const lab_options *options = set->options;
    bool has_partners = set->is_paired && set->count > 0 && set->partners[0].count > 0;
    if (options->output && set->count > 0 &&
        !lab_bench_save_file(options->output, write_json, &(merged_side_t){set, false}))
        set->save_failed = true;
    if (options->baseline_json && has_partners &&
        !lab_bench_save_file(options->baseline_json, write_json, &(merged_side_t){set, true}))
        set->save_failed = true;
}

/* ---- Printing ------------------------------------------------------------------------------------------- */

static void add_table_row(lab_table *table, const lab_result *row)
{
    char kernel[96], problem[96];
    double logs[RUNS_MAX];
    const lab_compare_row one = {.row = row, .by_file = &row};
    int64_t count = lab_compare_row_log_times(&one, 1, logs, RUNS_MAX);
    lab_result_format_problem(row, problem, sizeof problem);
    lab_result_format_kernel(row->kernel, lab_json_get_text(row->fields, "library", ""), kernel, sizeof kernel);
    lab_table_add(table, 3, (const char *[]){kernel, row->params, problem});
    lab_table_cell(table, row->threads > 0 ? "%lld" : "-", (long long)row->threads);
    if (count == 0) {
        lab_table_cell(table, "-");
        for (int i = 0; i < 4; i++)
            lab_table_cell(table, "%s", "");
        lab_table_cell(table, "%s", lab_json_get_text(row->fields, "why_not", ""));
        return;
    }
    lab_table_cell_ms(table, row->median_ns);
    if (count > 1)
        lab_table_cell_ms(table, row->ci95_ns);
    else
        lab_table_cell(table, "-");
    lab_table_cell(table, count > 1 ? "%.1f%%" : "-", 100 * lab_standard_deviation(logs, count));
    lab_table_cell_ms(table, row->min_ns);
    lab_table_cell(table, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    lab_table_cell(table, "%lld", (long long)count);
}

static void print_table(const lab_results *results)
{
    lab_table *table = malloc(sizeof *table);
    for (int64_t start = 0; table && start < results->count; start += LAB_TABLE_ROWS_MAX - 1) {
        memset(table, 0, sizeof *table);
        lab_table_add(table, 10,
                      (const char *[]){"kernel", "parameters", "problem", "threads", "median ms", "+-95%", "run sd",
                                       "min", "GFLOPS", "runs"});
        for (int64_t i = start; i < results->count && i < start + LAB_TABLE_ROWS_MAX - 1; i++)
            add_table_row(table, &results->rows[i]);
        lab_table_print(table, "lllrrrrrrl", stdout);
    }
    free(table);
}

static void print_merged(repeated_runs_t *set)
{
    lab_results results;
    char why[512];
    if (set->options->json && !set->options->output) {
        write_json(&(merged_side_t){set, false}, stdout);
        return;
    }
    if (!lab_results_from_writer(write_json, &(merged_side_t){set, false}, "the merged result", &results, why,
                                 sizeof why))
        return;
    const lab_json_value *machine = lab_json_get(results.document.root, "machine");
    printf("%s: %s (%s)\n", lab_json_get_text(machine, "device", ""), lab_json_get_text(machine, "title", ""),
           lab_json_get_text(machine, "platform", ""));
    print_table(&results);
    fflush(stdout);
    lab_results_free(&results);
}

/* ---- All runs -------------------------------------------------------------------------------------------- */

static int compare_with_baseline(repeated_runs_t *set)
{
    const char *baseline = set->options->baseline;
    FILE *out = set->options->json && !set->options->output ? stderr : stdout;
    lab_compare_side own = {set->own, set->count}, before = {set->partners, set->count};
    lab_results file = {.count = 0};
    char why[768];
    if (!set->is_paired) {
        if (!lab_results_load(baseline, &file, why, sizeof why))
            return lab_fail(LAB_EXIT_USAGE, "%s", why);
        before = (lab_compare_side){&file, 1};
    }
    int code = lab_baseline_print_comparison(baseline, &before, &own, out);
    lab_results_free(&file);
    return code;
}

/* Prints and compares the merged result. Returns the exit code. */
static int finish_runs(repeated_runs_t *set, int code)
{
    if (set->count > 0)
        print_merged(set);
    if (lab_is_interrupted()) {
        lab_interrupt_report("the complete runs are shown; run the same command again for more");
        return LAB_EXIT_INTERRUPTED;
    }
    if (code == LAB_EXIT_SUCCESS && set->count > 0 && set->options->baseline)
        code = compare_with_baseline(set);
    return code == LAB_EXIT_SUCCESS && set->save_failed ? LAB_EXIT_USAGE : code;
}

/* Divides the budget between the runs, and chooses one seed for all of them. */
static const char *prepare(repeated_runs_t *set)
{
    const lab_options *options = set->options;
    double budget;
    const char *error = lab_bench_parse_budget(options, &budget);
    if (error)
        return error;
    snprintf(set->budget, sizeof set->budget, "%.9f", fmax(budget / (double)set->runs, 1e-9));
    if (options->seed)
        snprintf(set->seed, sizeof set->seed, "%.40s", options->seed);
    else if (options->inputs && strcmp(options->inputs, "normal") == 0)
        snprintf(set->seed, sizeof set->seed, "%lld", (long long)(time(NULL) & 0x7fffffff));
    return options->baseline ? lab_baseline_detect(options->baseline, &set->is_paired) : NULL;
}

static int run_all(repeated_runs_t *set)
{
    int code = LAB_EXIT_SUCCESS;
    lab_interrupt_watch();
    lab_progress_begin(set->options->quiet);
    for (int64_t i = 0; i < set->runs && code == LAB_EXIT_SUCCESS && !lab_is_interrupted(); i++) {
        code = run_once(set, i);
        set->is_complete = code == LAB_EXIT_SUCCESS && i + 1 == set->runs;
        save(set);
    }
    lab_progress_end();
    return finish_runs(set, code);
}

int lab_bench_run_many(const lab_options *options, int64_t runs)
{
    repeated_runs_t set = {.options = options, .runs = runs};
    const char *error = prepare(&set);
    int code = error ? lab_usage_error("bench", error) : lab_bench_check_output(options);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    set.own = calloc((size_t)runs + 1, sizeof *set.own);
    set.partners = calloc((size_t)runs + 1, sizeof *set.partners);
    code = set.own && set.partners ? run_all(&set) : LAB_EXIT_USAGE;
    for (int i = 0; set.own && set.partners && i < set.count; i++) {
        lab_results_free(&set.own[i]);
        lab_results_free(&set.partners[i]);
    }
    free(set.own);
    free(set.partners);
    return code;
}
