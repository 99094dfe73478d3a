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

int64_t rungi_split_k_slice_count(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                                  int64_t bytes)
{
    int64_t slice_bytes, largest = problem->a.cols / bk / SLICE_K_BLOCKS_MIN;
    int64_t per_unit = blocks > 0 ? device->info.compute_units / blocks : 1;
    int64_t affordable = rungi_split_k_workspace_bytes(problem, 1, &slice_bytes) && slice_bytes > 0
                             ? bytes / slice_bytes
                             : 0;
    return rungi_min(rungi_min(per_unit, largest), affordable);
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

/* The grid of block tiles over C, for a kernel with its parameters. */
typedef struct tile_grid {
    rungi_parameter_values values;
    int64_t tile_elements;
    int64_t rows, cols; /* tiles per item */
    int64_t blocks;     /* tiles of all items */
} tile_grid_t;

/* Returns false if the parameters are invalid or do not define BM and BN. */
static bool make_tile_grid(const rung_plan *plan, const rung_kernel *kernel, const char *parameters, tile_grid_t *grid)
{
    const rung_matrix *c = &plan->problem.c;
    /* Kernels with tiles compute a column-major C as a transposed row-major one. */
    bool is_transposed = c->row_stride < c->col_stride;
    int64_t m = is_transposed ? c->cols : c->rows, n = is_transposed ? c->rows : c->cols, bm, bn;
    if (rungi_kernel_parse_parameters(kernel, parameters, rung_type_size(plan->problem.a.type), &grid->values) !=
            RUNG_OK ||
        !evaluate_name(kernel, &grid->values, "BM", &bm) || !evaluate_name(kernel, &grid->values, "BN", &bn) ||
        !rungi_checked_multiply(bm, bn, &grid->tile_elements))
        return false;
    grid->rows = rungi_ceil_divide(m, bm);
    grid->cols = rungi_ceil_divide(n, bn);
    if (!rungi_checked_multiply(grid->rows, grid->cols, &grid->blocks) ||
        !rungi_checked_multiply(grid->blocks, plan->problem.batch, &grid->blocks))
        grid->blocks = INT64_MAX;
    return true;
}

double rungi_tile_cost_area(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    tile_grid_t grid;
    return make_tile_grid(plan, kernel, parameters, &grid) ? (double)grid.blocks * (double)grid.tile_elements : 0;
}

bool rungi_tile_cost_is_area_only(const rung_device *device)
{
    return device->preset != NULL;
}

double rungi_tile_cost_of_waves(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    tile_grid_t grid;
    if (!make_tile_grid(plan, kernel, parameters, &grid))
        return 0;
    double slices = (double)split_k_slices(plan, kernel, &grid.values, grid.blocks);
    double units = plan->device->info.compute_units > 0 ? (double)plan->device->info.compute_units : 1;
    return ceil((double)grid.blocks * slices / units) * units * (double)grid.tile_elements / slices;
}

bool rungi_tile_cost_has_spanning_tile(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    tile_grid_t grid;
    return make_tile_grid(plan, kernel, parameters, &grid) && (grid.rows <= 1 || grid.cols <= 1);
}
