/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_check.c - see sampled_check.h. */
#include "verify/sampled_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "cli/interrupt.h"
#include "common/random.h"

/* MAX_CHECK_STEPS multiply-adds of the oracle take a fraction of a second. MAX_BUFFER_BYTES limits the sampled columns of B
 * and the sampled rows of A in memory, because little memory may be left. */
enum {
    MAX_CHECK_STEPS = 1 << 24,
    MAX_SAMPLED_COLUMNS = 16,
    MAX_BUFFER_BYTES = 8 << 20,
    MAX_SAMPLED_ROWS_COLUMN_MAJOR = 64,
    PAGE = 4096
};

/* Sampled rows or columns, in ascending order. */
typedef struct sampled_lines {
    int64_t *list;
    int64_t count;
    int64_t batch; /* how many fit in memory */
} sampled_lines_t;

typedef struct sampled_check {
    const rung_outofcore_problem *problem;
    const rung_outofcore_matrix *c;
    rung_matrix a_view, b_view, c_view;
    uint64_t seed;
    sampled_lines_t rows, cols;
    rung_matrix a, b, c_part, c0_part; /* of rows.batch and cols.batch lines */
    char *row_buffer;                  /* a part of a row of B */
} sampled_check_t;

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    value = value < min ? min : value;
    return value > max ? max : value;
}

/* ---- Sampling ------------------------------------------------------------------------------------------- */

/* Samples one line of each of `count` equal parts of [first, first + size). */
static void sample_block(sampled_lines_t *lines, int64_t first, int64_t size, int64_t count, uint64_t seed,
                         uint64_t stream)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t begin = (int64_t)((__extension__(__int128) size * i) / count);
        int64_t end = (int64_t)((__extension__(__int128) size * (i + 1)) / count);
        uint64_t drawn = lab_random(seed, stream, (uint64_t)lines->count) % (uint64_t)(end - begin);
        lines->list[lines->count++] = first + begin + (int64_t)drawn;
    }
}

/* Samples about `target` lines of [0, size), at least one per block. Returns false if there is no memory. */
static bool sample_lines(sampled_lines_t *lines, int64_t size, int64_t block, int64_t target, uint64_t seed,
                         uint64_t stream)
{
    block = clamp(block, 1, size);
    int64_t blocks = (size - 1) / block + 1, each = target >= size ? block : clamp(target / blocks, 1, block);
    lines->list = malloc((size_t)clamp(blocks * each, 1, size) * sizeof *lines->list);
    for (int64_t first = 0; lines->list && first < size; first += block) {
        int64_t here = clamp(block, 1, size - first);
        sample_block(lines, first, here, clamp(each, 1, here), seed, stream);
    }
    return lines->list != NULL;
}

/* Samples all of a small problem; else as many rows and columns as take about a second, at least one per block, so that a
 * wrong block is always found. */
static bool choose_sample(sampled_check_t *check, const rung_outofcore_blocking *blocking)
{
    const rung_matrix *a = &check->a_view, *b = &check->b_view;
    int64_t m = a->rows, n = b->cols, k = a->cols + 1, size = rung_type_size(a->type),
            fit = MAX_BUFFER_BYTES / (k * size);
    bool is_small = (double)m * (double)n * (double)k <= MAX_CHECK_STEPS;
    if (!sample_lines(&check->cols, n, blocking->block_cols,
                      is_small ? n : clamp(fit, 1, n < MAX_SAMPLED_COLUMNS ? n : MAX_SAMPLED_COLUMNS), check->seed,
                      911))
        return false;
    int64_t rows = is_small ? m : clamp(MAX_CHECK_STEPS / k / check->cols.count, 1, m);
    if (!is_small && a->row_stride == 1 && a->col_stride != 1) /* a row is gathered element by element */
        rows = clamp(rows, 1, MAX_SAMPLED_ROWS_COLUMN_MAJOR);
    if (!sample_lines(&check->rows, m, blocking->block_rows, rows, check->seed, 910))
        return false;
    check->cols.batch = clamp(fit, 1, check->cols.count);
    int64_t rows_of_c = MAX_BUFFER_BYTES / (check->cols.batch * rung_type_size(check->c_view.type));
    check->rows.batch = clamp(fit < rows_of_c ? fit : rows_of_c, 1, check->rows.count);
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static rung_matrix new_part(rung_type type, int64_t rows, int64_t cols)
{
    size_t count = (size_t)(rows * cols) + 1;
    return rung_matrix_of(type, rows, cols, malloc(count * (size_t)rung_type_size(type)));
}

static bool make_parts(sampled_check_t *check)
{
    rung_type in = check->a_view.type, out = check->c_view.type;
    int64_t k = check->a_view.cols, rows = check->rows.batch, cols = check->cols.batch;
    check->a = new_part(in, rows, k);
    check->b = rung_matrix_transpose(new_part(in, cols, k)); /* a sampled column is contiguous */
    check->c_part = new_part(out, rows, cols);
    check->c0_part = new_part(out, rows, cols);
    check->row_buffer = malloc(MAX_BUFFER_BYTES);
    return check->a.data && check->b.data && check->c_part.data && check->c0_part.data && check->row_buffer;
}

static void free_parts(sampled_check_t *check)
{
    free(check->a.data);
    free(check->b.data);
    free(check->c_part.data);
    free(check->c0_part.data);
    free(check->row_buffer);
    free(check->rows.list);
    free(check->cols.list);
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    return (char *)matrix->data + (row * matrix->row_stride + col * matrix->col_stride) * rung_type_size(matrix->type);
}

/* Reads row `row` of the `count` sampled columns `cols` of B; if they are close together, with one read. */
static rung_status read_b_row(const sampled_check_t *check, int64_t row, const int64_t *cols, int64_t count)
{
    const rung_outofcore_matrix *b = check->problem->b;
    int64_t size = rung_type_size(check->b_view.type), span = (cols[count - 1] - cols[0] + 1) * size;
    bool is_span_read = span <= MAX_BUFFER_BYTES && span <= count * PAGE;
    if (is_span_read)
        TRY(rung_outofcore_matrix_read(b, row, cols[0], 1, cols[count - 1] - cols[0] + 1, check->row_buffer));
    for (int64_t j = 0; j < count; j++) {
        char *to = element_at(&check->b, row, j);
        if (is_span_read)
            memcpy(to, check->row_buffer + (cols[j] - cols[0]) * size, (size_t)size);
        else
            TRY(rung_outofcore_matrix_read(b, row, cols[j], 1, 1, to));
    }
    return RUNG_OK;
}

/* Reads the sampled columns `cols` of B. */
static rung_status read_b(const sampled_check_t *check, const int64_t *cols, int64_t count)
{
    const rung_matrix *view = &check->b_view;
    if (view->row_stride == 1 && view->col_stride != 1) {
        for (int64_t j = 0; j < count; j++)
            TRY(rung_outofcore_matrix_read(check->problem->b, 0, cols[j], view->rows, 1, element_at(&check->b, 0, j)));
        return RUNG_OK;
    }
    for (int64_t i = 0; i < view->rows; i++)
        TRY(read_b_row(check, i, cols, count));
    return RUNG_OK;
}

static rung_status read_elements(const rung_outofcore_matrix *from, int64_t row, const int64_t *cols, int64_t count,
                                 int64_t to_row, const rung_matrix *to)
{
    if (cols[count - 1] - cols[0] + 1 == count)
        return rung_outofcore_matrix_read(from, row, cols[0], 1, count, element_at(to, to_row, 0));
    for (int64_t j = 0; j < count; j++)
        TRY(rung_outofcore_matrix_read(from, row, cols[j], 1, 1, element_at(to, to_row, j)));
    return RUNG_OK;
}

static rung_status read_row(const sampled_check_t *check, int64_t row, const int64_t *cols, int64_t count,
                            int64_t to_row)
{
    const rung_outofcore_problem *problem = check->problem;
    TRY(rung_outofcore_matrix_read(problem->a, row, 0, 1, check->a_view.cols, element_at(&check->a, to_row, 0)));
    TRY(read_elements(check->c, row, cols, count, to_row, &check->c_part));
    return problem->beta != 0 ? read_elements(problem->c, row, cols, count, to_row, &check->c0_part) : RUNG_OK;
}

/* ---- Checking -------------------------------------------------------------------------------------------- */

/* Checks the elements of sampled rows and columns. The columns of B were read before. */
static rung_status check_rows(const sampled_check_t *check, const int64_t *rows, int64_t row_count, const int64_t *cols,
                              int64_t col_count, lab_accuracy rigour)
{
    const rung_outofcore_problem *problem = check->problem;
    int64_t k = check->a_view.cols;
    if (lab_is_interrupted())
        return rung_error_set(RUNG_STATUS_CANCELLED, "the check of the result was interrupted");
    for (int64_t i = 0; i < row_count; i++)
        TRY(read_row(check, rows[i], cols, col_count, i));
    rung_matrix c0 = rung_matrix_block(check->c0_part, 0, 0, row_count, col_count);
    rung_problem part = rung_problem_of(rung_matrix_block(check->a, 0, 0, row_count, k),
                                        rung_matrix_block(check->b, 0, 0, k, col_count),
                                        rung_matrix_block(check->c_part, 0, 0, row_count, col_count));
    part.alpha = problem->alpha;
    part.beta = problem->beta;
    part.compute = problem->compute;
    lab_oracle_result result = lab_oracle_check(&part, &c0, rigour);
    if (result.right)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                          "the result is wrong, and is discarded: element (%lld, %lld) is %.9g, "
                          "expected %.9g within %.3g; rung verify tests the device",
                          (long long)rows[result.row], (long long)cols[result.col], result.got, result.expected,
                          result.bound);
}

static rung_status check_all(const sampled_check_t *check, lab_accuracy rigour)
{
    const sampled_lines_t *rows = &check->rows, *cols = &check->cols;
    for (int64_t j = 0; j < cols->count; j += cols->batch) {
        int64_t col_count = clamp(cols->batch, 1, cols->count - j);
        TRY(read_b(check, cols->list + j, col_count));
        for (int64_t i = 0; i < rows->count; i += rows->batch)
            TRY(check_rows(check, rows->list + i, clamp(rows->batch, 1, rows->count - i), cols->list + j, col_count,
                           rigour));
    }
    return RUNG_OK;
}

rung_status lab_sampled_check(const rung_outofcore_problem *problem, const rung_outofcore_matrix *c,
                              const rung_outofcore_blocking *blocking, lab_accuracy rigour, uint64_t seed,
                              lab_sampled_coverage *sample)
{
    sampled_check_t check = {.problem = problem,
                             .c = c,
                             .seed = seed,
                             .a_view = rung_outofcore_matrix_view(problem->a),
                             .b_view = rung_outofcore_matrix_view(problem->b),
                             .c_view = rung_outofcore_matrix_view(c)};
    *sample = (lab_sampled_coverage){.is_all = true};
    if (check.a_view.rows == 0 || check.b_view.cols == 0)
        return RUNG_OK;
    rung_status status = choose_sample(&check, blocking) && make_parts(&check)
                             ? check_all(&check, rigour)
                             : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to check the result");
    sample->elements = check.rows.count * check.cols.count;
    sample->is_all = check.rows.count == check.c_view.rows && check.cols.count == check.c_view.cols;
    free_parts(&check);
    return status;
}
