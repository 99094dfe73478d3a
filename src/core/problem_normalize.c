/* SPDX-License-Identifier: Apache-2.0 */
/* problem_normalize.c - normalized problems: the one form of a checked problem that plans and devices work with. */
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

rung_type rungi_problem_accumulator_type(const rung_problem *problem)
{
    rung_type out = rungi_problem_output(problem)->type; /* a normalized problem's addend has the output's type */
    rung_type accumulator = rung_accumulator_type(problem->a.type, problem->b.type, out);
    return accumulator == RUNG_TYPE_NONE ? out : accumulator;
}

static double normalize_scalar(const rung_problem *problem, double scalar)
{
    rung_type type = rungi_problem_accumulator_type(problem);
    return type == RUNG_F64 || rungi_type_is_integer(type) ? scalar : (float)scalar;
}

bool rungi_problem_uses_operand(const rung_problem *problem, rungi_operand operand)
{
    return operand != RUNGI_C || problem->d.type == RUNG_TYPE_NONE || normalize_scalar(problem, problem->beta) != 0;
}

void rungi_problem_put_result_in_c(rung_problem *given)
{
    if (given->d.type == RUNG_TYPE_NONE)
        return;
    rung_matrix c = given->c;
    bool reads_c = rungi_problem_uses_operand(given, RUNGI_C) &&
                   !rungi_matrix_is_same_view(&c, &given->d, rungi_problem_items(given));
    given->c = given->d;
    given->d = reads_c ? c : (rung_matrix){.type = RUNG_TYPE_NONE};
}

/* Clears the memory fields of an empty view, which the checks ignore, and makes all absent views equal. */
static void normalize_operand(rung_problem *problem, rungi_operand operand)
{
    rung_matrix *view = rungi_problem_operand(problem, operand);
    bool is_optional = operand > RUNGI_C;
    if (rungi_matrix_is_empty(view) && is_optional)
        *view = (rung_matrix){.type = RUNG_TYPE_NONE};
    else if (rungi_matrix_is_empty(view))
        *view = (rung_matrix){.type = view->type,
                              .rows = view->rows,
                              .cols = view->cols,
                              .row_stride = view->row_stride,
                              .col_stride = view->col_stride};
    else if (view->batch_offsets)
        view->batch_stride = 0;
}

/* Without elements, or with scales in B itself, there is nothing to scale. */
static void normalize_quantization(rung_problem *problem)
{
    if (rungi_matrix_is_empty(&problem->a))
        problem->a_quantization = NULL;
    if (rungi_matrix_is_empty(&problem->b) || rungi_type_has_scales(problem->b.type))
        problem->b_quantization = NULL;
}

void rungi_problem_normalize(rung_problem *problem)
{
    problem->alpha = normalize_scalar(problem, problem->alpha);
    problem->beta = normalize_scalar(problem, problem->beta);
    problem->batch = rungi_problem_items(problem);
    rungi_problem_put_result_in_c(problem);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        normalize_operand(problem, i);
    normalize_quantization(problem);
}

rung_problem rungi_problem_denormalize(const rung_problem *normalized)
{
    rung_problem given = *normalized;
    if (given.d.type != RUNG_TYPE_NONE) {
        given.c = normalized->d;
        given.d = normalized->c;
    }
    return given;
}

void rungi_problem_clear_memory(rung_problem *problem)
{
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix *view = rungi_problem_operand(problem, i);
        view->data = NULL;
        view->buffer = NULL;
        view->offset = 0;
    }
}

rung_problem rungi_problem_form(const rung_problem *problem)
{
    static const int64_t placeholder_offsets[1] = {0};
    rung_problem form = *problem;
    rungi_problem_clear_memory(&form);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (rungi_problem_view(&form, i)->batch_offsets)
            rungi_problem_operand(&form, i)->batch_offsets = placeholder_offsets;
    return form;
}

void rungi_problem_drop_inputs(rung_problem *normalized)
{
    normalized->a.cols = 0;
    normalized->b.rows = 0;
    normalize_operand(normalized, RUNGI_A);
    normalize_operand(normalized, RUNGI_B);
    normalize_quantization(normalized);
}

bool rungi_problem_has_epilogue(const rung_problem *normalized)
{
    return normalized->activation != RUNG_ACTIVATION_NONE || !rungi_matrix_is_empty(&normalized->bias) ||
           !rungi_matrix_is_empty(&normalized->multiplier) || !rungi_matrix_is_empty(&normalized->residual) ||
           !rungi_matrix_is_empty(rungi_problem_addend(normalized));
}

bool rungi_problem_has_batch_offsets(const rung_problem *normalized)
{
    return normalized->a.batch_offsets || normalized->b.batch_offsets || normalized->c.batch_offsets ||
           rungi_problem_addend(normalized)->batch_offsets;
}

bool rungi_problem_has_same_form(const rung_problem *x, const rung_problem *y)
{
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (!rungi_matrix_has_same_form(rungi_problem_view(x, i), rungi_problem_view(y, i), x->batch))
            return false;
    return x->batch == y->batch && x->compute == y->compute && x->activation == y->activation &&
           rungi_quantization_has_same_form(x->a_quantization, y->a_quantization, x->batch) &&
           rungi_quantization_has_same_form(x->b_quantization, y->b_quantization, x->batch);
}
