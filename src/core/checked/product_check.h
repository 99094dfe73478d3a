/* SPDX-License-Identifier: Apache-2.0 */
/* product_check.h - checks one product P = alpha * A * B in host memory by sums over its rows and columns, and corrects it.
 *
 * P is divided into tiles. In each tile, the weighted sum of every row and every column is compared with the same sum
 * computed from A and B. Rows and columns whose sums differ are computed again, element by element, and compared with the
 * error bound of rung.h. docs/internals/decisions/0080-checked-products.md gives the reasons. */
#pragma once

#include <stdbool.h>

#include "core/checked/line_sums.h"
#include "core/context.h"

typedef struct rungi_product_check rungi_product_check;

/* Calls work(job, part) for all parts, on several threads or one. */
typedef void rungi_part_work(void *job, int64_t part);
typedef struct rungi_part_runner {
    void (*run)(void *user, int64_t parts, rungi_part_work *work, void *job);
    void *user;
} rungi_part_runner;

/* Computes the sums that are expected of a product. `problem` is one item with views of host memory; only its A, B, alpha,
 * compute mode and scales are used. `sum_type` is the type of the accumulator and of the product. `has_engine` says that
 * the device may add with a matrix engine, whose bounds are larger. A and B must not change before the check ends.
 * rungi_product_check_end() or rungi_product_check_cancel() frees the check. */
rung_status rungi_product_check_begin(rung_context *context, const rungi_part_runner *runner,
                                      const rung_problem *problem, rung_type sum_type, bool has_engine,
                                      rungi_product_check **check);

/* Compares the product with the sums and corrects it. Adds the number of corrected elements to `corrected`. Fails with
 * RUNG_STATUS_CORRUPTED if the sums differ from those of the corrected product. Frees the check in every case. */
rung_status rungi_product_check_end(rungi_product_check *check, const rung_matrix *product, int64_t *corrected);

void rungi_product_check_cancel(rungi_product_check *check);
