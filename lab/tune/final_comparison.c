/* SPDX-License-Identifier: Apache-2.0 */
/* final_comparison.c - the rounds, the sign test and the verification of the winner; see final_comparison.h. */
#include "tune/final_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/case_runner.h"
#include "verify/oracle.h"
#include "cli/progress_line.h"
#include "target/target.h"

enum { ROUNDS_MIN = 11, ROUNDS_MAX = 101, CONTENDERS_MAX = LAB_FINAL_CANDIDATES + 2 };

/* How far a decision's rounds may pass the end: a search may be late by as much. */
static const int64_t OVERRUN_MAX_NS = 3000000000;

/* Of winning by chance: 1 in 100, divided among the finalists. */
static const double P_VALUE_MAX = 0.01 / LAB_FINAL_CANDIDATES;

double lab_sign_test_p(int64_t heads, int64_t throws)
{
    double sum = 0;
    for (int64_t i = heads; i <= throws; i++)
        sum += exp(lgamma((double)throws + 1) - lgamma((double)i + 1) - lgamma((double)(throws - i) + 1) -
                   (double)throws * log(2));
    return sum < 1 ? sum : 1;
}

/* ---- Who is in them ---- */

static bool is_listed(const lab_contender *contenders, int count, const rung_kernel *kernel, const char *parameters)
{
    for (int i = 0; i < count; i++)
        if (contenders[i].kernel == kernel && strcmp(contenders[i].requested_parameters, parameters) == 0)
            return true;
    return false;
}

/* The defaults first, the record at [1] if it is another, then the best of the search. */
static int collect_contenders(const lab_search *search, lab_contender *contenders, bool *has_record)
{
    int64_t trial_indices[CONTENDERS_MAX];
    int found = lab_search_best(search, trial_indices, CONTENDERS_MAX), count = 0;
    if (search->library_kernel) {
        contenders[count].kernel = search->library_kernel;
        snprintf(contenders[count++].requested_parameters, LAB_PARAMETERS_BYTES, "%s", search->library_parameters);
    }
    *has_record = search->stored_kernel &&
                  !is_listed(contenders, count, search->stored_kernel, search->stored_parameters);
    if (*has_record) {
        contenders[count].kernel = search->stored_kernel;
        snprintf(contenders[count++].requested_parameters, LAB_PARAMETERS_BYTES, "%s", search->stored_parameters);
    }
    int most = count + LAB_FINAL_CANDIDATES;
    for (int i = 0; i < found && count < most; i++) { /* min_ns: what it is expected to take */
        const lab_trial *trial = &search->journal->trials[trial_indices[i]];
        const lab_search_kernel *search_kernel = lab_search_find_kernel(search, trial);
        if (is_listed(contenders, count, search_kernel->kernel, trial->parameters))
            continue;
        contenders[count].kernel = search_kernel->kernel;
        contenders[count].min_ns = trial->ns;
        snprintf(contenders[count++].requested_parameters, LAB_PARAMETERS_BYTES, "%s", trial->parameters);
    }
    return count;
}

int64_t lab_final_comparison_start_ns(const lab_search *search)
{
    int64_t trial_indices[CONTENDERS_MAX], all = 0, time = search->end_ns - search->start_ns;
    int found = lab_search_best(search, trial_indices, CONTENDERS_MAX);
    for (int i = 0; i < found; i++)
        all += search->journal->trials[trial_indices[i]].ns;
    /* Beside the rounds: verifying each, and the winner once more in other layouts. */
    int64_t need = all * (ROUNDS_MIN + 4) + time / 10, most = time / 5 * 2;
    return search->end_ns - (need < most ? need : most);
}

/* ---- Rounds ---- */

static bool time_once(const lab_bench_problem *problem, lab_contender *contender)
{
    if (!contender->verified)
        return true;
    if (lab_contender_sample(problem, contender) == RUNG_OK)
        return true;
    lab_contender_reject(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
    return false;
}

/* Verifies as many as there is time to play a decision's rounds with, up to [must] at least.
 * Returns how many. */
static int verify_contenders(const lab_search *search, lab_contender *contenders, int count, int required_count,
                             int64_t end_ns)
{
    int64_t round_ns = 0, last_ns = 0;
    for (int i = 0; i < count; i++) {
        int64_t began = lab_now_ns();
        if (i > required_count && began + last_ns + ROUNDS_MIN * (round_ns + contenders[i].min_ns) > end_ns)
            return i;
        lab_contender_verify(search->problem, &contenders[i]);
        round_ns += contenders[i].verified_run_ns;
        last_ns = lab_now_ns() - began;
    }
    return count;
}

/* There and back, so that none is always the first after a pause. Whoever fails drops out.
 * False if a decision's rounds were not over by a little after the end. */
static bool run_rounds(const lab_search *search, lab_contender *contenders, int count, int64_t end_ns)
{
    int64_t round = 0;
    for (; round < ROUNDS_MAX && lab_now_ns() < (round < ROUNDS_MIN ? end_ns + OVERRUN_MAX_NS : end_ns); round++)
        for (int i = 0; i < count; i++)
            time_once(search->problem, &contenders[round % 2 ? count - 1 - i : i]);
    for (int i = 0; i < count; i++)
        lab_contender_summarise(&contenders[i], 0);
    return round >= ROUNDS_MIN;
}

/* Rounds in which it was faster. */
static int64_t wins_of(const lab_contender *contender, const lab_contender *defaults)
{
    int64_t wins = 0;
    for (int64_t i = 0; i < contender->samples && i < defaults->samples; i++)
        wins += contender->taken.times[i] < defaults->taken.times[i];
    return wins;
}

/* Returns whether one was faster than the other in more rounds than chance explains. */
static bool is_faster(const lab_contender *one, const lab_contender *other)
{
    return one->median_ns < other->median_ns && lab_sign_test_p(wins_of(one, other), other->samples) <= P_VALUE_MAX;
}

/* ---- The winner ---- */

/* On problems around its tiles, of odd sizes, in other layouts and with other scalars. Those that
 * it refuses the library gives to another kernel. */
static lab_case_status verify_other_problems(const lab_search *search, const lab_contender *contender, char *why,
                                             size_t capacity)
{
    const lab_bench_problem *problem = search->problem;
    rung_type in = problem->product.in;
    const rung_kernel *kernel = contender->kernel;
    lab_kernel_traits traits = {lab_kernel_value_or(kernel, contender->requested_parameters, in, "BM", 16),
                                lab_kernel_value_or(kernel, contender->requested_parameters, in, "BN", 16),
                                lab_kernel_value_or(kernel, contender->requested_parameters, in, "BK", 8),
                                lab_type_is_integer(in), rung_kernel_describe(kernel)->abilities};
    lab_tested_kernel subject = {
        .context = problem->context,
        .device = problem->device,
        .queue = problem->queue,
        .kernel = contender->kernel,
        .parameters = contender->requested_parameters,
        .product = problem->product,
        .compute = problem->compute,
        .seed = search->seed,
        .accuracy = lab_kernel_may_use_engine(search->target, contender->kernel) ? LAB_ACCURACY_ENGINE
                                                                                 : LAB_ACCURACY_BOUNDED,
    };
    lab_case_list list = lab_suite_cases(LAB_SUITE_tile, traits);
    lab_case_result *outcome = malloc(sizeof *outcome);
    lab_case_status kind = outcome && !list.out_of_memory ? LAB_CASE_CORRECT : LAB_CASE_FAILED;
    if (kind == LAB_CASE_FAILED)
        snprintf(why, capacity, "out of memory while verifying");
    for (int64_t i = 0; kind == LAB_CASE_CORRECT && i < list.count; i++) {
        lab_case_run(&subject, &list.cases[i], outcome);
        if (outcome->kind == LAB_CASE_CORRECT || outcome->kind == LAB_CASE_REJECTED)
            continue;
        kind = outcome->kind;
        snprintf(why, capacity, "%.200s", outcome->message);
    }
    free(outcome);
    free(list.cases);
    return kind;
}

/* Once more on the problem itself, by a plan of its own, and elsewhere. */
static lab_case_status verify_winner(const lab_search *search, const lab_contender *contender, char *why,
                                     size_t capacity)
{
    lab_contender *again = calloc(1, sizeof *again);
    lab_case_status kind = LAB_CASE_FAILED;
    snprintf(why, capacity, "out of memory while verifying");
    if (again) {
        again->kernel = contender->kernel;
        snprintf(again->requested_parameters, sizeof again->requested_parameters, "%s",
                 contender->requested_parameters);
        lab_contender_verify(search->problem, again);
        kind = again->verified ? LAB_CASE_CORRECT : again->state == LAB_ROW_WRONG ? LAB_CASE_WRONG : LAB_CASE_FAILED;
        snprintf(why, capacity, "%.200s", again->why_not);
        lab_contender_release(again);
    }
    free(again);
    return kind == LAB_CASE_CORRECT ? verify_other_problems(search, contender, why, capacity) : kind;
}

/* A finalist that is wrong after all is remembered as such; one that could not be verified is not
 * saved, and may be tried again. */
static void record_wrong_winner(lab_search *search, const lab_contender *contender, lab_case_status kind,
                                const char *why)
{
    lab_trial trial = {.kind = LAB_TRIAL_WRONG,
                       .m = search->problem->m,
                       .n = search->problem->n,
                       .k = search->problem->k,
                       .source = lab_fnv1a(rung_kernel_describe(contender->kernel)->source)};
    snprintf(trial.kernel, sizeof trial.kernel, "%s", rung_kernel_describe(contender->kernel)->name);
    snprintf(trial.parameters, sizeof trial.parameters, "%s", contender->requested_parameters);
    if (kind == LAB_CASE_WRONG) {
        lab_journal_add(search->journal, &trial, why);
        search->counts->wrong++;
    }
    lab_progress_hide();
    fprintf(stderr, "rung: %s %s is not saved: %s\n", trial.kernel, trial.parameters, why);
}

/* The fastest that is faster than the defaults and the record, and right; the record, or 0, the
 * defaults, if none is. */
static int find_winner(lab_search *search, lab_contender *contenders, int count, int record)
{
    for (;;) {
        char why[256] = "";
        int best = 0;
        for (int i = record + 1; i < count; i++)
            if (contenders[i].verified && is_faster(&contenders[i], &contenders[0]) &&
                (record == 0 || is_faster(&contenders[i], &contenders[record])) &&
                contenders[i].median_ns < contenders[best].median_ns)
                best = i;
        if (best == 0)
            return record;
        lab_case_status kind = verify_winner(search, &contenders[best], why, sizeof why);
        if (kind == LAB_CASE_CORRECT)
            return best;
        record_wrong_winner(search, &contenders[best], kind, why);
        lab_contender_reject(&contenders[best], kind == LAB_CASE_WRONG ? LAB_ROW_WRONG : LAB_ROW_REFUSED, "%s", why);
    }
}

static void fill_result(const lab_search *search, const lab_contender *contenders, int winner, int record,
                        lab_final_comparison *finals)
{
    const lab_contender *best = &contenders[winner], *defaults = &contenders[0];
    finals->decided = true;
    finals->improved = winner > record;
    finals->is_record_best = record > 0 && winner == record;
    snprintf(finals->kernel, sizeof finals->kernel, "%s", rung_kernel_describe(best->kernel)->name);
    snprintf(finals->parameters, sizeof finals->parameters, "%s", best->parameters);
    snprintf(finals->default_kernel, sizeof finals->default_kernel, "%s", rung_kernel_describe(defaults->kernel)->name);
    snprintf(finals->default_parameters, sizeof finals->default_parameters, "%s", defaults->parameters);
    finals->gflops = lab_gflops(search->problem, best->median_ns);
    finals->default_gflops = lab_gflops(search->problem, defaults->median_ns);
    finals->ratio = (double)defaults->median_ns / (double)best->median_ns;
    finals->median_ns = best->median_ns;
    finals->ci95_ns = best->ci95_ns;
    finals->default_median_ns = defaults->median_ns;
    finals->default_ci95_ns = defaults->ci95_ns;
    finals->rounds = defaults->samples;
    finals->wins = winner > 0 ? wins_of(best, defaults) : 0;
}

static void fill_challenger(const lab_contender *contenders, int count, lab_final_comparison *finals)
{
    const lab_contender *best = NULL;
    for (int i = 1; i < count; i++)
        if (contenders[i].verified && contenders[i].samples > 0 && (!best || contenders[i].median_ns < best->median_ns))
            best = &contenders[i];
    if (!best)
        return;
    snprintf(finals->challenger, sizeof finals->challenger, "%s", rung_kernel_describe(best->kernel)->name);
    snprintf(finals->challenger_parameters, sizeof finals->challenger_parameters, "%s", best->parameters);
    finals->challenger_ratio = (double)contenders[0].median_ns / (double)best->median_ns;
}

/* The rounds and what came of them. */
static void compare_contenders(lab_search *search, lab_contender *contenders, int count, bool has_record,
                               int64_t end_ns, lab_final_comparison *finals)
{
    bool is_over = run_rounds(search, contenders, count, end_ns);
    int record = has_record && contenders[1].verified ? 1 : 0;
    finals->record_is_wrong = has_record && contenders[1].state == LAB_ROW_WRONG;
    if (!contenders[0].verified) {
        snprintf(finals->why, sizeof finals->why, "%.200s", contenders[0].why_not);
    } else if (!is_over) {
        snprintf(finals->why, sizeof finals->why, "no time to decide; give a larger --budget");
    } else {
        if (record > 0 && contenders[record].median_ns > 0)
            finals->record_ratio = (double)contenders[0].median_ns / (double)contenders[record].median_ns;
        finals->record_is_slower = record > 0 && is_faster(&contenders[0], &contenders[record]);
        if (finals->record_is_slower)
            record = 0; /* only the defaults are left to beat */
        fill_result(search, contenders, find_winner(search, contenders, count, record), record, finals);
        fill_challenger(contenders, count, finals);
    }
}

void lab_final_comparison_run(lab_search *search, int64_t end_ns, lab_final_comparison *finals)
{
    lab_contender *contenders = calloc(CONTENDERS_MAX, sizeof *contenders);
    bool has_record = false;
    int count = contenders ? collect_contenders(search, contenders, &has_record) : 0;
    memset(finals, 0, sizeof *finals);
    count = verify_contenders(search, contenders, count, has_record ? 2 : 1, end_ns);
    if (!search->library_kernel || count == 0 || !contenders[0].verified)
        snprintf(finals->why, sizeof finals->why, "the library's default does not run: %.200s",
                 count ? contenders[0].why_not : rung_error_text());
    else
        compare_contenders(search, contenders, count, has_record, end_ns, finals);
    for (int i = 0; i < count; i++)
        lab_contender_release(&contenders[i]);
    free(contenders);
}
