/* SPDX-License-Identifier: Apache-2.0 */
/* final_comparison.c - the rounds, the sign test and the verification of the winner; see final_comparison.h. */
#include "tune/final_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"
#include "target/target.h"

enum { ROUNDS_MIN = 11, ROUNDS_MAX = 101, CONTENDERS_MAX = LAB_FINAL_CANDIDATES + 2 };

/* By how much the rounds that a decision needs may exceed the end. A candidate of the search may exceed it as well. */
static const int64_t OVERRUN_MAX_NS = 3000000000;

/* Maximum probability of winning by chance: 1 in 100, divided among the candidates. */
static const double P_VALUE_MAX = 0.01 / LAB_FINAL_CANDIDATES;

double lab_sign_test_p(int64_t heads, int64_t throws)
{
    double sum = 0;
    for (int64_t i = heads; i <= throws; i++)
        sum += exp(lgamma((double)throws + 1) - lgamma((double)i + 1) - lgamma((double)(throws - i) + 1) -
                   (double)throws * log(2));
    return sum < 1 ? sum : 1;
}

/* ---- Contenders ---- */

/* Adds a contender unless it is already listed. Returns whether it was added. */
static bool add_contender(lab_contender *contenders, int *count, const rung_kernel *kernel, const char *parameters,
                          int64_t expected_ns)
{
    for (int i = 0; i < *count; i++)
        if (contenders[i].kernel == kernel && strcmp(contenders[i].requested_parameters, parameters) == 0)
            return false;
    lab_contender_init(&contenders[*count], kernel, parameters);
    contenders[(*count)++].row.min_ns = expected_ns;
    return true;
}

/* Lists the defaults, then the record if it differs, at [1], then the best trials of the search. */
static int collect_contenders(const lab_search *search, lab_contender *contenders, bool *has_record)
{
    const lab_trial *best[CONTENDERS_MAX];
    int found = lab_search_best(search, best, CONTENDERS_MAX), count = 0;
    if (search->library_kernel)
        add_contender(contenders, &count, search->library_kernel, search->library_parameters, 0);
    *has_record = search->stored_kernel &&
                  add_contender(contenders, &count, search->stored_kernel, search->stored_parameters, 0);
    int most = count + LAB_FINAL_CANDIDATES;
    for (int i = 0; i < found && count < most; i++)
        add_contender(contenders, &count, lab_search_find_kernel(search, best[i])->kernel, best[i]->parameters,
                      best[i]->ns);
    return count;
}

int64_t lab_final_comparison_start_ns(const lab_search *search)
{
    const lab_trial *best[CONTENDERS_MAX];
    int64_t all = 0, time = search->end_ns - search->start_ns;
    int found = lab_search_best(search, best, CONTENDERS_MAX);
    for (int i = 0; i < found; i++)
        all += best[i]->ns;
    /* Besides the rounds: verifying each contender, and the winner again with other layouts. */
    int64_t need = all * (ROUNDS_MIN + 4) + time / 10, most = time / 5 * 2;
    return search->end_ns - (need < most ? need : most);
}

/* ---- Rounds ---- */

/* Verifies the contenders: the first `required_count` + 1, and more while there is time for the rounds of a decision.
 * Returns their number. */
static int verify_contenders(const lab_search *search, lab_contender *contenders, int count, int required_count,
                             int64_t end_ns)
{
    int64_t round_ns = 0, last_ns = 0;
    for (int i = 0; i < count; i++) {
        int64_t began = lab_now_ns();
        if (i > required_count && began + last_ns + ROUNDS_MIN * (round_ns + contenders[i].row.min_ns) > end_ns)
            return i;
        lab_contender_verify(search->problem, &contenders[i]);
        round_ns += contenders[i].verified_run_ns;
        last_ns = lab_now_ns() - began;
    }
    return count;
}

/* Runs rounds in alternating order, so that no contender is always the first after a pause. Rejects contenders that fail.
 * Returns false if the time did not suffice for a decision. */
static bool run_rounds(const lab_search *search, lab_contender *contenders, int count, int64_t end_ns)
{
    int64_t round = 0;
    for (; round < ROUNDS_MAX && lab_now_ns() < (round < ROUNDS_MIN ? end_ns + OVERRUN_MAX_NS : end_ns); round++)
        for (int i = 0; i < count; i++) {
            lab_contender *contender = &contenders[round % 2 ? count - 1 - i : i];
            if (contender->row.verified && lab_contender_sample(search->problem, contender) != RUNG_OK)
                lab_contender_reject(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
        }
    for (int i = 0; i < count; i++)
        lab_contender_summarise(&contenders[i], 0);
    return round >= ROUNDS_MIN;
}

/* Returns the number of rounds in which a contender was faster than the defaults. */
static int64_t wins_of(const lab_contender *contender, const lab_contender *defaults)
{
    int64_t wins = 0;
    for (int64_t i = 0; i < contender->row.samples && i < defaults->row.samples; i++)
        wins += contender->taken.times[i] < defaults->taken.times[i];
    return wins;
}

/* Returns whether one was faster than the other in more rounds than chance explains. */
static bool is_faster(const lab_contender *one, const lab_contender *other)
{
    return one->row.median_ns < other->row.median_ns &&
           lab_sign_test_p(wins_of(one, other), other->row.samples) <= P_VALUE_MAX;
}

/* ---- Verifying the winner ---- */

/* Verifies a contender on problems around its tile sizes, with odd sizes, other layouts and other scalars. Problems that
 * the kernel rejects do not count: the library runs another kernel for them. */
static lab_case_status verify_other_problems(const lab_search *search, const lab_contender *contender, char *why,
                                             size_t capacity)
{
    const lab_bench_problem *problem = search->problem;
    rung_type in = problem->product.in;
    const rung_kernel *kernel = contender->kernel;
    lab_kernel_traits traits = {.bm = lab_kernel_value_or(kernel, contender->requested_parameters, in, "BM", 16),
                                .bn = lab_kernel_value_or(kernel, contender->requested_parameters, in, "BN", 16),
                                .bk = lab_kernel_value_or(kernel, contender->requested_parameters, in, "BK", 8),
                                .is_integer = lab_type_is_integer(in),
                                .abilities = rung_kernel_describe(kernel)->abilities};
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

/* Verifies a contender again on the problem itself, with a new plan, and on other problems. */
static lab_case_status verify_winner(const lab_search *search, const lab_contender *contender, char *why,
                                     size_t capacity)
{
    lab_contender *again = calloc(1, sizeof *again);
    lab_case_status kind = LAB_CASE_FAILED;
    snprintf(why, capacity, "out of memory while verifying");
    if (again) {
        lab_contender_init(again, contender->kernel, contender->requested_parameters);
        lab_contender_verify(search->problem, again);
        kind = again->row.verified                 ? LAB_CASE_CORRECT
               : again->row.state == LAB_ROW_WRONG ? LAB_CASE_WRONG
                                                   : LAB_CASE_FAILED;
        snprintf(why, capacity, "%.200s", again->row.why_not);
        lab_contender_release(again);
    }
    free(again);
    return kind == LAB_CASE_CORRECT ? verify_other_problems(search, contender, why, capacity) : kind;
}

/* Reports that a winner is not saved. Records wrong results in the journal; a winner that could not be verified may be
 * tried again. */
static void record_wrong_winner(lab_search *search, const lab_contender *contender, lab_case_status kind,
                                const char *why)
{
    const rung_kernel_info *info = rung_kernel_describe(contender->kernel);
    lab_trial trial = lab_search_trial(search, info->name, lab_fnv1a(info->source), contender->requested_parameters);
    trial.kind = LAB_TRIAL_WRONG;
    if (kind == LAB_CASE_WRONG) {
        lab_journal_add(search->journal, &trial, why);
        search->counts->wrong++;
    }
    lab_fail(LAB_EXIT_WRONG, "%s %s is not saved: %s", trial.kernel, trial.parameters, why);
}

/* Returns the fastest contender that is correct and faster than the defaults and the record. If there is none, returns the
 * record, or 0 for the defaults. */
static int find_winner(lab_search *search, lab_contender *contenders, int count, int record)
{
    for (;;) {
        char why[256] = "";
        int best = 0;
        for (int i = record + 1; i < count; i++)
            if (contenders[i].row.verified && is_faster(&contenders[i], &contenders[0]) &&
                (record == 0 || is_faster(&contenders[i], &contenders[record])) &&
                contenders[i].row.median_ns < contenders[best].row.median_ns)
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

static lab_finalist finalist_of(const lab_search *search, const lab_contender *contender)
{
    const lab_bench_row *row = &contender->row;
    lab_finalist finalist = {
        .gflops = lab_gflops(search->problem, row->median_ns), .median_ns = row->median_ns, .ci95_ns = row->ci95_ns};
    snprintf(finalist.kernel, sizeof finalist.kernel, "%s", rung_kernel_describe(contender->kernel)->name);
    snprintf(finalist.parameters, sizeof finalist.parameters, "%s", row->params);
    return finalist;
}

static void fill_result(const lab_search *search, const lab_contender *contenders, int winner, int record,
                        lab_final_comparison *finals)
{
    const lab_contender *best = &contenders[winner], *defaults = &contenders[0];
    finals->decided = true;
    finals->improved = winner > record;
    finals->is_record_best = record > 0 && winner == record;
    finals->winner = finalist_of(search, best);
    finals->defaults = finalist_of(search, defaults);
    finals->ratio = (double)defaults->row.median_ns / (double)best->row.median_ns;
    finals->rounds = defaults->row.samples;
    finals->wins = winner > 0 ? wins_of(best, defaults) : 0;
}

static void fill_challenger(const lab_search *search, const lab_contender *contenders, int count,
                            lab_final_comparison *finals)
{
    const lab_contender *best = NULL;
    for (int i = 1; i < count; i++)
        if (contenders[i].row.verified && contenders[i].row.samples > 0 &&
            (!best || contenders[i].row.median_ns < best->row.median_ns))
            best = &contenders[i];
    if (!best)
        return;
    finals->challenger = finalist_of(search, best);
    finals->challenger_ratio = (double)contenders[0].row.median_ns / (double)best->row.median_ns;
}

/* Runs the rounds and fills in the result. */
static void compare_contenders(lab_search *search, lab_contender *contenders, int count, bool has_record,
                               int64_t end_ns, lab_final_comparison *finals)
{
    bool is_over = run_rounds(search, contenders, count, end_ns);
    int record = has_record && contenders[1].row.verified ? 1 : 0;
    finals->record_is_wrong = has_record && contenders[1].row.state == LAB_ROW_WRONG;
    if (!contenders[0].row.verified) {
        snprintf(finals->why, sizeof finals->why, "%.200s", contenders[0].row.why_not);
    } else if (!is_over) {
        snprintf(finals->why, sizeof finals->why, "no time to decide; give a larger --budget");
    } else {
        if (record > 0 && contenders[record].row.median_ns > 0)
            finals->record_ratio = (double)contenders[0].row.median_ns / (double)contenders[record].row.median_ns;
        finals->record_is_slower = record > 0 && is_faster(&contenders[0], &contenders[record]);
        if (finals->record_is_slower)
            record = 0; /* only the defaults are left to beat */
        fill_result(search, contenders, find_winner(search, contenders, count, record), record, finals);
        fill_challenger(search, contenders, count, finals);
    }
}

void lab_final_comparison_run(lab_search *search, int64_t end_ns, lab_final_comparison *finals)
{
    lab_contender *contenders = calloc(CONTENDERS_MAX, sizeof *contenders);
    bool has_record = false;
    int count = contenders ? collect_contenders(search, contenders, &has_record) : 0;
    memset(finals, 0, sizeof *finals);
    count = verify_contenders(search, contenders, count, has_record ? 2 : 1, end_ns);
    if (!search->library_kernel || count == 0 || !contenders[0].row.verified)
        snprintf(finals->why, sizeof finals->why, "the library's default does not run: %.200s",
                 count ? contenders[0].row.why_not : rung_error_text());
    else
        compare_contenders(search, contenders, count, has_record, end_ns, finals);
    for (int i = 0; i < count; i++)
        lab_contender_release(&contenders[i]);
    free(contenders);
}
