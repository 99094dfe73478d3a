/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rows.c - rung bench: turns measured contenders into rows of the result. */
#include <stdlib.h>

#include "bench/bench_session.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"

enum { EXTRA_PROBES = 200 };

static void fill_row(const lab_bench_session *session, const lab_bench_problem *problem, const lab_contender *contender,
                     lab_bench_row *row)
{
    const rung_kernel_info *info = contender->kernel ? rung_kernel_describe(contender->kernel) : NULL;
    double best_probe = lab_bench_best_probe(session, problem);
    *row = (lab_bench_row){
        .product = problem->product,
        .size = {problem->m, problem->n, problem->k},
        .is_vendor = info && info->number == 0,
        .is_peer = info && lab_kernel_peer_name(contender->kernel),
        .is_call = !info,
        .is_packed = contender->is_packed,
        .verified = contender->verified,
        .state = contender->state,
        .median_ns = contender->median_ns,
        .min_ns = contender->min_ns,
        .ci95_ns = contender->ci95_ns,
        .samples = contender->samples,
        .h2d_ns = problem->h2d_ns,
        .d2h_ns = problem->d2h_ns,
        .splits = contender->splits,
        .requested_compute = problem->compute,
        .compute = contender->compute,
        .copy_count = problem->cold_copies ? problem->cold_copies->count : 1,
        .cold_bytes = problem->cold_copies ? problem->cold_copies->bytes : 0,
        .worst_ns = contender->worst_ns,
        .outliers = contender->outliers,
        .batch_wall_ns = contender->batch_wall_ns,
        .calls_wall_ns = contender->calls_wall_ns,
        .gflops = lab_gflops(problem, contender->median_ns),
        .clock = problem->clock,
        .threads = contender->threads,
        .repeats = contender->repeats,
        .probe = problem->probe,
        .probe_gflops = lab_samples_probe_median(&contender->taken, contender->mode, best_probe),
        .mode = contender->mode,
        .fast = contender->fast,
        .slow = contender->slow,
        .peak_gflops = lab_cpu_probe_is_upper_bound(problem->probe, problem->product)
                           ? session->best_probe[problem->probe]
                           : 0,
        .origin = contender->origin,
    };
    lab_samples_round_medians(&contender->taken, contender->mode, best_probe, &row->series);
    snprintf(row->origin_text, sizeof row->origin_text, "%s", contender->origin_text);
    snprintf(row->kernel, sizeof row->kernel, "%s%s", lab_contender_name(contender),
             contender->is_packed ? ":packed" : "");
    snprintf(row->params, sizeof row->params, "%s", contender->parameters);
    snprintf(row->why_not, sizeof row->why_not, "%s", contender->why_not);
    snprintf(row->library, sizeof row->library, "%s", contender->library);
    snprintf(row->warning, sizeof row->warning, "%s", contender->warning);
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
    if (result->rows && needed <= session->row_capacity)
        return true;
    lab_bench_row *larger = realloc(result->rows, ((size_t)needed * 2 + 1) * sizeof *larger);
    if (!larger)
        return false;
    result->rows = larger;
    session->row_capacity = needed * 2 + 1;
    return true;
}

void lab_bench_add_rows(lab_bench_session *session, const lab_bench_problem *problem)
{
    int count = session->contender_count;
    lab_bench_row *rows = session->result.rows + session->result.row_count;
    session->result.row_count += count;
    for (int i = 0; i < count; i++) {
        lab_contender *contender = &session->contenders[i];
        if (contender->taken.count >
            0) { /* again, since the best probe, which separates the modes, may have come last */
            lab_contender_summarise(contender, lab_bench_best_probe(session, problem));
            lab_bench_record_speed(session, contender, problem, contender->median_ns);
        }
        fill_row(session, problem, contender, &rows[i]);
        rows[i].call = session->calls[i];
        session->any_verified = session->any_verified || contender->verified;
    }
    remeasure_peak(session, problem, rows, count);
    lab_bench_rows_compare(rows, count);
    for (int i = 0; i < count; i++)
        session->any_wrong = session->any_wrong || rows[i].exceeds_peak;
}

/* ---- Predictions --------------------------------------------------------------------------------------- */

static const lab_dtype *dtype_of(const lab_bench_session *session, const lab_bench_row *row)
{
    for (int i = 0; i < session->dtype_count; i++)
        if (lab_type_pair_equal(session->dtypes[i].product, row->product) &&
            session->dtypes[i].compute == row->requested_compute)
            return &session->dtypes[i];
    return &session->dtypes[0];
}

static void explain_row(const lab_bench_session *session, lab_bench_row *row)
{
    lab_explain_request request = {.kernel = row->explain_name,
                                   .parameters = *row->params ? row->params : NULL,
                                   .dtype = *dtype_of(session, row),
                                   .m = row->size.m,
                                   .n = row->size.n,
                                   .k = row->size.k,
                                   .machine = session->machine};
    char why[2048];
    row->explanation = calloc(1, sizeof *row->explanation);
    if (row->explanation && lab_explain(&request, row->explanation, why, sizeof why))
        return;
    lab_progress_hide();
    fprintf(stderr, "rung: %s cannot be explained: %s\n", row->kernel, row->explanation ? why : "out of memory");
    free(row->explanation);
    row->explanation = NULL;
}

void lab_bench_explain_rows(lab_bench_session *session, int first)
{
    bool is_requested = (session->options->arch || session->options->machine) && !session->is_cpu;
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
