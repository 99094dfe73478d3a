/* SPDX-License-Identifier: Apache-2.0 */
/* task_case.c - see task_case.h. */
#include "grade/task_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "common/failure.h"
#include "common/random.h"

/* Streams of random numbers: one for the shapes, and one for each argument of each case. */
enum { SHAPE_STREAM = 1 << 20 };

/* ---- Shapes ---- */

int lab_task_draw_cases(const lab_task *task, uint64_t seed, lab_task_case *cases, int capacity)
{
    int count = 0;
    uint64_t index = 0;
    for (int i = 0; i < task->shape_count; i++) {
        const lab_task_shape *shape = &task->shapes[i];
        for (int64_t j = 0; j < shape->count && count < capacity; j++) {
            lab_task_case *one = &cases[count];
            *one = (lab_task_case){
                .task = task, .is_hidden = shape->is_hidden, .is_measured = shape->is_measured, .number = count};
            count++;
            for (int s = 0; s < task->size_count; s++) {
                int64_t choices = (shape->high[s] - shape->low[s]) / shape->step[s] + 1;
                uint64_t choice = lab_random(seed, SHAPE_STREAM, index++) % (uint64_t)choices;
                one->sizes[s] = shape->low[s] + (int64_t)choice * shape->step[s];
            }
        }
    }
    return count;
}

void lab_task_case_describe(const lab_task_case *one, char *text, size_t capacity)
{
    lab_task_describe_shape(one->task, one->sizes, text, capacity);
}

/* ---- Contents ---- */

/* Returns element `index` of the random numbers of an argument. */
static double random_value(const lab_task_argument *argument, uint64_t seed, uint64_t stream, int64_t index)
{
    if (lab_element_type_kind(argument->type) == LAB_KIND_FLOAT)
        return argument->low +
               (lab_random_uniform(seed, stream, (uint64_t)index) + 1) / 2 * (argument->high - argument->low);
    double choices = floor(argument->high) - ceil(argument->low) + 1;
    return ceil(argument->low) + fmod((double)lab_random(seed, stream, (uint64_t)index), choices < 1 ? 1 : choices);
}

static void fill(const lab_task_case *one, int index, uint64_t seed)
{
    const lab_task_argument *argument = &one->task->arguments[index];
    const lab_task_case_argument *own = &one->arguments[index];
    uint64_t stream = (uint64_t)one->number * LAB_TASK_ARGUMENTS_MAX + (uint64_t)index;
    for (int64_t i = 0; i < own->count; i++) {
        lab_element_write(argument->type, own->data, i, random_value(argument, seed, stream, i));
        own->values[i] = lab_element_read(argument->type, own->data, i);
    }
}

static bool set_size(lab_task_case *one, int index, char *why, size_t capacity)
{
    const lab_task_argument *argument = &one->task->arguments[index];
    lab_task_case_argument *own = &one->arguments[index];
    int64_t value;
    if (!lab_task_evaluate(one->task, one->sizes, argument->value, &value, why, capacity))
        return false;
    lab_element_write_integer(argument->type, own->data, 0, value);
    if (lab_element_read_integer(argument->type, own->data, 0) != value)
        return lab_set_reason(why, capacity, "%s = %lld does not fit its type", argument->name, (long long)value);
    own->values[0] = (double)value;
    return true;
}

/* Finds the number of elements and bytes, within the task's limit of memory. */
static bool measure(lab_task_case *one, int index, int64_t *total, char *why, size_t capacity)
{
    const lab_task *task = one->task;
    const lab_task_argument *argument = &task->arguments[index];
    lab_task_case_argument *own = &one->arguments[index];
    own->count = 1;
    if (lab_role_is_array(argument->role) &&
        !lab_task_evaluate(task, one->sizes, argument->count, &own->count, why, capacity))
        return false;
    if (own->count < 1)
        return lab_set_reason(why, capacity, "%s has %lld elements; use at least 1", argument->name,
                              (long long)own->count);
    if (rungi_checked_multiply(own->count, lab_element_type_bytes(argument->type), &own->bytes) &&
        rungi_checked_add(*total, own->bytes, total) && *total <= task->memory_mib << 20)
        return true;
    return lab_set_reason(why, capacity, "the arrays take more than memory_mib = %lld", (long long)task->memory_mib);
}

static bool allocate(const lab_task_argument *argument, lab_task_case_argument *own)
{
    size_t count = (size_t)own->count;
    if (argument->role != LAB_ROLE_OUT) {
        own->data = malloc((size_t)own->bytes);
        own->values = calloc(count, sizeof *own->values);
        if (!own->data || !own->values)
            return false;
    }
    if (!lab_role_is_result(argument->role))
        return true;
    own->expected = calloc(count, sizeof *own->expected);
    own->scale = malloc(count * sizeof *own->scale);
    for (size_t i = 0; own->scale && i < count; i++)
        own->scale[i] = NAN;
    return own->expected && own->scale;
}

static bool fill_argument(lab_task_case *one, int index, uint64_t seed, char *why, size_t capacity)
{
    const lab_task_argument *argument = &one->task->arguments[index];
    lab_task_case_argument *own = &one->arguments[index];
    if (!allocate(argument, own))
        return lab_set_reason(why, capacity, "out of memory");
    if (*argument->roundings &&
        !lab_task_evaluate(one->task, one->sizes, argument->roundings, &own->roundings, why, capacity))
        return false;
    if (argument->role == LAB_ROLE_SIZE)
        return set_size(one, index, why, capacity);
    if (own->data)
        fill(one, index, seed);
    if (argument->role == LAB_ROLE_INOUT)
        memcpy(own->expected, own->values, (size_t)own->count * sizeof *own->expected);
    return true;
}

bool lab_task_case_fill(lab_task_case *one, uint64_t seed, char *why, size_t capacity)
{
    char reason[512], shape[256];
    int64_t total = 0;
    for (int i = 0; i < one->task->argument_count; i++)
        if (!measure(one, i, &total, reason, sizeof reason) || !fill_argument(one, i, seed, reason, sizeof reason)) {
            lab_task_case_describe(one, shape, sizeof shape);
            return lab_set_reason(why, capacity, "%s/task.toml: with %s: %s", one->task->folder, shape, reason);
        }
    return true;
}

void lab_task_case_free(lab_task_case *one)
{
    for (int i = 0; i < LAB_TASK_ARGUMENTS_MAX; i++) {
        lab_task_case_argument *own = &one->arguments[i];
        free(own->data);
        free(own->values);
        free(own->expected);
        free(own->scale);
        *own = (lab_task_case_argument){.count = 0};
    }
}

/* ---- Comparison ---- */

/* Returns half of the distance from 1 to the next number of a type; 0 for integers. */
static double unit_of(lab_element_type type)
{
    return type == LAB_ELEMENT_f64    ? 0x1p-53
           : type == LAB_ELEMENT_f32  ? 0x1p-24
           : type == LAB_ELEMENT_f16  ? 0x1p-11
           : type == LAB_ELEMENT_bf16 ? 0x1p-8
                                      : 0;
}

lab_task_comparison lab_task_case_compare(const lab_task_case *one, int argument, const void *data)
{
    const lab_task_case_argument *own = &one->arguments[argument];
    lab_element_type type = one->task->arguments[argument].type;
    lab_task_comparison result = {.wrong = 0};
    for (int64_t i = 0; i < own->count; i++) {
        double got = lab_element_read(type, data, i), expected = own->expected[i];
        double scale = isnan(own->scale[i]) ? fabs(expected) : own->scale[i];
        double bound = (double)own->roundings * unit_of(type) * scale;
        bool is_right = got == expected || fabs(got - expected) <= bound || (isnan(got) && isnan(expected));
        if (is_right || result.wrong++ > 0)
            continue;
        result.first = i;
        result.got = got;
        result.expected = expected;
        result.bound = bound;
    }
    return result;
}

/* ---- For reference.c ---- */

static lab_task_case_argument *find(const lab_reference *reference, const char *name,
                                    const lab_task_argument **described)
{
    const lab_task *task = reference->of->task;
    for (int i = 0; i < task->argument_count; i++)
        if (strcmp(task->arguments[i].name, name) == 0) {
            *described = &task->arguments[i];
            return &reference->of->arguments[i];
        }
    return NULL;
}

int64_t lab_reference_size(const lab_reference *reference, const char *name)
{
    const lab_task *task = reference->of->task;
    for (int i = 0; i < task->size_count; i++)
        if (strcmp(task->sizes[i], name) == 0)
            return reference->of->sizes[i];
    return -1;
}

int64_t lab_reference_variable(const lab_reference *reference, const char *name, int64_t otherwise)
{
    const lab_task *task = reference->of->task;
    for (int i = 0; i < task->variable_count; i++)
        if (strcmp(task->variables[i].name, name) == 0)
            return lab_task_value(&task->variables[i]);
    return otherwise;
}

double lab_reference_scalar(const lab_reference *reference, const char *name)
{
    const lab_task_argument *described;
    const lab_task_case_argument *own = find(reference, name, &described);
    return own && !lab_role_is_array(described->role) ? own->values[0] : (double)NAN;
}

const double *lab_reference_input(const lab_reference *reference, const char *name, int64_t count)
{
    const lab_task_argument *described;
    const lab_task_case_argument *own = find(reference, name, &described);
    return own && lab_role_is_array(described->role) && own->count >= count ? own->values : NULL;
}

double *lab_reference_result(lab_reference *reference, const char *name, int64_t count)
{
    const lab_task_argument *described;
    const lab_task_case_argument *own = find(reference, name, &described);
    return own && own->count >= count ? own->expected : NULL;
}

double *lab_reference_scale(lab_reference *reference, const char *name, int64_t count)
{
    const lab_task_argument *described;
    const lab_task_case_argument *own = find(reference, name, &described);
    return own && own->count >= count ? own->scale : NULL;
}

lab_reference_function lab_reference_find(const char *name)
{
    static const struct {
        const char *name;
        lab_reference_function function;
    } references[] = {
#define REFERENCE(name) {#name, lab_reference_##name},
#include "grade/references.def"
#undef REFERENCE
    };
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (strcmp(references[i].name, name) == 0)
            return references[i].function;
    return NULL;
}
