/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - checking a problem once, at the door. */
#ifndef RUNGI_PROBLEM_H
#define RUNGI_PROBLEM_H

#include <stdbool.h>

#include "rung/rung.h"

/* The views of a problem, for whoever does the same with each. */
typedef enum rungi_operand {
    RUNGI_A, RUNGI_B, RUNGI_C, RUNGI_BIAS, RUNGI_RESIDUAL, RUNGI_OPERANDS
} rungi_operand;

rung_matrix       *rungi_problem_place(rung_problem *problem, rungi_operand operand);
const rung_matrix *rungi_problem_view(const rung_problem *problem, rungi_operand operand);

/* "A" or "the bias", for sentences. */
const char *rungi_operand_name(rungi_operand operand);

/* The number of items. A batch of 0, as in a problem that was zeroed, is one item. */
static inline int64_t rungi_problem_items(const rung_problem *problem)
{
    return problem->batch == 0 ? 1 : problem->batch;
}

/* The form of a problem: types, sizes, strides, batch and epilogue, without its
 * memory. */
rung_status rungi_problem_check_form(const rung_problem *problem);

/* The memory of a problem whose form is sound: bounds, places and overlap. */
rung_status rungi_problem_check_memory(const rung_problem *problem);

/* The type of sums; that of C where no product is known. */
rung_type rungi_problem_sum_type(const rung_problem *problem);

/* Makes of a sound problem what devices get: scalars as the sum's type holds them, so that what
 * is compared with 0 is what is used, views of nothing without memory, places or a type
 * of their own, and a batch of at least one item. */
void rungi_problem_settle(rung_problem *problem);

/* Makes a settled problem's A and B views of nothing, k = 0: what alpha = 0 leaves of it. */
void rungi_problem_drop_inputs(rung_problem *problem);

/* Whether something follows the sum and its scalars. */
bool rungi_problem_has_epilogue(const rung_problem *problem);

/* Whether the first `bytes` of a buffer are memory that the problem reads or writes, in a buffer or, on devices whose
 * buffers are memory of this process, by its address. */
bool rungi_problem_meets(const rung_problem *problem, const rung_buffer *buffer, int64_t bytes);

/* Whether two problems have the same form. */
bool rungi_problem_same_form(const rung_problem *x, const rung_problem *y);

/* Whether some element of one view is some element of the other. May say yes of
 * views whose ranges meet and whose strides differ, never no of ones that meet. */
bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y);

/* The same for all items of a batch; those of C ascend. */
bool rungi_batches_overlap(const rung_matrix *c, const rung_matrix *other, int64_t batch);

/* Whether two index pairs of the view are the same element. */
bool rungi_matrix_overlaps_itself(const rung_matrix *matrix);

#endif /* RUNGI_PROBLEM_H */
