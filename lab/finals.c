/* SPDX-License-Identifier: Apache-2.0 */
/* finals.c - see finals.h. */
#include "finals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "oracle.h"
#include "progress.h"
#include "target.h"

enum { ROUNDS_MIN = 11, ROUNDS_MAX = 101, CONTENDERS = LAB_FINALISTS + 2 };

/* How far a decision's rounds may pass the end: a search may be late by as much. */
static const int64_t GRACE_NS = 3000000000;

/* Of winning by chance: 1 in 100, divided among the finalists. */
static const double CHANCE = 0.01 / LAB_FINALISTS;

double lab_chance(int64_t heads, int64_t throws)
{
    double sum = 0;
    for (int64_t i = heads; i <= throws; i++)
        sum += exp(lgamma((double)throws + 1) - lgamma((double)i + 1) - lgamma((double)(throws - i) + 1) -
                   (double)throws * log(2));
    return sum < 1 ? sum : 1;
}

/* ---- Who is in them ---------------------------------------------------------------------------- */

static bool is_in(const lab_contender *contenders, int count, const rung_kernel *kernel, const char *parameters)
{
    for (int i = 0; i < count; i++)
        if (contenders[i].kernel == kernel && strcmp(contenders[i].asked, parameters) == 0)
            return true;
    return false;
}

/* The defaults first, the record at [1] if it is another, then the best of the search. */
static int gather(const lab_search *search, lab_contender *contenders, bool *has_record)
{
    int64_t places[CONTENDERS];
    int found = lab_search_best(search, places, CONTENDERS), count = 0;
    if (search->given) {
        contenders[count].kernel = search->given;
        snprintf(contenders[count++].asked, LAB_PARAMETERS_TEXT, "%s", search->given_parameters);
    }
    *has_record = search->recorded && !is_in(contenders, count, search->recorded, search->recorded_parameters);
    if (*has_record) {
        contenders[count].kernel = search->recorded;
        snprintf(contenders[count++].asked, LAB_PARAMETERS_TEXT, "%s", search->recorded_parameters);
    }
    int most = count + LAB_FINALISTS;
    for (int i = 0; i < found && count < most; i++) { /* min_ns: what it is expected to take */
        const lab_trial *trial = &search->journal->trials[places[i]];
        const lab_entrant *entrant = lab_search_entrant(search, trial);
        if (is_in(contenders, count, entrant->kernel, trial->parameters))
            continue;
        contenders[count].kernel = entrant->kernel;
        contenders[count].min_ns = trial->ns;
        snprintf(contenders[count++].asked, LAB_PARAMETERS_TEXT, "%s", trial->parameters);
    }
    return count;
}

int64_t lab_finals_start(const lab_search *search)
{
    int64_t places[CONTENDERS], all = 0, time = search->end_ns - search->start_ns;
    int found = lab_search_best(search, places, CONTENDERS);
    for (int i = 0; i < found; i++)
        all += search->journal->trials[places[i]].ns;
    /* Beside the rounds: verifying each, and the winner once more in other layouts. */
    int64_t need = all * (ROUNDS_MIN + 4) + time / 10, most = time / 5 * 2;
    return search->end_ns - (need < most ? need : most);
}

/* ---- Rounds --------------------------------------------------------------------------------------- */

static bool sample(const lab_problem *problem, lab_contender *contender)
{
    if (!contender->verified)
        return true;
    if (lab_contender_sample(problem, contender) == RUNG_OK)
        return true;
    lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
    return false;
}

/* Verifies as many as there is time to play a decision's rounds with, up to [must] at least.
 * Returns how many. */
static int admit(const lab_search *search, lab_contender *contenders, int count, int must, int64_t end_ns)
{
    int64_t round_ns = 0, last_ns = 0;
    for (int i = 0; i < count; i++) {
        int64_t began = lab_now();
        if (i > must && began + last_ns + ROUNDS_MIN * (round_ns + contenders[i].min_ns) > end_ns)
            return i;
        lab_contender_verify(search->problem, &contenders[i]);
        round_ns += contenders[i].first_ns;
        last_ns = lab_now() - began;
    }
    return count;
}

/* There and back, so that none is always the first after a pause. Whoever fails drops out.
 * False if a decision's rounds were not over by a little after the end. */
static bool play(const lab_search *search, lab_contender *contenders, int count, int64_t end_ns)
{
    int64_t round = 0;
    for (; round < ROUNDS_MAX && lab_now() < (round < ROUNDS_MIN ? end_ns + GRACE_NS : end_ns); round++)
        for (int i = 0; i < count; i++)
            sample(search->problem, &contenders[round % 2 ? count - 1 - i : i]);
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

/* Returns whether one was faster than the other in so many rounds that chance does not explain it. */
static bool is_faster(const lab_contender *one, const lab_contender *other)
{
    return one->median_ns < other->median_ns && lab_chance(wins_of(one, other), other->samples) <= CHANCE;
}

/* ---- The winner ------------------------------------------------------------------------------------ */

/* On problems around its tiles, of odd sizes, in other layouts and with other scalars. Those that
 * it refuses the library gives to another kernel. */
static lab_outcome_kind judge_elsewhere(const lab_search *search, const lab_contender *contender, char *why,
                                        size_t capacity)
{
    const lab_problem *problem = search->problem;
    rung_type in = problem->product.in;
    const rung_kernel *kernel = contender->kernel;
    lab_traits traits = {lab_kernel_number(kernel, contender->asked, in, "BM", 16),
                         lab_kernel_number(kernel, contender->asked, in, "BN", 16),
                         lab_kernel_number(kernel, contender->asked, in, "BK", 8), lab_is_whole(in),
                         rung_kernel_describe(kernel)->abilities};
    lab_subject subject = {
        .context = problem->context,
        .device = problem->device,
        .queue = problem->queue,
        .kernel = contender->kernel,
        .parameters = contender->asked,
        .product = problem->product,
        .compute = problem->compute,
        .seed = search->seed,
        .rigour = lab_may_use_engine(search->target, contender->kernel) ? LAB_ON_ENGINE : LAB_BOUNDED,
    };
    lab_case_list list = lab_cases_of(LAB_SUITE_tile, traits);
    lab_outcome *outcome = malloc(sizeof *outcome);
    lab_outcome_kind kind = outcome && !list.out_of_memory ? LAB_RIGHT : LAB_FAILED;
    if (kind == LAB_FAILED)
        snprintf(why, capacity, "there is no memory to verify it");
    for (int64_t i = 0; kind == LAB_RIGHT && i < list.count; i++) {
        lab_conform(&subject, &list.cases[i], outcome);
        if (outcome->kind == LAB_RIGHT || outcome->kind == LAB_REFUSED)
            continue;
        kind = outcome->kind;
        snprintf(why, capacity, "%.200s", outcome->message);
    }
    free(outcome);
    free(list.cases);
    return kind;
}

/* Once more on the problem itself, by a plan of its own, and elsewhere. */
static lab_outcome_kind judge(const lab_search *search, const lab_contender *contender, char *why, size_t capacity)
{
    lab_contender *again = calloc(1, sizeof *again);
    lab_outcome_kind kind = LAB_FAILED;
    snprintf(why, capacity, "there is no memory to verify it");
    if (again) {
        again->kernel = contender->kernel;
        snprintf(again->asked, sizeof again->asked, "%s", contender->asked);
        lab_contender_verify(search->problem, again);
        kind = again->verified ? LAB_RIGHT : again->state == LAB_ROW_WRONG ? LAB_WRONG_RESULT : LAB_FAILED;
        snprintf(why, capacity, "%.200s", again->why_not);
        lab_contender_finish(again);
    }
    free(again);
    return kind == LAB_RIGHT ? judge_elsewhere(search, contender, why, capacity) : kind;
}

/* A finalist that is wrong after all is remembered as such; one that could not be verified is not
 * saved, and may be tried again. */
static void put_down(lab_search *search, const lab_contender *contender, lab_outcome_kind kind, const char *why)
{
    lab_trial trial = {.kind = LAB_TRIAL_WRONG,
                       .m = search->problem->m,
                       .n = search->problem->n,
                       .k = search->problem->k,
                       .source = lab_hash(rung_kernel_describe(contender->kernel)->source)};
    snprintf(trial.kernel, sizeof trial.kernel, "%s", rung_kernel_describe(contender->kernel)->name);
    snprintf(trial.parameters, sizeof trial.parameters, "%s", contender->asked);
    if (kind == LAB_WRONG_RESULT) {
        lab_journal_add(search->journal, &trial, why);
        search->counts->wrong++;
    }
    lab_progress_break();
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
        lab_outcome_kind kind = judge(search, &contenders[best], why, sizeof why);
        if (kind == LAB_RIGHT)
            return best;
        put_down(search, &contenders[best], kind, why);
        lab_contender_drop(&contenders[best], kind == LAB_WRONG_RESULT ? LAB_ROW_WRONG : LAB_ROW_REFUSED, "%s", why);
    }
}

static void tell(const lab_search *search, const lab_contender *contenders, int winner, int record, lab_finals *finals)
{
    const lab_contender *best = &contenders[winner], *defaults = &contenders[0];
    finals->decided = true;
    finals->improved = winner > record;
    finals->record_stays = record > 0 && winner == record;
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

static void tell_challenger(const lab_contender *contenders, int count, lab_finals *finals)
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
static void decide(lab_search *search, lab_contender *contenders, int count, bool has_record, int64_t end_ns,
                   lab_finals *finals)
{
    bool is_over = play(search, contenders, count, end_ns);
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
        tell(search, contenders, find_winner(search, contenders, count, record), record, finals);
        tell_challenger(contenders, count, finals);
    }
}

void lab_finals_run(lab_search *search, int64_t end_ns, lab_finals *finals)
{
    lab_contender *contenders = calloc(CONTENDERS, sizeof *contenders);
    bool has_record = false;
    int count = contenders ? gather(search, contenders, &has_record) : 0;
    memset(finals, 0, sizeof *finals);
    count = admit(search, contenders, count, has_record ? 2 : 1, end_ns);
    if (!search->given || count == 0 || !contenders[0].verified)
        snprintf(finals->why, sizeof finals->why, "what the library takes by itself does not run: %.200s",
                 count ? contenders[0].why_not : rung_error_text());
    else
        decide(search, contenders, count, has_record, end_ns, finals);
    for (int i = 0; i < count; i++)
        lab_contender_finish(&contenders[i]);
    free(contenders);
}
