/* SPDX-License-Identifier: Apache-2.0 */
/* sampled.c - see sampled.h. */
#include "sampled.h"

#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "random.h"

/* STEPS of the oracle take a part of a second. Little memory may be left: so many bytes for the drawn columns of B at a
 * time, and for the drawn rows of A. */
enum { STEPS = 1 << 24, COLUMNS = 16, BYTES = 8 << 20, ROWS_ACROSS = 64, PAGE = 4096 };

/* Drawn rows or columns, in ascending order. */
typedef struct draws {
    int64_t *list;
    int64_t count;
    int64_t at_a_time; /* as many as there is memory for */
} draws_t;

typedef struct drawing {
    const rung_outofcore_problem *problem;
    const rung_outofcore_matrix *c;
    rung_matrix a_view, b_view, c_view;
    uint64_t seed;
    draws_t rows, cols;
    rung_matrix a, b, c_part, c0_part; /* of rows.at_a_time and cols.at_a_time */
    char *slice;                       /* of a row of B */
} drawing_t;

static int64_t limited(int64_t value, int64_t least, int64_t most)
{
    value = value < least ? least : value;
    return value > most ? most : value;
}

/* ---- Drawing ------------------------------------------------------------------------------------------- */

/* Draws one of each of `count` even parts of [first, first + size). */
static void draw_from_block(draws_t *draws, int64_t first, int64_t size, int64_t count, uint64_t seed, uint64_t stream)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t begin = (int64_t)((__extension__(__int128) size * i) / count);
        int64_t end = (int64_t)((__extension__(__int128) size * (i + 1)) / count);
        uint64_t drawn = lab_random(seed, stream, (uint64_t)draws->count) % (uint64_t)(end - begin);
        draws->list[draws->count++] = first + begin + (int64_t)drawn;
    }
}

/* Draws about `wanted` of [0, size), and at least one of each block of `block`. False if there is no memory. */
static bool draw(draws_t *draws, int64_t size, int64_t block, int64_t wanted, uint64_t seed, uint64_t stream)
{
    block = limited(block, 1, size);
    int64_t blocks = (size - 1) / block + 1, each = wanted >= size ? block : limited(wanted / blocks, 1, block);
    draws->list = malloc((size_t)limited(blocks * each, 1, size) * sizeof *draws->list);
    for (int64_t first = 0; draws->list && first < size; first += block) {
        int64_t here = limited(block, 1, size - first);
        draw_from_block(draws, first, here, limited(each, 1, here), seed, stream);
    }
    return draws->list != NULL;
}

/* All of a small problem; else as many columns and rows as take about a second, and at least one of each block, so that a
 * block that is wrong is always seen. */
static bool draw_sample(drawing_t *drawing, const rung_outofcore_blocking *blocking)
{
    const rung_matrix *a = &drawing->a_view, *b = &drawing->b_view;
    int64_t m = a->rows, n = b->cols, k = a->cols + 1, size = rung_type_size(a->type), fit = BYTES / (k * size);
    bool is_small = (double)m * (double)n * (double)k <= STEPS;
    if (!draw(&drawing->cols, n, blocking->block_cols, is_small ? n : limited(fit, 1, n < COLUMNS ? n : COLUMNS),
              drawing->seed, 911))
        return false;
    int64_t rows = is_small ? m : limited(STEPS / k / drawing->cols.count, 1, m);
    if (!is_small && a->row_stride == 1 && a->col_stride != 1) /* a row is gathered element by element */
        rows = limited(rows, 1, ROWS_ACROSS);
    if (!draw(&drawing->rows, m, blocking->block_rows, rows, drawing->seed, 910))
        return false;
    drawing->cols.at_a_time = limited(fit, 1, drawing->cols.count);
    int64_t of_c = BYTES / (drawing->cols.at_a_time * rung_type_size(drawing->c_view.type));
    drawing->rows.at_a_time = limited(fit < of_c ? fit : of_c, 1, drawing->rows.count);
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static rung_matrix new_part(rung_type type, int64_t rows, int64_t cols)
{
    size_t count = (size_t)(rows * cols) + 1;
    return rung_matrix_of(type, rows, cols, malloc(count * (size_t)rung_type_size(type)));
}

static bool make_parts(drawing_t *drawing)
{
    rung_type in = drawing->a_view.type, out = drawing->c_view.type;
    int64_t k = drawing->a_view.cols, rows = drawing->rows.at_a_time, cols = drawing->cols.at_a_time;
    drawing->a = new_part(in, rows, k);
    drawing->b = rung_matrix_transpose(new_part(in, cols, k)); /* a drawn column is in one piece */
    drawing->c_part = new_part(out, rows, cols);
    drawing->c0_part = new_part(out, rows, cols);
    drawing->slice = malloc(BYTES);
    return drawing->a.data && drawing->b.data && drawing->c_part.data && drawing->c0_part.data && drawing->slice;
}

static void free_parts(drawing_t *drawing)
{
    free(drawing->a.data);
    free(drawing->b.data);
    free(drawing->c_part.data);
    free(drawing->c0_part.data);
    free(drawing->slice);
    free(drawing->rows.list);
    free(drawing->cols.list);
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    return (char *)matrix->data + (row * matrix->row_stride + col * matrix->col_stride) * rung_type_size(matrix->type);
}

/* Reads row `row` of the `count` drawn columns `cols` of B: the span between them at once where that is little more. */
static rung_status read_across(const drawing_t *drawing, int64_t row, const int64_t *cols, int64_t count)
{
    const rung_outofcore_matrix *b = drawing->problem->b;
    int64_t size = rung_type_size(drawing->b_view.type), span = (cols[count - 1] - cols[0] + 1) * size;
    bool is_near = span <= BYTES && span <= count * PAGE;
    rung_status status = RUNG_OK;
    if (is_near)
        status = rung_outofcore_matrix_read(b, row, cols[0], 1, cols[count - 1] - cols[0] + 1, drawing->slice);
    for (int64_t j = 0; status == RUNG_OK && j < count; j++) {
        char *to = element_at(&drawing->b, row, j);
        if (is_near)
            memcpy(to, drawing->slice + (cols[j] - cols[0]) * size, (size_t)size);
        else
            status = rung_outofcore_matrix_read(b, row, cols[j], 1, 1, to);
    }
    return status;
}

/* Reads the drawn columns `cols` of B. */
static rung_status read_b(const drawing_t *drawing, const int64_t *cols, int64_t count)
{
    const rung_outofcore_matrix *b = drawing->problem->b;
    rung_status status = RUNG_OK;
    if (drawing->b_view.row_stride == 1 && drawing->b_view.col_stride != 1) {
        for (int64_t j = 0; status == RUNG_OK && j < count; j++)
            status = rung_outofcore_matrix_read(b, 0, cols[j], drawing->b_view.rows, 1, element_at(&drawing->b, 0, j));
        return status;
    }
    for (int64_t i = 0; status == RUNG_OK && i < drawing->b_view.rows; i++)
        status = read_across(drawing, i, cols, count);
    return status;
}

static rung_status read_elements(const rung_outofcore_matrix *from, int64_t row, const int64_t *cols, int64_t count,
                                 int64_t to_row, const rung_matrix *to)
{
    rung_status status = RUNG_OK;
    if (cols[count - 1] - cols[0] + 1 == count)
        return rung_outofcore_matrix_read(from, row, cols[0], 1, count, element_at(to, to_row, 0));
    for (int64_t j = 0; status == RUNG_OK && j < count; j++)
        status = rung_outofcore_matrix_read(from, row, cols[j], 1, 1, element_at(to, to_row, j));
    return status;
}

static rung_status read_row(const drawing_t *drawing, int64_t row, const int64_t *cols, int64_t count, int64_t to_row)
{
    const rung_outofcore_problem *problem = drawing->problem;
    rung_status status = rung_outofcore_matrix_read(problem->a, row, 0, 1, drawing->a_view.cols,
                                                    element_at(&drawing->a, to_row, 0));
    if (status == RUNG_OK)
        status = read_elements(drawing->c, row, cols, count, to_row, &drawing->c_part);
    if (status == RUNG_OK && problem->beta != 0)
        status = read_elements(problem->c, row, cols, count, to_row, &drawing->c0_part);
    return status;
}

/* ---- Judging -------------------------------------------------------------------------------------------- */

/* Compares drawn rows with drawn columns, whose elements of B were read. */
static rung_status judge_rows(const drawing_t *drawing, const int64_t *rows, int64_t row_count, const int64_t *cols,
                              int64_t col_count, lab_rigour rigour)
{
    const rung_outofcore_problem *problem = drawing->problem;
    int64_t k = drawing->a_view.cols;
    rung_status status = lab_interrupted()
                             ? rung_error_set(RUNG_STATUS_CANCELLED, "the check of the result was interrupted")
                             : RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < row_count; i++)
        status = read_row(drawing, rows[i], cols, col_count, i);
    if (status != RUNG_OK)
        return status;
    rung_matrix c0 = rung_matrix_block(drawing->c0_part, 0, 0, row_count, col_count);
    rung_problem part = rung_problem_of(rung_matrix_block(drawing->a, 0, 0, row_count, k),
                                        rung_matrix_block(drawing->b, 0, 0, k, col_count),
                                        rung_matrix_block(drawing->c_part, 0, 0, row_count, col_count));
    part.alpha = problem->alpha;
    part.beta = problem->beta;
    part.compute = problem->compute;
    lab_verdict verdict = lab_oracle_judge(&part, &c0, rigour);
    if (verdict.right)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                          "the result is wrong, and is discarded: element (%lld, %lld) is %.9g, "
                          "expected %.9g within %.3g; rung verify tests the device",
                          (long long)rows[verdict.row], (long long)cols[verdict.col], verdict.got, verdict.expected,
                          verdict.bound);
}

static rung_status judge_all(const drawing_t *drawing, lab_rigour rigour)
{
    const draws_t *rows = &drawing->rows, *cols = &drawing->cols;
    rung_status status = RUNG_OK;
    for (int64_t j = 0; status == RUNG_OK && j < cols->count; j += cols->at_a_time) {
        int64_t col_count = limited(cols->at_a_time, 1, cols->count - j);
        status = read_b(drawing, cols->list + j, col_count);
        for (int64_t i = 0; status == RUNG_OK && i < rows->count; i += rows->at_a_time)
            status = judge_rows(drawing, rows->list + i, limited(rows->at_a_time, 1, rows->count - i), cols->list + j,
                                col_count, rigour);
    }
    return status;
}

rung_status lab_sampled_judge(const rung_outofcore_problem *problem, const rung_outofcore_matrix *c,
                              const rung_outofcore_blocking *blocking, lab_rigour rigour, uint64_t seed,
                              lab_sample *sample)
{
    drawing_t drawing = {.problem = problem,
                         .c = c,
                         .seed = seed,
                         .a_view = rung_outofcore_matrix_view(problem->a),
                         .b_view = rung_outofcore_matrix_view(problem->b),
                         .c_view = rung_outofcore_matrix_view(c)};
    *sample = (lab_sample){.is_all = true};
    if (drawing.a_view.rows == 0 || drawing.b_view.cols == 0)
        return RUNG_OK;
    rung_status status = draw_sample(&drawing, blocking) && make_parts(&drawing)
                             ? judge_all(&drawing, rigour)
                             : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to check the result");
    sample->elements = drawing.rows.count * drawing.cols.count;
    sample->is_all = drawing.rows.count == drawing.c_view.rows && drawing.cols.count == drawing.c_view.cols;
    free_parts(&drawing);
    return status;
}
