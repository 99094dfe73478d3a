/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - what a task's reference.c sees: the sizes, the scalars and the arrays of one case, all as int64_t and double.
 *
 * A reference computes the results in double, plainly. It may also fill the scale of each result: the sum of the magnitudes
 * of the terms that are added, in units of the element. The error bound of an element is roundings * u * scale, where
 * `roundings` is in task.toml and u is half of the distance from 1 to the next number of the element's type. A result
 * without a scale has the scale |value|.
 *
 *     bool lab_reference_vector_add(lab_reference *reference)
 *     {
 *         int64_t n = lab_reference_size(reference, "n");
 *         const double *a = lab_reference_input(reference, "a", n), *b = lab_reference_input(reference, "b", n);
 *         double *c = lab_reference_result(reference, "c", n);
 *         for (int64_t i = 0; a && b && c && i < n; i++)
 *             c[i] = a[i] + b[i];
 *         return a && b && c;
 *     }
 *
 * References of the list references.def are compiled into the lab, from the folders of their tasks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct lab_reference lab_reference;

/* Return the value of a size or of a scalar; -1 or NaN if the task does not have it. */
int64_t lab_reference_size(const lab_reference *reference, const char *name);
double lab_reference_scalar(const lab_reference *reference, const char *name);

/* Returns the value of a variable of the task's variants; `otherwise` if the task has no such variable. */
int64_t lab_reference_variable(const lab_reference *reference, const char *name, int64_t otherwise);

/* Returns the contents of an array before the launch; NULL if the task has no such array of at least `count` elements. */
const double *lab_reference_input(const lab_reference *reference, const char *name, int64_t count);

/* Return a result and its scale, to be written. An "inout" array contains its elements before the launch. NULL as above. */
double *lab_reference_result(lab_reference *reference, const char *name, int64_t count);
double *lab_reference_scale(lab_reference *reference, const char *name, int64_t count);

/* Returns false if the task lacks an argument that the reference uses. */
typedef bool (*lab_reference_function)(lab_reference *reference);

#define REFERENCE(name) bool lab_reference_##name(lab_reference *reference);
#include "grade/references.def"
#undef REFERENCE

/* Finds a compiled reference by its name; NULL if there is none. */
lab_reference_function lab_reference_find(const char *name);
