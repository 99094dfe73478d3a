/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_problem.c - see outofcore_problem.h. */
#include "outofcore/outofcore_problem.h"

#include "base/try.h"
#include "base/unsupported_types.h"
#include "base/versioned_struct.h"

rung_type rungi_outofcore_problem_accumulator(const rungi_outofcore_problem *problem)
{
    return rung_accumulator_type(problem->a.view.type, problem->b.view.type, problem->c.view.type);
}

/* ---- Checking ------------------------------------------------------------------------------------------------ */

static rung_status check_shapes(const rungi_outofcore_problem *problem)
{
    const rung_matrix *a = &problem->a.view, *b = &problem->b.view, *c = &problem->c.view, *c0 = &problem->c0.view;
    if (rungi_outofcore_problem_accumulator(problem) == RUNG_TYPE_NONE)
        return rungi_fail_unsupported_types(a->type, b->type, c->type);
    TRY(rungi_check_equal_types(a->type, b->type));
    if (a->cols != b->rows)
        return rungi_invalid("A is %lld x %lld and B is %lld x %lld; A must have as many columns as B has rows",
                             (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
    if (!problem->path && (c->rows != a->rows || c->cols != b->cols))
        return rungi_invalid("%s is %lld x %lld and should be %lld x %lld", problem->result_name, (long long)c->rows,
                             (long long)c->cols, (long long)a->rows, (long long)b->cols);
    if (problem->beta != 0 && (c0->rows != a->rows || c0->cols != b->cols || c0->type != c->type))
        return rungi_invalid("C is %lld x %lld of %s and should be %lld x %lld of %s", (long long)c0->rows,
                             (long long)c0->cols, rung_type_name(c0->type), (long long)a->rows, (long long)b->cols,
                             rung_type_name(c->type));
    return RUNG_OK;
}

static bool is_same_view(const rung_matrix *x, const rung_matrix *y)
{
    return x->data && x->data == y->data && x->offset == y->offset && x->row_stride == y->row_stride &&
           x->col_stride == y->col_stride;
}

static rung_status check_overlap(const rungi_outofcore_problem *problem)
{
    if (problem->path)
        return RUNG_OK;
    TRY(rungi_outofcore_matrix_check(&problem->c, problem->result_name, true));
    if (rungi_outofcore_matrix_overlaps(&problem->c, &problem->a) ||
        rungi_outofcore_matrix_overlaps(&problem->c, &problem->b))
        return rungi_fail(RUNG_STATUS_ALIASED, "%s overlaps A or B, which are read while %s is written",
                          problem->result_name, problem->result_name);
    if (problem->beta != 0 && rungi_outofcore_matrix_overlaps(&problem->c, &problem->c0) &&
        !is_same_view(&problem->c.view, &problem->c0.view))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "C is read (beta is %g) and overlaps the result; the result may be C itself in "
                          "memory, else it must be separate: set path or d",
                          problem->beta);
    return RUNG_OK;
}

static rung_status check_problem(const rungi_outofcore_problem *problem)
{
    TRY(rungi_outofcore_matrix_check(&problem->a, "A", false));
    TRY(rungi_outofcore_matrix_check(&problem->b, "B", false));
    if (problem->beta != 0)
        TRY(rungi_outofcore_matrix_check(&problem->c0, "C", false));
    TRY(check_shapes(problem));
    return check_overlap(problem);
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

/* Checks that the required members are set, and that the result has exactly one destination. */
static rung_status check_presence(const rung_outofcore_problem *given)
{
    if (!given->a || !given->b)
        return rungi_invalid("%s is NULL; open or create the matrix first", given->a ? "B" : "A");
    if (given->beta != 0 && !given->c)
        return rungi_invalid("beta is %g and C is NULL; set c, or beta = 0", given->beta);
    if (given->d && given->path)
        return rungi_invalid("both d and path are set; the result goes to one of them");
    if (!given->d && !given->path && !given->c)
        return rungi_invalid("the result has no destination; set path, d or c");
    if (given->format != RUNG_OUTOFCORE_FORMAT_NPY && given->format != RUNG_OUTOFCORE_FORMAT_RAW)
        return rungi_invalid("format is %d; see rung_outofcore_format", (int)given->format);
    return RUNG_OK;
}

/* Returns the type of a result file. */
static rung_type file_type(const rung_outofcore_problem *given)
{
    rung_type a = given->a->view.type;
    return given->type != RUNG_TYPE_NONE ? given->type : a == RUNG_I8 ? RUNG_I32 : a;
}

rung_status rungi_outofcore_problem_read(const rung_outofcore_problem *caller, rungi_outofcore_problem *problem)
{
    rung_outofcore_problem given;
    TRY(rungi_versioned_struct_read(caller, &given, sizeof given, "problem", "rung_outofcore_problem_of"));
    TRY(check_presence(&given));
    const rung_outofcore_matrix *result_matrix = given.d ? given.d : given.c;
    *problem = (rungi_outofcore_problem){.alpha = given.alpha,
                                         .beta = given.beta,
                                         .a = *given.a,
                                         .b = *given.b,
                                         .c0 = given.c ? *given.c : rungi_outofcore_matrix_absent(RUNG_TYPE_NONE),
                                         .c = given.path ? rungi_outofcore_matrix_absent(file_type(&given))
                                                         : *result_matrix,
                                         .result_name = given.d ? "D" : "C",
                                         .compute = given.compute,
                                         .path = given.path,
                                         .is_raw = given.format == RUNG_OUTOFCORE_FORMAT_RAW};
    return check_problem(problem);
}
