/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c - see stored.h; and opening files. Files are read by offset (pread) and never mapped: a mapping
 * of a file that somebody shortens ends the process by a signal. */
#include "core/cancel.h"
#include "outofcore/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "outofcore/npy.h"

/* ---- Files ----------------------------------------------------------------------------------------- */

static rung_status read_at(int file, int64_t at, int64_t bytes, char *to)
{
    while (bytes > 0) {
        ssize_t got = pread(file, to, (size_t)bytes, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rung_error_set(RUNG_STATUS_IO, "a matrix cannot be read from its file: %s", strerror(errno));
        if (got == 0)
            return rung_error_set(RUNG_STATUS_IO,
                                  "a matrix's file ended at byte %lld while it was read; nothing may "
                                  "shorten it meanwhile",
                                  (long long)at);
        at += got;
        to += got;
        bytes -= got;
    }
    return RUNG_OK;
}

static rung_status write_at(int file, int64_t at, int64_t bytes, const char *from)
{
    while (bytes > 0) {
        ssize_t put = pwrite(file, from, (size_t)bytes, (off_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return rung_error_set(RUNG_STATUS_IO, "the result cannot be written to its file: %s",
                                  put == 0 ? "nothing was taken" : strerror(errno));
        at += put;
        from += put;
        bytes -= put;
    }
    return RUNG_OK;
}

rung_status rungi_file_sample(int file, uint64_t *hash)
{
    enum { SAMPLES = 64, BYTES = 128 };
    char bytes[BYTES];
    struct stat about;
    rung_status status = RUNG_OK;
    if (fstat(file, &about) != 0)
        return rung_error_set(RUNG_STATUS_IO, "a matrix's file cannot be examined: %s", strerror(errno));
    int64_t size = (int64_t)about.st_size, samples = rungi_smaller(rungi_divide_up(size, BYTES), SAMPLES);
    *hash = 14695981039346656037u; /* FNV-1a */
    for (int64_t i = 0; status == RUNG_OK && i < samples; i++) {
        int64_t count = rungi_smaller(size, BYTES);
        int64_t at = samples > 1 ? (int64_t)((__extension__(__int128)(size - count)) * i / (samples - 1)) : 0;
        status = read_at(file, at, count, bytes);
        for (int64_t j = 0; status == RUNG_OK && j < count; j++)
            *hash = (*hash ^ (unsigned char)bytes[j]) * 1099511628211u;
    }
    return status;
}

/* ---- Blocks ---------------------------------------------------------------------------------------- */

bool rungi_stored_by_columns(const rungi_stored *stored)
{
    return stored->view.row_stride == 1 && stored->view.col_stride != 1;
}

/* A block as lines of elements: as many, of such a length, so far apart. */
typedef struct lines {
    int64_t count, length, stride, step;
    int64_t size, first; /* bytes of an element, and before the first */
} lines_t;

static lines_t lines_of(rung_matrix block, bool by_columns)
{
    lines_t lines = {.size = rung_type_size(block.type)};
    lines.count = by_columns ? block.cols : block.rows;
    lines.length = by_columns ? block.rows : block.cols;
    lines.stride = by_columns ? block.col_stride : block.row_stride;
    lines.step = by_columns ? block.row_stride : block.col_stride;
    lines.first = block.offset * lines.size;
    if (lines.step == 1 && lines.stride == lines.length) { /* without gaps: one line */
        lines.length *= lines.count;
        lines.count = 1;
    }
    if (lines.length == 1)
        lines.step = 1;
    return lines;
}

static void copy_elements(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, int64_t size)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)(count * size));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * size, from + i * from_step * size, (size_t)size);
}

static rung_status get_line(const rungi_stored *stored, const lines_t *lines, int64_t at, char *to)
{
    rung_status status = RUNG_OK;
    if (stored->view.data) {
        copy_elements(to, 1, (const char *)stored->view.data + at, lines->step, lines->length, lines->size);
    } else if (lines->step == 1) {
        status = read_at(stored->file, stored->start + at, lines->length * lines->size, to);
    } else {
        for (int64_t i = 0; status == RUNG_OK && i < lines->length; i++)
            status = read_at(stored->file, stored->start + at + i * lines->step * lines->size, lines->size,
                             to + i * lines->size);
    }
    return status;
}

rung_status rungi_stored_get(const rungi_stored *stored, rung_matrix block, bool by_columns, void *to)
{
    lines_t lines = lines_of(block, by_columns);
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < lines.count && lines.length > 0; i++)
        status = get_line(stored, &lines, lines.first + i * lines.stride * lines.size,
                          (char *)to + i * lines.length * lines.size);
    return status;
}

static rung_status put_line(const rungi_stored *stored, const lines_t *lines, int64_t at, const char *from)
{
    rung_status status = RUNG_OK;
    if (stored->view.data) {
        copy_elements((char *)stored->view.data + at, lines->step, from, 1, lines->length, lines->size);
    } else if (lines->step == 1) {
        status = write_at(stored->file, stored->start + at, lines->length * lines->size, from);
    } else {
        for (int64_t i = 0; status == RUNG_OK && i < lines->length; i++)
            status = write_at(stored->file, stored->start + at + i * lines->step * lines->size, lines->size,
                              from + i * lines->size);
    }
    return status;
}

rung_status rungi_stored_put(const rungi_stored *stored, rung_matrix block, const void *from)
{
    lines_t lines = lines_of(block, false);
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < lines.count && lines.length > 0; i++)
        status = put_line(stored, &lines, lines.first + i * lines.stride * lines.size,
                          (const char *)from + i * lines.length * lines.size);
    return status;
}

rung_status rung_outofcore_matrix_read(const rungi_stored *stored, int64_t row, int64_t col, int64_t rows, int64_t cols,
                                       void *to)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!stored)
        return rung_error_set(RUNG_STATUS_INVALID, "the matrix is NULL");
    rung_status status = rungi_stored_check(stored, "the matrix", false);
    if (status != RUNG_OK)
        return status;
    if (row < 0 || col < 0 || rows < 0 || cols < 0 || row > stored->view.rows - rows || col > stored->view.cols - cols)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "a block of %lld x %lld at (%lld, %lld) is not inside a matrix of %lld x %lld",
                              (long long)rows, (long long)cols, (long long)row, (long long)col,
                              (long long)stored->view.rows, (long long)stored->view.cols);
    return rungi_stored_get(stored, rung_matrix_block(stored->view, row, col, rows, cols), false, to);
}

/* ---- Checking ---------------------------------------------------------------------------------------- */

bool rungi_stored_span(const rung_matrix *view, int64_t *first, int64_t *end)
{
    int64_t size = rung_type_size(view->type), last = view->offset;
    if (view->rows == 0 || view->cols == 0) {
        *first = *end = 0;
        return true;
    }
    return rungi_multiply_add(view->rows - 1, view->row_stride, &last) &&
           rungi_multiply_add(view->cols - 1, view->col_stride, &last) && rungi_add(last, 1, &last) &&
           rungi_multiply(last, size, end) && rungi_multiply(view->offset, size, first);
}

static bool is_same_file(int x, int y)
{
    struct stat x_status, y_status;
    return x == y || (fstat(x, &x_status) == 0 && fstat(y, &y_status) == 0 && x_status.st_ino == y_status.st_ino &&
                      x_status.st_dev == y_status.st_dev);
}

bool rungi_stored_meet(const rungi_stored *x, const rungi_stored *y)
{
    int64_t x_first, x_end, y_first, y_end;
    if (!x->view.data != !y->view.data || !rungi_stored_span(&x->view, &x_first, &x_end) ||
        !rungi_stored_span(&y->view, &y_first, &y_end) || x_first == x_end || y_first == y_end)
        return false;
    if (!x->view.data) /* spans are of files that have those bytes: starts do not overflow them */
        return is_same_file(x->file, y->file) && x->start + x_first < y->start + y_end &&
               y->start + y_first < x->start + x_end;
    const char *x_data = x->view.data, *y_data = y->view.data;
    return x_data + x_first < y_data + y_end && y_data + y_first < x_data + x_end;
}

/* One of the two strides is 1, and the other steps over what that spans. */
static bool is_plain(const rung_matrix *view)
{
    bool by_rows = view->col_stride == 1 && (view->row_stride >= view->cols || view->rows <= 1);
    bool by_columns = view->row_stride == 1 && (view->col_stride >= view->rows || view->cols <= 1);
    return by_rows || by_columns || view->rows == 0 || view->cols == 0;
}

static rung_status check_file(const rungi_stored *stored, const char *name, int64_t end, bool is_written)
{
    struct stat status;
    int64_t last;
    if (!is_plain(&stored->view))
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s has strides %lld and %lld; in a file, one stride must be 1 and the other at "
                              "least a whole row or column",
                              name, (long long)stored->view.row_stride, (long long)stored->view.col_stride);
    if (stored->start < 0 || !rungi_add(stored->start, end, &last))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "%s exceeds the largest size of a file", name);
    if (!is_written && (fstat(stored->file, &status) != 0 || status.st_size < last))
        return rung_error_set(RUNG_STATUS_IO, "%s needs %lld bytes of its file, which is shorter", name,
                              (long long)last);
    return RUNG_OK;
}

rung_status rungi_stored_check(const rungi_stored *stored, const char *name, bool is_written)
{
    const rung_matrix *view = &stored->view;
    int64_t first, end;
    if (rung_type_size(view->type) == 0 || view->rows < 0 || view->cols < 0 || view->row_stride < 0 ||
        view->col_stride < 0 || view->offset < 0 || view->buffer)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s is not a matrix in memory or in a file: its type must be set, its sizes, strides "
                              "and offset must not be negative, and its buffer must be NULL",
                              name);
    if (!rungi_stored_span(view, &first, &end))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "%s is larger than the address space", name);
    if (is_written && view->data && !is_plain(view))
        return rung_error_set(RUNG_STATUS_ALIASED,
                              "%s has overlapping elements, or neither rows nor columns that are contiguous; "
                              "one stride must be 1 and the other at least a whole row or column",
                              name);
    if (end == 0 || view->data)
        return RUNG_OK;
    if (stored->file < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "%s has neither memory nor a file", name);
    return check_file(stored, name, end, is_written);
}

/* ---- Opening ------------------------------------------------------------------------------------------ */

rungi_stored rungi_stored_absent(rung_type type)
{
    return (rungi_stored){.view = rung_matrix_of(type, 0, 0, NULL), .file = -1};
}

/* Creates the object that a caller gets. A file belongs to it. */
static rung_status create(rungi_stored stored, rung_outofcore_matrix **matrix)
{
    *matrix = malloc(sizeof **matrix);
    if (!*matrix)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to describe a matrix");
    **matrix = stored;
    return RUNG_OK;
}

/* Creates an object with its own descriptor of a file, if there is one. */
static rung_status create_with_file(rungi_stored stored, rung_outofcore_matrix **matrix)
{
    if (stored.file >= 0) {
        stored.file = fcntl(stored.file, F_DUPFD_CLOEXEC, 0);
        if (stored.file < 0)
            return rung_error_set(RUNG_STATUS_IO, "the descriptor of a matrix's file cannot be duplicated: %s",
                                  strerror(errno));
    }
    rung_status status = create(stored, matrix);
    if (status != RUNG_OK && stored.file >= 0)
        close(stored.file);
    return status;
}

rung_status rung_outofcore_matrix_wrap(rung_matrix view, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_stored stored = {.view = view, .file = -1};
    *matrix = NULL;
    rung_status status = rungi_stored_check(&stored, "the matrix", false);
    return status == RUNG_OK ? create(stored, matrix) : status;
}

rung_status rung_outofcore_matrix_wrap_file(rung_matrix view, int file, int64_t start, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_stored stored = {.view = view, .file = file, .start = start};
    *matrix = NULL;
    if (view.data)
        return rung_error_set(RUNG_STATUS_INVALID, "the view of a matrix in a file has data; set it to NULL");
    if (file < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "file descriptor %d is invalid; open the file first", file);
    rung_status status = rungi_stored_check(&stored, "the matrix", true); /* the file may yet be too short */
    return status == RUNG_OK ? create_with_file(stored, matrix) : status;
}

rung_status rung_outofcore_matrix_with_view(const rung_outofcore_matrix *matrix, rung_matrix view,
                                            rung_outofcore_matrix **result)
{
    RUNGI_DISABLE_CANCELLATION;
    *result = NULL;
    if (!matrix)
        return rung_error_set(RUNG_STATUS_INVALID, "the matrix is NULL");
    if (view.data != matrix->view.data)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "the view has other memory than the matrix; derive it from rung_outofcore_matrix_view()");
    rungi_stored stored = *matrix;
    stored.view = view;
    rung_status status = rungi_stored_check(&stored, "the view", matrix->file >= 0);
    return status == RUNG_OK ? create_with_file(stored, result) : status;
}

rung_matrix rung_outofcore_matrix_view(const rung_outofcore_matrix *matrix)
{
    static const rung_matrix absent;
    return matrix ? matrix->view : absent;
}

void rung_outofcore_matrix_destroy(rung_outofcore_matrix *matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!matrix)
        return;
    if (matrix->file >= 0)
        close(matrix->file);
    free(matrix);
}

/* A regular file, and its size. O_NONBLOCK: opening a pipe would wait for a writer. */
static rung_status open_regular(const char *path, int *file, int64_t *bytes)
{
    struct stat status;
    *file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*file < 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(*file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(*file);
        *file = -1;
        return rung_error_set(RUNG_STATUS_IO, "%s is not a regular file; only regular files can be read at any offset",
                              path);
    }
    *bytes = (int64_t)status.st_size;
    return RUNG_OK;
}

static rung_status read_npy(const char *path, int file, int64_t bytes, rung_type as, rungi_stored *stored)
{
    int64_t count = rungi_smaller(bytes, RUNGI_NPY_MOST), end, first;
    rungi_npy npy;
    char *header = malloc(RUNGI_NPY_MOST);
    if (!header)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for the header of %s", path);
    rung_status status = read_at(file, 0, count, header);
    const char *wrong = status == RUNG_OK ? rungi_npy_parse(header, count, as, &npy) : NULL;
    free(header);
    if (wrong)
        return rung_error_set(RUNG_STATUS_INVALID, "%s %s", path, wrong);
    if (status != RUNG_OK)
        return status;
    rung_matrix view = rung_matrix_of(npy.type, npy.by_columns ? npy.cols : npy.rows,
                                      npy.by_columns ? npy.rows : npy.cols, NULL);
    if (!rungi_stored_span(&view, &first, &end) || bytes - npy.start != end)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s has %lld bytes of elements, which is not what its header says; it was cut "
                              "short or is still being written",
                              path, (long long)(bytes - npy.start));
    *stored = (rungi_stored){
        .view = npy.by_columns ? rung_matrix_transpose(view) : view, .file = file, .start = npy.start};
    return RUNG_OK;
}

rung_status rung_outofcore_matrix_open_npy(const char *path, rung_type type, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_stored stored = {.file = -1};
    int file;
    int64_t bytes;
    *matrix = NULL;
    if (!path)
        return rung_error_set(RUNG_STATUS_INVALID, "the path of a matrix is NULL");
    rung_status status = open_regular(path, &file, &bytes);
    if (status != RUNG_OK)
        return status;
    status = read_npy(path, file, bytes, type, &stored);
    if (status == RUNG_OK)
        status = create(stored, matrix);
    if (status != RUNG_OK)
        close(file);
    return status;
}

rung_status rung_outofcore_matrix_open_raw(const char *path, rung_type type, int64_t rows, int64_t cols,
                                           rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    int file;
    int64_t bytes, first, end;
    *matrix = NULL;
    if (!path)
        return rung_error_set(RUNG_STATUS_INVALID, "the path of a matrix is NULL");
    if (rung_type_size(type) == 0 || rows < 0 || cols < 0)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s cannot be read as %lld x %lld %s: give the type of its elements and sizes that "
                              "are not negative",
                              path, (long long)rows, (long long)cols, rung_type_name(type));
    rung_status status = open_regular(path, &file, &bytes);
    if (status != RUNG_OK)
        return status;
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    if (!rungi_stored_span(&view, &first, &end) || end != bytes)
        status = rung_error_set(RUNG_STATUS_INVALID, "%s has %lld bytes, which is not what %lld x %lld of %s take",
                                path, (long long)bytes, (long long)rows, (long long)cols, rung_type_name(type));
    if (status == RUNG_OK)
        status = create((rungi_stored){.view = view, .file = file}, matrix);
    if (status != RUNG_OK)
        close(file);
    return status;
}
