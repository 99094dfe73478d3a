/* SPDX-License-Identifier: Apache-2.0 */
/* problem_overlap.h - decides whether views share elements. problem.c uses it to reject outputs that overlap. */
#ifndef RUNGI_PROBLEM_OVERLAP_H
#define RUNGI_PROBLEM_OVERLAP_H

#include <stdbool.h>

#include "rung/rung.h"

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

#endif /* RUNGI_PROBLEM_OVERLAP_H */
