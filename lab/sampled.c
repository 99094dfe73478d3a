/* SPDX-License-Identifier: Apache-2.0 */
/* sampled.c - see sampled.h. */
#include "sampled.h"

#include <stdlib.h>

#include "random.h"

/* STEPS of the oracle take a part of a second. Memory stays small, since little of it may be left: so much for the drawn
 * columns of B, and for the drawn rows of A at a time. */
enum { STEPS = 1 << 24, COLUMNS = 16, BYTES = 8 << 20, ROWS_ACROSS = 64 };

typedef struct drawing {
    const rung_large_problem *problem;
    const rung_stored        *c;
    uint64_t    seed;
    int64_t     rows, cols;      /* drawn */
    int64_t     rows_at_a_time;
    rung_matrix a, b, c_part, c0_part;
} drawing;

/* One of each of `count` even parts of [0, size). */
static int64_t draw(const drawing *drawing, int64_t size, int64_t count, int64_t index, uint64_t stream)
{
    int64_t first = (int64_t)((__extension__ (__int128)size * index) / count);
    int64_t end = (int64_t)((__extension__ (__int128)size * (index + 1)) / count);
    return first + (int64_t)(lab_random(drawing->seed, stream, (uint64_t)index) % (uint64_t)(end - first));
}

static int64_t draw_row(const drawing *drawing, int64_t index)
{
    return draw(drawing, drawing->problem->a.view.rows, drawing->rows, index, 910);
}

static int64_t draw_col(const drawing *drawing, int64_t index)
{
    return draw(drawing, drawing->problem->b.view.cols, drawing->cols, index, 911);
}

static int64_t limited(int64_t value, int64_t least, int64_t most)
{
    value = value < least ? least : value;
    return value > most ? most : value;
}

static void choose_counts(drawing *drawing)
{
    const rung_matrix *a = &drawing->problem->a.view, *b = &drawing->problem->b.view;
    int64_t m = a->rows, n = b->cols, k = a->cols + 1, size = rung_type_size(a->type);
    bool is_small = (double)m * (double)n * (double)k <= STEPS;
    drawing->cols = is_small ? n : limited(BYTES / (k * size), 1, n < COLUMNS ? n : COLUMNS);
    drawing->rows = is_small ? m : limited(STEPS / (k * drawing->cols), 1, m);
    if (!is_small && a->row_stride == 1 && a->col_stride != 1) /* a row is gathered element by element */
        drawing->rows = limited(drawing->rows, 1, ROWS_ACROSS);
    drawing->rows_at_a_time = limited(BYTES / (k * size), 1, drawing->rows);
}

static rung_matrix new_part(rung_type type, int64_t rows, int64_t cols)
{
    size_t count = (size_t)(rows * cols) + 1;
    return rung_matrix_of(type, rows, cols, malloc(count * (size_t)rung_type_size(type)));
}

static bool make_parts(drawing *drawing)
{
    rung_type in = drawing->problem->a.view.type, out = drawing->c->view.type;
    int64_t k = drawing->problem->a.view.cols;
    drawing->a = new_part(in, drawing->rows_at_a_time, k);
    drawing->b = new_part(in, k, drawing->cols);
    drawing->c_part = new_part(out, drawing->rows_at_a_time, drawing->cols);
    drawing->c0_part = new_part(out, drawing->rows_at_a_time, drawing->cols);
    return drawing->a.data && drawing->b.data && drawing->c_part.data && drawing->c0_part.data;
}

static void free_parts(drawing *drawing)
{
    free(drawing->a.data);
    free(drawing->b.data);
    free(drawing->c_part.data);
    free(drawing->c0_part.data);
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    return (char *)matrix->data + (row * matrix->cols + col) * rung_type_size(matrix->type);
}

/* The drawn columns of B; whole rows of it where all are. */
static rung_status read_b(drawing *drawing)
{
    const rung_stored *b = &drawing->problem->b;
    rung_status status = RUNG_OK;
    if (drawing->cols == b->view.cols)
        return rung_stored_read(b, 0, 0, b->view.rows, b->view.cols, drawing->b.data);
    for (int64_t j = 0; j < drawing->cols; j++) {
        int64_t col = draw_col(drawing, j);
        for (int64_t i = 0; status == RUNG_OK && i < b->view.rows; i++)
            status = rung_stored_read(b, i, col, 1, 1, element_at(&drawing->b, i, j));
    }
    return status;
}

static rung_status read_elements(const drawing *drawing, const rung_stored *from, int64_t row, int64_t to_row,
                                 const rung_matrix *to)
{
    rung_status status = RUNG_OK;
    if (drawing->cols == from->view.cols)
        return rung_stored_read(from, row, 0, 1, drawing->cols, element_at(to, to_row, 0));
    for (int64_t j = 0; status == RUNG_OK && j < drawing->cols; j++)
        status = rung_stored_read(from, row, draw_col(drawing, j), 1, 1, element_at(to, to_row, j));
    return status;
}

static rung_status read_row(const drawing *drawing, int64_t row, int64_t to_row)
{
    const rung_large_problem *problem = drawing->problem;
    rung_status status = rung_stored_read(&problem->a, row, 0, 1, problem->a.view.cols,
                                          element_at(&drawing->a, to_row, 0));
    if (status == RUNG_OK)
        status = read_elements(drawing, drawing->c, row, to_row, &drawing->c_part);
    if (status == RUNG_OK && problem->beta != 0)
        status = read_elements(drawing, &problem->c0, row, to_row, &drawing->c0_part);
    return status;
}

/* Some of the drawn rows. */
static rung_status judge_rows(const drawing *drawing, int64_t first, int64_t count, lab_rigour rigour)
{
    const rung_large_problem *problem = drawing->problem;
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < count; i++)
        status = read_row(drawing, draw_row(drawing, first + i), i);
    if (status != RUNG_OK)
        return status;
    rung_matrix c0 = rung_matrix_block(drawing->c0_part, 0, 0, count, drawing->cols);
    rung_problem part = rung_problem_of(rung_matrix_block(drawing->a, 0, 0, count, problem->a.view.cols), drawing->b,
                                        rung_matrix_block(drawing->c_part, 0, 0, count, drawing->cols));
    part.alpha = problem->alpha;
    part.beta = problem->beta;
    part.compute = problem->compute;
    lab_verdict verdict = lab_oracle_judge(&part, &c0, rigour);
    if (verdict.right)
        return RUNG_OK;
    return rung_fail(RUNG_DEVICE_LOST, "the result is wrong, and is thrown away: element (%lld, %lld) is %.9g, "
                     "expected %.9g within %.3g; see what rung verify says of the device",
                     (long long)draw_row(drawing, first + verdict.row), (long long)draw_col(drawing, verdict.col),
                     verdict.got, verdict.expected, verdict.bound);
}

rung_status lab_sampled_judge(const rung_large_problem *problem, const rung_stored *c, lab_rigour rigour, uint64_t seed,
                              lab_sample *sample)
{
    drawing drawing = {.problem = problem, .c = c, .seed = seed};
    *sample = (lab_sample){.is_all = true};
    if (problem->a.view.rows == 0 || problem->b.view.cols == 0)
        return RUNG_OK;
    choose_counts(&drawing);
    rung_status status = make_parts(&drawing) ? RUNG_OK : rung_fail(RUNG_NO_MEMORY, "no memory to check the result");
    if (status == RUNG_OK)
        status = read_b(&drawing);
    for (int64_t i = 0; status == RUNG_OK && i < drawing.rows; i += drawing.rows_at_a_time)
        status = judge_rows(&drawing, i, limited(drawing.rows_at_a_time, 1, drawing.rows - i), rigour);
    free_parts(&drawing);
    sample->elements = drawing.rows * drawing.cols;
    sample->is_all = drawing.rows == c->view.rows && drawing.cols == c->view.cols;
    return status;
}
