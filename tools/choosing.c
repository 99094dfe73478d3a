/* SPDX-License-Identifier: Apache-2.0 */
/* choosing - compares what the library chooses with the best of all presets.
 *
 *   choosing SHAPES ARCHITECTURE DTYPE [STEP]    prints a table; DTYPE is f32 or f16:f32
 *
 * For each shape of the file SHAPES (results/choosing/shapes.tsv), the library's function ranks the presets by its table,
 * src/simt/kernel_speed.def. The model of `rung explain` then predicts the choice, and every preset of the kernels 08 to 10
 * (f16: 11 and 12) and 14 with up to 64 slices of k. The loss is how much longer the choice takes than the best of them.
 * The architecture is represented by the first GPU of lab/explain/gpus.def. With STEP, only every STEP-th shape is
 * compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/preset_model.h"
#include "simt/kernel_speed.h"

enum { SHAPES_MAX = 512, MODELS_MAX = 64, WORKSPACE_BYTES = 64 << 20 /* of rung_gemm */ };

typedef struct shape {
    char name[64];
    lab_model_problem problem;
} shape_t;

/* A preset of a kernel. */
typedef struct candidate {
    char kernel[32], preset[32];
    lab_preset_model *model;
} candidate_t;

/* The result of one candidate with its best number of slices. */
typedef struct result {
    const candidate_t *candidate;
    int64_t splits;
    double seconds, waves;
} result_t;

typedef struct comparison {
    lab_gpu gpu;
    lab_dtype dtype;
    candidate_t candidates[MODELS_MAX];
    int candidate_count;
    double losses[SHAPES_MAX];
    int count;
} comparison_t;

/* The numbers of slices that are compared. */
static const int64_t split_numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64};
enum { SPLITS = sizeof split_numbers / sizeof *split_numbers };

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "choosing: %s: %s\n", what, why);
    exit(1);
}

static int read_shapes(const char *path, shape_t *shapes)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int count = 0;
    if (!file || !fgets(line, sizeof line, file))
        fail(path, "cannot be read");
    while (count < SHAPES_MAX && fgets(line, sizeof line, file)) {
        shape_t *shape = &shapes[count++];
        long long m, n, k, batch;
        if (sscanf(line, "%63[^\t]\t%lld\t%lld\t%lld\t%lld", shape->name, &m, &n, &k, &batch) != 5)
            fail(path, "a line has other columns than shape, m, n, k and batch");
        shape->problem = (lab_model_problem){m, n, k, batch, 1};
    }
    fclose(file);
    return count;
}

/* ---- Candidates ---- */

static void add_candidate(comparison_t *comparison, const rung_kernel *kernel, const char *preset)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    candidate_t *candidate = &comparison->candidates[comparison->candidate_count];
    lab_explain_request request = {.kernel = info->name,
                                   .parameters = *preset ? preset : info->defaults,
                                   .dtype = comparison->dtype,
                                   .machine = comparison->gpu};
    char why[4096];
    if (comparison->candidate_count == MODELS_MAX)
        fail(info->name, "there are too many presets");
    snprintf(candidate->kernel, sizeof candidate->kernel, "%s", info->name);
    snprintf(candidate->preset, sizeof candidate->preset, "%s", preset);
    candidate->model = lab_preset_model_create(&request, why, sizeof why);
    if (candidate->model)
        comparison->candidate_count++;
}

/* Returns true for presets of CPUs, of other accumulators, of compute modes and of other architectures. */
static bool is_for_others(const char *preset, const char *arch)
{
    static const char *const others[] = {"f64", "i32", "tf32x3", "bf16x3"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(preset, others[i]) == 0)
            return true;
    return strncmp(preset, "cpu", 3) == 0 ||
           (strncmp(preset, "sm_", 3) == 0 && strncmp(preset, arch, strlen(arch)) != 0);
}

static void add_candidates(comparison_t *comparison)
{
    int first_kernel = comparison->dtype.product.in == RUNG_F32 ? 8 : 11; /* f16: those with a matrix engine */
    rung_kernel *kernel;
    for (int64_t i = 0; rung_kernel_at(NULL, "cuda", i, &kernel) == RUNG_OK; i++) {
        if (rung_kernel_describe(kernel)->number < first_kernel || rung_kernel_describe(kernel)->only_sm > 0)
            continue;
        add_candidate(comparison, kernel, "");
        for (int64_t j = 0; j < rung_kernel_describe(kernel)->preset_count; j++) {
            const char *preset = rung_kernel_preset(kernel, j)->name;
            if (!is_for_others(preset, comparison->gpu.arch))
                add_candidate(comparison, kernel, preset);
        }
    }
}

/* ---- Few rows ---- */

/* The kernel for few rows computes the transposed C if C has more rows than columns, and is a candidate for up to 16. */
static const char SKINNY[] = "14_skinny";

static bool is_skinny(const char *kernel)
{
    return strcmp(kernel, SKINNY) == 0;
}

/* Returns the problem that a kernel computes. */
static lab_model_problem orient(const char *kernel, const lab_model_problem *problem)
{
    lab_model_problem oriented = *problem;
    if (is_skinny(kernel) && problem->m > problem->n) {
        oriented.m = problem->n;
        oriented.n = problem->m;
    }
    return oriented;
}

static bool is_considered(const char *kernel, const lab_model_problem *problem)
{
    return !is_skinny(kernel) || problem->m <= RUNGI_SPEED_SHORT_ROWS_MAX || problem->n <= RUNGI_SPEED_SHORT_ROWS_MAX;
}

/* ---- The model ---- */

/* Predicts a candidate with `splits` slices; infinity if it cannot run. */
static result_t predict(const comparison_t *comparison, const candidate_t *candidate, const lab_model_problem *problem,
                        int64_t splits)
{
    lab_model_problem split = orient(candidate->kernel, problem);
    lab_prediction prediction;
    char why[4096];
    int64_t slice = lab_slice_length(problem->k, splits, lab_preset_model_tile(candidate->model).bk);
    split.splits = (problem->k + slice - 1) / slice;
    result_t result = {candidate, split.splits, INFINITY, 0};
    if (!lab_preset_model_predict(candidate->model, &split, &prediction, NULL, why, sizeof why))
        return result;
    result.seconds = prediction.seconds;
    result.waves = prediction.waves + prediction.tail;
    if (split.splits > 1)
        result.seconds += lab_reduction_seconds(&comparison->gpu, comparison->dtype.product, &split);
    return result;
}

/* A candidate with a number of slices, and a time below which no prediction of it is. */
typedef struct trial {
    const candidate_t *candidate;
    int64_t splits;
    double bound;
} trial_t;

static int compare_trials(const void *x, const void *y)
{
    const trial_t *a = x, *b = y;
    return (a->bound > b->bound) - (a->bound < b->bound);
}

/* Adds a candidate with one slice and with several, as long as they fit the workspace. */
static int add_trials(const comparison_t *comparison, const candidate_t *candidate, const lab_model_problem *problem,
                      trial_t *trials, int count)
{
    double sum_bytes = (double)rung_type_size(lab_type_pair_accumulator(comparison->dtype.product));
    double slice_bytes = (double)problem->m * (double)problem->n * (double)problem->batch * sum_bytes;
    int64_t bk = lab_preset_model_tile(candidate->model).bk;
    for (size_t i = 0; i < SPLITS; i++) {
        lab_model_problem split = orient(candidate->kernel, problem);
        char why[4096];
        split.splits = split_numbers[i];
        if (split.splits > 1 &&
            (problem->k / split.splits < 4 * bk || slice_bytes * (double)split.splits > WORKSPACE_BYTES))
            break;
        trial_t trial = {candidate, split.splits, 0};
        if (!lab_preset_model_bound(candidate->model, &split, &trial.bound, why, sizeof why))
            break;
        if (split.splits > 1)
            trial.bound += lab_reduction_seconds(&comparison->gpu, comparison->dtype.product, &split);
        trials[count++] = trial;
    }
    return count;
}

/* Finds the fastest candidate and number of slices, beginning with a known result. */
static result_t find_best(const comparison_t *comparison, const lab_model_problem *problem, result_t best)
{
    static trial_t trials[MODELS_MAX * SPLITS];
    int count = 0;
    for (int i = 0; i < comparison->candidate_count; i++)
        if (is_considered(comparison->candidates[i].kernel, problem))
            count = add_trials(comparison, &comparison->candidates[i], problem, trials, count);
    qsort(trials, (size_t)count, sizeof *trials, compare_trials);
    for (int i = 0; i < count && trials[i].bound < best.seconds; i++) {
        result_t result = predict(comparison, trials[i].candidate, problem, trials[i].splits);
        if (result.seconds < best.seconds)
            best = result;
    }
    return best;
}

/* ---- The library's choice ---- */

/* Returns whether vectors can be loaded, as simt_path.c decides for dense operands that are aligned. */
static bool is_wide(const char *kernel, rung_type in, const lab_model_problem *problem)
{
    int64_t chunk = strcmp(kernel, "12_matrix") == 0 || is_skinny(kernel) ? 16 / rung_type_size(in) : 4;
    if (is_skinny(kernel))
        return (problem->m > problem->n ? problem->k : problem->n) % chunk == 0;
    return problem->k % chunk == 0 && problem->n % chunk == 0;
}

static rungi_speed_choice choose(const comparison_t *comparison, const lab_model_problem *problem)
{
    rung_type in = comparison->dtype.product.in, out = comparison->dtype.product.out;
    const lab_gpu *gpu = &comparison->gpu;
    rungi_speed_gpu speed_gpu = {.architecture = atoi(gpu->arch + 3),
                                 .sm_count = gpu->sm_count,
                                 .clock_hertz = gpu->clock_mhz * 1e6,
                                 .dram_bytes_per_second = gpu->dram_gbs * 1e9,
                                 .l2_bytes = gpu->l2_kib * 1024};
    rungi_speed_problem speed_problem = {
        .m = (double)problem->m,
        .n = (double)problem->n,
        .k = (double)problem->k,
        .batch = (double)problem->batch,
        .type = in == RUNG_F32 ? RUNGI_SPEED_F32 : RUNGI_SPEED_F16,
        .in_bytes = (double)rung_type_size(in),
        .out_bytes = (double)rung_type_size(out),
        .sum_bytes = (double)rung_type_size(lab_type_pair_accumulator(comparison->dtype.product)),
        .workspace_bytes = WORKSPACE_BYTES};
    rungi_speed_kernel kernels[RUNGI_SPEED_KERNELS_MAX];
    rungi_speed_choice choice;
    int count = 0;
    const char *kernel = in == RUNG_F32 ? "10_pipeline" : "12_matrix"; /* as in simt_rank.c */
    kernels[count++] = (rungi_speed_kernel){kernel, is_wide(kernel, in, problem), true, RUNGI_SPEED_F32, false};
    if (is_considered(SKINNY, problem))
        kernels[count++] = (rungi_speed_kernel){SKINNY, is_wide(SKINNY, in, problem), true, RUNGI_SPEED_F32,
                                                problem->m > problem->n};
    if (rungi_speed_rank(&speed_gpu, &speed_problem, kernels, count, &choice, 1) == 0)
        fail(gpu->arch, "the table has no row");
    return choice;
}

static result_t result_of_choice(const comparison_t *comparison, const rungi_speed_choice *choice,
                                 const lab_model_problem *problem)
{
    for (int i = 0; i < comparison->candidate_count; i++) {
        const candidate_t *candidate = &comparison->candidates[i];
        if (strcmp(candidate->kernel, choice->row->kernel) == 0 && strcmp(candidate->preset, choice->row->preset) == 0)
            return predict(comparison, candidate, problem, choice->splits);
    }
    fail(choice->row->preset, "is in the table and not in the kernel's file; generate the table again");
}

/* ---- The comparison ---- */

static const char *preset_word(const char *preset)
{
    return *preset ? preset : "defaults";
}

static void compare_shape(comparison_t *comparison, const shape_t *shape)
{
    const lab_model_problem *problem = &shape->problem;
    rungi_speed_choice choice = choose(comparison, problem);
    result_t chosen = result_of_choice(comparison, &choice, problem), best = find_best(comparison, problem, chosen);
    double loss = 100 * (chosen.seconds / best.seconds - 1);
    comparison->losses[comparison->count++] = loss;
    printf("%s\t%s\t%s\t%lld\t%lld\t%lld\t%lld\t%s\t%s\t%lld\t%.2f\t%.2f\t%.2f\t%s\t%s\t%lld\t%.2f\t%.1f\n",
           comparison->gpu.arch, comparison->dtype.name, shape->name, (long long)problem->m, (long long)problem->n,
           (long long)problem->k, (long long)problem->batch, chosen.candidate->kernel,
           preset_word(chosen.candidate->preset), (long long)chosen.splits, chosen.waves, 1e6 * choice.seconds,
           1e6 * chosen.seconds, best.candidate->kernel, preset_word(best.candidate->preset), (long long)best.splits,
           1e6 * best.seconds, loss);
    fflush(stdout);
}

static int compare_numbers(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Writes the median, the 95th percentile and the largest loss to standard error. */
static void print_summary(comparison_t *comparison)
{
    qsort(comparison->losses, (size_t)comparison->count, sizeof *comparison->losses, compare_numbers);
    int last = comparison->count - 1;
    fprintf(stderr, "%s %s: %d shapes, loss %.1f %% at the median, %.1f %% at the 95th percentile, %.1f %% at most\n",
            comparison->gpu.arch, comparison->dtype.name, comparison->count, comparison->losses[last / 2],
            comparison->losses[(int)ceil(0.95 * comparison->count) - 1], comparison->losses[last]);
}

int main(int argc, char **argv)
{
    static comparison_t comparison;
    static shape_t shapes[SHAPES_MAX];
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: choosing SHAPES ARCHITECTURE DTYPE [STEP]\n");
        return 2;
    }
    int count = read_shapes(argv[1], shapes), step = argc == 5 ? atoi(argv[4]) : 1;
    comparison.dtype = (lab_dtype){{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f32"};
    if (strcmp(argv[3], "f16:f32") == 0)
        comparison.dtype = (lab_dtype){{.in = RUNG_F16, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"};
    else if (strcmp(argv[3], "f32") != 0)
        fail(argv[3], "is not a type of this comparison; give f32 or f16:f32");
    if (!lab_gpu_of_arch(argv[2], &comparison.gpu))
        fail(argv[2], "has no GPU in lab/explain/gpus.def");
    if (step < 1 || count < 1)
        fail(argc == 5 ? argv[4] : argv[1], "selects no shape");
    add_candidates(&comparison);
    puts("arch\tdtype\tshape\tm\tn\tk\tbatch\tkernel\tpreset\tsplits\twaves\ttable_us\tpredicted_us\tbest_kernel\t"
         "best_preset\tbest_splits\tbest_us\tloss_percent");
    for (int i = 0; i < count; i += step)
        compare_shape(&comparison, &shapes[i]);
    print_summary(&comparison);
    for (int i = 0; i < comparison.candidate_count; i++)
        lab_preset_model_free(comparison.candidates[i].model);
    return 0;
}
