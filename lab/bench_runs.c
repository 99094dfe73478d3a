/* SPDX-License-Identifier: Apache-2.0 */
/* bench_runs.c - see bench_runs.h. */
#define _GNU_SOURCE /* setpgid, kill */
#include "bench_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "baseline.h"
#include "bench.h"
#include "bench_merge.h"
#include "comparison.h"
#include "interrupt.h"
#include "json.h"
#include "progress.h"
#include "start.h"
#include "table.h"
#include "target.h"
#include "temporary.h"

#define VARIABLE "RUNG_BENCH_PART"

enum { RUNS_MAX = LAB_BENCH_RUNS_MAX, BASELINE_RUNS = 10 };
static const double DEFAULT_BUDGET = 2;

typedef struct many {
    const lab_options *options;
    int64_t runs;
    bool is_paired; /* --baseline is an executable */
    char budget[64], seed[64];
    lab_results *own, *other; /* what each run found, and its partner of --baseline */
    int count;                /* of runs that ended well */
    bool is_complete;
    bool is_unsaved;
} many_t;

bool lab_bench_is_part(void)
{
    static int known = -1;
    if (known < 0) {
        known = getenv(VARIABLE) != NULL;
        unsetenv(VARIABLE); /* it is for this process and none that it starts */
    }
    return known;
}

const char *lab_bench_count_runs(const lab_options *options, int64_t *runs)
{
    bool is_executable = false;
    *runs = 1;
    if (lab_bench_is_part())
        return NULL;
    const char *wrong = options->baseline ? lab_baseline_look(options->baseline, &is_executable) : NULL;
    if (wrong)
        return wrong;
    *runs = is_executable ? BASELINE_RUNS : 1;
    if (options->runs && (!lab_read_integer(options->runs, runs) || *runs < 1 || *runs > RUNS_MAX))
        return "--runs is a number from 1 to 1000";
    if (*runs == 1)
        return NULL;
    if (options->csv || options->trace)
        return "--csv and --trace are for one run; add --runs 1";
    if (options->baseline_json && !is_executable)
        return "--baseline-json is for a --baseline that is an executable";
    return NULL;
}

/* ---- One run -------------------------------------------------------------------------------------------- */

/* Options that the parent handles, or that are given otherwise. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"baseline", "baseline-json", "json",   "quiet", "output",
                                      "color",    "runs",          "budget", "seed"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

/* Predictions (--arch, --machine) do not change from run to run. */
static bool is_own_or_predicts(const char *name)
{
    return is_own(name) || strcmp(name, "arch") == 0 || strcmp(name, "machine") == 0;
}

/* The child: its results go to `results`, its messages to `said`. If the parent dies, the child does. It is not in the
 * terminal's group: Ctrl-C reaches the parent, which passes it on once, and a second signal would end it at once. */
static void become(char **list, FILE *results, FILE *other, FILE *said, pid_t parent)
{
    setpgid(0, 0);
    if (!lab_die_with(parent) || dup2(fileno(results), STDOUT_FILENO) < 0 || dup2(fileno(said), STDERR_FILENO) < 0 ||
        fcntl(fileno(other), F_SETFD, 0) < 0) /* the child opens that one by its number */
        _exit(LAB_NOTHING);
    setenv(VARIABLE, "1", 1);
    execv("/proc/self/exe", list);
    fprintf(stderr, "rung: /proc/self/exe cannot be run: %s\n", strerror(errno));
    _exit(LAB_NOTHING);
}

/* Waits for the child's end, however long it measures; an interruption is passed on once. The child's exit
 * code, -1 if a signal ended it. */
static int wait_for(pid_t child, const lab_progress *progress)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    bool is_told = false;
    int status;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        if (lab_interrupted() && !is_told) {
            kill(child, SIGTERM);
            is_told = true;
        }
        lab_progress_show(progress);
        nanosleep(&moment, NULL);
    }
}

/* Starts the child with its arguments and waits. */
static int run_child(const many_t *many, int64_t index, FILE *results, FILE *other, FILE *said)
{
    enum { ARGUMENTS = 96 };
    const lab_options *options = many->options;
    char *list[ARGUMENTS] = {(char *)"rung", (char *)"bench"}, baseline[4200], baseline_json[64], what[64];
    int count = 2, first_made;
    if (options->argument)
        list[count++] = (char *)options->argument;
    if (options->argument2)
        list[count++] = (char *)options->argument2;
    list[count++] = (char *)"--json";
    list[count++] = (char *)"--quiet";
    list[count++] = (char *)many->budget;
    if (*many->seed)
        list[count++] = (char *)many->seed;
    if (many->is_paired) {
        if (snprintf(baseline, sizeof baseline, "--baseline=%s", options->baseline) >= (int)sizeof baseline)
            return LAB_USAGE;
        snprintf(baseline_json, sizeof baseline_json, "--baseline-json=/proc/self/fd/%d", fileno(other));
        list[count++] = baseline;
        list[count++] = baseline_json;
    }
    first_made = count;
    count += lab_options_given(options, index > 0 ? is_own_or_predicts : is_own, list + count, ARGUMENTS - 1 - count);
    fflush(NULL); /* the child would write it again */
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(list, results, other, said, parent);
    for (int i = first_made; i < count; i++)
        free(list[i]);
    if (child < 0) {
        fprintf(stderr, "rung: no process could be started: %s\n", strerror(errno));
        return LAB_NOTHING;
    }
    snprintf(what, sizeof what, "run %lld of %lld", (long long)index + 1, (long long)many->runs);
    return wait_for(child,
                    &(lab_progress){.what = what, .done = (double)index, .count = (double)many->runs, .units = "runs"});
}

static void copy_to_stderr(FILE *said)
{
    size_t length;
    char *text = lab_temporary_read(said, &length);
    if (text) {
        lab_progress_break();
        fwrite(text, 1, length, stderr);
    }
    free(text);
}

static bool read_results(FILE *file, const char *name, lab_results *results)
{
    char why[512];
    size_t length;
    char *text = lab_temporary_read(file, &length);
    bool good = text && lab_results_read(text, length, name, results, why, sizeof why);
    free(text);
    return good;
}

static bool is_complete(const lab_results *results)
{
    return lab_is_true(results->document.root, "complete");
}

/* Takes over what a run found. A run that was cut short counts only if there is nothing else. */
static void take_over(many_t *many, FILE *results, FILE *other)
{
    lab_results *own = &many->own[many->count], *its = &many->other[many->count];
    *own = *its = (lab_results){.count = 0};
    bool good = read_results(results, "a run", own) && (is_complete(own) || many->count == 0);
    bool good_other = good && many->is_paired && read_results(other, "its baseline", its) && is_complete(its);
    bool is_single = many->count == 0; /* also without its partner, to be shown at least */
    if (good && (good_other || !many->is_paired || is_single)) {
        many->count++;
        return;
    }
    lab_results_free(own);
    lab_results_free(its);
}

/* One run more. An exit code. */
static int run_once(many_t *many, int64_t index)
{
    char why[4608];
    FILE *results = lab_temporary(), *other = lab_temporary(), *said = lab_temporary();
    int error = errno; /* of the last, which fails if one before it does */
    int code = LAB_USAGE;
    if (results && other && said) {
        code = run_child(many, index, results, other, said);
        if (index == 0 || (code != LAB_GOOD && code != LAB_INTERRUPTED))
            copy_to_stderr(said);
        if (code < 0 && !lab_interrupted())
            fprintf(stderr, "rung: run %lld was killed\n", (long long)index + 1);
        if (code < 0)
            code = lab_interrupted() ? LAB_INTERRUPTED : LAB_WRONG;
        take_over(many, results, other);
    } else {
        lab_temporary_failed(error, why, sizeof why);
        fprintf(stderr, "rung: %s\n", why);
    }
    if (results)
        fclose(results);
    if (other)
        fclose(other);
    if (said)
        fclose(said);
    return code;
}

/* ---- Merging -------------------------------------------------------------------------------------------- */

/* One side of the result, to be written. */
typedef struct merged_side {
    const many_t *many;
    bool is_other;
} merged_side_t;

static void write_json(void *data, FILE *out)
{
    const merged_side_t *side = data;
    const many_t *many = side->many;
    const lab_results *own = side->is_other ? many->other : many->own,
                      *other = side->is_other ? many->own : many->other;
    lab_merge_write(&(lab_merge){.runs = own,
                                 .partners = many->is_paired ? other : NULL,
                                 .count = many->count,
                                 .is_old = side->is_other,
                                 .is_complete = many->is_complete},
                    out);
}

static void save(many_t *many)
{
    const lab_options *options = many->options;
    bool has_other = many->is_paired && many->count > 0 && many->other[0].count > 0;
    if (options->output && many->count > 0)
        many->is_unsaved = !lab_output_save(options->output, write_json, &(merged_side_t){many, false}) ||
                           many->is_unsaved;
    if (options->baseline_json && has_other)
        many->is_unsaved = !lab_output_save(options->baseline_json, write_json, &(merged_side_t){many, true}) ||
                           many->is_unsaved;
}

/* ---- Printing ------------------------------------------------------------------------------------------- */

static void add_line(lab_table *table, const lab_result *row)
{
    char kernel[96], problem[96], threads[32] = "-", runs[32], median[32], spread[32] = "-", least[32], gflops[32];
    double logs[RUNS_MAX], sd;
    const lab_row_runs one = {.row = row, .of_file = &row};
    int64_t count = lab_run_times(&one, 1, logs, RUNS_MAX);
    char deviation[32] = "-";
    lab_write_row_problem(row, problem, sizeof problem);
    lab_write_kernel(row->kernel, lab_text(row->fields, "library", ""), kernel, sizeof kernel);
    if (row->threads > 0)
        snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    if (count == 0) {
        lab_table_add(table, 10,
                      (const char *[]){kernel, row->params, problem, threads, "-", "", "", "", "",
                                       lab_text(row->fields, "why_not", "")});
        return;
    }
    sd = lab_deviation(logs, count);
    snprintf(runs, sizeof runs, "%lld", (long long)count);
    lab_write_ms(row->median_ns, median, sizeof median);
    lab_write_ms(row->min_ns, least, sizeof least);
    if (count > 1) {
        lab_write_ms(row->ci95_ns, spread, sizeof spread);
        snprintf(deviation, sizeof deviation, "%.1f%%", 100 * sd);
    }
    snprintf(gflops, sizeof gflops, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    lab_table_add(
        table, 10,
        (const char *[]){kernel, row->params, problem, threads, median, spread, deviation, least, gflops, runs});
}

static void print_table(const lab_results *results)
{
    lab_table *table = malloc(sizeof *table);
    for (int64_t start = 0; table && start < results->count; start += LAB_TABLE_ROWS - 1) {
        memset(table, 0, sizeof *table);
        lab_table_add(table, 10,
                      (const char *[]){"kernel", "parameters", "problem", "threads", "median ms", "+-95%", "run sd",
                                       "min", "GFLOPS", "runs"});
        for (int64_t i = start; i < results->count && i < start + LAB_TABLE_ROWS - 1; i++)
            add_line(table, &results->rows[i]);
        lab_table_print(table, "lllrrrrrrl", stdout);
    }
    free(table);
}

/* The merged result, as it would be read from its file. */
static bool read_merged(many_t *many, lab_results *results)
{
    char *text = NULL, why[512];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return false;
    write_json(&(merged_side_t){many, false}, out);
    bool good = fclose(out) == 0 && lab_results_read(text, length, "the merged result", results, why, sizeof why);
    free(text);
    return good;
}

static void print(many_t *many)
{
    lab_results results;
    if (many->options->json && !many->options->output) {
        write_json(&(merged_side_t){many, false}, stdout);
        return;
    }
    if (!read_merged(many, &results))
        return;
    const lab_value *machine = lab_field(results.document.root, "machine");
    printf("%s: %s (%s)\n", lab_text(machine, "device", ""), lab_text(machine, "title", ""),
           lab_text(machine, "platform", ""));
    print_table(&results);
    fflush(stdout);
    lab_results_free(&results);
}

/* ---- All of them ------------------------------------------------------------------------------------------ */

static int compare(many_t *many)
{
    const char *baseline = many->options->baseline;
    lab_side own = {many->own, many->count};
    lab_results file = {.count = 0};
    char why[768] = "out of memory";
    lab_comparison comparison;
    int code = LAB_USAGE;
    if (!many->is_paired && !lab_results_load(baseline, &file, why, sizeof why)) {
        fprintf(stderr, "rung: %s\n", why);
        return LAB_USAGE;
    }
    lab_side before = many->is_paired ? (lab_side){many->other, many->count} : (lab_side){&file, 1};
    if (lab_comparison_make(&before, &own, &comparison)) {
        FILE *out = many->options->json && !many->options->output ? stderr : stdout;
        fprintf(out, "\ncompared with %s\n", baseline);
        lab_comparison_print(&comparison, out);
        code = lab_comparison_code(&comparison);
        snprintf(why, sizeof why, "no row has a time on both sides: %s and this run", baseline);
        lab_comparison_free(&comparison);
    }
    if (code == LAB_USAGE || code == LAB_NOTHING)
        fprintf(stderr, "rung: %s\n", why);
    lab_results_free(&file);
    return code;
}

static int outcome(many_t *many, int code)
{
    if (many->count > 0)
        print(many);
    if (lab_interrupted()) {
        lab_interrupt_tell("these are the runs that were complete; run it again for more");
        return LAB_INTERRUPTED;
    }
    if (code == LAB_GOOD && many->count > 0 && many->options->baseline)
        code = compare(many);
    return code == LAB_GOOD && many->is_unsaved ? LAB_USAGE : code;
}

/* The runs share the time, and the numbers that are drawn. */
static const char *prepare(many_t *many)
{
    const lab_options *options = many->options;
    double budget = DEFAULT_BUDGET;
    if (options->budget && (!lab_read_number(options->budget, &budget) || !(budget > 0 && budget <= 1e6)))
        return "--budget is the number of seconds per kernel and size: more than 0, at most 1000000";
    snprintf(many->budget, sizeof many->budget, "--budget=%.9f", fmax(budget / (double)many->runs, 1e-9));
    if (options->seed)
        snprintf(many->seed, sizeof many->seed, "--seed=%.40s", options->seed);
    else if (options->inputs && strcmp(options->inputs, "normal") == 0)
        snprintf(many->seed, sizeof many->seed, "--seed=%lld", (long long)(time(NULL) & 0x7fffffff));
    return options->baseline ? lab_baseline_look(options->baseline, &many->is_paired) : NULL;
}

static int run_all(many_t *many)
{
    int code = LAB_GOOD;
    lab_interrupt_watch();
    lab_progress_begin(many->options->quiet);
    for (int64_t i = 0; i < many->runs && code == LAB_GOOD && !lab_interrupted(); i++) {
        code = run_once(many, i);
        many->is_complete = code == LAB_GOOD && i + 1 == many->runs;
        save(many);
    }
    lab_progress_end();
    return outcome(many, code);
}

int lab_bench_run_many(const lab_options *options, int64_t runs)
{
    many_t many = {.options = options, .runs = runs};
    const char *wrong = prepare(&many);
    int code = wrong ? lab_usage("bench", wrong) : lab_bench_check_file(options);
    if (code != LAB_GOOD)
        return code;
    many.own = calloc((size_t)runs + 1, sizeof *many.own);
    many.other = calloc((size_t)runs + 1, sizeof *many.other);
    code = many.own && many.other ? run_all(&many) : LAB_USAGE;
    for (int i = 0; many.own && many.other && i < many.count; i++) {
        lab_results_free(&many.own[i]);
        lab_results_free(&many.other[i]);
    }
    free(many.own);
    free(many.other);
    return code;
}
