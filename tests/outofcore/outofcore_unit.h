/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_unit.h - what the programs of this folder that multiply share: matrices of any type, in memory and in files,
 * and one multiply that is looked at from all sides. */
#ifndef RUNG_OUTOFCORE_UNIT_H
#define RUNG_OUTOFCORE_UNIT_H

#include "support/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rung/outofcore.h"

static char folder[] = "/tmp/rung-outofcore-XXXXXX";
static char result[64]; /* c.npy there */

static inline const char *path_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline bool file_exists(const char *name)
{
    struct stat status;
    return stat(path_of(name), &status) == 0;
}

/* ---- Elements of any type ------------------------------------------------------------------------------- */

static inline double element(const rung_matrix *matrix, int64_t row, int64_t col)
{
    int64_t at = matrix->offset + row * matrix->row_stride + col * matrix->col_stride;
    switch (matrix->type) {
    case RUNG_F32: return ((const float *)matrix->data)[at];
    case RUNG_F64: return ((const double *)matrix->data)[at];
    case RUNG_F16: return rung_f16_to_f32(((const uint16_t *)matrix->data)[at]);
    case RUNG_BF16: return rung_bf16_to_f32(((const uint16_t *)matrix->data)[at]);
    case RUNG_I8: return ((const int8_t *)matrix->data)[at];
    default: return ((const int32_t *)matrix->data)[at];
    }
}

static inline void set_element(const rung_matrix *matrix, int64_t row, int64_t col, double value)
{
    int64_t at = matrix->offset + row * matrix->row_stride + col * matrix->col_stride;
    switch (matrix->type) {
    case RUNG_F32: ((float *)matrix->data)[at] = (float)value; break;
    case RUNG_F64: ((double *)matrix->data)[at] = value; break;
    case RUNG_F16: ((uint16_t *)matrix->data)[at] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)matrix->data)[at] = rung_bf16_from_f32((float)value); break;
    case RUNG_I8: ((int8_t *)matrix->data)[at] = (int8_t)value; break;
    default: ((int32_t *)matrix->data)[at] = (int32_t)value; break;
    }
}

static inline rung_matrix new_matrix(rung_type type, int64_t rows, int64_t cols, bool by_columns)
{
    void *data = calloc((size_t)(rows * cols + 1), (size_t)rung_type_size(type));
    assert_non_null(data);
    return by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, data))
                      : rung_matrix_of(type, rows, cols, data);
}

/* Whole numbers, so small that every sum is exact, in f16 too where k is short. */
static inline void fill(const rung_matrix *matrix, uint64_t seed, int64_t largest)
{
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++)
            set_element(matrix, i, j, (double)(unit_random(&seed, 2 * largest + 1) - largest));
}

static inline void check_product(const rung_matrix *a, const rung_matrix *b, const rung_matrix *c,
                                 const rung_matrix *c0, double alpha, double beta)
{
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            double sum = 0;
            for (int64_t p = 0; p < a->cols; p++)
                sum += element(a, i, p) * element(b, p, j);
            sum = (alpha != 0 ? alpha * sum : 0) + (beta != 0 ? beta * element(c0, i, j) : 0);
            if (!(element(c, i, j) == sum))
                fail_msg("(%lld, %lld) is %g, not %g", (long long)i, (long long)j, element(c, i, j), sum);
        }
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static inline const char *npy_type(rung_type type)
{
    static const char *const names[] = {[RUNG_F32] = "<f4", "<f8", "<f2", "<V2", "|i1", "<i4"};
    return names[type];
}

/* As NumPy writes it; its own reading of our files is outofcore_numpy's. */
static inline void save_npy(const char *name, const rung_matrix *matrix)
{
    char header[128];
    bool by_columns = matrix->row_stride == 1 && matrix->col_stride != 1;
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    int used = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '%s', 'fortran_order': %s, 'shape': (%lld, %lld), }", npy_type(matrix->type),
                        by_columns ? "True" : "False", (long long)matrix->rows, (long long)matrix->cols);
    memset(header + 10 + used, ' ', sizeof header - 10 - (size_t)used);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    header[127] = '\n';
    size_t count = (size_t)(matrix->rows * matrix->cols), size = (size_t)rung_type_size(matrix->type);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fwrite(matrix->data, size, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* ---- Objects of the library: destroyed by destroy_tracked_objects(), or at the end of the program ------------------------- */

static rung_outofcore_matrix *tracked_matrices[256];
static int tracked_count;
static rung_outofcore_report *tracked_report;

static inline void assert_ok(rung_status status)
{
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

static inline const rung_outofcore_matrix *track_matrix(rung_outofcore_matrix *matrix)
{
    assert_true(tracked_count < (int)(sizeof tracked_matrices / sizeof *tracked_matrices));
    tracked_matrices[tracked_count++] = matrix;
    return matrix;
}

static inline void destroy_tracked_objects(void)
{
    while (tracked_count > 0)
        rung_outofcore_matrix_destroy(tracked_matrices[--tracked_count]);
}

static inline const rung_outofcore_matrix *wrap_memory(rung_matrix view)
{
    rung_outofcore_matrix *matrix;
    assert_ok(rung_outofcore_matrix_wrap(view, &matrix));
    return track_matrix(matrix);
}

static inline const rung_outofcore_matrix *open_npy(const char *name, rung_type type)
{
    rung_outofcore_matrix *matrix;
    assert_ok(rung_outofcore_matrix_open_npy(path_of(name), type, &matrix));
    return track_matrix(matrix);
}

static inline rung_matrix load_npy(const char *name, rung_type type)
{
    rung_outofcore_matrix *stored;
    assert_ok(rung_outofcore_matrix_open_npy(path_of(name), type, &stored));
    rung_matrix view = rung_outofcore_matrix_view(stored), matrix = new_matrix(type, view.rows, view.cols, false);
    assert_ok(rung_outofcore_matrix_read(stored, 0, 0, matrix.rows, matrix.cols, matrix.data));
    rung_outofcore_matrix_destroy(stored);
    return matrix;
}

static inline rung_outofcore_options with_memory(int64_t bytes)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.memory_bytes = bytes;
    return options;
}

static inline rung_outofcore_options with_progress(int64_t bytes, rung_outofcore_progress_function progress, void *user)
{
    rung_outofcore_options options = with_memory(bytes);
    options.progress = progress;
    options.user = user;
    return options;
}

/* Multiplies. The report lives until the next call of this function. */
static inline rung_status multiply_and_report(const rung_outofcore_problem *problem,
                                              const rung_outofcore_options *options,
                                              const rung_outofcore_report **report)
{
    rung_outofcore_report_destroy(tracked_report);
    rung_status status = rung_outofcore_multiply(NULL, problem, options, &tracked_report);
    *report = tracked_report;
    return status;
}

/* ---- One multiply, looked at from all sides --------------------------------------------------------------- */

typedef struct multiply_case {
    rung_type in, out;
    int64_t m, n, k, memory;
    bool a_by_columns, b_by_columns, in_files, out_file;
    double alpha, beta;
    bool is_checked;
} multiply_case_t;

/* The devices of a call; NULL is the CPU. */
typedef struct test_devices {
    rung_device *devices[8];
    int64_t memory[8];
    int64_t count;
} test_devices_t;

/* Returns a report that lives until the next call. */
static inline const rung_outofcore_report *multiply_and_check(const multiply_case_t *setting,
                                                              const test_devices_t *fleet)
{
    rung_matrix a = new_matrix(setting->in, setting->m, setting->k, setting->a_by_columns);
    rung_matrix b = new_matrix(setting->in, setting->k, setting->n, setting->b_by_columns);
    rung_matrix c0 = new_matrix(setting->out, setting->m, setting->n, false);
    rung_matrix c = new_matrix(setting->out, setting->m, setting->n, false);
    int64_t largest = setting->out == RUNG_F16 || setting->out == RUNG_BF16 ? 1 : 4;
    fill(&a, 1, largest);
    fill(&b, 2, largest);
    fill(&c0, 3, 4);
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(a), wrap_memory(b));
    problem.c = wrap_memory(c0);
    if (setting->in_files) {
        save_npy("a.npy", &a);
        save_npy("b.npy", &b);
        save_npy("c0.npy", &c0);
        problem.a = open_npy("a.npy", setting->in);
        problem.b = open_npy("b.npy", setting->in);
        problem.c = open_npy("c0.npy", setting->out);
    }
    if (setting->out_file) {
        problem.path = result;
        problem.type = setting->out;
    } else {
        problem.d = wrap_memory(c);
    }
    problem.alpha = setting->alpha;
    problem.beta = setting->beta;
    rung_outofcore_options options = with_memory(setting->memory);
    options.checked = setting->is_checked;
    if (fleet) {
        options.devices = fleet->devices;
        options.device_memory_bytes = fleet->memory;
        options.device_count = fleet->count;
    }
    const rung_outofcore_report *report;
    assert_ok(multiply_and_report(&problem, &options, &report));
    const rung_outofcore_blocking *blocking = report->blocking;
    rung_matrix got = setting->out_file ? load_npy("c.npy", setting->out) : c;
    check_product(&a, &b, &got, &c0, setting->alpha, setting->beta);
    assert_true(report->read_bytes >= blocking->read_bytes && report->written_bytes >= blocking->written_bytes);
    if (!fleet || fleet->count < 2) { /* nothing is given back and done again */
        assert_int_equal(report->read_bytes, blocking->read_bytes);
        assert_int_equal(report->written_bytes, blocking->written_bytes);
        assert_true(blocking->used_bytes <= (fleet ? fleet->memory[0] : setting->memory));
    }
    assert_false(file_exists("c.npy.part"));
    assert_false(file_exists("c.npy.journal"));
    destroy_tracked_objects();
    if (setting->out_file)
        free(got.data);
    free(a.data);
    free(b.data);
    free(c0.data);
    free(c.data);
    return report;
}

static const multiply_case_t default_case = {
    .in = RUNG_F32, .out = RUNG_F32, .m = 150, .n = 130, .k = 170, .memory = 20000, .alpha = 1};

static inline int run_in_folder(int (*run)(void))
{
    static const char *const files[] = {"a.npy", "b.npy", "c0.npy", "c.npy", "c.npy.part", "c.npy.journal"};
    unit_clean_environment();
    if (!mkdtemp(folder))
        return 1;
    snprintf(result, sizeof result, "%s/c.npy", folder);
    int failed = run();
    destroy_tracked_objects();
    rung_outofcore_report_destroy(tracked_report);
    tracked_report = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(path_of(files[i]));
    rmdir(folder);
    return failed;
}

#endif /* RUNG_OUTOFCORE_UNIT_H */
