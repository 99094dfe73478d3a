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
    for (int i = 0; i < shared->problem_count; i++) {
        const lab_tune_result *tuned = &shared->problems[i];
        const lab_final_comparison *final = &tuned->final_comparison;
        char problem[80], gflops[32] = "-", defaults[32] = "-", ratio[32] = "-", tried[32], result[320];
        if (tuned->is_same_class_as_later)
            continue;
        snprintf(problem, sizeof problem, "%lldx%lldx%lld", (long long)tuned->m, (long long)tuned->n,
                 (long long)tuned->k);
        snprintf(tried, sizeof tried, "%lld", (long long)tuned->counts.tried);
        if (final->decided) {
            snprintf(gflops, sizeof gflops, "%.2f", final->gflops);
            snprintf(defaults, sizeof defaults, "%.2f", final->default_gflops);
            snprintf(ratio, sizeof ratio, "%.2fx", final->ratio);
        }
        snprintf(result, sizeof result, "%s%s%s",
                 tuned->saved             ? "saved"
                 : tuned->record_removed  ? "record removed"
                 : tuned->record_replaced ? "record replaced by the defaults"
                 : final->improved        ? "not saved"
                 : final->is_record_best  ? "record kept"
                 : final->decided         ? "defaults kept"
                                          : "no result",
                 *final->why ? ": " : "", final->why);
        lab_table_add(
            table, 8,
            (const char *[]){problem, final->kernel, final->parameters, gflops, defaults, ratio, tried, result});
        lab_table_colour(table, tuned->saved ? LAB_BOLD : final->decided ? LAB_PLAIN : LAB_YELLOW);
    }
    lab_table_print(table, "lllrrrrl", stdout);
    free(table);
}

/* Writes all trials of a problem, including those of resumed runs, from the journal. */
static void print_trials(lab_json *json, const lab_tune_shared_state *shared, const lab_tune_result *tuned)
{
    static const char *const names[] = {
#define X(name, word) word,
        LAB_TRIAL_LIST(X)
#undef X
    };
    lab_journal journal = {0};
    char why[1200];
    lab_json_begin(json, "trials", '[');
    bool good = *shared->path && lab_journal_open(shared->path, shared->header, &journal, why, sizeof why);
    for (int64_t i = 0; good && i < journal.count; i++) {
        const lab_trial *trial = &journal.trials[i];
        if (trial->m != tuned->m || trial->n != tuned->n || trial->k != tuned->k)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kernel", trial->kernel);
        lab_json_string(json, "params", trial->parameters);
        lab_json_string(json, "result", names[trial->kind]);
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
    lab_json_string(json, "dtype", session->dtypes[0].name);
    lab_json_integer(json, "m", tuned->m);
    lab_json_integer(json, "n", tuned->n);
    lab_json_integer(json, "k", tuned->k);
    lab_json_string(json, "layout", session->options->layout ? session->options->layout : "rr");
    lab_json_string(json, "kernel", final->kernel);
    lab_json_string(json, "params", final->parameters);
    lab_json_number(json, "gflops", final->gflops);
    lab_json_integer(json, "median_ns", final->median_ns);
    lab_json_integer(json, "ci95_ns", final->ci95_ns);
    lab_json_string(json, "default_kernel", final->default_kernel);
    lab_json_string(json, "default_params", final->default_parameters);
    lab_json_number(json, "default_gflops", final->default_gflops);
    lab_json_integer(json, "default_median_ns", final->default_median_ns);
    lab_json_integer(json, "default_ci95_ns", final->default_ci95_ns);
    lab_json_number(json, "ratio", final->decided ? final->ratio : (double)NAN);
    lab_json_boolean(json, "improved", final->improved);
    lab_json_boolean(json, "record_stays", final->is_record_best);
    lab_json_boolean(json, "record_removed", tuned->record_removed);
    lab_json_boolean(json, "record_replaced", tuned->record_replaced);
    lab_json_number(json, "record_ratio", final->record_ratio > 0 ? final->record_ratio : (double)NAN);
    lab_json_string(json, "challenger", final->challenger);
    lab_json_string(json, "challenger_params", final->challenger_parameters);
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
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-tune/1");
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
    for (int i = 0; i < shared->problem_count && !session->options->quiet; i++)
        for (int j = i + 1; shared->problems[i].is_same_class_as_later && j < shared->problem_count; j++)
            if (!shared->problems[j].is_same_class_as_later &&
                strcmp(shared->problems[i].key, shared->problems[j].key) == 0)
                fprintf(stderr,
                        "rung: %lldx%lldx%lld is in the same size class as %lldx%lldx%lld, which is tuned for "
                        "both\n",
                        (long long)shared->problems[i].m, (long long)shared->problems[i].n,
                        (long long)shared->problems[i].k, (long long)shared->problems[j].m,
                        (long long)shared->problems[j].n, (long long)shared->problems[j].k);
}

void lab_tune_print_results(const lab_tune_session *session)
{
    print_merged_sizes(session);
    if (session->options->json)
        print_json(session);
    else
        print_table(session);
}
