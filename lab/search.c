/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - see search.h. */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "finals.h"
#include "oracle.h"
#include "progress.h"
#include "rank.h"

enum {
    SAMPLES = 5,            /* of a candidate, at most ... */
    SAMPLES_NS = 250000000, /* ... or until they took so long */
    TOPS = 3,               /* whose neighbours are tried */
    SEED_EVERY = 4,         /* one of so many comes from the ranking, the rest from next to the best */
};

static const double DROPPED_AT = 2.5;   /* times the best: one run is enough */
static const double HOPELESS_AT = 0.25; /* of the best, on another problem or by defaults */

/* What a kernel's defaults are called in the journal until a plan has told which they are. */
static const char defaults_word[] = "(default)";

typedef struct candidate {
    const lab_entrant *entrant;
    char text[LAB_PARAMETERS_TEXT];
} candidate_t;

/* ---- What is known ------------------------------------------------------------------------------ */

const lab_entrant *lab_search_entrant(const lab_search *search, const lab_trial *trial)
{
    for (int i = 0; i < search->entrant_count; i++)
        if (search->entrants[i].source == trial->source && strcmp(search->entrants[i].name, trial->kernel) == 0)
            return &search->entrants[i];
    return NULL;
}

static bool is_here(const lab_search *search, const lab_trial *trial)
{
    return trial->m == search->problem->m && trial->n == search->problem->n && trial->k == search->problem->k;
}

static bool is_same_problem(const lab_trial *x, const lab_trial *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k;
}

/* A time that counts: of an entrant, under the parameters' own names. */
static bool is_result(const lab_search *search, const lab_trial *trial)
{
    return trial->kind == LAB_TRIAL_TIMED && strcmp(trial->parameters, defaults_word) != 0 &&
           lab_search_entrant(search, trial) != NULL;
}

static lab_trial trial_of(const lab_search *search, const candidate_t *candidate)
{
    lab_trial trial = {.kind = LAB_TRIAL_TRYING,
                       .m = search->problem->m,
                       .n = search->problem->n,
                       .k = search->problem->k,
                       .source = candidate->entrant->source};
    snprintf(trial.kernel, sizeof trial.kernel, "%s", candidate->entrant->name);
    snprintf(trial.parameters, sizeof trial.parameters, "%s", candidate->text);
    return trial;
}

static bool is_known(const lab_search *search, const lab_entrant *entrant, const char *text)
{
    candidate_t candidate = {.entrant = entrant};
    snprintf(candidate.text, sizeof candidate.text, "%s", text);
    lab_trial trial = trial_of(search, &candidate);
    const lab_trial *known = lab_journal_find(search->journal, &trial);
    return known && known->kind != LAB_TRIAL_LATE;
}

/* The least time on the problem of `like`, of one entrant or with NULL of all; 0 if there is none. */
static int64_t best_ns(const lab_search *search, const lab_trial *like, const lab_entrant *entrant)
{
    int64_t best = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (is_same_problem(trial, like) && is_result(search, trial) &&
            (!entrant || lab_search_entrant(search, trial) == entrant) && (best == 0 || trial->ns < best))
            best = trial->ns;
    }
    return best;
}

static lab_trial here_of(const lab_search *search)
{
    return (lab_trial){.m = search->problem->m, .n = search->problem->n, .k = search->problem->k};
}

/* How near a kernel has come to the best, here or else where it came nearest; 1 if nothing is
 * known of it. */
static double worth_of(const lab_search *search, const lab_entrant *entrant)
{
    lab_trial here = here_of(search);
    int64_t own = best_ns(search, &here, entrant), best = best_ns(search, &here, NULL);
    if (own > 0)
        return (double)best / (double)own;
    double worth = 0;
    bool any = false;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_result(search, trial) || lab_search_entrant(search, trial) != entrant)
            continue;
        any = true;
        worth = fmax(worth, (double)best_ns(search, trial, NULL) / (double)trial->ns);
    }
    return any ? worth : 1;
}

int lab_search_best(const lab_search *search, int64_t *places, int capacity)
{
    int count = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_here(search, trial) || !is_result(search, trial))
            continue;
        int at = count;
        while (at > 0 && search->journal->trials[places[at - 1]].ns > trial->ns)
            at--;
        if (at == capacity)
            continue;
        int moved = (count < capacity ? count : capacity - 1) - at;
        memmove(&places[at + 1], &places[at], (size_t)moved * sizeof *places);
        places[at] = i;
        count += count < capacity;
    }
    return count;
}

/* ---- What to try -------------------------------------------------------------------------------- */

static double rank_of(const lab_search *search, const lab_entrant *entrant, const char *text)
{
    const lab_problem *problem = search->problem;
    return lab_rank(entrant->kernel, text, problem->product, problem->m, problem->n, problem->k,
                    rung_device_describe(problem->device));
}

static bool take(const lab_search *search, const lab_entrant *entrant, const char *text, candidate_t *next)
{
    if (is_known(search, entrant, text))
        return false;
    next->entrant = entrant;
    snprintf(next->text, sizeof next->text, "%s", text);
    return true;
}

/* The library's own choice, then each kernel's, from the top of the ladder down. */
static bool next_default(const lab_search *search, candidate_t *next)
{
    for (int i = 0; i < search->entrant_count; i++)
        if (search->entrants[i].kernel == search->given &&
            take(search, &search->entrants[i], search->given_parameters, next))
            return true;
    for (int i = search->entrant_count - 1; i >= 0; i--)
        if (search->entrants[i].kernel != search->given && worth_of(search, &search->entrants[i]) >= HOPELESS_AT &&
            take(search, &search->entrants[i], defaults_word, next))
            return true;
    return false;
}

/* What was best on another problem. */
static bool next_from_elsewhere(const lab_search *search, candidate_t *next)
{
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_here(search, trial) && is_result(search, trial) && trial->ns == best_ns(search, trial, NULL) &&
            take(search, lab_search_entrant(search, trial), trial->parameters, next))
            return true;
    }
    return false;
}

static bool next_preset(const lab_search *search, candidate_t *next)
{
    for (int i = search->entrant_count - 1; i >= 0; i--) {
        const lab_entrant *entrant = &search->entrants[i];
        const rung_kernel_info *info = rung_kernel_describe(entrant->kernel);
        if (worth_of(search, entrant) < HOPELESS_AT)
            continue;
        for (int64_t j = 0; j < info->preset_count; j++) {
            lab_point point;
            char text[LAB_PARAMETERS_TEXT];
            if (lab_point_of(&entrant->space, rung_kernel_preset(entrant->kernel, j)->name, &point) &&
                lab_point_text(&entrant->space, &point, text) && take(search, entrant, text, next))
                return true;
        }
    }
    return false;
}

/* The highest that was not tried; ranks of kernels that are behind count for less. */
static bool next_seed(lab_search *search, candidate_t *next)
{
    double best = 0;
    for (int i = 0; i < search->entrant_count; i++) {
        lab_entrant *entrant = &search->entrants[i];
        double worth = worth_of(search, entrant);
        for (int64_t j = 0; worth >= HOPELESS_AT && j < entrant->seed_count; j++) {
            lab_seed *seed = &entrant->seeds[j];
            char text[LAB_PARAMETERS_TEXT];
            if (seed->done)
                continue;
            if (seed->rank * worth <= best)
                break; /* and those behind it */
            seed->done = !lab_point_text(&entrant->space, &seed->point, text) || !take(search, entrant, text, next);
            if (!seed->done) {
                best = seed->rank * worth;
                break;
            }
        }
    }
    return best > 0;
}

static bool next_to(const lab_search *search, const lab_trial *trial, bool pairs, candidate_t *next)
{
    const lab_entrant *entrant = lab_search_entrant(search, trial);
    lab_points found = {0};
    lab_point point;
    double best = -1;
    if (lab_point_of(&entrant->space, trial->parameters, &point) &&
        lab_space_neighbours(&entrant->space, &point, pairs, &found))
        for (int64_t i = 0; i < found.count; i++) {
            char text[LAB_PARAMETERS_TEXT];
            if (!lab_point_text(&entrant->space, &found.points[i], text) || is_known(search, entrant, text))
                continue;
            double rank = rank_of(search, entrant, text);
            if (rank > best && take(search, entrant, text, next))
                best = rank;
        }
    free(found.points);
    return best >= 0;
}

/* One parameter changed in the best few, then two at once. */
static bool next_neighbour(const lab_search *search, candidate_t *next)
{
    int64_t places[TOPS];
    int count = lab_search_best(search, places, TOPS);
    for (int pairs = 0; pairs < 2; pairs++)
        for (int i = 0; i < count; i++)
            if (next_to(search, &search->journal->trials[places[i]], pairs == 1, next))
                return true;
    return false;
}

static bool choose(lab_search *search, candidate_t *next)
{
    if (next_default(search, next) || next_from_elsewhere(search, next) || next_preset(search, next))
        return true;
    if (search->counts->tried % SEED_EVERY == SEED_EVERY - 1)
        return next_seed(search, next) || next_neighbour(search, next);
    return next_neighbour(search, next) || next_seed(search, next);
}

/* ---- Trying --------------------------------------------------------------------------------------- */

static void tell_best(const lab_search *search, const lab_trial *best)
{
    const lab_counts *counts = search->counts;
    if (search->quiet)
        return;
    lab_progress_break();
    fprintf(stderr, "%6.1f s  %lldx%lldx%lld  tried %lld, refused %lld: best %s %s %.2f GFLOPS\n",
            (double)(lab_now() - search->began_ns) * 1e-9, (long long)best->m, (long long)best->n, (long long)best->k,
            (long long)counts->tried, (long long)counts->refused, best->kernel, best->parameters,
            lab_gflops(search->problem, best->ns));
}

/* The least of a few samples: what disturbs a run makes it longer, never shorter. */
static bool time_it(const lab_search *search, lab_contender *contender, int64_t best, int64_t *ns)
{
    *ns = contender->first_ns > 0 ? contender->first_ns : 1;
    if (best > 0 && (double)*ns > DROPPED_AT * (double)best)
        return true;
    while (contender->samples < SAMPLES && contender->spent_ns < SAMPLES_NS)
        if (lab_contender_sample(search->problem, contender) != RUNG_OK)
            return false;
    lab_contender_summarise(contender, 0);
    *ns = contender->min_ns > 0 ? contender->min_ns : 1;
    return true;
}

/* What came of it: verified, timed. */
static void judge(const lab_search *search, lab_contender *contender, lab_trial *trial)
{
    lab_trial here = here_of(search);
    lab_contender_verify(search->problem, contender);
    if (!contender->verified)
        trial->kind = contender->state == LAB_ROW_WRONG ? LAB_TRIAL_WRONG : LAB_TRIAL_REFUSED;
    else if (time_it(search, contender, best_ns(search, &here, NULL), &trial->ns))
        trial->kind = LAB_TRIAL_TIMED;
    else
        trial->kind = LAB_TRIAL_REFUSED;
}

static void count(lab_counts *counts, const lab_trial *trial)
{
    counts->tried++;
    counts->refused += trial->kind == LAB_TRIAL_REFUSED;
    counts->wrong += trial->kind == LAB_TRIAL_WRONG;
}

/* False if the journal cannot be written. */
static bool record(lab_search *search, const lab_contender *contender, lab_trial *trial)
{
    lab_trial here = here_of(search);
    int64_t before = best_ns(search, &here, NULL);
    bool good = lab_journal_add(search->journal, trial, contender->why_not);
    if (good && strcmp(trial->parameters, defaults_word) == 0 && trial->kind == LAB_TRIAL_TIMED) {
        snprintf(trial->parameters, sizeof trial->parameters, "%.*s", LAB_PARAMETERS_TEXT - 1, contender->parameters);
        const lab_trial *known = lab_journal_find(search->journal, trial);
        good = (known && known->kind == LAB_TRIAL_TIMED) || lab_journal_add(search->journal, trial, NULL);
    }
    count(search->counts, trial);
    if (trial->kind == LAB_TRIAL_WRONG) {
        lab_progress_break();
        fprintf(stderr, "rung: %s %s: %s\n", trial->kernel, trial->parameters, contender->why_not);
    }
    if (trial->kind == LAB_TRIAL_TIMED && (before == 0 || trial->ns < before))
        tell_best(search, trial);
    return good;
}

static bool try_one(lab_search *search, const candidate_t *next)
{
    lab_contender *contender = calloc(1, sizeof *contender);
    lab_trial trial = trial_of(search, next);
    if (!contender)
        return false;
    contender->kernel = next->entrant->kernel;
    if (strcmp(next->text, defaults_word) != 0)
        snprintf(contender->asked, sizeof contender->asked, "%s", next->text);
    bool good = lab_journal_add(search->journal, &trial, NULL);
    if (good) {
        search->watch->trial = trial;
        search->watch->steps++;
        atomic_store(&search->watch->late_ns, lab_finals_start(search));
        atomic_store(&search->watch->since_ns, lab_now());
        judge(search, contender, &trial);
        good = record(search, contender, &trial);
        atomic_store(&search->watch->since_ns, 0);
    }
    lab_contender_finish(contender);
    free(contender);
    return good;
}

lab_search_result lab_search_run(lab_search *search)
{
    candidate_t next;
    while (lab_now() < lab_finals_start(search) && choose(search, &next)) {
        if (search->patience-- <= 0)
            return LAB_SEARCH_AGAIN;
        if (!try_one(search, &next))
            return LAB_SEARCH_FAILED;
    }
    return LAB_SEARCH_DONE;
}

/* ---- Beginning ---------------------------------------------------------------------------------- */

static int by_rank(const void *x, const void *y)
{
    double left = ((const lab_seed *)x)->rank, right = ((const lab_seed *)y)->rank;
    if (left != right)
        return left < right ? 1 : -1;
    return memcmp(&((const lab_seed *)x)->point, &((const lab_seed *)y)->point, sizeof(lab_point));
}

static bool make_seeds(lab_search *search, lab_entrant *entrant)
{
    lab_points found;
    bool good = lab_space_points(&entrant->space, search->seed, &found);
    entrant->seeds = good ? calloc((size_t)found.count + 1, sizeof *entrant->seeds) : NULL;
    for (int64_t i = 0; entrant->seeds && i < found.count; i++) {
        lab_seed *seed = &entrant->seeds[entrant->seed_count];
        char text[LAB_PARAMETERS_TEXT];
        if (!lab_point_text(&entrant->space, &found.points[i], text))
            continue;
        *seed = (lab_seed){found.points[i], rank_of(search, entrant, text), false};
        entrant->seed_count++;
    }
    if (entrant->seeds)
        qsort(entrant->seeds, (size_t)entrant->seed_count, sizeof *entrant->seeds, by_rank);
    search->counts->pruned += found.pruned;
    free(found.points);
    return entrant->seeds != NULL;
}

/* What the library takes with nothing given. */
static void find_given(lab_search *search)
{
    rung_problem multiply = lab_problem_multiply(search->problem, true);
    rung_kernel *kernel;
    rung_plan *plan;
    search->given = NULL;
    if (rung_plan_create(
            search->problem->device, &multiply,
            &(rung_plan_options){.size = sizeof(rung_plan_options), .max_workspace_bytes = LAB_WORKSPACE_MAX},
            &plan) != RUNG_OK)
        return;
    const rung_plan_info *info = rung_plan_describe(plan);
    if (rung_kernel_find(search->target->context, rung_device_describe(search->problem->device)->backend, info->kernel,
                         &kernel) == RUNG_OK)
        search->given = kernel;
    snprintf(search->given_parameters, sizeof search->given_parameters, "%s", info->parameters);
    rung_plan_destroy(plan);
}

bool lab_search_begin(lab_search *search, const rung_kernel *const *kernels, int count)
{
    search->entrant_count = 0;
    search->counts->pruned = 0;
    for (int i = 0; i < count; i++) {
        lab_entrant *entrant = &search->entrants[search->entrant_count];
        const rung_kernel_info *info = rung_kernel_describe(kernels[i]);
        *entrant = (lab_entrant){.kernel = kernels[i], .name = info->name, .source = lab_hash(info->source)};
        if (!lab_space_of(kernels[i], search->problem->product.in, &entrant->space))
            continue;
        search->entrant_count++;
        if (!make_seeds(search, entrant))
            return false;
    }
    find_given(search);
    return true;
}

void lab_search_end(lab_search *search)
{
    for (int i = 0; i < search->entrant_count; i++)
        free(search->entrants[i].seeds);
    search->entrant_count = 0;
}
