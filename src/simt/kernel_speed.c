/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_speed.c - see kernel_speed.h. */
#include "simt/kernel_speed.h"

#include <math.h>
#include <string.h>

const double rungi_speed_lengths[RUNGI_SPEED_LENGTHS] = {64, 512, 1024, 2048, 4096};

/* The table is stored without pointers, because each of them would need a relocation: rows, and one array with the clocks of
 * all rows. The first list computes where the clocks of a row begin. __LINE__ is the line of the row in kernel_speed.def. */
#define KERNEL(kernel, checksum)
#define JOIN_EXPANDED(x, y) x##y
#define JOIN(x, y) JOIN_EXPANDED(x, y)
#define COUNT_OF(resident) \
    ((resident) < 1 ? 1 : (resident) > RUNGI_SPEED_RESIDENT_MAX ? RUNGI_SPEED_RESIDENT_MAX : (resident))

#define SPEED(architecture, kernel, preset, type, path, bm, bn, bk, group, resident, ...) \
    JOIN(FIRST_, __LINE__), JOIN(LAST_, __LINE__) = JOIN(FIRST_, __LINE__) + COUNT_OF(resident) - 1,
enum {
#include "simt/kernel_speed.def"
};
#undef SPEED

#define SPEED(architecture, kernel, preset, type, path, bm, bn, bk, group, resident, ...) \
    {architecture, kernel, preset, RUNGI_SPEED_##type, RUNGI_SPEED_##path,    bm,         \
     bn,           bk,     group,  resident,           JOIN(FIRST_, __LINE__)},
const rungi_speed_row rungi_speed_rows[] = {
#include "simt/kernel_speed.def"
};
#undef SPEED

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#define SPEED(architecture, kernel, preset, type, path, bm, bn, bk, group, resident, ...) __VA_ARGS__,
const rungi_speed_clocks rungi_speed_all_clocks[] = {
#include "simt/kernel_speed.def"
};
#undef SPEED
#pragma GCC diagnostic pop

const int rungi_speed_row_count = sizeof rungi_speed_rows / sizeof *rungi_speed_rows;

/* Slices of k must have this many steps, and all slices together at most this many waves. */
enum { SLICE_STEPS_MIN = 4, SPLIT_WAVES_MAX = 2 };

int rungi_speed_architecture(int architecture)
{
    int newest = 0;
    for (int i = 0; i < rungi_speed_row_count; i++) {
        int own = rungi_speed_rows[i].architecture;
        if (own <= architecture && own > newest)
            newest = own;
    }
    return newest;
}

/* ---- Time ------------------------------------------------------------------------------------------------------- */

/* Returns the clocks between the ends of two blocks with `resident` blocks per multiprocessor. They are interpolated, and
 * beyond the first and the last length extrapolated. */
static double block_clocks(const rungi_speed_clocks *row_clocks, double resident, double k, double missed)
{
    const rungi_speed_clocks *clocks = &row_clocks[(int)fmin(resident, RUNGI_SPEED_RESIDENT_MAX) - 1];
    const double *lengths = rungi_speed_lengths;
    int i = 0;
    while (i + 2 < RUNGI_SPEED_LENGTHS && k > lengths[i + 1])
        i++;
    double share = (k - lengths[i]) / (lengths[i + 1] - lengths[i]);
    double from = (double)clocks->hit[i] + missed * (double)clocks->missed[i];
    double to = (double)clocks->hit[i + 1] + missed * (double)clocks->missed[i + 1];
    return fmax(0, from + share * (to - from));
}

/* Returns the clocks of a launch: full waves, and the blocks of the fullest multiprocessor in the last one. */
static double launch_clocks(const rungi_speed_clocks *row_clocks, double sm_count, double resident_max, double blocks,
                            double k, double missed, double *waves)
{
    double resident = fmin(resident_max, ceil(blocks / sm_count));
    *waves = blocks / (sm_count * resident);
    double full = floor(*waves), last = ceil((*waves - full) * resident - 1e-9);
    return full * resident * block_clocks(row_clocks, resident, k, missed) +
           (last > 0 ? last * block_clocks(row_clocks, last, k, missed) : 0);
}

/* Returns what all blocks load per step along k, in elements. */
static double load_of(const rungi_speed_row *row, const rungi_speed_problem *problem)
{
    return ceil(problem->m / row->bm) * ceil(problem->n / row->bn) *
           (fmin(row->bm, problem->m) + fmin(row->bn, problem->n));
}

/* Returns the bytes of A and B that one product loads from DRAM: the blocks of a wave share panels. An operand that fits
 * half of L2 is loaded once, and so is B if all rows of tiles belong to one group. */
static double dram_loads(const rungi_speed_row *row, const rungi_speed_gpu *gpu, const rungi_speed_problem *problem,
                         double k)
{
    double tile_columns = ceil(problem->n / row->bn), tile_rows = ceil(problem->m / row->bm);
    double wave = fmin(gpu->sm_count * row->resident, tile_columns * tile_rows);
    double waves = tile_columns * tile_rows / wave; /* a partial last wave loads less than a full one */
    double grouped_rows = fmin(row->group, tile_rows);
    double rows = fmin(fmax(grouped_rows, ceil(wave / tile_columns)), tile_rows);
    double columns = rows > grouped_rows ? tile_columns : fmin(ceil(wave / rows), tile_columns);
    double row_bytes = k * problem->in_bytes, a = problem->m * row_bytes, b = problem->n * row_bytes;
    if (a > gpu->l2_bytes / 2)
        a = fmax(a, waves * fmin(rows * row->bm, problem->m) * row_bytes);
    if (b > gpu->l2_bytes / 2 && tile_rows > row->group)
        b = fmax(b, waves * fmin(columns * row->bn, problem->n) * row_bytes);
    return a + b;
}

/* Returns how much of what the blocks load, `load` elements per step along k, comes from DRAM. */
static double missed_fraction(double dram_bytes, double load, const rungi_speed_problem *problem, double k)
{
    double bytes = load * k * problem->in_bytes;
    return bytes > 0 ? fmin(1, dram_bytes / bytes) : 0;
}

double rungi_speed_missed(const rungi_speed_row *row, const rungi_speed_gpu *gpu, const rungi_speed_problem *problem,
                          double k)
{
    return missed_fraction(dram_loads(row, gpu, problem, k), load_of(row, problem), problem, k);
}

/* Returns the seconds of the launch that adds the slices: it reads partial sums, from L2 if they fit half of it. */
static double reduction_seconds(const rungi_speed_gpu *gpu, const rungi_speed_problem *problem, double splits)
{
    const double l2_bytes_per_clock = 64; /* per multiprocessor */
    double elements = problem->m * problem->n * problem->batch;
    double partial_bytes = elements * splits * problem->sum_bytes, dram_rate = gpu->dram_bytes_per_second;
    double partial_rate = partial_bytes <= gpu->l2_bytes / 2 ? l2_bytes_per_clock * gpu->sm_count * gpu->clock_hertz
                                                             : dram_rate;
    return RUNGI_SPEED_LAUNCH_SECONDS + (partial_rate > 0 ? partial_bytes / partial_rate : 0) +
           (dram_rate > 0 ? elements * problem->out_bytes / dram_rate : 0);
}

static double slice_length(double k, double splits, double bk)
{
    return splits > 1 ? fmin(k, ceil(ceil(k / splits) / bk) * bk) : k;
}

rungi_speed_choice rungi_speed_predict(const rungi_speed_row *row, const rungi_speed_clocks *all_clocks,
                                       const rungi_speed_gpu *gpu, const rungi_speed_problem *problem, int64_t splits)
{
    rungi_speed_choice choice = {.row = row};
    double k = slice_length(problem->k, (double)splits, row->bk);
    double slices = k > 0 ? fmax(1, ceil(problem->k / k)) : 1, items = problem->batch * slices;
    double blocks = ceil(problem->m / row->bm) * ceil(problem->n / row->bn) * items;
    choice.load = load_of(row, problem);
    double loads = dram_loads(row, gpu, problem, k), missed = missed_fraction(loads, choice.load, problem, k);
    double clocks = launch_clocks(&all_clocks[row->first_clocks], gpu->sm_count, row->resident, blocks, k, missed,
                                  &choice.waves);
    double dram_bytes = loads + problem->m * problem->n * problem->out_bytes;
    double dram_rate = gpu->dram_bytes_per_second, dram_seconds = dram_rate > 0 ? items * dram_bytes / dram_rate : 0;
    choice.splits = (int64_t)slices;
    choice.seconds = fmax(clocks / gpu->clock_hertz, dram_seconds) + RUNGI_SPEED_LAUNCH_SECONDS;
    if (slices > 1)
        choice.seconds += reduction_seconds(gpu, problem, slices);
    return choice;
}

/* ---- Ranking ---------------------------------------------------------------------------------------------------- */

/* Returns the largest number of slices that is worth a prediction. */
static int64_t largest_split(const rungi_speed_row *row, const rungi_speed_gpu *gpu, const rungi_speed_problem *problem)
{
    double blocks = ceil(problem->m / row->bm) * ceil(problem->n / row->bn) * problem->batch;
    double partial_bytes = problem->m * problem->n * problem->batch * problem->sum_bytes;
    double by_waves = ceil(SPLIT_WAVES_MAX * gpu->sm_count * row->resident / blocks);
    double by_steps = floor(problem->k / row->bk / SLICE_STEPS_MIN);
    double by_memory = floor(problem->workspace_bytes / partial_bytes);
    return (int64_t)fmax(1, fmin(fmin(by_waves, by_steps), fmin(by_memory, RUNGI_SPEED_SPLITS_MAX)));
}

/* Predicts a row with its best number of slices. */
static rungi_speed_choice best_split(const rungi_speed_row *row, const rungi_speed_gpu *gpu,
                                     const rungi_speed_problem *problem, bool can_split)
{
    if (problem->splits > 0 || !can_split)
        return rungi_speed_predict(row, rungi_speed_all_clocks, gpu, problem, can_split ? problem->splits : 1);
    rungi_speed_choice best = rungi_speed_predict(row, rungi_speed_all_clocks, gpu, problem, 1);
    int64_t largest = largest_split(row, gpu, problem);
    for (int64_t splits = 2; splits <= largest; splits++) {
        rungi_speed_choice choice = rungi_speed_predict(row, rungi_speed_all_clocks, gpu, problem, splits);
        if (choice.seconds < best.seconds)
            best = choice;
    }
    return best;
}

static const rungi_speed_kernel *find_kernel(const rungi_speed_kernel *kernels, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

/* Returns whether a row is for the problem and the mode in which its kernel computes. `kernel` may be NULL. */
static bool has_type(const rungi_speed_row *row, const rungi_speed_problem *problem, const rungi_speed_kernel *kernel)
{
    return row->type == (kernel && kernel->mode != RUNGI_SPEED_F32 ? kernel->mode : problem->type);
}

static bool is_same_preset(const rungi_speed_row *x, const rungi_speed_row *y)
{
    return x->architecture == y->architecture && x->type == y->type && strcmp(x->kernel, y->kernel) == 0 &&
           strcmp(x->preset, y->preset) == 0;
}

static rungi_speed_path path_of(const rungi_speed_row *row, const rungi_speed_problem *problem, bool is_wide)
{
    bool guards_rows = row->bm > RUNGI_SPEED_SHORT_ROWS_MAX; /* else they are guarded on all paths */
    bool is_guarded = (guards_rows && fmod(problem->m, row->bm) != 0) || fmod(problem->n, row->bn) != 0 ||
                      fmod(problem->k, row->bk) != 0;
    return !is_wide ? RUNGI_SPEED_GENERAL : is_guarded ? RUNGI_SPEED_GUARDED : RUNGI_SPEED_WIDE;
}

/* Returns the number of rows from `row` on that have its preset, one per path, and sets *chosen to the row of the problem's
 * path. A preset without that path has only one row, or is guarded in every case. */
static int choose_path(const rungi_speed_row *row, const rungi_speed_problem *problem, bool is_wide,
                       const rungi_speed_row **chosen)
{
    const rungi_speed_row *end = rungi_speed_rows + rungi_speed_row_count;
    int count = 0;
    *chosen = row;
    for (; row + count < end && is_same_preset(row, row + count); count++)
        if (row[count].path == path_of(row, problem, is_wide))
            *chosen = row + count;
    return count;
}

enum { CHOICES_MAX = 48 }; /* presets of all kernels for one type */

/* Inserts a choice after those that are at least as fast. Returns the new count. */
static int insert_choice(const rungi_speed_choice *choice, rungi_speed_choice choices[CHOICES_MAX], int count)
{
    int at = count;
    if (count == CHOICES_MAX)
        return count;
    while (at > 0 && choices[at - 1].seconds > choice->seconds)
        at--;
    memmove(choices + at + 1, choices + at, (size_t)(count - at) * sizeof *choices);
    choices[at] = *choice;
    return count + 1;
}

/* Moves a choice to the front that is almost as fast as the first one and loads clearly less. The model is not exact to a
 * few percent, and less traffic is a benefit in any case. */
static void prefer_less_traffic(rungi_speed_choice *choices, int count)
{
    const double almost = 1.03, clearly = 0.9;
    int best = 0;
    for (int i = 1; i < count && choices[i].seconds <= almost * choices[0].seconds; i++)
        if (choices[i].load < clearly * choices[best].load)
            best = i;
    rungi_speed_choice first = choices[best];
    memmove(choices + 1, choices, (size_t)best * sizeof *choices);
    choices[0] = first;
}

static rungi_speed_problem transposed(const rungi_speed_problem *problem)
{
    rungi_speed_problem transposed = *problem;
    transposed.m = problem->n;
    transposed.n = problem->m;
    return transposed;
}

int rungi_speed_rank(const rungi_speed_gpu *gpu, const rungi_speed_problem *problem, const rungi_speed_kernel *kernels,
                     int kernel_count, rungi_speed_choice *choices, int capacity)
{
    rungi_speed_choice all[CHOICES_MAX];
    const rungi_speed_problem other = transposed(problem);
    int architecture = rungi_speed_architecture(gpu->architecture), count = 0, step;
    bool is_valid = gpu->sm_count > 0 && gpu->clock_hertz > 0 && problem->m > 0 && problem->n > 0 && problem->batch > 0;
    for (int i = 0; is_valid && i < rungi_speed_row_count; i += step) {
        const rungi_speed_row *row = &rungi_speed_rows[i];
        step = 1;
        const rungi_speed_kernel *kernel = find_kernel(kernels, kernel_count, row->kernel);
        if (row->architecture != architecture || !has_type(row, problem, kernel))
            continue;
        const rungi_speed_problem *own = kernel && kernel->is_transposed ? &other : problem;
        step = choose_path(row, own, kernel && kernel->is_wide, &row);
        if (!kernel || row->resident < 1)
            continue;
        rungi_speed_choice choice = best_split(row, gpu, own, kernel->can_split);
        count = insert_choice(&choice, all, count);
    }
    if (count > 0)
        prefer_less_traffic(all, count);
    count = count < capacity ? count : capacity;
    memcpy(choices, all, (size_t)count * sizeof *choices);
    return count;
}
