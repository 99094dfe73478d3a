/* SPDX-License-Identifier: Apache-2.0 */
/* verify_print.c - prints the result of rung verify: findings, failures and counts, as text or JSON. */
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "io/json_writer.h"
#include "verify/verify_session.h"

/* Sums the failure counts of all variants of a kernel file. */
static lab_failure_counts sum_failure_counts(const lab_verify_session *session, const lab_file_check *file_check)
{
    lab_failure_counts sum = {0};
    for (int i = 0; i < session->variant_count; i++)
        if (session->variants[i].kernel == file_check->kernel)
            lab_failure_counts_merge(&sum, &session->variants[i].failure_counts);
    return sum;
}

lab_verify_variant lab_verify_totals(const lab_verify_session *session)
{
    lab_verify_variant total = {0};
    for (int i = 0; i < session->variant_count; i++) {
        total.cases += session->variants[i].cases;
        total.wrong += session->variants[i].wrong;
        total.skipped += session->variants[i].skipped;
    }
    return total;
}

static void write_findings(lab_json *json, const lab_verify_session *session)
{
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < session->file_check_count; i++) {
        const lab_file_check *file_check = &session->file_checks[i];
        lab_failure_counts failure_counts = sum_failure_counts(session, file_check);
        char text[LAB_KERNEL_FINDING_BYTES];
        for (int j = 0; j < file_check->check.count; j++)
            lab_json_finding(json, lab_kernel_finding_kind_name(file_check->check.findings[j].kind), file_check->file,
                             file_check->check.findings[j].line, file_check->check.findings[j].text);
        lab_failure_counts_explain(&failure_counts, text, sizeof text);
        if (*text)
            lab_json_finding(json, "wrong", file_check->file, 0, text);
    }
    lab_json_end(json, ']');
}

/* Writes which files were checked, because a file without findings may not have been checked. */
static void write_checks(lab_json *json, const lab_verify_session *session)
{
    lab_json_begin(json, "checks", '[');
    for (int i = 0; i < session->file_check_count; i++) {
        const lab_file_check *file_check = &session->file_checks[i];
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "file", file_check->file);
        lab_json_string(json, "checker", file_check->check.ran ? file_check->check.checker : "");
        lab_json_boolean(json, "ran", file_check->check.ran);
        lab_json_boolean(json, "uninitialised_reads", file_check->check.ran && !file_check->check.is_partial);
        lab_json_string(json, "why_not", file_check->check.ran ? "" : file_check->check.why_not);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void print_json(const lab_verify_session *session)
{
    lab_verify_variant total = lab_verify_totals(session);
    lab_json json = lab_json_open(stdout, "rung-verify/1");
    lab_json_boolean(&json, "complete", session->is_complete);
    lab_json_string(&json, "version", rung_version_text());
    lab_json_string(&json, "device", session->device.name);
    lab_json_string(&json, "title", session->device.title);
    lab_json_string(&json, "platform", session->device.platform);
    lab_json_integer(&json, "seed", session->seed);
    lab_json_string(&json, "compute", rung_compute_name(session->compute));
    lab_json_integer(&json, "cases", total.cases);
    lab_json_integer(&json, "wrong", total.wrong);
    lab_json_integer(&json, "skipped", total.skipped);
    lab_json_begin(&json, "by_kernel", '[');
    for (int i = 0; i < session->variant_count; i++) {
        const lab_verify_variant *variant = &session->variants[i];
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "kernel", variant->name);
        lab_json_string(&json, "params", variant->parameters);
        lab_json_string(&json, "dtype", lab_type_pair_name(variant->dtype.product));
        lab_json_string(&json, "compute", rung_compute_name(variant->dtype.compute));
        lab_json_integer(&json, "cases", variant->cases);
        lab_json_integer(&json, "wrong", variant->wrong);
        lab_json_integer(&json, "skipped", variant->skipped);
        lab_json_string(&json, "why_skipped", variant->why_skipped);
        if (variant->threads > 0) {
            lab_json_integer(&json, "threads", variant->threads);
            lab_json_integer(&json, "shared_bytes", variant->shared_bytes);
        }
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "failures", '[');
    for (int i = 0; i < lab_verify_stored_failures(session); i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_boolean(&json, "ran", session->failures[i].ran);
        lab_json_boolean(&json, "timed_out", session->failures[i].timed_out);
        lab_json_string(&json, "message", session->failures[i].message);
        lab_json_string(&json, "replay", session->failures[i].rerun_command);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    write_findings(&json, session);
    write_checks(&json, session);
    lab_json_end(&json, '}');
}

static void add_row(lab_table *table, const char *name, const char *type, const char *parameters,
                    const lab_verify_variant *counts)
{
    lab_table_add(table, 3, (const char *[]){name, type, parameters});
    lab_table_cell(table, "%lld", (long long)counts->cases);
    lab_table_cell(table, "%lld", (long long)counts->wrong);
    lab_table_cell(table, "%lld", (long long)counts->skipped);
    lab_table_cell(table, "%s", counts->why_skipped);
    lab_table_colour(table, counts->wrong > 0 ? LAB_RED : counts->skipped > 0 ? LAB_YELLOW : LAB_PLAIN);
}

/* Writes "m = 3, n = 1, k = 17, dense". */
static void describe_case(const lab_case *problem, char *text, size_t capacity)
{
    char scalars[96] = "", batch[48] = "";
    if (problem->alpha != 1 || problem->beta != 0)
        snprintf(scalars, sizeof scalars, ", alpha = %.6g, beta = %.6g", problem->alpha, problem->beta);
    if (problem->batch != 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)problem->batch);
    snprintf(text, capacity, "m = %lld, n = %lld, k = %lld, %s%s%s", (long long)problem->m, (long long)problem->n,
             (long long)problem->k, lab_case_is_dense(problem) ? "dense" : "strided", batch, scalars);
}

static void print_failure(const lab_verify_failure *failure)
{
    char problem[256];
    describe_case(&failure->problem, problem, sizeof problem);
    lab_colour_begin(LAB_RED, stdout);
    fputs(failure->timed_out        ? "did not finish"
          : failure->ran            ? "wrong"
          : *failure->rerun_command ? "did not run"
                                    : "crashed",
          stdout);
    lab_colour_end(LAB_RED, stdout);
    if (failure->ran)
        printf(": %s: %s\n", problem, failure->message);
    else
        printf(": %s\n", failure->message);
    if (*failure->rerun_command && (failure->is_confirmed || !failure->ran))
        printf("  reproduce: %s\n", failure->rerun_command);
    fputc('\n', stdout);
}

/* Returns whether a failure represents its kernel: the first confirmed failure, otherwise the first one. */
static bool is_simplest(const lab_verify_session *session, int index)
{
    const lab_verify_failure *failure = &session->failures[index];
    const char *name = session->variants[failure->variant].name;
    for (int i = 0; i < lab_verify_stored_failures(session); i++) {
        bool same = i != index && strcmp(session->variants[session->failures[i].variant].name, name) == 0;
        bool confirmed = session->failures[i].is_confirmed || !session->failures[i].ran;
        if (same && (i < index ? confirmed || !failure->is_confirmed : confirmed && !failure->is_confirmed))
            return false;
    }
    return true;
}

/* Prints the simplest failure of each kernel, or with --all-cases all stored failures. */
static void print_failures(const lab_verify_session *session)
{
    int64_t shown = 0;
    for (int i = 0; i < lab_verify_stored_failures(session); i++)
        if (session->options->all_cases || is_simplest(session, i)) {
            print_failure(&session->failures[i]);
            shown++;
        }
    if (session->failure_count > shown)
        printf("%lld more problems are wrong%s.\n\n", (long long)(session->failure_count - shown),
               session->options->all_cases ? "" : "; --all-cases lists up to 20");
}

static void print_table(const lab_verify_session *session)
{
    lab_verify_variant total = lab_verify_totals(session);
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 7, (const char *[]){"kernel", "type", "parameters", "cases", "wrong", "skipped", ""});
    for (int i = 0; i < session->variant_count; i++)
        add_row(table, session->variants[i].name, session->variants[i].dtype.name, session->variants[i].parameters,
                &session->variants[i]);
    add_row(table, "all", "", "", &total);
    lab_table_print(table, "lllrrrl", stdout);
    free(table);
}

/* Prints the findings of a kernel file. */
static void print_findings(const lab_verify_session *session, const lab_file_check *file_check)
{
    const lab_kernel_check *check = &file_check->check;
    lab_failure_counts failure_counts = sum_failure_counts(session, file_check);
    char text[LAB_KERNEL_FINDING_BYTES];
    lab_failure_counts_explain(&failure_counts, text, sizeof text);
    if (check->count == 0 && !*text)
        return;
    printf("Found:\n");
    for (int i = 0; i < check->count; i++) {
        char line[16] = "";
        if (check->findings[i].line > 0)
            snprintf(line, sizeof line, ":%d", check->findings[i].line);
        printf("  %s%s: %s\n", file_check->file, line, check->findings[i].text);
    }
    if (*text)
        printf("  %s: %s\n", file_check->file, text);
    if (file_check->is_unsafe)
        printf("  Not run on %s: the kernel %s.\n", session->device.name,
               check->is_endless ? "may not end" : "may overwrite memory of this process");
    fputc('\n', stdout);
}

/* Prints that the checker found nothing, or why it did not run. */
static void print_check(const lab_kernel_check *check)
{
    if (!check->ran && *check->why_not)
        printf("\nNot checked for data races: %s.\n", check->why_not);
    else if (check->count == 0)
        printf("\n%s found no data race%s.\n", check->checker,
               check->is_partial ? " and no out-of-bounds access; it could not check for uninitialised reads"
                                 : ", no out-of-bounds access and no uninitialised read");
}

static void print_text(const lab_verify_session *session)
{
    printf("%s: %s (%s)\n\n", session->device.name, session->device.title, session->device.platform);
    for (int i = 0; i < session->file_check_count; i++)
        print_findings(session, &session->file_checks[i]);
    print_failures(session);
    print_table(session);
    for (int i = 0; i < session->file_check_count; i++)
        print_check(&session->file_checks[i].check);
}

void lab_verify_print(const lab_verify_session *session)
{
    if (session->options->json)
        print_json(session);
    else
        print_text(session);
}
