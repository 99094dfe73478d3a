/* SPDX-License-Identifier: Apache-2.0 */
/* tile_cost.c - counts how much of a device a kernel with given tiles uses for a problem, without measuring. */
#include "core/choose/tile_cost.h"

#include <math.h>

#include "base/checked_arithmetic.h"
#include "core/problem.h"

/* A split-K slice with fewer K blocks is not worth its launch. */
enum { SLICE_K_BLOCKS_MIN = 16 };

bool rungi_split_k_workspace_bytes(const rung_problem *problem, int64_t slices, int64_t *bytes)
{
    *bytes = rung_type_size(rungi_problem_accumulator_type(problem));
    return rungi_checked_multiply(*bytes, problem->c.rows, bytes) &&
           rungi_checked_multiply(*bytes, problem->c.cols, bytes) &&
           rungi_checked_multiply(*bytes, problem->batch, bytes) && rungi_checked_multiply(*bytes, slices, bytes);
}

int64_t rungi_split_k_affordable(const rung_problem *problem, int64_t bytes)
{
    int64_t slice_bytes;
    return rungi_split_k_workspace_bytes(problem, 1, &slice_bytes) && slice_bytes > 0 ? bytes / slice_bytes : 0;
}

int64_t rungi_split_k_slice_count(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                                  int64_t bytes)
{
    int64_t largest = problem->a.cols / bk / SLICE_K_BLOCKS_MIN;
    int64_t per_unit = blocks > 0 ? device->info.compute_units / blocks : 1;
    return rungi_min(rungi_min(per_unit, largest), rungi_split_k_affordable(problem, bytes));
}

static bool evaluate_name(const rung_kernel *kernel, const rungi_parameter_values *values, const char *name,
                          int64_t *number)
{
    return rungi_kernel_evaluate(kernel, values, rungi_string_view_of(name, 2), number) == RUNG_OK && *number > 0;
}

/* Returns the number of split-K slices that the device will choose when it creates the plan. */
static int64_t split_k_slices(const rung_plan *plan, const rung_kernel *kernel, const rungi_parameter_values *values,
                              int64_t blocks)
{
    int64_t bk, slices = plan->split_k_requested;
    if (!(kernel->info.abilities & RUNG_ABILITY_SPLIT_K) || !evaluate_name(kernel, values, "BK", &bk))
        return 1;
    if (slices == 0)
        slices = rungi_split_k_slice_count(plan->device, &plan->problem, blocks, bk, plan->workspace_bytes_allowed);
    return rungi_max(slices, 1);
}

/* Counts the tiles of all problems of a group. Their number does not overflow: rungi_simt_group_count() fails then. */
static rungi_tile_cost group_cost(const rung_plan *plan, const rung_kernel *kernel, int64_t bm, int64_t bn)
{
    double blocks = 0, tile_elements = (double)bm * (double)bn;
    double units = (double)rungi_max(plan->device->info.compute_units, 1);
    for (int64_t i = 0; i < plan->group->count; i++) {
        const rung_matrix *c = &plan->group->problems[i].c;
        bool is_transposed = rungi_kernel_transposes(kernel, c);
        int64_t m = is_transposed ? c->cols : c->rows, n = is_transposed ? c->rows : c->cols;
        blocks += (double)rungi_ceil_divide(m, bm) * (double)rungi_ceil_divide(n, bn);
    }
    return (rungi_tile_cost){.area = blocks * tile_elements, .wave_area = ceil(blocks / units) * units * tile_elements};
}

rungi_tile_cost rungi_tile_cost_of(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    const rung_matrix *c = &plan->problem.c;
    bool is_transposed = rungi_kernel_transposes(kernel, c);
    int64_t m = is_transposed ? c->cols : c->rows, n = is_transposed ? c->rows : c->cols, bm, bn, tile_elements, blocks;
    rungi_parameter_values values;
    if (rungi_kernel_parse_parameters(kernel, parameters, rung_type_size(plan->problem.a.type), &values) != RUNG_OK ||
        !evaluate_name(kernel, &values, "BM", &bm) || !evaluate_name(kernel, &values, "BN", &bn) ||
        !rungi_checked_multiply(bm, bn, &tile_elements))
        return (rungi_tile_cost){0};
    int64_t rows = rungi_ceil_divide(m, bm), cols = rungi_ceil_divide(n, bn);
    if (plan->group)
        return group_cost(plan, kernel, bm, bn);
    if (!rungi_checked_multiply(rows, cols, &blocks) || !rungi_checked_multiply(blocks, plan->problem.batch, &blocks))
        blocks = INT64_MAX;
    double slices = (double)split_k_slices(plan, kernel, &values, blocks);
    double units = (double)rungi_max(plan->device->info.compute_units, 1);
    return (rungi_tile_cost){
        .area = (double)blocks * (double)tile_elements,
        .wave_area = ceil((double)blocks * slices / units) * units * (double)tile_elements / slices,
        .has_spanning_tile = rows <= 1 || cols <= 1,
    };
}
