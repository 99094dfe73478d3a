/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_plan.h - plans of the CPU device: the functions of its rungi_device_ops, and how C is partitioned. */
#pragma once

#include "cpu/cpu_kernel.h"

/* How C is partitioned between threads: rows x cols blocks of m_step x n_step elements. The last blocks may be smaller but
 * are never empty. */
typedef struct rungi_cpu_grid {
    int64_t rows, cols;
    int64_t m_step, n_step;
} rungi_cpu_grid;

/* Chooses a grid of at most `parts` blocks whose steps are multiples of the grains. m, n and parts are at least 1. */
rungi_cpu_grid rungi_cpu_grid_choose(int64_t m, int64_t n, const rungi_cpu_kernel_config *config, int64_t parts);

/* Returns into how many pieces of at least edge^3 multiply-adds the work, given in multiply-adds, divides, limited to
 * min_count ... max_count. */
static inline int64_t rungi_cpu_worthwhile_count(double work, double edge, int64_t min_count, int64_t max_count)
{
    double pieces = work / (edge * edge * edge);
    return pieces < (double)min_count ? min_count : pieces < (double)max_count ? (int64_t)pieces : max_count;
}

rung_status rungi_cpu_plan_create(rung_plan *plan);
rung_status rungi_cpu_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                               const rung_run_options *options);
rung_status rungi_cpu_plan_pack(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                const rung_run_options *options);
rung_status rungi_cpu_packed_check(const rung_plan *plan, const void *header);
void rungi_cpu_plan_destroy(rung_plan *plan);

/* ---- For groups of problems (cpu_group.c); not for plans of vendor libraries ---- */

/* Returns what the plan's kernel chose, or the plan's partition of at most `parts` blocks. */
const rungi_cpu_kernel_config *rungi_cpu_plan_config(const rung_plan *plan);
rungi_cpu_grid rungi_cpu_plan_grid(const rung_plan *plan, int64_t parts);

/* Checks the header of a packed B, and returns where its elements are. */
rung_status rungi_cpu_plan_read_packed(const rung_plan *plan, rung_buffer *packed, const char **elements);

/* Computes one block of a grid for a problem that matches the plan and is not a batch. `packed` are the elements of a
 * packed B, or NULL. */
void rungi_cpu_plan_run_block(const rung_plan *plan, const rung_problem *problem, const char *packed,
                              const rungi_cpu_grid *grid, int64_t block, char *scratch);
