/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - checking a problem once, at the door. */
#ifndef RUNGI_PROBLEM_H
#define RUNGI_PROBLEM_H

#include <stdbool.h>

#include "rung/rung.h"

/* The views of a problem, for loops over all of them.
 *
 * A problem as the caller gives it has its result in D, or in C if D is absent. A normalized problem (see
 * rungi_problem_settle) has its result always in `c`, so that devices look at one field; its `d` is the addend: the
 * matrix that beta multiplies if that is another one than the result, and otherwise absent. */
typedef enum rungi_operand {
    RUNGI_A,
    RUNGI_B,
    RUNGI_C,
    RUNGI_BIAS,
    RUNGI_RESIDUAL,
    RUNGI_D,
    RUNGI_OPERANDS,
    RUNGI_ADDEND = RUNGI_D /* its name in a normalized problem */
} rungi_operand;

rung_matrix *rungi_problem_place(rung_problem *problem, rungi_operand operand);
const rung_matrix *rungi_problem_view(const rung_problem *problem, rungi_operand operand);

/* "A" or "the bias", for sentences. */
const char *rungi_operand_name(rungi_operand operand);

/* The number of items. A batch of 0, as in a problem that was zeroed, is one item. */
static inline int64_t rungi_problem_items(const rung_problem *problem)
{
    return problem->batch == 0 ? 1 : problem->batch;
}

/* The matrix that beta multiplies in a normalized problem, if it is not the result; absent otherwise. */
static inline const rung_matrix *rungi_problem_addend(const rung_problem *normalized)
{
    return &normalized->d;
}

/* Returns the view in which a given problem has its result: D, or C if D is absent. */
const rung_matrix *rungi_problem_output(const rung_problem *given);

/* Returns false for a C that is ignored, because beta is 0 and the result is stored in D; true for all other
 * operands. */
bool rungi_problem_uses(const rung_problem *problem, rungi_operand operand);

/* The form of a problem: types, sizes, strides, batch and epilogue, without its
 * memory. */
rung_status rungi_problem_check_form(const rung_problem *problem);

/* The memory of a problem whose form is sound: bounds, places and overlap. */
rung_status rungi_problem_check_memory(const rung_problem *problem);

/* The type of sums; that of C where no product is known. */
rung_type rungi_problem_sum_type(const rung_problem *problem);

/* Makes of a sound problem what devices get: scalars as the sum's type holds them, so that what
 * is compared with 0 is what is used, views of nothing without memory, places or a type
 * of their own, a batch of at least one item, the result in `c` and the addend in `d`. Call it once: a second call
 * would exchange result and addend again. */
void rungi_problem_settle(rung_problem *problem);

/* Puts the result into `c` and the addend into `d`, as rungi_problem_settle does, and changes nothing else. */
void rungi_problem_order(rung_problem *given);

/* Returns a normalized problem as a caller would give it, for public functions. */
rung_problem rungi_problem_given(const rung_problem *normalized);

/* Makes a settled problem's A and B views of nothing, k = 0: what alpha = 0 leaves of it. */
void rungi_problem_drop_inputs(rung_problem *problem);

/* Whether more follows the sum than scalars and an addition to the result itself. */
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
