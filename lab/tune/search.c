/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - chooses, verifies and times the candidates of a search; see search.h. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress_line.h"
#include "tune/candidate_score.h"

enum {
    SAMPLES_MAX = 5,             /* of a candidate, at most ... */
    SAMPLING_MAX_NS = 250000000, /* ... or until they took so long */
    BEST_TRIALS = 3,             /* whose neighbours are tried */
    SCORED_POINT_PERIOD = 4,     /* every 4th candidate comes from the ranking, the others are neighbours of the best */
};

static const double DROP_RATIO = 2.5;            /* times the best: one run is enough */
static const double HOPELESS_SPEED_RATIO = 0.25; /* of the best, on another problem or by defaults */

/* The name of a kernel's defaults in the journal until a plan reports their values. */
static const char DEFAULTS_NAME[] = "(default)";

typedef struct candidate {
    const lab_search_kernel *search_kernel;
    char text[LAB_PARAMETERS_BYTES];
} search_candidate_t;

/* ---- What is known ---- */

const lab_search_kernel *lab_search_find_kernel(const lab_search *search, const lab_trial *trial)
{
    for (int i = 0; i < search->search_kernel_count; i++)
        if (search->search_kernels[i].source == trial->source &&
            strcmp(search->search_kernels[i].name, trial->kernel) == 0)
            return &search->search_kernels[i];
    return NULL;
}

static bool is_of_problem(const lab_search *search, const lab_trial *trial)
{
    return trial->m == search->problem->m && trial->n == search->problem->n && trial->k == search->problem->k;
}

static bool is_same_problem(const lab_trial *x, const lab_trial *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k;
}

/* A time that counts: of an search_kernel, under the parameters' own names. */
static bool is_timed_trial(const lab_search *search, const lab_trial *trial)
{
    return trial->kind == LAB_TRIAL_TIMED && strcmp(trial->parameters, DEFAULTS_NAME) != 0 &&
           lab_search_find_kernel(search, trial) != NULL;
}

static lab_trial trial_of(const lab_search *search, const search_candidate_t *candidate)
{
    lab_trial trial = {.kind = LAB_TRIAL_TRYING,
                       .m = search->problem->m,
                       .n = search->problem->n,
                       .k = search->problem->k,
                       .source = candidate->search_kernel->source};
    snprintf(trial.kernel, sizeof trial.kernel, "%s", candidate->search_kernel->name);
    snprintf(trial.parameters, sizeof trial.parameters, "%s", candidate->text);
    return trial;
}

static bool is_tried(const lab_search *search, const lab_search_kernel *search_kernel, const char *text)
{
    search_candidate_t candidate = {.search_kernel = search_kernel};
    snprintf(candidate.text, sizeof candidate.text, "%s", text);
    lab_trial trial = trial_of(search, &candidate);
    const lab_trial *known = lab_journal_find(search->journal, &trial);
    return known && known->kind != LAB_TRIAL_LATE;
}

/* The least time on the problem of `like`, of one search_kernel or with NULL of all; 0 if there is none. */
static int64_t best_ns(const lab_search *search, const lab_trial *like, const lab_search_kernel *search_kernel)
{
    int64_t best = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (is_same_problem(trial, like) && is_timed_trial(search, trial) &&
            (!search_kernel || lab_search_find_kernel(search, trial) == search_kernel) &&
            (best == 0 || trial->ns < best))
            best = trial->ns;
    }
    return best;
}

static lab_trial problem_trial(const lab_search *search)
{
    return (lab_trial){.m = search->problem->m, .n = search->problem->n, .k = search->problem->k};
}

/* How near a kernel has come to the best, here or else where it came nearest; 1 if nothing is
 * known of it. */
static double relative_speed(const lab_search *search, const lab_search_kernel *search_kernel)
{
    lab_trial here = problem_trial(search);
    int64_t own = best_ns(search, &here, search_kernel), best = best_ns(search, &here, NULL);
    if (own > 0)
        return (double)best / (double)own;
    double worth = 0;
    bool any = false;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_timed_trial(search, trial) || lab_search_find_kernel(search, trial) != search_kernel)
            continue;
        any = true;
        worth = fmax(worth, (double)best_ns(search, trial, NULL) / (double)trial->ns);
    }
    return any ? worth : 1;
}

int lab_search_best(const lab_search *search, int64_t *trial_indices, int capacity)
{
    int count = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_of_problem(search, trial) || !is_timed_trial(search, trial))
            continue;
        int at = count;
        while (at > 0 && search->journal->trials[trial_indices[at - 1]].ns > trial->ns)
            at--;
        if (at == capacity)
            continue;
        int moved = (count < capacity ? count : capacity - 1) - at;
        memmove(&trial_indices[at + 1], &trial_indices[at], (size_t)moved * sizeof *trial_indices);
        trial_indices[at] = i;
        count += count < capacity;
    }
    return count;
}

/* ---- What to try ---- */

static double score_of(const lab_search *search, const lab_search_kernel *search_kernel, const char *text)
{
    const lab_bench_problem *problem = search->problem;
    return lab_candidate_score(search_kernel->kernel, text, problem->product, problem->m, problem->n, problem->k,
                               rung_device_describe(problem->device));
}

static bool choose_if_untried(const lab_search *search, const lab_search_kernel *search_kernel, const char *text,
                              search_candidate_t *next)
{
    if (is_tried(search, search_kernel, text))
        return false;
    next->search_kernel = search_kernel;
    snprintf(next->text, sizeof next->text, "%s", text);
    return true;
}

/* The library's own choice, then each kernel's, from the top of the ladder down. */
static bool next_default(const lab_search *search, search_candidate_t *next)
{
    for (int i = 0; i < search->search_kernel_count; i++)
        if (search->search_kernels[i].kernel == search->library_kernel &&
            choose_if_untried(search, &search->search_kernels[i], search->library_parameters, next))
            return true;
    for (int i = search->search_kernel_count - 1; i >= 0; i--)
        if (search->search_kernels[i].kernel != search->library_kernel &&
            relative_speed(search, &search->search_kernels[i]) >= HOPELESS_SPEED_RATIO &&
            choose_if_untried(search, &search->search_kernels[i], DEFAULTS_NAME, next))
            return true;
    return false;
}

/* What was best on another problem. */
static bool next_from_other_problem(const lab_search *search, search_candidate_t *next)
{
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_of_problem(search, trial) && is_timed_trial(search, trial) &&
            trial->ns == best_ns(search, trial, NULL) &&
            choose_if_untried(search, lab_search_find_kernel(search, trial), trial->parameters, next))
            return true;
    }
    return false;
}

static bool next_preset(const lab_search *search, search_candidate_t *next)
{
    for (int i = search->search_kernel_count - 1; i >= 0; i--) {
        const lab_search_kernel *search_kernel = &search->search_kernels[i];
        const rung_kernel_info *info = rung_kernel_describe(search_kernel->kernel);
        if (relative_speed(search, search_kernel) < HOPELESS_SPEED_RATIO)
            continue;
        for (int64_t j = 0; j < info->preset_count; j++) {
            lab_parameter_point point;
            char text[LAB_PARAMETERS_BYTES];
            if (lab_parameter_point_parse(&search_kernel->space, rung_kernel_preset(search_kernel->kernel, j)->name,
                                          &point) &&
                lab_parameter_point_format(&search_kernel->space, &point, text) &&
                choose_if_untried(search, search_kernel, text, next))
                return true;
        }
    }
    return false;
}

/* The highest that was not tried; ranks of kernels that are behind count for less. */
static bool next_scored_point(lab_search *search, search_candidate_t *next)
{
    double best = 0;
    for (int i = 0; i < search->search_kernel_count; i++) {
        lab_search_kernel *search_kernel = &search->search_kernels[i];
        double worth = relative_speed(search, search_kernel);
        for (int64_t j = 0; worth >= HOPELESS_SPEED_RATIO && j < search_kernel->scored_point_count; j++) {
            lab_scored_point *seed = &search_kernel->scored_points[j];
            char text[LAB_PARAMETERS_BYTES];
            if (seed->done)
                continue;
            if (seed->rank * worth <= best)
                break; /* and those behind it */
            seed->done = !lab_parameter_point_format(&search_kernel->space, &seed->point, text) ||
                         !choose_if_untried(search, search_kernel, text, next);
            if (!seed->done) {
                best = seed->rank * worth;
                break;
            }
        }
    }
    return best > 0;
}

static bool next_neighbour_of(const lab_search *search, const lab_trial *trial, bool pairs, search_candidate_t *next)
{
    const lab_search_kernel *search_kernel = lab_search_find_kernel(search, trial);
    lab_parameter_points found = {0};
    lab_parameter_point point;
    double best = -1;
    if (lab_parameter_point_parse(&search_kernel->space, trial->parameters, &point) &&
        lab_parameter_space_neighbours(&search_kernel->space, &point, pairs, &found))
        for (int64_t i = 0; i < found.count; i++) {
            char text[LAB_PARAMETERS_BYTES];
            if (!lab_parameter_point_format(&search_kernel->space, &found.points[i], text) ||
                is_tried(search, search_kernel, text))
                continue;
            double rank = score_of(search, search_kernel, text);
            if (rank > best && choose_if_untried(search, search_kernel, text, next))
                best = rank;
        }
    free(found.points);
    return best >= 0;
}

/* One parameter changed in the best few, then two at once. */
static bool next_neighbour(const lab_search *search, search_candidate_t *next)
{
    int64_t trial_indices[BEST_TRIALS];
    int count = lab_search_best(search, trial_indices, BEST_TRIALS);
    for (int pairs = 0; pairs < 2; pairs++)
        for (int i = 0; i < count; i++)
            if (next_neighbour_of(search, &search->journal->trials[trial_indices[i]], pairs == 1, next))
                return true;
    return false;
}

static bool choose_candidate(lab_search *search, search_candidate_t *next)
{
    if (next_default(search, next) || next_from_other_problem(search, next) || next_preset(search, next))
        return true;
    if (search->counts->tried % SCORED_POINT_PERIOD == SCORED_POINT_PERIOD - 1)
        return next_scored_point(search, next) || next_neighbour(search, next);
    return next_neighbour(search, next) || next_scored_point(search, next);
}

/* ---- Trying ---- */

static void print_best(const lab_search *search, const lab_trial *best)
{
    const lab_trial_counts *counts = search->counts;
    if (search->quiet)
        return;
    lab_progress_hide();
    fprintf(stderr, "%6.1f s  %lldx%lldx%lld  tried %lld, refused %lld: best %s %s %.2f GFLOPS\n",
            (double)(lab_now_ns() - search->began_ns) * 1e-9, (long long)best->m, (long long)best->n,
            (long long)best->k, (long long)counts->tried, (long long)counts->refused, best->kernel, best->parameters,
            lab_gflops(search->problem, best->ns));
}

/* The least of a few samples: what disturbs a run makes it longer, never shorter. */
static bool time_candidate(const lab_search *search, lab_contender *contender, int64_t best, int64_t *ns)
{
    *ns = contender->verified_run_ns > 0 ? contender->verified_run_ns : 1;
    if (best > 0 && (double)*ns > DROP_RATIO * (double)best)
        return true;
    while (contender->samples < SAMPLES_MAX && contender->spent_ns < SAMPLING_MAX_NS)
        if (lab_contender_sample(search->problem, contender) != RUNG_OK)
            return false;
    lab_contender_summarise(contender, 0);
    *ns = contender->min_ns > 0 ? contender->min_ns : 1;
    return true;
}

/* What came of it: verified, timed. */
static void verify_and_time(const lab_search *search, lab_contender *contender, lab_trial *trial)
{
    lab_trial here = problem_trial(search);
    lab_contender_verify(search->problem, contender);
    if (!contender->verified)
        trial->kind = contender->state == LAB_ROW_WRONG ? LAB_TRIAL_WRONG : LAB_TRIAL_REFUSED;
    else if (time_candidate(search, contender, best_ns(search, &here, NULL), &trial->ns))
        trial->kind = LAB_TRIAL_TIMED;
    else
        trial->kind = LAB_TRIAL_REFUSED;
}

static void count_trial(lab_trial_counts *counts, const lab_trial *trial)
{
    counts->tried++;
    counts->refused += trial->kind == LAB_TRIAL_REFUSED;
    counts->wrong += trial->kind == LAB_TRIAL_WRONG;
}

/* False if the journal cannot be written. */
static bool record_trial(lab_search *search, const lab_contender *contender, lab_trial *trial)
{
    lab_trial here = problem_trial(search);
    int64_t before = best_ns(search, &here, NULL);
    bool good = lab_journal_add(search->journal, trial, contender->why_not);
    if (good && strcmp(trial->parameters, DEFAULTS_NAME) == 0 && trial->kind == LAB_TRIAL_TIMED) {
        snprintf(trial->parameters, sizeof trial->parameters, "%.*s", LAB_PARAMETERS_BYTES - 1, contender->parameters);
        const lab_trial *known = lab_journal_find(search->journal, trial);
        good = (known && known->kind == LAB_TRIAL_TIMED) || lab_journal_add(search->journal, trial, NULL);
    }
    count_trial(search->counts, trial);
    if (trial->kind == LAB_TRIAL_WRONG) {
        lab_progress_hide();
        fprintf(stderr, "rung: %s %s: %s\n", trial->kernel, trial->parameters, contender->why_not);
    }
    if (trial->kind == LAB_TRIAL_TIMED && (before == 0 || trial->ns < before))
        print_best(search, trial);
    return good;
}

static bool try_candidate(lab_search *search, const search_candidate_t *next)
{
    lab_contender *contender = calloc(1, sizeof *contender);
    lab_trial trial = trial_of(search, next);
    if (!contender)
        return false;
    contender->kernel = next->search_kernel->kernel;
    if (strcmp(next->text, DEFAULTS_NAME) != 0)
        snprintf(contender->requested_parameters, sizeof contender->requested_parameters, "%s", next->text);
    bool good = lab_journal_add(search->journal, &trial, NULL);
    if (good) {
        search->watch->trial = trial;
        search->watch->steps++;
        atomic_store(&search->watch->deadline_ns, search->final_start_ns(search));
        atomic_store(&search->watch->trial_began_ns, lab_now_ns());
        verify_and_time(search, contender, &trial);
        good = record_trial(search, contender, &trial);
        atomic_store(&search->watch->trial_began_ns, 0);
    }
    lab_contender_release(contender);
    free(contender);
    return good;
}

lab_search_result lab_search_run(lab_search *search)
{
    search_candidate_t next;
    while (lab_now_ns() < search->final_start_ns(search) && choose_candidate(search, &next)) {
        if (search->trials_left-- <= 0)
            return LAB_SEARCH_RESTART_WORKER;
        if (!try_candidate(search, &next))
            return LAB_SEARCH_FAILED;
    }
    return LAB_SEARCH_DONE;
}

/* ---- Beginning ---- */

static int compare_scores(const void *x, const void *y)
{
    double left = ((const lab_scored_point *)x)->rank, right = ((const lab_scored_point *)y)->rank;
    if (left != right)
        return left < right ? 1 : -1;
    return memcmp(&((const lab_scored_point *)x)->point, &((const lab_scored_point *)y)->point,
                  sizeof(lab_parameter_point));
}

static bool score_points(lab_search *search, lab_search_kernel *search_kernel)
{
    lab_parameter_points found;
    bool good = lab_parameter_space_points(&search_kernel->space, search->seed, &found);
    search_kernel->scored_points = good ? calloc((size_t)found.count + 1, sizeof *search_kernel->scored_points) : NULL;
    for (int64_t i = 0; search_kernel->scored_points && i < found.count; i++) {
        lab_scored_point *seed = &search_kernel->scored_points[search_kernel->scored_point_count];
        char text[LAB_PARAMETERS_BYTES];
        if (!lab_parameter_point_format(&search_kernel->space, &found.points[i], text))
            continue;
        *seed = (lab_scored_point){found.points[i], score_of(search, search_kernel, text), false};
        search_kernel->scored_point_count++;
    }
    if (search_kernel->scored_points)
        qsort(search_kernel->scored_points, (size_t)search_kernel->scored_point_count,
              sizeof *search_kernel->scored_points, compare_scores);
    search->counts->invalid_count += found.invalid_count;
    free(found.points);
    return search_kernel->scored_points != NULL;
}

/* What the library takes with nothing given. */
static void find_default_kernel(lab_search *search)
{
    rung_problem multiply = lab_bench_problem_view(search->problem, true);
    rung_kernel *kernel;
    rung_plan *plan;
    search->library_kernel = NULL;
    if (rung_plan_create(
            search->problem->device, &multiply,
            &(rung_plan_options){.size = sizeof(rung_plan_options), .max_workspace_bytes = LAB_WORKSPACE_MAX_BYTES},
            &plan) != RUNG_OK)
        return;
    const rung_plan_info *info = rung_plan_describe(plan);
    if (rung_kernel_find(search->target->context, rung_device_describe(search->problem->device)->backend, info->kernel,
                         &kernel) == RUNG_OK)
        search->library_kernel = kernel;
    snprintf(search->library_parameters, sizeof search->library_parameters, "%s", info->parameters);
    rung_plan_destroy(plan);
}

bool lab_search_begin(lab_search *search, const rung_kernel *const *kernels, int count)
{
    search->search_kernel_count = 0;
    search->counts->invalid_count = 0;
    for (int i = 0; i < count; i++) {
        lab_search_kernel *search_kernel = &search->search_kernels[search->search_kernel_count];
        const rung_kernel_info *info = rung_kernel_describe(kernels[i]);
        *search_kernel = (lab_search_kernel){
            .kernel = kernels[i], .name = info->name, .source = lab_fnv1a(info->source)};
        if (!lab_parameter_space_of(kernels[i], search->problem->product.in, &search_kernel->space))
            continue;
        search->search_kernel_count++;
        if (!score_points(search, search_kernel))
            return false;
    }
    find_default_kernel(search);
    return true;
}

void lab_search_end(lab_search *search)
{
    for (int i = 0; i < search->search_kernel_count; i++)
        free(search->search_kernels[i].scored_points);
    search->search_kernel_count = 0;
}
