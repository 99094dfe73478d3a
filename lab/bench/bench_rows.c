/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rows.c - rung bench: turns measured contenders into rows of the result. */
#include <stdlib.h>

#include "bench/bench_session.h"
#include "cli/interrupt.h"

enum { EXTRA_PROBES = 200 };

/* Completes the row of a contender. */
static void fill_row(const lab_bench_session *session, const lab_bench_problem *problem, lab_contender *contender)
{
    const rung_kernel_info *info = contender->kernel ? rung_kernel_describe(contender->kernel) : NULL;
    const lab_cold_copies *copies = problem->cold_copies;
    double best_probe = lab_bench_best_probe(session, problem);
    bool has_peak = lab_cpu_probe_is_upper_bound(problem->probe, problem->product);
    lab_bench_row *row = &contender->row;
    row->product = problem->product;
    row->size = problem->size;
    row->is_vendor = info && info->number == 0;
    row->is_peer = info && lab_kernel_peer_name(contender->kernel);
    row->is_call = !info;
    row->h2d_ns = problem->h2d_ns;
    row->d2h_ns = problem->d2h_ns;
    row->requested_compute = problem->compute;
    row->copy_count = copies ? copies->count : 1;
    row->cold_bytes = copies ? copies->bytes : 0;
    row->gflops = lab_gflops(problem, row->median_ns);
    row->clock = problem->clock;
    row->probe = problem->probe;
    row->probe_gflops = lab_samples_probe_median(&contender->taken, row->mode, best_probe);
    row->peak_gflops = has_peak ? session->best_probe[problem->probe] : 0;
    lab_samples_round_medians(&contender->taken, row->mode, best_probe, &row->series);
    snprintf(row->kernel, sizeof row->kernel, "%s%s", lab_contender_name(contender),
             row->is_packed && !row->is_peer ? ":packed" : "");
    if (row->verified && info && info->number != 0)
        snprintf(row->explain_name, sizeof row->explain_name, "%s", info->number < 0 ? info->file : info->name);
}

/* Probes the peak again before a row is rejected for exceeding it, since all of the few probes so far may have been
 * disturbed. */
static void remeasure_peak(lab_bench_session *session, const lab_bench_problem *problem, lab_bench_row *rows, int count)
{
    double *best = &session->best_probe[problem->probe];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < EXTRA_PROBES && lab_bench_row_exceeds_peak(&rows[i]); j++) {
            double gflops = lab_cpu_probe_run(problem->probe, (int)problem->probe_threads);
            *best = gflops > *best ? gflops : *best;
            rows[i].peak_gflops = *best;
        }
}

bool lab_bench_reserve_rows(lab_bench_session *session)
{
    lab_bench_result *result = &session->result;
    int needed = result->row_count + session->contender_count;
    lab_bench_row *larger = realloc(result->rows, ((size_t)needed + 1) * sizeof *larger);
    result->rows = larger ? larger : result->rows;
    return larger != NULL;
}

void lab_bench_add_rows(lab_bench_session *session, const lab_bench_problem *problem)
{
    int count = session->contender_count;
    lab_bench_row *rows = session->result.rows + session->result.row_count;
    session->result.row_count += count;
    for (int i = 0; i < count; i++) {
        lab_contender *contender = &session->contenders[i];
        if (contender->taken.count > 0) {
            /* again, since the best probe, which separates the modes, may have come last */
            lab_contender_summarise(contender, lab_bench_best_probe(session, problem));
            lab_bench_record_speed(session, contender, problem, contender->row.median_ns);
        }
        fill_row(session, problem, contender);
        rows[i] = contender->row;
        session->any_verified = session->any_verified || contender->row.verified;
    }
    remeasure_peak(session, problem, rows, count);
    lab_bench_rows_compare(rows, count);
    for (int i = 0; i < count; i++)
        session->any_wrong = session->any_wrong || rows[i].exceeds_peak;
}

/* ---- Predictions --------------------------------------------------------------------------------------- */

static void explain_row(const lab_bench_session *session, lab_bench_row *row)
{
    lab_explain_request request = {.kernel = row->explain_name,
                                   .parameters = *row->params ? row->params : NULL,
                                   .dtype = *lab_bench_current_dtype(session),
                                   .m = row->size.m,
                                   .n = row->size.n,
                                   .k = row->size.k,
                                   .machine = session->machine};
    char why[2048];
    row->explanation = calloc(1, sizeof *row->explanation);
    if (row->explanation && lab_explain(&request, row->explanation, why, sizeof why))
        return;
    lab_fail(LAB_EXIT_UNAVAILABLE, "%s cannot be explained: %s", row->kernel, row->explanation ? why : "out of memory");
    free(row->explanation);
    row->explanation = NULL;
}

void lab_bench_explain_rows(lab_bench_session *session, int first)
{
    bool is_requested = (session->options->arch || session->options->machine) && !lab_bench_is_cpu(&session->result);
    for (int i = first; is_requested && !lab_is_interrupted() && i < session->result.row_count; i++)
        if (*session->result.rows[i].explain_name)
            explain_row(session, &session->result.rows[i]);
}

void lab_bench_free_rows(lab_bench_session *session)
{
    for (int i = 0; i < session->result.row_count; i++)
        if (session->result.rows[i].explanation) {
            lab_explanation_free(session->result.rows[i].explanation);
            free(session->result.rows[i].explanation);
        }
    free(session->result.rows);
}
