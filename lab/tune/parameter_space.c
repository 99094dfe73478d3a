/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_space.c - enumerates and samples the parameter combinations of a kernel; see parameter_space.h. */
#include "tune/parameter_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

/* Parameters that change what is checked and not how fast it is. */
static const char *const for_checking[] = {"CHECKED", "EMULATED"};

static bool is_for_checking(const char *name)
{
    for (size_t i = 0; i < sizeof for_checking / sizeof *for_checking; i++)
        if (strcmp(for_checking[i], name) == 0)
            return true;
    return false;
}

/* Keeps the values ascending and each of them once; those past the last place are left out. */
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
    if (is_for_checking(parameter->name))
        return;
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
    memset(space, 0, sizeof *space);
    space->kernel = kernel;
    space->in = in;
    space->combinations = 1;
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

/* Keeps a point that the kernel takes. False if there is no memory. */
static bool add_point(const lab_parameter_space *space, const lab_parameter_point *point, lab_parameter_points *found)
{
    if (!lab_parameter_point_is_valid(space, point)) {
        found->invalid_count++;
        return true;
    }
    if (found->count == found->capacity) {
        int64_t capacity = found->capacity ? 2 * found->capacity : 64;
        lab_parameter_point *grown = realloc(found->points, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        found->points = grown;
        found->capacity = capacity;
    }
    found->points[found->count++] = *point;
    return true;
}

/* ---- Many of them ---- */

static bool enumerate_points(const lab_parameter_space *space, lab_parameter_points *found)
{
    for (int64_t index = 0; index < (int64_t)space->combinations; index++) {
        lab_parameter_point point = {{0}};
        int64_t rest = index;
        for (int i = 0; i < space->dimension_count; i++) {
            const lab_dimension *dimension = &space->dimensions[i];
            point.values[i] = dimension->values[rest % dimension->count];
            rest /= dimension->count;
        }
        if (!add_point(space, &point, found))
            return false;
    }
    return true;
}

/* Draws; a point that comes twice is found so by whoever tries it. */
static bool draw_random_points(const lab_parameter_space *space, uint64_t seed, lab_parameter_points *found)
{
    enum { DRAWS_MAX = 4 * LAB_PARAMETER_POINTS_MAX };
    for (uint64_t n = 0; n < DRAWS_MAX && found->count < LAB_PARAMETER_POINTS_MAX; n++) {
        lab_parameter_point point = {{0}};
        for (int i = 0; i < space->dimension_count; i++) {
            const lab_dimension *dimension = &space->dimensions[i];
            uint32_t random = lab_random(seed, n, (uint64_t)i);
            point.values[i] = dimension->values[random % (uint32_t)dimension->count];
        }
        if (!add_point(space, &point, found))
            return false;
    }
    return true;
}

bool lab_parameter_space_points(const lab_parameter_space *space, uint64_t seed, lab_parameter_points *found)
{
    memset(found, 0, sizeof *found);
    return space->combinations <= LAB_PARAMETER_POINTS_MAX ? enumerate_points(space, found)
                                                           : draw_random_points(space, seed, found);
}

/* Another value of one parameter. */
static bool add_point_with(const lab_parameter_space *space, const lab_parameter_point *point, int which, int64_t value,
                           lab_parameter_points *found)
{
    lab_parameter_point other = *point;
    other.values[which] = value;
    return value == point->values[which] || add_point(space, &other, found);
}

static bool has_value(const lab_dimension *dimension, int64_t value)
{
    for (int i = 0; i < dimension->count; i++)
        if (dimension->values[i] == value)
            return true;
    return false;
}

/* A record may have what lies from half the smallest to twice the largest of the listed values:
 * beyond that nothing is tried, since it could not be saved. */
static bool is_in_value_range(const lab_dimension *dimension, int64_t value)
{
    return 2 * value >= dimension->values[0] && value <= 2 * dimension->values[dimension->count - 1];
}

static bool add_single_steps(const lab_parameter_space *space, const lab_parameter_point *point, int which,
                             lab_parameter_points *found)
{
    const lab_dimension *dimension = &space->dimensions[which];
    int64_t value = point->values[which];
    bool good = true;
    for (int i = 0; good && i < dimension->count; i++)
        good = add_point_with(space, point, which, dimension->values[i], found);
    if (good && value > 0 && is_in_value_range(dimension, 2 * value) && !has_value(dimension, 2 * value))
        good = add_point_with(space, point, which, 2 * value, found);
    if (good && value > 1 && is_in_value_range(dimension, value / 2) && !has_value(dimension, value / 2))
        good = add_point_with(space, point, which, value / 2, found);
    return good;
}

/* Doubled, halved, or 0 if there is no such thing. */
static int64_t double_or_halve(const lab_dimension *dimension, int64_t value, bool up)
{
    int64_t turned = up ? 2 * value : value % 2 == 0 ? value / 2 : 0;
    return is_in_value_range(dimension, turned) ? turned : 0;
}

static bool add_double_steps(const lab_parameter_space *space, const lab_parameter_point *point, int first, int second,
                             lab_parameter_points *found)
{
    bool good = true;
    for (int way = 0; good && way < 4; way++) {
        lab_parameter_point other = *point;
        other.values[first] = double_or_halve(&space->dimensions[first], point->values[first], way & 1);
        other.values[second] = double_or_halve(&space->dimensions[second], point->values[second], way & 2);
        if (other.values[first] > 0 && other.values[second] > 0)
            good = add_point(space, &other, found);
    }
    return good;
}

static bool has_choices(const lab_parameter_space *space, int which)
{
    return space->dimensions[which].count > 1;
}

bool lab_parameter_space_neighbours(const lab_parameter_space *space, const lab_parameter_point *point, bool pairs,
                                    lab_parameter_points *found)
{
    bool good = true;
    memset(found, 0, sizeof *found);
    for (int i = 0; good && i < space->dimension_count; i++)
        good = !has_choices(space, i) || add_single_steps(space, point, i, found);
    for (int i = 0; good && pairs && i < space->dimension_count; i++)
        for (int j = i + 1; good && j < space->dimension_count; j++)
            good = !has_choices(space, i) || !has_choices(space, j) || add_double_steps(space, point, i, j, found);
    return good;
}
