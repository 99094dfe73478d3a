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

rung_status rungi_cpu_plan_create(rung_plan *plan);
rung_status rungi_cpu_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                               const rung_run_options *options);
rung_status rungi_cpu_plan_pack(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                const rung_run_options *options);
rung_status rungi_cpu_packed_check(const rung_plan *plan, const void *header);
void rungi_cpu_plan_destroy(rung_plan *plan);
