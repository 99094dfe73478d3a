/* SPDX-License-Identifier: Apache-2.0 */
/* simt_rank.c - ranks kernels and presets for a plan on an NVIDIA GPU: describes the plan to kernel_speed.h. */
#include <stdlib.h>

#include "base/checked_arithmetic.h"
#include "core/choose/choose_kernel.h"
#include "core/problem.h"
#include "simt/kernel_speed.h"
#include "simt/simt.h"

/* Converts the type of A and B. Returns false for a type that the table does not have. */
static bool speed_type_of(rung_type in, rungi_speed_type *type)
{
    switch (in) {
    case RUNG_F32: *type = RUNGI_SPEED_F32; return true;
    case RUNG_F64: *type = RUNGI_SPEED_F64; return true;
    case RUNG_F16:
    case RUNG_BF16: *type = RUNGI_SPEED_F16; return true;
    case RUNG_I8: *type = RUNGI_SPEED_I8; return true;
    default: return false;
    }
}

/* Returns the rows of the table for the mode in which a kernel computes the problem. */
static rungi_speed_type speed_mode_of(const rung_kernel *kernel, const rung_problem *problem)
{
    if (!rungi_kernel_needs_compute_macro(kernel, problem))
        return RUNGI_SPEED_F32;
    return rungi_kernel_compute(kernel, problem) == RUNG_COMPUTE_BF16X3 ? RUNGI_SPEED_BF16X3 : RUNGI_SPEED_TF32X3;
}

/* Returns "sm_86" as 86; 0 without an architecture. */
static int architecture_of(const rung_device *device)
{
    return device->architecture ? (int)strtol(device->architecture + sizeof "sm_" - 1, NULL, 10) : 0;
}

static rungi_speed_gpu gpu_of(const rung_device *device)
{
    return (rungi_speed_gpu){.architecture = architecture_of(device),
                             .sm_count = (double)device->info.compute_units,
                             .clock_hertz = (double)device->info.clock_khz * 1000,
                             .dram_bytes_per_second = (double)device->info.memory_bytes_per_second,
                             .l2_bytes = (double)device->info.last_level_cache_bytes};
}

/* Returns whether the library may choose a kernel of the table for the problem, and describes it. */
static bool describe_kernel(const rung_plan *plan, const rung_problem *row_major, const char *name,
                            rungi_speed_kernel *found)
{
    const rung_device *device = plan->device;
    rungi_gemm_types types = rungi_gemm_types_of(row_major->a.type, row_major->b.type, row_major->c.type);
    rung_kernel *kernel;
    if (rung_kernel_find(device->context, device->backend->name, name, &kernel) != RUNG_OK ||
        rungi_choose_check_automatic(kernel, row_major) != RUNG_OK || kernel->min_sm[types] > architecture_of(device))
        return false;
    rung_problem oriented = rungi_simt_orient(kernel, row_major);
    *found = (rungi_speed_kernel){.name = name,
                                  .is_wide = rungi_simt_is_wide(kernel, &oriented, plan->alignment),
                                  .can_split = kernel->info.abilities & RUNG_ABILITY_SPLIT_K,
                                  .mode = speed_mode_of(kernel, row_major),
                                  .is_transposed = rungi_kernel_transposes(kernel, &row_major->c)};
    return !kernel->has_short_rows || oriented.c.rows <= RUNGI_SPEED_SHORT_ROWS_MAX;
}

/* Finds the kernels of the table that the library may choose for the problem. F32 may be multiplied as FP32 or on the
 * matrix engine, and the predictions decide. Other types use the matrix engine if there is one. If C has few rows or
 * columns, 14_skinny is considered, too. */
static int find_kernels(const rung_plan *plan, const rung_problem *row_major,
                        rungi_speed_kernel found[RUNGI_SPEED_KERNELS_MAX])
{
    static const char *const names[] = {"12_matrix", "11_wmma", "10_pipeline"};
    rungi_saved_error saved = rungi_error_save();
    int count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && (count == 0 || row_major->a.type == RUNG_F32); i++)
        count += describe_kernel(plan, row_major, names[i], &found[count]);
    count += describe_kernel(plan, row_major, "14_skinny", &found[count]);
    rungi_error_restore(&saved);
    return count;
}

/* Returns whether 13_wgmma comes before the kernels of the table, which has no rows of it: on sm_90, if its tiles occupy all
 * multiprocessors and C does not have few rows or columns. Creating the plan fails, and the table decides, if the operands
 * have no tensor maps. */
static bool prefers_wgmma(const rung_plan *plan, const rung_problem *row_major)
{
    enum { TILE = 128 }; /* BM and BN of its defaults */
    const rung_device *device = plan->device;
    rungi_saved_error saved = rungi_error_save();
    rung_kernel *kernel;
    double blocks = (double)rungi_ceil_divide(row_major->c.rows, TILE) *
                    (double)rungi_ceil_divide(row_major->c.cols, TILE) * (double)row_major->batch;
    bool is_short = rungi_min(row_major->c.rows, row_major->c.cols) <= RUNGI_SPEED_SHORT_ROWS_MAX;
    bool is_preferred = !is_short &&
                        rung_kernel_find(device->context, device->backend->name, "13_wgmma", &kernel) == RUNG_OK &&
                        kernel->info.only_sm == architecture_of(device) &&
                        rungi_choose_check_automatic(kernel, row_major) == RUNG_OK && plan->split_k_requested < 2 &&
                        device->info.compute_units > 0 && blocks >= (double)device->info.compute_units;
    rungi_error_restore(&saved);
    return is_preferred;
}

int rungi_simt_rank_presets(const rung_plan *plan, rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX])
{
    rung_problem row_major = rungi_simt_row_major(&plan->problem);
    rungi_speed_kernel kernels[RUNGI_SPEED_KERNELS_MAX];
    rungi_speed_choice choices[RUNGI_RANKED_PRESETS_MAX];
    rungi_speed_gpu gpu = gpu_of(plan->device);
    rungi_speed_problem problem = {.m = (double)row_major.c.rows,
                                   .n = (double)row_major.c.cols,
                                   .k = (double)row_major.a.cols,
                                   .batch = (double)row_major.batch,
                                   .in_bytes = (double)rung_type_size(row_major.a.type),
                                   .out_bytes = (double)rung_type_size(row_major.c.type),
                                   .sum_bytes = (double)rung_type_size(rungi_problem_accumulator_type(&row_major)),
                                   .splits = plan->split_k_requested,
                                   .workspace_bytes = (double)plan->workspace_bytes_allowed};
    if (!speed_type_of(row_major.a.type, &problem.type))
        return 0;
    int kernel_count = find_kernels(plan, &row_major, kernels), first = 0;
    if (prefers_wgmma(plan, &row_major))
        ranked[first++] = (rungi_ranked_preset){"13_wgmma", "", 1};
    int count = rungi_speed_rank(&gpu, &problem, kernels, kernel_count, choices, RUNGI_RANKED_PRESETS_MAX - first);
    for (int i = 0; i < count; i++)
        ranked[first + i] = (rungi_ranked_preset){choices[i].row->kernel, choices[i].row->preset, choices[i].splits};
    return first + count;
}
