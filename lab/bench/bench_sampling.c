/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sampling.c - rung bench: verifies and times the contenders of one problem.
 *
 * Samples are interleaved: a round takes one sample of every contender, so that whatever disturbs the machine disturbs all
 * contenders alike. Rounds end when every contender knows its median well or has used up its time. */
#include <string.h>

#include "bench/bench_session.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "process/supervise.h"

/* Rounds, if the budget allows, when two executables are interleaved: more pairs reveal smaller differences. */
enum { PAIRED_ROUNDS_MIN = 30 };

/* ---- Progress ------------------------------------------------------------------------------------------ */

/* Returns which fraction of the current problem is done. Verifying counts for a tenth of a contender's time, its samples
 * for the rest. */
static double problem_fraction_done(const lab_bench_session *session)
{
    double sum = 0;
    for (int i = 0; i < session->contender_count; i++) {
        const lab_contender *contender = &session->contenders[i];
        double spent = (double)contender->spent_ns / (double)session->budget_ns;
        sum += contender->row.verified ? 0.1 + 0.9 * (spent < 1 ? spent : 1) : contender->row.state != LAB_ROW_PENDING;
    }
    return session->contender_count > 0 ? sum / session->contender_count : 0;
}

static void show_progress(const lab_bench_session *session, const lab_bench_problem *problem, const char *activity,
                          const lab_contender *contender)
{
    char text[256];
    snprintf(text, sizeof text, "%lldx%lldx%lld %s, %s %s", LAB_SHAPE_ARGUMENTS(problem->size),
             lab_type_pair_name(problem->product), activity, contender ? lab_contender_name(contender) : "");
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = session->problems_done + problem_fraction_done(session),
                                      .count = session->problem_count * session->dtype_count,
                                      .units = "problems"});
}

/* Tells the supervisor which kernel file runs. Kernels of the library need no supervision. */
static void begin_step(const lab_bench_problem *problem, const char *activity, const lab_contender *contender)
{
    char text[512];
    if (!contender->kernel || rung_kernel_describe(contender->kernel)->number != -1)
        return;
    snprintf(text, sizeof text, "%s %s, %lld x %lld x %lld, %s", activity, lab_contender_name(contender),
             LAB_SHAPE_ARGUMENTS(problem->size), lab_type_pair_name(problem->product));
    lab_supervise_step_begin(text);
}

/* ---- Verifying ----------------------------------------------------------------------------------------- */

static void reject_with_error_text(lab_contender *contender)
{
    lab_contender_reject(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
}

/* Skips a contender if one run would exceed its whole budget at the best speed seen so far. */
static bool skip_if_too_slow(lab_bench_session *session, lab_contender *contender, const lab_bench_problem *problem)
{
    double expected_ns = lab_bench_predict_ns(session, contender, problem);
    if (expected_ns <= (double)session->budget_ns)
        return false;
    lab_contender_reject(contender, LAB_ROW_SKIPPED, "skipped: one run would take about %.0f s; raise --budget",
                         expected_ns * 1e-9);
    return true;
}

static void verify_all(lab_bench_session *session, const lab_bench_problem *problem)
{
    for (int i = 0; i < session->contender_count && !lab_is_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        show_progress(session, problem, "verifying", contender);
        if (skip_if_too_slow(session, contender, problem))
            continue;
        begin_step(problem, "verifying", contender);
        lab_contender_verify(problem, contender);
        lab_supervise_step_end();
        if (contender->row.verified)
            lab_bench_record_speed(session, contender, problem, contender->verified_run_ns);
        else if (contender->row.state == LAB_ROW_WRONG)
            session->any_wrong = true;
    }
}

/* Replaces the integers of the verification, which --inputs may ask for. Rejects all contenders on failure. */
static void fill_inputs(lab_bench_session *session, const lab_bench_problem *problem, lab_inputs inputs)
{
    show_progress(session, problem, "filling", NULL);
    if (session->result.inputs == LAB_INPUTS_WHOLE ||
        lab_bench_problem_fill(problem, inputs, (uint64_t)session->result.seed) == RUNG_OK)
        return;
    for (int i = 0; i < session->contender_count; i++)
        if (session->contenders[i].row.verified)
            reject_with_error_text(&session->contenders[i]);
}

/* Verifies the results on cold copies, since the first verification used other matrices. */
static void verify_cold_copies(lab_bench_session *session, const lab_bench_problem *problem)
{
    if (!problem->cold_copies)
        return;
    fill_inputs(session, problem, LAB_INPUTS_WHOLE);
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        show_progress(session, problem, "verifying", contender);
        if (contender->row.verified) {
            lab_contender_verify_copies(problem, contender);
            session->any_wrong = session->any_wrong || contender->row.state == LAB_ROW_WRONG;
        }
    }
}

/* ---- Sampling ------------------------------------------------------------------------------------------ */

double lab_bench_best_probe(const lab_bench_session *session, const lab_bench_problem *problem)
{
    return lab_cpu_probe_has_modes(problem->probe) ? session->best_probe[problem->probe] : 0;
}

static void record_probe(lab_bench_session *session, const lab_bench_problem *problem, const lab_samples *taken)
{
    double *best = &session->best_probe[problem->probe];
    double before = taken->before[taken->count - 1], after = taken->after[taken->count - 1];
    *best = before > *best ? before : *best;
    *best = after > *best ? after : *best;
}

static bool needs_samples(const lab_bench_session *session, const lab_bench_problem *problem,
                          const lab_contender *contender)
{
    bool needs_pairs = session->interleave.role != LAB_INTERLEAVE_NONE && contender->taken.count < PAIRED_ROUNDS_MIN &&
                       contender->spent_ns < session->budget_ns;
    return contender->row.verified &&
           (needs_pairs ||
            lab_contender_needs_samples(contender, lab_bench_best_probe(session, problem), session->budget_ns));
}

static bool any_needs_samples(const lab_bench_session *session, const lab_bench_problem *problem)
{
    for (int i = 0; i < session->contender_count; i++)
        if (needs_samples(session, problem, &session->contenders[i]))
            return true;
    return false;
}

static void take_sample(lab_bench_session *session, const lab_bench_problem *problem, lab_contender *contender)
{
    int64_t *count = &contender->taken.count;
    show_progress(session, problem, "sampling", contender);
    begin_step(problem, "timing", contender);
    rung_status status = lab_contender_sample(problem, contender);
    lab_supervise_step_end();
    if (status != RUNG_OK) {
        reject_with_error_text(contender);
        return;
    }
    record_probe(session, problem, &contender->taken);
    if (*count % (1 + *count / 20) == 0) /* not after every sample, since it sorts all of them */
        lab_contender_summarise(contender, lab_bench_best_probe(session, problem));
}

/* Takes one sample of every contender. Every second round begins with the next contender. On a processor, whose speed
 * changes from second to second, contenders that need no more samples continue with the others while they have time, so
 * that all of them see the same conditions. */
static void sample_round(lab_bench_session *session, const lab_bench_problem *problem)
{
    for (int i = 0; i < session->contender_count && !lab_is_interrupted(); i++) {
        lab_contender *contender = &session->contenders[(session->rounds / 2 + i) % session->contender_count];
        bool continues = lab_bench_is_cpu(&session->result) || session->interleave.role != LAB_INTERLEAVE_NONE;
        bool has_time = continues && contender->row.verified && contender->spent_ns < session->budget_ns &&
                        contender->taken.count < LAB_SAMPLES_MAX;
        contender->taken.round = session->rounds;
        if (has_time || needs_samples(session, problem, contender))
            take_sample(session, problem, contender);
    }
    session->rounds++;
}

/* Takes one round whenever the parent asks for one. */
static void sample_as_child(lab_bench_session *session, const lab_bench_problem *problem)
{
    char word[64];
    lab_interleave_reply(&session->interleave, "ready", any_needs_samples(session, problem));
    for (;;) {
        lab_interleave_receive(&session->interleave, word, sizeof word);
        if (strcmp(word, "round") != 0)
            break;
        sample_round(session, problem);
        lab_interleave_reply(&session->interleave, "done", any_needs_samples(session, problem));
    }
    session->interleave.failed = session->interleave.failed || strcmp(word, "end") != 0;
}

/* Returns which executable begins the next round. A contender that runs twice in a row finds its matrices in the caches.
 * The order alternates so that every contender follows every other one equally often in both executables: it is reversed
 * after every round, and once more after each contender has begun a round in both. */
static bool is_baseline_first(const lab_bench_session *session)
{
    int64_t rounds = session->rounds, count = session->contender_count > 0 ? session->contender_count : 1;
    return (rounds + rounds / (2 * count)) % 2 == 1;
}

/* Interleaves rounds with the baseline while either executable needs more. */
static void sample_as_parent(lab_bench_session *session, const lab_bench_problem *problem)
{
    lab_interleave *interleave = &session->interleave;
    bool is_alive = lab_interleave_request(interleave, "problem", "ready");
    while (is_alive && !lab_is_interrupted() && (interleave->wants_rounds || any_needs_samples(session, problem))) {
        bool baseline_first = is_baseline_first(session);
        if (baseline_first)
            is_alive = lab_interleave_request(interleave, "round", "done");
        sample_round(session, problem);
        if (!baseline_first)
            is_alive = lab_interleave_request(interleave, "round", "done");
    }
    if (is_alive)
        lab_interleave_request(interleave, "end", "ended");
    if (interleave->failed && !lab_is_interrupted()) {
        lab_progress_hide();
        fprintf(stderr, "rung: %s; continuing without the baseline\n", interleave->why);
    }
}

void lab_bench_sample_all(lab_bench_session *session, const lab_bench_problem *problem)
{
    const lab_interleave *interleave = &session->interleave;
    if (interleave->role == LAB_INTERLEAVE_CHILD) {
        sample_as_child(session, problem);
        return;
    }
    if (interleave->role == LAB_INTERLEAVE_PARENT && !interleave->failed)
        sample_as_parent(session, problem);
    bool is_alone = interleave->role == LAB_INTERLEAVE_NONE || interleave->failed;
    while (is_alone && !lab_is_interrupted() && any_needs_samples(session, problem))
        sample_round(session, problem);
}

/* Rejects contenders that have too few samples after an interruption. */
static void reject_unfinished(lab_bench_session *session, const lab_bench_problem *problem)
{
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        bool has_too_few = contender->row.verified && contender->taken.count < LAB_SAMPLES_MIN &&
                           needs_samples(session, problem, contender);
        if (contender->row.state != LAB_ROW_PENDING && !has_too_few)
            continue;
        lab_contender_reject(contender, LAB_ROW_INTERRUPTED, "interrupted");
        contender->taken.count = 0;
        contender->row.samples = contender->row.median_ns = contender->row.min_ns = contender->row.ci95_ns = 0;
    }
}

/* ---- Calls --------------------------------------------------------------------------------------------- */

/* Times the batch as one call and as one call per item (--calls). */
static void time_calls(lab_bench_session *session, const lab_bench_problem *problem)
{
    for (int i = 0; session->options->calls && i < session->contender_count && !lab_is_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        if (!contender->kernel)
            continue;
        show_progress(session, problem, "timing calls of", contender);
        if (contender->row.verified && lab_contender_time_calls(problem, contender) != RUNG_OK)
            reject_with_error_text(contender);
    }
}

static void trace_call(lab_bench_session *session, const lab_bench_problem *problem, const lab_call_profile *call)
{
    char title[128];
    if (!session->trace.out)
        return;
    snprintf(title, sizeof title, "%s %lld x %lld x %lld", lab_type_pair_name(problem->product),
             LAB_SHAPE_ARGUMENTS(problem->size));
    lab_call_profile_write_trace(&session->trace, ++session->traced_problems, title, call);
}

/* Measures the copies, kernels and packing inside the calls of rung_gemm. */
static void profile_calls(lab_bench_session *session, const lab_bench_problem *problem)
{
    rung_problem multiply = lab_bench_problem_view(problem, false);
    for (int i = 0; i < session->contender_count && !lab_is_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        lab_call_profile *call = &contender->row.call;
        if (contender->kernel || !contender->row.verified)
            continue;
        show_progress(session, problem, "profiling", contender);
        if (lab_call_profile_measure(&session->profiler, &multiply, call) == RUNG_OK)
            trace_call(session, problem, call);
        else
            reject_with_error_text(contender);
        lab_call_profile_free(call);
    }
}

void lab_bench_measure(lab_bench_session *session, const lab_bench_problem *problem)
{
    verify_all(session, problem);
    fill_inputs(session, problem, session->result.inputs);
    lab_bench_sample_all(session, problem);
    if (lab_is_interrupted())
        reject_unfinished(session, problem);
    verify_cold_copies(session, problem);
    time_calls(session, problem);
    profile_calls(session, problem);
}
