/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - see tiles.h. */
#include "core/tiles.h"

#include <math.h>

#include "core/checked.h"
#include "core/problem.h"

/* A share is worth a launch of its own if it has at least so many steps of bk. */
enum { STEPS_MIN = 16 };

bool rungi_tiles_partials(const rung_problem *problem, int64_t shares, int64_t *bytes)
{
    *bytes = rung_type_size(rungi_problem_sum_type(problem));
    return rungi_multiply(*bytes, problem->c.rows, bytes) && rungi_multiply(*bytes, problem->c.cols, bytes) &&
           rungi_multiply(*bytes, problem->batch, bytes) && rungi_multiply(*bytes, shares, bytes);
}

/* As many as give every unit of the device something to do, and as the bytes hold the sums of. */
int64_t rungi_tiles_shares(const rung_device *device, const rung_problem *problem, int64_t blocks, int64_t bk,
                           int64_t bytes)
{
    int64_t one, most = problem->a.cols / bk / STEPS_MIN;
    int64_t wanted = blocks > 0 ? device->info.compute_units / blocks : 1;
    int64_t affordable = rungi_tiles_partials(problem, 1, &one) && one > 0 ? bytes / one : 0;
    return rungi_smaller(rungi_smaller(wanted, most), affordable);
}

static bool read_number(const rung_kernel *kernel, const rungi_values *values, const char *name, int64_t *number)
{
    return rungi_kernel_number(kernel, values, rungi_slice_of(name, 2), number) == RUNG_OK && *number > 0;
}

/* How k will be cut, as the device will find when it makes the plan. */
static int64_t shares_of(const rung_plan *plan, const rung_kernel *kernel, const rungi_values *values, int64_t blocks)
{
    int64_t bk, shares = plan->splits_asked;
    if (!(kernel->info.abilities & RUNG_ABILITY_SPLIT_K) || !read_number(kernel, values, "BK", &bk))
        return 1;
    if (shares == 0)
        shares = rungi_tiles_shares(plan->device, &plan->problem, blocks, bk, plan->workspace_offered);
    return shares > 1 ? shares : 1;
}

/* How a kernel with these parameters covers C. */
typedef struct cover {
    rungi_values values;
    int64_t tile;         /* elements */
    int64_t down, across; /* tiles */
    int64_t blocks;       /* tiles of all items */
} cover_t;

static bool cover_of(const rung_plan *plan, const rung_kernel *kernel, const char *parameters, cover_t *cover)
{
    const rung_matrix *c = &plan->problem.c;
    /* Devices with tiles compute a column-major C as a row-major one. */
    bool is_turned = c->row_stride < c->col_stride;
    int64_t m = is_turned ? c->cols : c->rows, n = is_turned ? c->rows : c->cols, bm, bn;
    if (rungi_kernel_values(kernel, parameters, rung_type_size(plan->problem.a.type), &cover->values) != RUNG_OK ||
        !read_number(kernel, &cover->values, "BM", &bm) || !read_number(kernel, &cover->values, "BN", &bn) ||
        !rungi_multiply(bm, bn, &cover->tile))
        return false;
    cover->down = rungi_divide_up(m, bm);
    cover->across = rungi_divide_up(n, bn);
    if (!rungi_multiply(cover->down, cover->across, &cover->blocks) ||
        !rungi_multiply(cover->blocks, plan->problem.batch, &cover->blocks))
        cover->blocks = INT64_MAX;
    return true;
}

double rungi_tiles_area(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    cover_t cover;
    return cover_of(plan, kernel, parameters, &cover) ? (double)cover.blocks * (double)cover.tile : 0;
}

bool rungi_tiles_by_area(const rung_device *device)
{
    return device->preset != NULL;
}

double rungi_tiles_cost(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    cover_t cover;
    if (!cover_of(plan, kernel, parameters, &cover))
        return 0;
    double shares = (double)shares_of(plan, kernel, &cover.values, cover.blocks);
    double units = plan->device->info.compute_units > 0 ? (double)plan->device->info.compute_units : 1;
    return ceil((double)cover.blocks * shares / units) * units * (double)cover.tile / shares;
}

bool rungi_tiles_span(const rung_plan *plan, const rung_kernel *kernel, const char *parameters)
{
    cover_t cover;
    return cover_of(plan, kernel, parameters, &cover) && (cover.down <= 1 || cover.across <= 1);
}
