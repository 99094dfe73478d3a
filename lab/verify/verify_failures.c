/* SPDX-License-Identifier: Apache-2.0 */
/* verify_failures.c - records the failures of rung verify, and finds the simplest problem that fails. */
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "verify/verify_session.h"

/* Returns the rank of a failure: those that did not run come first, then simple problems, then small ones. */
static double failure_order(const lab_verify_failure *failure)
{
    const lab_case *problem = &failure->problem;
    double size = (double)problem->m * (double)problem->n * (double)problem->k;
    bool has_scalars = problem->alpha != 1 || problem->beta != 0;
    return failure->ran
               ? 1 + (double)lab_case_level_of(problem) * 1e15 + has_scalars * 1e13 + (size < 1e12 ? size : 1e12)
               : 0;
}

int lab_verify_stored_failures(const lab_verify_session *session)
{
    return session->failure_count < LAB_VERIFY_FAILURES_MAX ? (int)session->failure_count : LAB_VERIFY_FAILURES_MAX;
}

void lab_verify_insert_failure(lab_verify_session *session, const lab_verify_failure *added)
{
    int at = lab_verify_stored_failures(session);
    session->failure_count++;
    while (at > 0 && failure_order(&session->failures[at - 1]) > failure_order(added)) {
        if (at < LAB_VERIFY_FAILURES_MAX)
            session->failures[at] = session->failures[at - 1];
        at--;
    }
    if (at < LAB_VERIFY_FAILURES_MAX)
        session->failures[at] = *added;
}

static void record_failure(lab_verify_session *session, const lab_verify_variant *variant,
                           const lab_tested_kernel *subject, const lab_case *problem, const lab_case_result *result)
{
    lab_verify_failure failure = {.variant = (int)(variant - session->variants),
                                  .problem = *problem,
                                  .ran = result->kind == LAB_CASE_WRONG,
                                  .is_confirmed = session->options->m != NULL};
    lab_case_command(subject, problem, failure.rerun_command, sizeof failure.rerun_command);
    snprintf(failure.message, sizeof failure.message, "%s", result->message);
    lab_verify_insert_failure(session, &failure);
}

/* Records the resources per block of a rejected kernel, if the library knows them. */
static void record_block_needs(lab_verify_variant *variant, const lab_tested_kernel *subject, const lab_case *problem)
{
    rung_type in = variant->dtype.product.in, out = variant->dtype.product.out;
    rung_problem form = rung_problem_of(rung_matrix_of(in, problem->m, problem->k, NULL),
                                        rung_matrix_of(in, problem->k, problem->n, NULL),
                                        rung_matrix_of(out, problem->m, problem->n, NULL));
    rung_plan_options options = rung_plan_options_default();
    rung_candidate_list *list;
    options.kernel = subject->kernel;
    options.parameters = subject->parameters;
    form.compute = variant->dtype.compute;
    if (rung_candidate_list_create(subject->device, &form, &options, &list) != RUNG_OK)
        return;
    variant->threads = rung_candidate_list_at(list, 0)->threads_per_block;
    variant->shared_bytes = rung_candidate_list_at(list, 0)->shared_bytes_per_block;
    rung_candidate_list_destroy(list);
}

void lab_verify_record_result(lab_verify_session *session, lab_verify_variant *variant,
                              const lab_tested_kernel *subject, const lab_case *problem, const lab_case_result *result)
{
    variant->cases++;
    if (lab_variant_is_file(variant) && (result->kind == LAB_CASE_CORRECT || result->kind == LAB_CASE_WRONG))
        lab_failure_counts_add(&variant->failure_counts, problem, lab_variant_traits(variant),
                               result->kind == LAB_CASE_CORRECT, result->fault == LAB_FAULT_OUTSIDE);
    switch (result->kind) {
    case LAB_CASE_CORRECT: return;
    case LAB_CASE_REJECTED:
        if (variant->skipped++ == 0 && lab_variant_is_file(variant))
            record_block_needs(variant, subject, problem);
        snprintf(variant->why_skipped, sizeof variant->why_skipped, "%.*s", (int)sizeof variant->why_skipped - 1,
                 result->message);
        return;
    case LAB_CASE_WRONG:
    case LAB_CASE_FAILED: variant->wrong++; record_failure(session, variant, subject, problem, result);
    }
}

/* ---- The simplest problem that fails ------------------------------------------------------------- */

/* Runs the cases of the command of a failure. Returns whether one fails, and takes over its message. */
static bool fails_alone(lab_verify_session *session, const lab_verify_variant *variant,
                        const lab_tested_kernel *subject, lab_verify_failure *failure)
{
    lab_case_result result = {.kind = LAB_CASE_CORRECT};
    lab_case_list list = lab_cases_with_each_content(&failure->problem);
    for (int i = 0; list.cases && result.kind == LAB_CASE_CORRECT && i < list.count && !lab_is_interrupted(); i++) {
        lab_verify_begin_case(session, variant, subject, &list.cases[i], i, list.count);
        lab_case_run(subject, &list.cases[i], &result);
        lab_supervise_step_end();
    }
    free(list.cases);
    if (result.kind != LAB_CASE_WRONG)
        return false;
    snprintf(failure->message, sizeof failure->message, "%s", result.message);
    return true;
}

/* Resizes a problem. Dense matrices stay dense, and views keep their strides. */
static void resize(lab_case *problem, int64_t m, int64_t n, int64_t k)
{
    bool a = lab_strides_are_dense(problem->a, problem->k), b = lab_case_has_dense_b(problem);
    bool c = lab_strides_are_dense(problem->c, problem->n);
    problem->m = m;
    problem->n = n;
    problem->k = k;
    problem->a = a ? lab_strides_of_layout(LAB_LAYOUT_rows, m, k) : problem->a;
    problem->b = b ? lab_case_dense_b(problem) : problem->b;
    problem->c = c ? lab_strides_of_layout(LAB_LAYOUT_rows, m, n) : problem->c;
}

static int64_t half(int64_t size)
{
    return size > 1 ? size / 2 : size;
}

/* Returns half of k in whole blocks. */
static int64_t half_k(const lab_case *problem)
{
    int64_t block = problem->k_block > 1 ? problem->k_block : 1;
    return half(problem->k / block) * block;
}

/* Applies one simplification to a problem. Returns false after the last one. */
static bool simplify_step(lab_case *problem, int step)
{
    enum { SINGLE_STEPS = 8, HALVINGS = 12 };
    const int64_t m = problem->m, n = problem->n, k = problem->k;
    switch (step) {
    case 0:
        problem->alpha = 1;
        problem->beta = 0;
        return true;
    case 1: problem->c = lab_strides_of_layout(LAB_LAYOUT_rows, m, n); return true;
    case 2: problem->b = lab_case_dense_b(problem); return true;
    case 3: problem->a = lab_strides_of_layout(LAB_LAYOUT_rows, m, k); return true;
    case 4: resize(problem, 1, n, k); return true;
    case 5: resize(problem, m < 2 ? m : 2, n, k); return true;
    case 6: resize(problem, m, 1, k); return true;
    case 7: resize(problem, m, n < 2 ? n : 2, k); return true;
    default: break;
    }
    switch ((step - SINGLE_STEPS) / HALVINGS) {
    case 0: resize(problem, half(m), n, k); return true;
    case 1: resize(problem, m, half(n), k); return true;
    case 2: resize(problem, m, n, half_k(problem)); return true;
    default: return false;
    }
}

static bool is_same(const lab_case *first, const lab_case *second)
{
    return first->m == second->m && first->n == second->n && first->k == second->k && first->alpha == second->alpha &&
           first->beta == second->beta && memcmp(&first->a, &second->a, sizeof first->a) == 0 &&
           memcmp(&first->b, &second->b, sizeof first->b) == 0 && memcmp(&first->c, &second->c, sizeof first->c) == 0;
}

/* Replaces a failure by the simplest problem that still fails. Batches are not simplified. */
static void simplify(lab_verify_session *session, const lab_verify_variant *variant, const lab_tested_kernel *subject,
                     lab_verify_failure *failure)
{
    lab_verify_failure tried = *failure;
    lab_case passed = failure->problem; /* the last problem that did not fail */
    for (int step = 0; failure->problem.batch == 1 && !lab_is_interrupted(); step++) {
        tried.problem = failure->problem;
        if (!simplify_step(&tried.problem, step))
            break;
        if (is_same(&tried.problem, &failure->problem) || is_same(&tried.problem, &passed))
            continue;
        if (fails_alone(session, variant, subject, &tried)) {
            lab_case_command(subject, &tried.problem, tried.rerun_command, sizeof tried.rerun_command);
            *failure = tried;
        } else {
            passed = tried.problem;
        }
    }
}

void lab_verify_confirm_failures(lab_verify_session *session, const lab_verify_variant *variant,
                                 const lab_tested_kernel *subject)
{
    bool is_first = true;
    for (int i = 0; !session->device.is_simulator && i < lab_verify_stored_failures(session) && !lab_is_interrupted();
         i++) {
        lab_verify_failure *failure = &session->failures[i];
        if (failure->variant != variant - session->variants || !failure->ran || failure->is_confirmed)
            continue;
        failure->is_confirmed = fails_alone(session, variant, subject, failure);
        if (failure->is_confirmed && is_first) {
            simplify(session, variant, subject, failure);
            is_first = false;
        }
        if (failure->is_confirmed && !session->options->all_cases)
            return;
    }
}
