/* SPDX-License-Identifier: Apache-2.0 */
/* tune_print.c - prints the results of `rung tune` as a table or as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/table.h"
#include "io/json_writer.h"
#include "io/run_info.h"
#include "tune/tune_internal.h"

/* Returns what was done about a problem. */
static const char *outcome_of(const lab_tune_result *tuned)
{
    const lab_final_comparison *final = &tuned->final_comparison;
    return tuned->saved             ? "saved"
           : tuned->record_removed  ? "record removed"
           : tuned->record_replaced ? "record replaced by the defaults"
           : final->improved        ? "not saved"
           : final->is_record_best  ? "record kept"
           : final->decided         ? "defaults kept"
                                    : "no result";
}

static void add_row(lab_table *table, const lab_tune_result *tuned)
{
    const lab_final_comparison *final = &tuned->final_comparison;
    lab_table_begin_row(table);
    lab_table_cell(table, "%lldx%lldx%lld", LAB_SHAPE_ARGUMENTS(tuned->size));
    lab_table_cell(table, "%s", final->winner.kernel);
    lab_table_cell(table, "%s", final->winner.parameters);
    lab_table_cell(table, final->decided ? "%.2f" : "-", final->winner.gflops);
    lab_table_cell(table, final->decided ? "%.2f" : "-", final->defaults.gflops);
    lab_table_cell(table, final->decided ? "%.2fx" : "-", final->ratio);
    lab_table_cell(table, "%lld", (long long)tuned->counts.tried);
    lab_table_cell(table, "%s%s%s", outcome_of(tuned), *final->why ? ": " : "", final->why);
    lab_table_colour(table, tuned->saved ? LAB_BOLD : final->decided ? LAB_PLAIN : LAB_YELLOW);
}

static void print_table(const lab_tune_session *session)
{
    const lab_tune_shared_state *shared = session->shared;
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%s: %s (%s)\n\n", shared->device.name, shared->device.title, shared->device.platform);
    lab_table_add(
        table, 8,
        (const char *[]){"problem", "kernel", "parameters", "GFLOPS", "defaults", "ratio", "tried", "result"});
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_same_class_as_later)
            add_row(table, &shared->problems[i]);
    lab_table_print(table, "lllrrrrl", stdout);
    free(table);
}

/* Writes all trials of a problem, including those of resumed runs, from the journal. */
static void print_trials(lab_json *json, const lab_tune_shared_state *shared, const lab_tune_result *tuned)
{
    lab_journal journal = {0};
    char why[1200];
    lab_json_begin(json, "trials", '[');
    bool good = *shared->path && lab_journal_open(shared->path, shared->header, &journal, why, sizeof why);
    for (int64_t i = 0; good && i < journal.count; i++) {
        const lab_trial *trial = &journal.trials[i];
        if (!lab_shape_equal(trial->size, tuned->size))
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kernel", trial->kernel);
        lab_json_string(json, "params", trial->parameters);
        lab_json_string(json, "result", lab_trial_state_name(trial->kind));
        lab_json_integer(json, "ns", trial->ns);
        lab_json_end(json, '}');
    }
    lab_journal_close(&journal);
    lab_json_end(json, ']');
}

static void print_row(lab_json *json, const lab_tune_session *session, const lab_tune_result *tuned)
{
    const lab_final_comparison *final = &tuned->final_comparison;
    const lab_tune_device *device = &session->shared->device;
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "device", device->name);
    lab_json_string(json, "driver", device->driver);
    lab_json_string(json, "key", tuned->key);
    lab_json_string(json, "dtype", session->request.dtype.name);
    lab_json_sizes(json, tuned->size.m, tuned->size.n, tuned->size.k);
    lab_json_string(json, "layout", session->request.options->layout ? session->request.options->layout : "rr");
    lab_json_string(json, "kernel", final->winner.kernel);
    lab_json_string(json, "params", final->winner.parameters);
    lab_json_number(json, "gflops", final->winner.gflops);
    lab_json_integer(json, "median_ns", final->winner.median_ns);
    lab_json_integer(json, "ci95_ns", final->winner.ci95_ns);
    lab_json_string(json, "default_kernel", final->defaults.kernel);
    lab_json_string(json, "default_params", final->defaults.parameters);
    lab_json_number(json, "default_gflops", final->defaults.gflops);
    lab_json_integer(json, "default_median_ns", final->defaults.median_ns);
    lab_json_integer(json, "default_ci95_ns", final->defaults.ci95_ns);
    lab_json_number(json, "ratio", final->decided ? final->ratio : (double)NAN);
    lab_json_boolean(json, "improved", final->improved);
    lab_json_boolean(json, "record_stays", final->is_record_best);
    lab_json_boolean(json, "record_removed", tuned->record_removed);
    lab_json_boolean(json, "record_replaced", tuned->record_replaced);
    lab_json_number(json, "record_ratio", final->record_ratio > 0 ? final->record_ratio : (double)NAN);
    lab_json_string(json, "challenger", final->challenger.kernel);
    lab_json_string(json, "challenger_params", final->challenger.parameters);
    lab_json_number(json, "challenger_ratio", final->challenger_ratio > 0 ? final->challenger_ratio : (double)NAN);
    lab_json_integer(json, "rounds", final->rounds);
    lab_json_integer(json, "wins", final->wins);
    lab_json_integer(json, "tried", tuned->counts.tried);
    lab_json_integer(json, "refused", tuned->counts.refused);
    lab_json_integer(json, "wrong", tuned->counts.wrong);
    lab_json_integer(json, "crashed", tuned->counts.crashed);
    lab_json_integer(json, "pruned", tuned->counts.invalid_count);
    lab_json_number(json, "seconds", tuned->seconds);
    lab_json_boolean(json, "saved", tuned->saved);
    lab_json_string(json, "why", final->why);
    print_trials(json, session->shared, tuned);
    lab_json_end(json, '}');
}

static void print_json(const lab_tune_session *session)
{
    const lab_tune_shared_state *shared = session->shared;
    const lab_tune_device *device = &shared->device;
    rung_device_info info = {.name = device->name,
                             .backend = device->backend,
                             .title = device->title,
                             .platform = device->platform,
                             .driver = device->driver,
                             .missing = "",
                             .compute_units = device->compute_units};
    lab_json json = lab_json_open(stdout, "rung-tune/1");
    lab_json_boolean(&json, "complete", !lab_tune_next_problem(session->shared));
    lab_run_info_print(&json, &info);
    lab_json_number(&json, "budget", (double)shared->budget_ns * 1e-9);
    lab_json_number(&json, "seconds", (double)(rungi_clock_ns() - shared->began_ns) * 1e-9);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_same_class_as_later)
            print_row(&json, session, &shared->problems[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

static void print_merged_sizes(const lab_tune_session *session)
{
    const lab_tune_shared_state *shared = session->shared;
    for (int i = 0; i < shared->problem_count && !session->request.options->quiet; i++)
        for (int j = i + 1; shared->problems[i].is_same_class_as_later && j < shared->problem_count; j++)
            if (!shared->problems[j].is_same_class_as_later &&
                strcmp(shared->problems[i].key, shared->problems[j].key) == 0)
                fprintf(stderr,
                        "rung: %lldx%lldx%lld is in the same size class as %lldx%lldx%lld, which is tuned for "
                        "both\n",
                        LAB_SHAPE_ARGUMENTS(shared->problems[i].size), LAB_SHAPE_ARGUMENTS(shared->problems[j].size));
}

void lab_tune_print_results(const lab_tune_session *session)
{
    print_merged_sizes(session);
    if (session->request.options->json)
        print_json(session);
    else
        print_table(session);
}
