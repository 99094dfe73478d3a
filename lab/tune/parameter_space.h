/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_space.h - the parameter combinations of a kernel as candidates of a search: starting points and neighbours.
 * All returned points satisfy the kernel's constraints, so that no invalid one is compiled. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"
#include "target/sweep.h"

enum { LAB_DIMENSIONS_MAX = 16, LAB_DIMENSION_VALUES_MAX = 64, LAB_PARAMETER_POINTS_MAX = 2048 };

/* The values to try for one parameter, ascending: the kernel's list, its default and the values of its presets. A
 * parameter that only enables checks has its default alone. */
typedef struct lab_dimension {
    const char *name;
    int64_t values[LAB_DIMENSION_VALUES_MAX];
    int count;
} lab_dimension;

typedef struct lab_parameter_space {
    const rung_kernel *kernel;
    rung_type in;
    lab_dimension dimensions[LAB_DIMENSIONS_MAX];
    int dimension_count;
    double combinations; /* number of all combinations, valid or not */
} lab_parameter_space;

/* A setting of all parameters, in the kernel's order. */
typedef struct lab_parameter_point {
    int64_t values[LAB_DIMENSIONS_MAX];
} lab_parameter_point;

typedef struct lab_parameter_points {
    lab_parameter_point *points;
    int64_t count;
    int64_t invalid_count; /* combinations that the kernel rejects */
    bool is_incomplete;    /* memory is exhausted */
} lab_parameter_points;

/* Returns false if the kernel has more than LAB_DIMENSIONS_MAX parameters. */
bool lab_parameter_space_of(const rung_kernel *kernel, rung_type in, lab_parameter_space *space);

/* Writes all parameters: "BM=64,BN=64,...". Returns false if the text is too long for a plan. */
bool lab_parameter_point_format(const lab_parameter_space *space, const lab_parameter_point *point,
                                char text[LAB_PARAMETERS_BYTES]);

/* Parses a preset, some parameters, or NULL for the defaults. */
bool lab_parameter_point_parse(const lab_parameter_space *space, const char *text, lab_parameter_point *point);

/* Returns whether the kernel accepts the point for the space's type. */
bool lab_parameter_point_is_valid(const lab_parameter_space *space, const lab_parameter_point *point);

/* Finds the valid combinations, at most LAB_PARAMETER_POINTS_MAX. If there are more, draws a random sample that depends
 * only on the seed. Returns false if memory is exhausted. The caller frees found->points. */
bool lab_parameter_space_points(const lab_parameter_space *space, uint64_t seed, lab_parameter_points *found);

/* Finds the neighbours of a point: another value, the double or the half of one parameter. With `pairs`, also two
 * parameters doubled or halved together, because constraints may couple them. */
bool lab_parameter_space_neighbours(const lab_parameter_space *space, const lab_parameter_point *point, bool pairs,
                                    lab_parameter_points *found);
