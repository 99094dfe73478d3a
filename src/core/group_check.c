/* SPDX-License-Identifier: Apache-2.0 */
/* group_check.c - reads the problems of a group and checks them: each problem by itself, that all have the same form
 * apart from their sizes, and that no output overlaps a matrix of another problem. Nothing runs before all checks have
 * passed. */
#include "core/group_check.h"

#include <stdlib.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/device.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

/* ---- Each problem ------------------------------------------------------------------------------------------------ */

/* Puts the index of the problem in front of the error text. */
static rung_status name_problem(rung_status status, int64_t index)
{
    return status == RUNG_OK ? status : rungi_fail_prepend(status, "problem %lld of the group", (long long)index);
}

/* The group that a caller passes, and the context of the call. */
typedef struct given_group {
    const rung_context *context;
    rung_group group;
    size_t problem_size;
} given_group_t;

static bool reads_b(const rung_problem *problem)
{
    return problem->alpha != 0 && !rungi_matrix_is_empty(&problem->b) && problem->a.rows > 0;
}

static rung_status check_in_memory(const rung_problem *problem, bool is_b_packed)
{
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if ((i != RUNGI_B || !is_b_packed) && rungi_problem_uses_operand(problem, i) &&
            rungi_problem_view(problem, i)->buffer)
            return rungi_invalid("%s is in a buffer; rung_group_multiply takes matrices in memory (for buffers, create "
                                 "a plan per problem and run it on a queue)",
                                 rungi_operand_name(i));
    TRY(rungi_quantization_check_in_memory("A", problem->a_quantization));
    return rungi_quantization_check_in_memory("B", problem->b_quantization);
}

static bool has_view(const rung_problem *problem, rungi_operand operand)
{
    return !rungi_matrix_is_empty(rungi_problem_view(problem, operand));
}

static bool has_output(const rung_problem *problem)
{
    return !rungi_matrix_is_empty(rungi_problem_output(problem));
}

/* Checks that a problem has the bias, the multiplier and the residual that another has. A problem without elements needs neither. */
static rung_status check_epilogue_like(const rung_problem *problem, const rung_problem *other, int64_t other_index)
{
    for (int i = RUNGI_BIAS; i <= RUNGI_RESIDUAL && has_output(problem) && has_output(other); i++)
        if (has_view(problem, i) != has_view(other, i))
            return rungi_invalid("%s is %s, unlike in problem %lld; either all or no problems of a group have one",
                                 rungi_operand_name(i), has_view(problem, i) ? "set" : "absent",
                                 (long long)other_index);
    return RUNG_OK;
}

/* Checks that a problem has the types, the compute mode and the activation of the first one. */
static rung_status check_like_first(const rung_problem *problem, const rung_problem *first)
{
    rung_type output = rungi_problem_output(problem)->type, first_output = rungi_problem_output(first)->type;
    if (problem->a.type != first->a.type || problem->b.type != first->b.type || output != first_output)
        return rungi_invalid("the types are %s x %s into %s, and those of problem 0 are %s x %s into %s; put problems "
                             "of other types into another group",
                             rung_type_name(problem->a.type), rung_type_name(problem->b.type), rung_type_name(output),
                             rung_type_name(first->a.type), rung_type_name(first->b.type),
                             rung_type_name(first_output));
    if (problem->compute != first->compute || problem->activation != first->activation)
        return rungi_invalid(
            "the compute mode is %s and the activation %s, and problem 0 has %s and %s; all problems of "
            "a group must have the same ones",
            rung_compute_name(problem->compute), rung_activation_name(problem->activation),
            rung_compute_name(first->compute), rung_activation_name(first->activation));
    return RUNG_OK;
}

/* Checks a packed B against that of an earlier problem; NULL: there is none. */
static rung_status check_packed_b(const rung_context *context, const rung_buffer *packed, const rung_buffer *other)
{
    if (!packed->device->reads_host_memory)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the packed B is on %s; groups with a packed B run on the CPU only in this version",
                          packed->device->info.name);
    if (packed->device->context != context)
        return rungi_invalid("the device of the packed B belongs to another context; pass the context of the device");
    if (other && packed->device != other->device)
        return rungi_invalid("the packed B is on another device than those before; pack all of them on one device");
    return RUNG_OK;
}

/* Reads the packed B of a problem into group->packed_b. The last one before that is not NULL is `*other`. */
static rung_status read_packed_b(const given_group_t *given, const rung_problem *problem, rungi_group *group,
                                 const rung_buffer **other)
{
    rung_buffer *packed = given->group.packed_b[group->count];
    group->packed_b[group->count] = NULL;
    if (!reads_b(problem))
        return RUNG_OK;
    if (!packed)
        return rungi_invalid("its packed_b is NULL; pass the buffer of rung_plan_pack_b()");
    TRY(check_packed_b(given->context, packed, *other));
    *other = group->packed_b[group->count] = packed;
    return RUNG_OK;
}

/* Returns the packed B of a problem; NULL: B is not packed, or not read. */
static const rung_buffer *packed_b_of(const rungi_group *group, int64_t index)
{
    return group->packed_b ? group->packed_b[index] : NULL;
}

static rung_status check_problem(const rung_problem *problem, const rungi_group *group)
{
    const rung_buffer *packed = packed_b_of(group, group->count);
    if (rungi_problem_items(problem) != 1)
        return rungi_invalid("batch is %lld; list each item of the batch as a problem of the group",
                             (long long)problem->batch);
    TRY(check_in_memory(problem, group->packed_b != NULL));
    TRY(group->packed_b ? rungi_problem_check_with_packed_b(problem, packed, packed ? packed->bytes : 0)
                        : rung_problem_check(problem));
    return check_like_first(problem, &group->problems[0]);
}

/* Reads the problem at `index` of the caller's array. */
static rung_status read_problem(const given_group_t *given, int64_t index, rung_problem *problem)
{
    size_t size = given->problem_size;
    const char *at = (const char *)given->group.problems + (size_t)index * size;
    TRY(rungi_problem_read((const rung_problem *)(const void *)at, problem));
    size_t own_size;
    memcpy(&own_size, at, sizeof own_size);
    if (own_size != size)
        return rungi_invalid("its size is %zu, and that of problem 0 is %zu; create all problems of an array with the "
                             "same rung_problem_of()",
                             own_size, size);
    return RUNG_OK;
}

/* ---- Overlap ----------------------------------------------------------------------------------------------------- */

/* More overlapping address ranges per view count as an overlap, so that no check takes longer than the multiplications. */
enum { COMPARISONS_MAX = 256 };

/* The address range of the output of one problem. */
typedef struct output_range {
    uintptr_t first, end;
    uintptr_t largest_end; /* of this range and those before it */
    int64_t problem;
} output_range_t;

typedef struct output_ranges {
    output_range_t *ranges; /* sorted by `first` */
    int64_t count;
    const rung_problem *problems; /* as the caller passed them */
} output_ranges_t;

static int compare_ranges(const void *x, const void *y)
{
    const output_range_t *first = x, *second = y;
    return (first->first > second->first) - (first->first < second->first);
}

static void address_range(const rung_matrix *view, uintptr_t *first, uintptr_t *end)
{
    int64_t span = 0;
    rungi_matrix_span(view, &span);
    *first = rungi_matrix_address(view);
    *end = *first + (uintptr_t)rungi_matrix_span_bytes(view, span);
}

static void collect_outputs(int64_t count, output_ranges_t *outputs)
{
    outputs->count = 0;
    for (int64_t i = 0; i < count; i++) {
        const rung_matrix *output = rungi_problem_output(&outputs->problems[i]);
        output_range_t *range = &outputs->ranges[outputs->count];
        if (rungi_matrix_is_empty(output))
            continue;
        address_range(output, &range->first, &range->end);
        range->problem = i;
        outputs->count++;
    }
    qsort(outputs->ranges, (size_t)outputs->count, sizeof *outputs->ranges, compare_ranges);
    uintptr_t largest = 0;
    for (int64_t i = 0; i < outputs->count; i++) {
        largest = outputs->ranges[i].end > largest ? outputs->ranges[i].end : largest;
        outputs->ranges[i].largest_end = largest;
    }
}

/* Returns the index of the first range that can end after `address`. */
static int64_t first_range_after(const output_ranges_t *outputs, uintptr_t address)
{
    int64_t low = 0, high = outputs->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (outputs->ranges[middle].largest_end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Checks that a matrix of problem number `problem` does not overlap the output of another one. */
static rung_status check_apart(const output_ranges_t *outputs, int64_t problem, const char *name,
                               const rung_matrix *view)
{
    uintptr_t first, end;
    int comparisons = 0;
    address_range(view, &first, &end);
    for (int64_t i = first_range_after(outputs, first); i < outputs->count && outputs->ranges[i].first < end; i++) {
        const output_range_t *range = &outputs->ranges[i];
        if (range->end <= first || range->problem == problem)
            continue;
        const rung_problem *other = &outputs->problems[range->problem];
        if (++comparisons > COMPARISONS_MAX || rungi_matrices_overlap(rungi_problem_output(other), view))
            return rungi_fail(RUNG_STATUS_ALIASED,
                              "%s overlaps the output of problem %lld; each output needs memory that no other problem "
                              "of the group uses",
                              name, (long long)range->problem);
    }
    return RUNG_OK;
}

static rung_matrix view_of_bytes(const rung_buffer *buffer)
{
    return rung_matrix_of(RUNG_I8, 1, buffer->bytes, (const void *)buffer->address);
}

/* Checks the scales and zero points of A or B. */
static rung_status check_scales_apart(const output_ranges_t *outputs, int64_t index, rungi_operand operand)
{
    const rung_problem *problem = &outputs->problems[index];
    const rung_quantization *given = rungi_problem_quantization(problem, operand);
    rung_quantization quantization;
    if (!given || !has_view(problem, operand))
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    if (!rungi_matrix_is_empty(&quantization.scales))
        TRY(check_apart(outputs, index, rungi_scales_name(operand, true), &quantization.scales));
    if (!rungi_matrix_is_empty(&quantization.zero_points))
        TRY(check_apart(outputs, index, rungi_scales_name(operand, false), &quantization.zero_points));
    return RUNG_OK;
}

/* Checks all matrices of a problem. */
static rung_status check_problem_apart(const output_ranges_t *outputs, int64_t index, const rungi_group *group)
{
    const rung_problem *problem = &outputs->problems[index];
    const rung_buffer *packed = packed_b_of(group, index);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if ((i != RUNGI_B || !group->packed_b) && rungi_problem_uses_operand(problem, i) && has_view(problem, i))
            TRY(check_apart(outputs, index, rungi_operand_name(i), rungi_problem_view(problem, i)));
    if (packed) {
        rung_matrix bytes = view_of_bytes(packed);
        TRY(check_apart(outputs, index, "the packed B", &bytes));
    }
    TRY(check_scales_apart(outputs, index, RUNGI_A));
    return check_scales_apart(outputs, index, RUNGI_B);
}

static rung_status check_overlap(const rung_context *context, const rungi_group *group)
{
    output_ranges_t outputs = {.problems = group->problems};
    rung_status status = RUNG_OK;
    outputs.ranges = rungi_allocate(context, group->count * (int64_t)sizeof *outputs.ranges, sizeof(void *));
    if (!outputs.ranges)
        return RUNG_STATUS_NO_MEMORY;
    collect_outputs(group->count, &outputs);
    for (int64_t i = 0; i < group->count && status == RUNG_OK; i++)
        status = name_problem(check_problem_apart(&outputs, i, group), i);
    rungi_release(context, outputs.ranges);
    return status;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* Normalizes the problems and moves those with a result to the front. */
static void normalize(rungi_group *group)
{
    int64_t count = group->count;
    group->count = 0;
    for (int64_t i = 0; i < count; i++) {
        rung_problem problem = group->problems[i];
        rungi_problem_normalize(&problem);
        if (rungi_matrix_is_empty(&problem.c))
            continue;
        if (problem.alpha == 0) /* A and B are not read */
            rungi_problem_drop_inputs(&problem);
        if (group->packed_b)
            group->packed_b[group->count] = group->packed_b[i];
        group->problems[group->count++] = problem;
    }
}

static rung_status read_problems(const given_group_t *given, rungi_group *group)
{
    int64_t first_output = 0;           /* index of the first problem that stores something */
    const rung_buffer *packed_b = NULL; /* of an earlier problem */
    for (; group->count < given->group.count; group->count++) {
        rung_problem *problem = &group->problems[group->count];
        TRY(name_problem(read_problem(given, group->count, problem), group->count));
        if (group->packed_b)
            TRY(name_problem(read_packed_b(given, problem, group, &packed_b), group->count));
        TRY(name_problem(check_problem(problem, group), group->count));
        if (!has_output(&group->problems[first_output]))
            first_output = group->count;
        TRY(name_problem(check_epilogue_like(problem, &group->problems[first_output], first_output), group->count));
    }
    return RUNG_OK;
}

static rung_status allocate(const given_group_t *given, rungi_group *group)
{
    int64_t count = given->group.count, bytes;
    if (!rungi_checked_multiply(count, RUNGI_STRUCT_SIZE_MAX, &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the group has %lld problems, which do not fit the address space",
                          (long long)count);
    group->problems = rungi_allocate(given->context, count * (int64_t)sizeof *group->problems, sizeof(void *));
    TRY(rungi_allocated(group->problems));
    if (!given->group.packed_b)
        return RUNG_OK;
    group->packed_b = rungi_allocate(given->context, count * (int64_t)sizeof *group->packed_b, sizeof(void *));
    return rungi_allocated(group->packed_b);
}

rung_status rungi_group_read(const rung_context *context, const rung_group *group_of_caller, rungi_group *group)
{
    given_group_t given = {.context = context};
    rung_group *read = &given.group;
    *group = (rungi_group){0};
    TRY(rungi_versioned_struct_read(group_of_caller, read, sizeof *read, "rung_group", "rung_group_of"));
    if (read->count < 0 || (read->count > 0 && !read->problems))
        return rungi_invalid("the group has %lld problems and %s; pass an array of at least 0 problems",
                             (long long)read->count, read->problems ? "an array" : "no array");
    if (read->count == 0)
        return RUNG_OK;
    memcpy(&given.problem_size, read->problems, sizeof given.problem_size);
    TRY(allocate(&given, group));
    TRY(read_problems(&given, group));
    TRY(check_overlap(context, group));
    normalize(group);
    return RUNG_OK;
}

void rungi_group_release(const rung_context *context, rungi_group *group)
{
    rungi_release(context, group->problems);
    rungi_release(context, group->packed_b);
}
