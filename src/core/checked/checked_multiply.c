/* SPDX-License-Identifier: Apache-2.0 */
/* checked_multiply.c - see checked_multiply.h.
 *
 * A product that is stored as it was summed is checked in place. If the problem adds or rounds anything, the product is
 * computed and checked in temporary memory, and the host computes the rest (product_epilogue.c). */
#include "core/checked/checked_multiply.h"

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/checked/product_epilogue.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

/* The checks of all items of a batch. */
typedef struct item_checks {
    rungi_product_check **checks;
    int64_t count;
} item_checks_t;

static rung_problem item_of(const rung_problem *problem, int64_t index, rung_quantization quantizations[2])
{
    rung_problem item = *problem;
    const rung_quantization **const views[] = {&item.a_quantization, &item.b_quantization};
    item.batch = 1;
    item.a = rungi_matrix_item(&problem->a, index);
    item.b = rungi_matrix_item(&problem->b, index);
    for (int i = 0; i < 2; i++) {
        if (!*views[i] || rungi_quantization_read(*views[i], &quantizations[i]) != RUNG_OK)
            continue;
        quantizations[i].scales = rungi_matrix_item(&quantizations[i].scales, index);
        quantizations[i].zero_points = rungi_matrix_item(&quantizations[i].zero_points, index);
        *views[i] = &quantizations[i];
    }
    return item;
}

static rung_status begin_checks(rung_context *context, const rungi_unchecked *unchecked, const rung_problem *product,
                                item_checks_t *items)
{
    int64_t bytes;
    if (!rungi_checked_multiply(product->batch, sizeof *items->checks, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a batch of %lld items has too many items for a checked product",
                          (long long)product->batch);
    items->checks = rungi_allocate(context, bytes, sizeof *items->checks);
    TRY(rungi_allocated(items->checks));
    for (int64_t i = 0; i < product->batch; i++) {
        rung_quantization quantizations[2];
        rung_problem item = item_of(product, i, quantizations);
        TRY(rungi_product_check_begin(context, &unchecked->runner, &item, product->c.type, unchecked->has_engine,
                                      &items->checks[i]));
        items->count++;
    }
    return RUNG_OK;
}

static rung_status compute_and_check(const rungi_unchecked *unchecked, const rung_problem *product,
                                     item_checks_t *items, int64_t *corrected)
{
    TRY(unchecked->multiply(unchecked->user, product));
    for (int64_t i = 0; i < product->batch; i++) {
        rungi_product_check *check = items->checks[i];
        rung_matrix c = rungi_matrix_item(&product->c, i);
        items->checks[i] = NULL; /* the end of a check frees it */
        TRY(rungi_product_check_end(check, &c, corrected));
    }
    return RUNG_OK;
}

/* Computes and checks a problem that only multiplies. */
static rung_status multiply_product(rung_context *context, const rungi_unchecked *unchecked,
                                    const rung_problem *product, int64_t *corrected)
{
    item_checks_t items = {.count = 0};
    rung_status status = begin_checks(context, unchecked, product, &items);
    if (status == RUNG_OK)
        status = compute_and_check(unchecked, product, &items, corrected);
    for (int64_t i = 0; i < items.count; i++)
        rungi_product_check_cancel(items.checks[i]);
    rungi_release(context, items.checks);
    return status;
}

/* Describes the product of a problem in temporary memory, with the storage order of the result. */
static rung_status create_product(rung_context *context, const rung_problem *problem, rung_type sum_type,
                                  rung_problem *product)
{
    int64_t elements, bytes;
    rung_matrix c = problem->c;
    bool by_columns = c.row_stride < c.col_stride;
    if (!rungi_checked_multiply(c.rows, c.cols, &elements) ||
        !rungi_checked_multiply(elements, problem->batch, &bytes) ||
        !rungi_checked_multiply(bytes, rungi_type_size(sum_type), &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the product of a checked multiplication does not fit the address space");
    *product = rung_problem_of(problem->a, problem->b,
                               by_columns ? rung_matrix_transpose(rung_matrix_of(sum_type, c.cols, c.rows, NULL))
                                          : rung_matrix_of(sum_type, c.rows, c.cols, NULL));
    product->alpha = problem->alpha;
    product->compute = problem->compute;
    product->batch = problem->batch;
    product->a_quantization = problem->a_quantization;
    product->b_quantization = problem->b_quantization;
    product->c.batch_stride = elements;
    product->c.data = rungi_allocate(context, bytes, 64);
    return rungi_allocated(product->c.data);
}

rung_status rungi_multiply_and_check(rung_context *context, const rungi_unchecked *unchecked,
                                     const rung_problem *normalized, int64_t *corrected)
{
    rung_type sum_type = rungi_problem_accumulator_type(normalized);
    rung_problem product;
    *corrected = 0;
    if (normalized->alpha == 0 || rungi_matrix_is_empty(&normalized->a) || rungi_matrix_is_empty(&normalized->b))
        return unchecked->multiply(unchecked->user, normalized);
    if (normalized->beta == 0 && !rungi_problem_has_epilogue(normalized) && normalized->c.type == sum_type)
        return multiply_product(context, unchecked, normalized, corrected);
    TRY(create_product(context, normalized, sum_type, &product));
    rung_status status = multiply_product(context, unchecked, &product, corrected);
    if (status == RUNG_OK)
        rungi_product_epilogue(normalized, &product.c);
    rungi_release(context, product.c.data);
    return status;
}

void rungi_corrections_log(rung_context *context, const char *device, int64_t corrected)
{
    if (corrected > 0)
        rungi_log(context, 1, "rung: %s computed %lld wrong elements of a checked product, which were corrected",
                  device, (long long)corrected);
}
