/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - chooses, verifies and times the candidates of a search; see search.h. */
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress_line.h"

enum {
    SAMPLES_MAX = 5,             /* maximum per candidate ... */
    SAMPLING_MAX_NS = 250000000, /* ... and their maximum time */
    BEST_TRIALS = 3,             /* trials whose neighbours are tried */
    SCORED_POINT_PERIOD = 4,     /* every 4th candidate comes from the ranking, the others are neighbours of the best */
};

static const double DROP_RATIO = 2.5;            /* a candidate that takes this many times the best time runs once */
static const double HOPELESS_SPEED_RATIO = 0.25; /* kernels below this fraction of the best speed are not tried */

/* The name of a kernel's defaults in the journal until a plan reports their values. */
static const char DEFAULTS_NAME[] = "(default)";

typedef struct search_candidate {
    const lab_search_kernel *entry;
    lab_trial trial;
} search_candidate_t;

/* ---- Known trials ---- */

const lab_search_kernel *lab_search_find_kernel(const lab_search *search, const lab_trial *trial)
{
    for (int i = 0; i < search->entry_count; i++)
        if (search->entries[i].source == trial->source && strcmp(search->entries[i].name, trial->kernel) == 0)
            return &search->entries[i];
    return NULL;
}

static bool is_of_problem(const lab_search *search, const lab_trial *trial)
{
    return lab_shape_equal(trial->size, search->problem->size);
}

/* Returns whether a trial has a time that counts: of a kernel of this search, with all parameters by name. */
static bool is_timed_trial(const lab_search *search, const lab_trial *trial)
{
    return trial->kind == LAB_TRIAL_TIMED && strcmp(trial->parameters, DEFAULTS_NAME) != 0 &&
           lab_search_find_kernel(search, trial) != NULL;
}

lab_trial lab_search_trial(const lab_search *search, const char *kernel, uint64_t source, const char *parameters)
{
    lab_trial trial = {.kind = LAB_TRIAL_TRYING, .size = search->problem->size, .source = source};
    snprintf(trial.kernel, sizeof trial.kernel, "%s", kernel);
    snprintf(trial.parameters, sizeof trial.parameters, "%s", parameters);
    return trial;
}

/* Returns the shortest time on a problem, of one kernel or, with NULL, of all. Returns 0 if no row has a time. */
static int64_t best_ns(const lab_search *search, lab_shape size, const lab_search_kernel *entry)
{
    int64_t best = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (lab_shape_equal(trial->size, size) && is_timed_trial(search, trial) &&
            (!entry || lab_search_find_kernel(search, trial) == entry) && (best == 0 || trial->ns < best))
            best = trial->ns;
    }
    return best;
}

/* Returns the best speed of a kernel relative to the best of all: on this problem, else the highest ratio on another
 * problem. Returns 1 if the kernel has no times. */
static double relative_speed(const lab_search *search, const lab_search_kernel *entry)
{
    lab_shape size = search->problem->size;
    int64_t own = best_ns(search, size, entry);
    if (own > 0)
        return (double)best_ns(search, size, NULL) / (double)own;
    double highest = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (is_timed_trial(search, trial) && lab_search_find_kernel(search, trial) == entry)
            highest = fmax(highest, (double)best_ns(search, trial->size, NULL) / (double)trial->ns);
    }
    return highest > 0 ? highest : 1;
}

int lab_search_best(const lab_search *search, const lab_trial **trials, int capacity)
{
    int count = 0;
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_of_problem(search, trial) || !is_timed_trial(search, trial))
            continue;
        int at = count;
        while (at > 0 && trials[at - 1]->ns > trial->ns)
            at--;
        if (at == capacity)
            continue;
        int moved = (count < capacity ? count : capacity - 1) - at;
        memmove(&trials[at + 1], &trials[at], (size_t)moved * sizeof *trials);
        trials[at] = trial;
        count += count < capacity;
    }
    return count;
}

/* ---- Choosing the next candidate ---- */

static double score_of(const lab_search *search, const lab_search_kernel *entry, const char *text)
{
    const lab_bench_problem *problem = search->problem;
    return lab_candidate_score(entry->kernel, text, problem->product, problem->size,
                               rung_device_describe(problem->device));
}

static bool choose_if_untried(const lab_search *search, const lab_search_kernel *entry, const char *text,
                              search_candidate_t *next)
{
    lab_trial trial = lab_search_trial(search, entry->name, entry->source, text);
    const lab_trial *known = lab_journal_find(search->journal, &trial);
    if (known && known->kind != LAB_TRIAL_LATE)
        return false;
    *next = (search_candidate_t){entry, trial};
    return true;
}

static bool choose_point(const lab_search *search, const lab_search_kernel *entry, const lab_parameter_point *point,
                         search_candidate_t *next)
{
    char text[LAB_PARAMETERS_BYTES];
    return lab_parameter_point_format(&entry->space, point, text) && choose_if_untried(search, entry, text, next);
}

/* Chooses the library's choice, then each kernel's defaults, from the top of the ladder down. */
static bool next_default(const lab_search *search, search_candidate_t *next)
{
    for (int i = 0; i < search->entry_count; i++)
        if (search->entries[i].kernel == search->library_kernel &&
            choose_if_untried(search, &search->entries[i], search->library_parameters, next))
            return true;
    for (int i = search->entry_count - 1; i >= 0; i--)
        if (search->entries[i].kernel != search->library_kernel &&
            relative_speed(search, &search->entries[i]) >= HOPELESS_SPEED_RATIO &&
            choose_if_untried(search, &search->entries[i], DEFAULTS_NAME, next))
            return true;
    return false;
}

/* Chooses the best candidates of other problems. */
static bool next_from_other_problem(const lab_search *search, search_candidate_t *next)
{
    for (int64_t i = 0; i < search->journal->count; i++) {
        const lab_trial *trial = &search->journal->trials[i];
        if (!is_of_problem(search, trial) && is_timed_trial(search, trial) &&
            trial->ns == best_ns(search, trial->size, NULL) &&
            choose_if_untried(search, lab_search_find_kernel(search, trial), trial->parameters, next))
            return true;
    }
    return false;
}

static bool next_preset(const lab_search *search, search_candidate_t *next)
{
    for (int i = search->entry_count - 1; i >= 0; i--) {
        const lab_search_kernel *entry = &search->entries[i];
        const rung_kernel_info *info = rung_kernel_describe(entry->kernel);
        if (relative_speed(search, entry) < HOPELESS_SPEED_RATIO)
            continue;
        for (int64_t j = 0; j < info->preset_count; j++) {
            const char *name = rung_kernel_preset(entry->kernel, j)->name;
            lab_parameter_point point;
            if (lab_parameter_point_parse(&entry->space, name, &point) && choose_point(search, entry, &point, next))
                return true;
        }
    }
    return false;
}

/* Chooses the untried point with the highest score. The scores of slower kernels count for less. */
static bool next_scored_point(lab_search *search, search_candidate_t *next)
{
    double best = 0;
    for (int i = 0; i < search->entry_count; i++) {
        lab_search_kernel *entry = &search->entries[i];
        double speed = relative_speed(search, entry);
        for (int64_t j = 0; speed >= HOPELESS_SPEED_RATIO && j < entry->point_count; j++) {
            lab_scored_point *seed = &entry->points[j];
            if (seed->done)
                continue;
            if (seed->rank * speed <= best)
                break; /* the following points have lower scores */
            seed->done = !choose_point(search, entry, &seed->point, next);
            if (!seed->done) {
                best = seed->rank * speed;
                break;
            }
        }
    }
    return best > 0;
}

static bool next_neighbour_of(const lab_search *search, const lab_trial *trial, bool pairs, search_candidate_t *next)
{
    const lab_search_kernel *entry = lab_search_find_kernel(search, trial);
    lab_parameter_points found = {0};
    lab_parameter_point point;
    double best = -1;
    if (lab_parameter_point_parse(&entry->space, trial->parameters, &point) &&
        lab_parameter_space_neighbours(&entry->space, &point, pairs, &found))
        for (int64_t i = 0; i < found.count; i++) {
            search_candidate_t candidate;
            if (!choose_point(search, entry, &found.points[i], &candidate))
                continue;
            double score = score_of(search, entry, candidate.trial.parameters);
            if (score > best) {
                best = score;
                *next = candidate;
            }
        }
    free(found.points);
    return best >= 0;
}

/* Chooses a neighbour of the best trials: one parameter changed, then two. */
static bool next_neighbour(const lab_search *search, search_candidate_t *next)
{
    const lab_trial *trials[BEST_TRIALS];
    int count = lab_search_best(search, trials, BEST_TRIALS);
    for (int pairs = 0; pairs < 2; pairs++)
        for (int i = 0; i < count; i++)
            if (next_neighbour_of(search, trials[i], pairs == 1, next))
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

/* ---- Running a candidate ---- */

static void print_best(const lab_search *search, const lab_trial *best)
{
    const lab_trial_counts *counts = search->counts;
    if (search->quiet)
        return;
    lab_progress_hide();
    fprintf(stderr, "%6.1f s  %lldx%lldx%lld  tried %lld, refused %lld: best %s %s %.2f GFLOPS\n",
            (double)(lab_now_ns() - search->began_ns) * 1e-9, LAB_SHAPE_ARGUMENTS(best->size), (long long)counts->tried,
            (long long)counts->refused, best->kernel, best->parameters, lab_gflops(search->problem, best->ns));
}

/* Measures the shortest of a few samples, because disturbances only make runs longer. Returns false on failure. */
static bool time_candidate(const lab_search *search, lab_contender *contender, int64_t best, int64_t *ns)
{
    *ns = contender->verified_run_ns > 0 ? contender->verified_run_ns : 1;
    if (best > 0 && (double)*ns > DROP_RATIO * (double)best)
        return true;
    while (contender->row.samples < SAMPLES_MAX && contender->spent_ns < SAMPLING_MAX_NS)
        if (lab_contender_sample(search->problem, contender) != RUNG_OK)
            return false;
    lab_contender_summarise(contender, 0);
    *ns = contender->row.min_ns > 0 ? contender->row.min_ns : 1;
    return true;
}

/* Verifies and times a candidate and sets the kind and the time of its trial. */
static void verify_and_time(const lab_search *search, lab_contender *contender, lab_trial *trial)
{
    int64_t best = best_ns(search, search->problem->size, NULL);
    lab_contender_verify(search->problem, contender);
    if (!contender->row.verified)
        trial->kind = contender->row.state == LAB_ROW_WRONG ? LAB_TRIAL_WRONG : LAB_TRIAL_REFUSED;
    else if (time_candidate(search, contender, best, &trial->ns))
        trial->kind = LAB_TRIAL_TIMED;
    else
        trial->kind = LAB_TRIAL_REFUSED;
}

/* Writes a trial to the journal and reports it. Returns false if the journal cannot be written. */
static bool record_trial(lab_search *search, const lab_contender *contender, lab_trial *trial)
{
    int64_t before = best_ns(search, search->problem->size, NULL);
    bool good = lab_journal_add(search->journal, trial, contender->row.why_not);
    if (good && strcmp(trial->parameters, DEFAULTS_NAME) == 0 && trial->kind == LAB_TRIAL_TIMED) {
        snprintf(trial->parameters, sizeof trial->parameters, "%.*s", LAB_PARAMETERS_BYTES - 1, contender->row.params);
        const lab_trial *known = lab_journal_find(search->journal, trial);
        good = (known && known->kind == LAB_TRIAL_TIMED) || lab_journal_add(search->journal, trial, NULL);
    }
    search->counts->tried++;
    search->counts->refused += trial->kind == LAB_TRIAL_REFUSED;
    search->counts->wrong += trial->kind == LAB_TRIAL_WRONG;
    if (trial->kind == LAB_TRIAL_WRONG)
        lab_fail(LAB_EXIT_WRONG, "%s %s: %s", trial->kernel, trial->parameters, contender->row.why_not);
    if (trial->kind == LAB_TRIAL_TIMED && (before == 0 || trial->ns < before))
        print_best(search, trial);
    return good;
}

static bool try_candidate(lab_search *search, const search_candidate_t *next)
{
    lab_contender *contender = calloc(1, sizeof *contender);
    lab_trial trial = next->trial;
    bool is_default = strcmp(trial.parameters, DEFAULTS_NAME) == 0;
    if (!contender)
        return false;
    lab_contender_init(contender, next->entry->kernel, is_default ? "" : trial.parameters);
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

/* ---- Preparing a search ---- */

static int compare_scores(const void *x, const void *y)
{
    double left = ((const lab_scored_point *)x)->rank, right = ((const lab_scored_point *)y)->rank;
    if (left != right)
        return left < right ? 1 : -1;
    return memcmp(&((const lab_scored_point *)x)->point, &((const lab_scored_point *)y)->point,
                  sizeof(lab_parameter_point));
}

static bool score_points(lab_search *search, lab_search_kernel *entry)
{
    lab_parameter_points found;
    bool good = lab_parameter_space_points(&entry->space, search->seed, &found);
    entry->points = good ? calloc((size_t)found.count + 1, sizeof *entry->points) : NULL;
    for (int64_t i = 0; entry->points && i < found.count; i++) {
        lab_scored_point *seed = &entry->points[entry->point_count];
        char text[LAB_PARAMETERS_BYTES];
        if (!lab_parameter_point_format(&entry->space, &found.points[i], text))
            continue;
        *seed = (lab_scored_point){found.points[i], score_of(search, entry, text), false};
        entry->point_count++;
    }
    if (entry->points)
        qsort(entry->points, (size_t)entry->point_count, sizeof *entry->points, compare_scores);
    search->counts->invalid_count += found.invalid_count;
    free(found.points);
    return entry->points != NULL;
}

rung_status lab_default_plan_create(rung_device *device, const rung_problem *problem, rung_plan **plan)
{
    const rung_plan_options options = {.size = sizeof(rung_plan_options),
                                       .max_workspace_bytes = LAB_WORKSPACE_MAX_BYTES};
    return rung_plan_create(device, problem, &options, plan);
}

/* Finds the kernel and parameters that the library chooses by itself. */
static void find_default_kernel(lab_search *search)
{
    rung_problem multiply = lab_bench_problem_view(search->problem, true);
    rung_kernel *kernel;
    rung_plan *plan;
    search->library_kernel = NULL;
    if (lab_default_plan_create(search->problem->device, &multiply, &plan) != RUNG_OK)
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
    search->entry_count = 0;
    search->counts->invalid_count = 0;
    for (int i = 0; i < count; i++) {
        lab_search_kernel *entry = &search->entries[search->entry_count];
        const rung_kernel_info *info = rung_kernel_describe(kernels[i]);
        *entry = (lab_search_kernel){.kernel = kernels[i], .name = info->name, .source = lab_fnv1a(info->source)};
        if (!lab_parameter_space_of(kernels[i], search->problem->product.in, &entry->space))
            continue;
        search->entry_count++;
        if (!score_points(search, entry))
            return false;
    }
    find_default_kernel(search);
    return true;
}

void lab_search_end(lab_search *search)
{
    for (int i = 0; i < search->entry_count; i++)
        free(search->entries[i].points);
    search->entry_count = 0;
}
