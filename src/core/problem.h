/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - the checks of a problem (problem.c) and its normalized form (problem_normalize.c). Every public function
 * that takes a problem checks it first, so that plans, devices and kernels rely on it. */
#pragma once

#include <stdbool.h>

#include "core/matrix.h"

/* The views of a problem, for loops over all of them.
 *
 * A caller stores the result in D, or in C if D is absent. A normalized problem (see rungi_problem_normalize) always
 * stores the result in `c`. Its `d` is the addend: the matrix that beta multiplies, if that is not the result
 * itself. */
typedef enum rungi_operand {
    RUNGI_A,
    RUNGI_B,
    RUNGI_C,
    RUNGI_BIAS,
    RUNGI_MULTIPLIER,
    RUNGI_RESIDUAL,
    RUNGI_D,
    RUNGI_OPERAND_COUNT,
    RUNGI_ADDEND = RUNGI_D /* the name of D in a normalized problem */
} rungi_operand;

rung_matrix *rungi_problem_operand(rung_problem *problem, rungi_operand operand);
const rung_matrix *rungi_problem_view(const rung_problem *problem, rungi_operand operand);

/* Returns the name of an operand in a message: "A" or "the bias". */
const char *rungi_operand_name(rungi_operand operand);

/* Returns the name of scales or zero points of A or B in a message. */
const char *rungi_scales_name(rungi_operand operand, bool is_scale);

/* Returns the scales and zero points of A or B; NULL if there are none. */
static inline const rung_quantization *rungi_problem_quantization(const rung_problem *problem, rungi_operand operand)
{
    return operand == RUNGI_A ? problem->a_quantization : problem->b_quantization;
}

/* Returns whether A and B are quantized: both have narrow elements, and C is floating-point. F8E4M3 x F8E4M3 and F8E5M2 x F8E5M2
 * count only if there are scales. A kernel without scales multiplies them otherwise. */
static inline bool rungi_problem_has_quantized_a(const rung_problem *problem)
{
    const rung_matrix *output = problem->d.type != RUNG_TYPE_NONE ? &problem->d : &problem->c;
    bool has_scales = problem->a_quantization || problem->b_quantization;
    return rungi_type_is_narrow(problem->a.type) && !rungi_type_is_integer(output->type) &&
           (has_scales || problem->a.type != problem->b.type || !rungi_type_is_f8(problem->a.type));
}

/* Returns the number of items. A batch of 0, as in a zeroed problem, is one item. */
static inline int64_t rungi_problem_items(const rung_problem *problem)
{
    return problem->batch == 0 ? 1 : problem->batch;
}

/* Returns whether the compute mode affects the problem: it has F32 inputs. Quantized inputs, and a B of another type than A, count
 * as F32. */
static inline bool rungi_problem_has_modes(const rung_problem *problem)
{
    return problem->a.type == RUNG_F32 || problem->a.type != problem->b.type || rungi_problem_has_quantized_a(problem);
}

/* Returns the matrix that beta multiplies in a normalized problem, if it is not the result; otherwise an absent
 * view. */
static inline const rung_matrix *rungi_problem_addend(const rung_problem *normalized)
{
    return &normalized->d;
}

/* Returns the view in which a caller's problem stores its result: D, or C if D is absent. */
const rung_matrix *rungi_problem_output(const rung_problem *given);

/* Returns false for a C that is ignored, because beta is 0 and the result is stored in D; true for all other
 * operands. */
bool rungi_problem_uses_operand(const rung_problem *problem, rungi_operand operand);

/* Checks the form of a problem: types, sizes, strides, batch and epilogue, without its memory. */
rung_status rungi_problem_check_form(const rung_problem *problem);

/* Checks the memory of a problem whose form is valid: bounds, alignment and overlap. */
rung_status rungi_problem_check_memory(const rung_problem *problem);

/* Returns whether the first `bytes` of a buffer overlap memory that the problem reads or writes. */
bool rungi_problem_overlaps_buffer(const rung_problem *problem, const rung_buffer *buffer, int64_t bytes);

/* Checks a problem whose B is packed in the first `bytes` of a buffer; NULL: B is not read. The memory of problem->b is
 * not looked at. */
rung_status rungi_problem_check_with_packed_b(const rung_problem *problem, const rung_buffer *packed, int64_t bytes);

/* Returns the type of the accumulator; the type of the output if no kernel multiplies these types. */
rung_type rungi_problem_accumulator_type(const rung_problem *problem);

/* Normalizes a checked problem: rounds the scalars to the accumulator's type, clears the memory of empty views, sets
 * `batch` to at least 1, and puts the result into `c` and the addend into `d`. Call it once: a second call would
 * exchange result and addend again. */
void rungi_problem_normalize(rung_problem *problem);

/* Puts the result into `c` and the addend into `d`, as rungi_problem_normalize does, and changes nothing else. */
void rungi_problem_put_result_in_c(rung_problem *given);

/* Returns a normalized problem as a caller would pass it to a public function. */
rung_problem rungi_problem_denormalize(const rung_problem *normalized);

/* Removes the memory of all views. Batch offsets stay. */
void rungi_problem_clear_memory(rung_problem *problem);

/* Returns the problem without its memory. Views with batch offsets get a placeholder for them. */
rung_problem rungi_problem_form(const rung_problem *problem);

/* Makes A and B of a normalized problem empty (k = 0), which computes the same as alpha = 0. */
void rungi_problem_drop_inputs(rung_problem *normalized);

/* Returns whether a normalized problem has a bias, an activation, a multiplier, a residual or an addend. */
bool rungi_problem_has_epilogue(const rung_problem *normalized);

/* Returns whether a matrix of a normalized problem has batch offsets. */
bool rungi_problem_has_batch_offsets(const rung_problem *normalized);

/* Returns whether two problems have the same form. */
bool rungi_problem_has_same_form(const rung_problem *x, const rung_problem *y);

/* ---- Overlap (problem_overlap.c) ---- */

/* Returns whether two views have the same elements in the same order, in `items` items of a batch. A view without
 * memory equals no other view. */
bool rungi_matrix_is_same_view(const rung_matrix *x, const rung_matrix *y, int64_t items);

/* Returns whether two views share an element. Exact for views with equal strides; otherwise true if their address
 * ranges overlap. */
bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y);

/* Returns the same for all items of a batch. The batch offsets of C must be ascending. */
bool rungi_batches_overlap(const rung_matrix *c, const rung_matrix *other, int64_t batch);

/* Returns whether two different index pairs of the view are the same element. */
bool rungi_matrix_overlaps_itself(const rung_matrix *matrix);

/* Returns whether two items of a batch may share an element. The batch offsets must be ascending. */
bool rungi_batch_overlaps_itself(const rung_matrix *matrix, int64_t batch);
