/* SPDX-License-Identifier: Apache-2.0 */
/* checked_multiply.h - multiplications whose products are checked (rung_multiply_options.checked). The caller passes the
 * function that multiplies, so that tests can pass one that makes errors. */
#pragma once

#include "core/checked/product_check.h"

/* How to multiply without checks. */
typedef struct rungi_unchecked {
    /* Computes a normalized problem whose matrices are in host memory. */
    rung_status (*multiply)(void *user, const rung_problem *normalized);
    void *user;
    bool has_engine;          /* see rungi_product_check_begin() */
    rungi_part_runner runner; /* may have no function */
} rungi_unchecked;

/* Computes a normalized problem in host memory, checks the product of each item, and corrects it. `corrected` receives the
 * number of elements that were corrected. */
rung_status rungi_multiply_and_check(rung_context *context, const rungi_unchecked *unchecked,
                                     const rung_problem *normalized, int64_t *corrected);

/* Logs that a device made errors, if it did. */
void rungi_corrections_log(rung_context *context, const char *device, int64_t corrected);
