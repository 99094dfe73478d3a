/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - checking a problem once, at the door. */
#ifndef RUNGI_PROBLEM_H
#define RUNGI_PROBLEM_H

#include <stdbool.h>

#include "rung/rung.h"

/* The form of a problem: types, sizes and strides, without its memory. */
rung_status rungi_problem_check_form(const rung_problem *problem);

/* The memory of a problem whose form is sound: bounds, places and overlap. */
rung_status rungi_problem_check_memory(const rung_problem *problem);

/* A scalar as the sum's type holds it: what is compared with 0 is what is used. */
double rungi_problem_scalar(const rung_problem *problem, double scalar);

/* Whether two problems have the same types, sizes and strides. */
bool rungi_problem_same_form(const rung_problem *x, const rung_problem *y);

/* Whether some element of one view is some element of the other. May say yes of
 * views whose ranges meet and whose strides differ, never no of ones that meet. */
bool rungi_matrices_overlap(const rung_matrix *x, const rung_matrix *y);

/* Whether two index pairs of the view are the same element. */
bool rungi_matrix_overlaps_itself(const rung_matrix *matrix);

#endif /* RUNGI_PROBLEM_H */
