/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - the parameters that a kernel can be given, as candidates of a search: those
 * worth starting from, and those next to one. Everything that is handed out has passed the
 * kernel's own constraints, so that none of it is compiled in vain. */
#ifndef LAB_SPACE_H
#define LAB_SPACE_H

#include <stdbool.h>

#include "rung/rung.h"
#include "sweep.h"

enum { LAB_DIMENSIONS_MAX = 16, LAB_DIMENSION_VALUES = 64, LAB_SPACE_MAX = 2048 };

/* The values of one parameter that are worth trying: the kernel's own list, its default and
 * what its presets have, ascending. One that is there for checking has its default alone. */
typedef struct lab_dimension {
    const char *name;
    int64_t values[LAB_DIMENSION_VALUES];
    int count;
} lab_dimension;

typedef struct lab_space {
    const rung_kernel *kernel;
    rung_type in;
    lab_dimension dimensions[LAB_DIMENSIONS_MAX];
    int dimension_count;
    double combinations; /* of all values, good or not */
} lab_space;

/* A setting of all parameters, in the kernel's order. */
typedef struct lab_point {
    int64_t values[LAB_DIMENSIONS_MAX];
} lab_point;

typedef struct lab_points {
    lab_point *points;
    int64_t count, capacity;
    int64_t pruned; /* combinations that the kernel refuses */
} lab_points;

/* False if the kernel has more parameters than a search can hold. */
bool lab_space_of(const rung_kernel *kernel, rung_type in, lab_space *space);

/* "BM=64,BN=64,...": all of them. False if that is too long to be given to a plan. */
bool lab_point_text(const lab_space *space, const lab_point *point, char text[LAB_PARAMETERS_TEXT]);

/* The setting that a text stands for: a preset, some parameters, or NULL for the defaults. */
bool lab_point_of(const lab_space *space, const char *text, lab_point *point);

/* Whether the kernel takes it, for elements of this type. */
bool lab_point_is_valid(const lab_space *space, const lab_point *point);

/* Combinations of the dimensions that are valid, LAB_SPACE_MAX at most: where there are more
 * combinations than that they are drawn, the same for the same seed. False if there is no
 * memory; the caller frees found->points. */
bool lab_space_points(const lab_space *space, uint64_t seed, lab_points *found);

/* What is one step from a point: another value of one parameter, its double or its half; and
 * where `pairs` says so, two parameters doubled or halved at once, since constraints may tie
 * them together. */
bool lab_space_neighbours(const lab_space *space, const lab_point *point, bool pairs, lab_points *found);

#endif /* LAB_SPACE_H */
