/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_space.c - enumerates and samples the parameter combinations of a kernel; see parameter_space.h. */
#include "tune/parameter_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "common/random.h"

/* Inserts a value in ascending order. Ignores duplicates, and values for which there is no room. */
static void add_value(lab_dimension *dimension, int64_t value)
{
    int at = 0;
    while (at < dimension->count && dimension->values[at] < value)
        at++;
    if ((at < dimension->count && dimension->values[at] == value) || dimension->count == LAB_DIMENSION_VALUES_MAX)
        return;
    memmove(&dimension->values[at + 1], &dimension->values[at],
            (size_t)(dimension->count - at) * sizeof *dimension->values);
    dimension->values[at] = value;
    dimension->count++;
}

static void fill_dimension(lab_parameter_space *space, int64_t index)
{
    const rung_parameter *parameter = rung_kernel_parameter(space->kernel, index);
    lab_dimension *dimension = &space->dimensions[index];
    dimension->name = parameter->name;
    add_value(dimension, parameter->value);
    if (strcmp(parameter->name, "CHECKED") == 0 || strcmp(parameter->name, "EMULATED") == 0)
        return; /* they change what is checked, but not the speed */
    for (int64_t i = 0; i < parameter->choice_count; i++)
        add_value(dimension, parameter->choices[i]);
    for (int64_t i = 0; i < rung_kernel_describe(space->kernel)->preset_count; i++) {
        const char *preset = rung_kernel_preset(space->kernel, i)->name;
        int64_t value;
        if (rung_kernel_evaluate(space->kernel, preset, space->in, parameter->name, &value) == RUNG_OK)
            add_value(dimension, value);
    }
}

bool lab_parameter_space_of(const rung_kernel *kernel, rung_type in, lab_parameter_space *space)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    *space = (lab_parameter_space){.kernel = kernel, .in = in, .combinations = 1};
    if (info->parameter_count > LAB_DIMENSIONS_MAX)
        return false;
    space->dimension_count = (int)info->parameter_count;
    for (int i = 0; i < space->dimension_count; i++) {
        fill_dimension(space, i);
        space->combinations *= space->dimensions[i].count;
    }
    return true;
}

/* ---- Points ---- */

bool lab_parameter_point_format(const lab_parameter_space *space, const lab_parameter_point *point,
                                char text[LAB_PARAMETERS_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < space->dimension_count; i++) {
        int length = snprintf(text + used, LAB_PARAMETERS_BYTES - used, "%s%s=%lld", i ? "," : "",
                              space->dimensions[i].name, (long long)point->values[i]);
        if (length < 0 || (size_t)length >= LAB_PARAMETERS_BYTES - used)
            return false;
        used += (size_t)length;
    }
    return true;
}

bool lab_parameter_point_parse(const lab_parameter_space *space, const char *text, lab_parameter_point *point)
{
    memset(point, 0, sizeof *point);
    for (int i = 0; i < space->dimension_count; i++)
        if (rung_kernel_evaluate(space->kernel, text, space->in, space->dimensions[i].name, &point->values[i]) !=
            RUNG_OK)
            return false;
    return true;
}

bool lab_parameter_point_is_valid(const lab_parameter_space *space, const lab_parameter_point *point)
{
    char text[LAB_PARAMETERS_BYTES];
    int64_t one;
    return lab_parameter_point_format(space, point, text) &&
           rung_kernel_evaluate(space->kernel, text, space->in, "1", &one) == RUNG_OK;
}

/* Adds a point unless the kernel rejects it. */
static void add_point(const lab_parameter_space *space, const lab_parameter_point *point, lab_parameter_points *found)
{
    if (!lab_parameter_point_is_valid(space, point)) {
        found->invalid_count++;
        return;
    }
    lab_parameter_point *grown = lab_array_grow(found->points, found->count, sizeof *grown);
    found->is_incomplete = found->is_incomplete || !grown;
    if (!grown)
        return;
    found->points = grown;
    found->points[found->count++] = *point;
}

/* ---- Sets of points ---- */

/* A random sample may contain a point twice; the search tries it once. */
bool lab_parameter_space_points(const lab_parameter_space *space, uint64_t seed, lab_parameter_points *found)
{
    enum { DRAWS_MAX = 4 * LAB_PARAMETER_POINTS_MAX };
    bool is_random = space->combinations > LAB_PARAMETER_POINTS_MAX;
    uint64_t end = is_random ? DRAWS_MAX : (uint64_t)space->combinations;
    memset(found, 0, sizeof *found);
    for (uint64_t n = 0; n < end && found->count < LAB_PARAMETER_POINTS_MAX; n++) {
        lab_parameter_point point = {{0}};
        uint64_t rest = n;
        for (int i = 0; i < space->dimension_count; i++) {
            const lab_dimension *dimension = &space->dimensions[i];
            uint64_t number = is_random ? lab_random(seed, n, (uint64_t)i) : rest, count = (uint64_t)dimension->count;
            point.values[i] = dimension->values[number % count];
            rest /= count;
        }
        add_point(space, &point, found);
    }
    return !found->is_incomplete;
}

static bool has_value(const lab_dimension *dimension, int64_t value)
{
    for (int i = 0; i < dimension->count; i++)
        if (dimension->values[i] == value)
            return true;
    return false;
}

/* Returns whether a tuning record may contain the value: from half the smallest to twice the largest listed value. Other
 * values are not tried, because they could not be saved. */
static bool is_in_value_range(const lab_dimension *dimension, int64_t value)
{
    return 2 * value >= dimension->values[0] && value <= 2 * dimension->values[dimension->count - 1];
}

/* Adds the points that differ in one parameter: each listed value, the double and the half. */
static void add_single_steps(const lab_parameter_space *space, const lab_parameter_point *point, int which,
                             lab_parameter_points *found)
{
    const lab_dimension *dimension = &space->dimensions[which];
    const int64_t value = point->values[which], unlisted[] = {2 * value, value / 2};
    lab_parameter_point other = *point;
    for (int i = 0; i < dimension->count; i++) {
        other.values[which] = dimension->values[i];
        if (other.values[which] != value)
            add_point(space, &other, found);
    }
    for (int i = 0; i < 2; i++) {
        other.values[which] = unlisted[i];
        if (unlisted[i] > 0 && is_in_value_range(dimension, unlisted[i]) && !has_value(dimension, unlisted[i]))
            add_point(space, &other, found);
    }
}

/* Returns the double or the half of a value; 0 if the value is odd or the result is out of range. */
static int64_t double_or_halve(const lab_dimension *dimension, int64_t value, bool doubles)
{
    int64_t changed = doubles ? 2 * value : value % 2 == 0 ? value / 2 : 0;
    return is_in_value_range(dimension, changed) ? changed : 0;
}

/* Adds the points in which two parameters are doubled or halved. */
static void add_double_steps(const lab_parameter_space *space, const lab_parameter_point *point, int first, int second,
                             lab_parameter_points *found)
{
    for (int i = 0; i < 4; i++) {
        lab_parameter_point other = *point;
        other.values[first] = double_or_halve(&space->dimensions[first], point->values[first], i & 1);
        other.values[second] = double_or_halve(&space->dimensions[second], point->values[second], i & 2);
        if (other.values[first] > 0 && other.values[second] > 0)
            add_point(space, &other, found);
    }
}

bool lab_parameter_space_neighbours(const lab_parameter_space *space, const lab_parameter_point *point, bool pairs,
                                    lab_parameter_points *found)
{
    const lab_dimension *dimensions = space->dimensions;
    memset(found, 0, sizeof *found);
    for (int i = 0; i < space->dimension_count; i++)
        if (dimensions[i].count > 1)
            add_single_steps(space, point, i, found);
    for (int i = 0; pairs && i < space->dimension_count; i++)
        for (int j = i + 1; j < space->dimension_count; j++)
            if (dimensions[i].count > 1 && dimensions[j].count > 1)
                add_double_steps(space, point, i, j, found);
    return !found->is_incomplete;
}
