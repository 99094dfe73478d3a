/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - see task.h. */
#include "outofcore/task.h"

#include "core/by_size.h"
#include "core/sum_type.h"

rung_type rungi_task_sum_type(const rungi_task *task)
{
    return rung_accumulator_type(task->a.view.type, task->b.view.type, task->c.view.type);
}

/* ---- Checking ------------------------------------------------------------------------------------------------ */

static rung_status check_shapes(const rungi_task *task)
{
    const rung_matrix *a = &task->a.view, *b = &task->b.view, *c = &task->c.view, *c0 = &task->c0.view;
    if (rungi_task_sum_type(task) == RUNG_TYPE_NONE)
        return rungi_refuse_types(a->type, b->type, c->type);
    if (a->cols != b->rows)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "A is %lld x %lld and B is %lld x %lld; A must have as many columns as B has rows",
                              (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
    if (!task->path && (c->rows != a->rows || c->cols != b->cols))
        return rung_error_set(RUNG_STATUS_INVALID, "%s is %lld x %lld and should be %lld x %lld", task->result,
                              (long long)c->rows, (long long)c->cols, (long long)a->rows, (long long)b->cols);
    if (task->beta != 0 && (c0->rows != a->rows || c0->cols != b->cols || c0->type != c->type))
        return rung_error_set(RUNG_STATUS_INVALID, "C is %lld x %lld of %s and should be %lld x %lld of %s",
                              (long long)c0->rows, (long long)c0->cols, rung_type_name(c0->type), (long long)a->rows,
                              (long long)b->cols, rung_type_name(c->type));
    return RUNG_OK;
}

static bool is_same(const rung_matrix *x, const rung_matrix *y)
{
    return x->data && x->data == y->data && x->offset == y->offset && x->row_stride == y->row_stride &&
           x->col_stride == y->col_stride;
}

static rung_status check_overlap(const rungi_task *task)
{
    if (task->path)
        return RUNG_OK;
    rung_status status = rungi_stored_check(&task->c, task->result, true);
    if (status != RUNG_OK)
        return status;
    if (rungi_stored_meet(&task->c, &task->a) || rungi_stored_meet(&task->c, &task->b))
        return rung_error_set(RUNG_STATUS_ALIASED, "%s overlaps A or B, which are read while %s is written",
                              task->result, task->result);
    if (task->beta != 0 && rungi_stored_meet(&task->c, &task->c0) && !is_same(&task->c.view, &task->c0.view))
        return rung_error_set(RUNG_STATUS_ALIASED,
                              "C is read (beta is %g) and overlaps the result; the result may be C itself in "
                              "memory, else it must be separate: set path or d",
                              task->beta);
    return RUNG_OK;
}

static rung_status check(const rungi_task *task)
{
    rung_status status = rungi_stored_check(&task->a, "A", false);
    if (status == RUNG_OK)
        status = rungi_stored_check(&task->b, "B", false);
    if (status == RUNG_OK && task->beta != 0)
        status = rungi_stored_check(&task->c0, "C", false);
    if (status == RUNG_OK)
        status = check_shapes(task);
    return status == RUNG_OK ? check_overlap(task) : status;
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

/* Checks that everything required is there, and that the result has one place. */
static rung_status check_presence(const rung_outofcore_problem *problem)
{
    if (!problem->a || !problem->b)
        return rung_error_set(RUNG_STATUS_INVALID, "%s is NULL; open or create the matrix first",
                              problem->a ? "B" : "A");
    if (problem->beta != 0 && !problem->c)
        return rung_error_set(RUNG_STATUS_INVALID, "beta is %g and C is NULL; set c, or beta = 0", problem->beta);
    if (problem->d && problem->path)
        return rung_error_set(RUNG_STATUS_INVALID, "both d and path are set; the result goes to one of them");
    if (!problem->d && !problem->path && !problem->c)
        return rung_error_set(RUNG_STATUS_INVALID, "the result has no place; set path, d or c");
    if (problem->format != RUNG_OUTOFCORE_FORMAT_NPY && problem->format != RUNG_OUTOFCORE_FORMAT_RAW)
        return rung_error_set(RUNG_STATUS_INVALID, "format is %d; see rung_outofcore_format", (int)problem->format);
    return RUNG_OK;
}

/* Returns the type of a result file. */
static rung_type file_type(const rung_outofcore_problem *problem)
{
    rung_type a = problem->a->view.type;
    return problem->type != RUNG_TYPE_NONE ? problem->type : a == RUNG_I8 ? RUNG_I32 : a;
}

rung_status rungi_task_read(const rung_outofcore_problem *given, rungi_task *task)
{
    rung_outofcore_problem problem;
    rung_status status = rungi_struct_read(given, &problem, sizeof problem, "problem", "rung_outofcore_problem_of");
    if (status == RUNG_OK)
        status = check_presence(&problem);
    if (status != RUNG_OK)
        return status;
    const rung_outofcore_matrix *in_place = problem.d ? problem.d : problem.c;
    *task = (rungi_task){.alpha = problem.alpha,
                         .beta = problem.beta,
                         .a = *problem.a,
                         .b = *problem.b,
                         .c0 = problem.c ? *problem.c : rungi_stored_absent(RUNG_TYPE_NONE),
                         .c = problem.path ? rungi_stored_absent(file_type(&problem)) : *in_place,
                         .result = problem.d ? "D" : "C",
                         .compute = problem.compute,
                         .path = problem.path,
                         .bare = problem.format == RUNG_OUTOFCORE_FORMAT_RAW};
    return check(task);
}
