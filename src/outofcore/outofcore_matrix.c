/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_matrix.c - see outofcore_matrix.h; also opens files. Files are read with pread and never mapped: if another
 * program shortens a mapped file, a signal ends the process. */
#include "outofcore/outofcore_matrix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/fnv1a.h"
#include "base/try.h"
#include "outofcore/npy.h"

/* ---- Files ----------------------------------------------------------------------------------------- */

/* Writes bytes from `from` to a file or, if `from` is NULL, reads bytes of the file to `to`. */
static rung_status transfer_all(int fd, int64_t offset, int64_t bytes, const char *from, char *to)
{
    for (int64_t done = 0; done < bytes;) {
        size_t left = (size_t)(bytes - done);
        off_t at = (off_t)(offset + done);
        ssize_t count = from ? pwrite(fd, from + done, left, at) : pread(fd, to + done, left, at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0 && from)
            return rungi_fail(RUNG_STATUS_IO, "the result cannot be written to its file: %s",
                              count == 0 ? "no byte was written" : strerror(errno));
        if (count < 0)
            return rungi_fail(RUNG_STATUS_IO, "a matrix cannot be read from its file: %s", strerror(errno));
        if (count == 0)
            return rungi_fail(
                RUNG_STATUS_IO,
                "a matrix's file ended at byte %lld while it was read; do not shorten the file during a multiply",
                (long long)at);
        done += count;
    }
    return RUNG_OK;
}

rung_status rungi_outofcore_file_fingerprint(int fd, uint64_t *hash)
{
    enum { MAX_SAMPLES = 64, SAMPLE_BYTES = 128 };
    char bytes[SAMPLE_BYTES];
    struct stat about;
    if (fstat(fd, &about) != 0)
        return rungi_fail(RUNG_STATUS_IO, "a matrix's file cannot be examined: %s", strerror(errno));
    int64_t size = (int64_t)about.st_size, samples = rungi_min(rungi_ceil_divide(size, SAMPLE_BYTES), MAX_SAMPLES);
    int64_t count = rungi_min(size, SAMPLE_BYTES);
    *hash = RUNGI_FNV1A_START;
    for (int64_t i = 0; i < samples; i++) {
        int64_t offset = samples > 1 ? (int64_t)((__extension__(__int128)(size - count)) * i / (samples - 1)) : 0;
        TRY(transfer_all(fd, offset, count, NULL, bytes));
        *hash = rungi_fnv1a(*hash, bytes, (size_t)count);
    }
    return RUNG_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------------- */

bool rungi_outofcore_matrix_is_column_major(const rung_outofcore_matrix *matrix)
{
    return matrix->view.row_stride == 1 && matrix->view.col_stride != 1;
}

/* A block as lines (rows or columns) of elements. */
typedef struct dense_lines {
    int64_t count, length; /* number of lines, elements per line */
    int64_t stride, step;  /* elements from line to line, and from element to element */
    int64_t size, first;   /* bytes per element, and before the first element */
} dense_lines_t;

static dense_lines_t lines_of(rung_matrix block, bool is_column_major)
{
    dense_lines_t lines = {.size = rung_type_size(block.type)};
    lines.count = is_column_major ? block.cols : block.rows;
    lines.length = is_column_major ? block.rows : block.cols;
    lines.stride = is_column_major ? block.col_stride : block.row_stride;
    lines.step = is_column_major ? block.row_stride : block.col_stride;
    lines.first = block.offset * lines.size;
    if (lines.step == 1 && lines.stride == lines.length) { /* contiguous: one line */
        lines.length *= lines.count;
        lines.count = 1;
    }
    if (lines.length == 1)
        lines.step = 1;
    return lines;
}

/* Copies the dense lines `from` to a block or, if `from` is NULL, the block to the dense lines `to`. */
static rung_status copy_block(const rung_outofcore_matrix *matrix, rung_matrix block, bool is_column_major,
                              const char *from, char *to)
{
    dense_lines_t lines = lines_of(block, is_column_major);
    if (lines.length == 0)
        return RUNG_OK;
    int64_t count = lines.step == 1 ? 1 : lines.length, bytes = lines.length / count * lines.size, dense_offset = 0;
    char *data = matrix->view.data;
    for (int64_t line = 0; line < lines.count; line++)
        for (int64_t i = 0; i < count; i++, dense_offset += bytes) {
            int64_t offset = lines.first + (line * lines.stride + i * lines.step) * lines.size;
            if (data && from)
                memcpy(data + offset, from + dense_offset, (size_t)bytes);
            else if (data)
                memcpy(to + dense_offset, data + offset, (size_t)bytes);
            else if (from)
                TRY(transfer_all(matrix->fd, matrix->data_offset + offset, bytes, from + dense_offset, NULL));
            else
                TRY(transfer_all(matrix->fd, matrix->data_offset + offset, bytes, NULL, to + dense_offset));
        }
    return RUNG_OK;
}

rung_status rungi_outofcore_matrix_load(const rung_outofcore_matrix *matrix, rung_matrix block, bool is_column_major,
                                        void *to)
{
    return copy_block(matrix, block, is_column_major, NULL, to);
}

rung_status rungi_outofcore_matrix_store(const rung_outofcore_matrix *matrix, rung_matrix block, const void *from)
{
    return copy_block(matrix, block, false, from, NULL);
}

rung_status rung_outofcore_matrix_read(const rung_outofcore_matrix *matrix, int64_t row, int64_t col, int64_t rows,
                                       int64_t cols, void *to)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!matrix)
        return rungi_invalid("the matrix is NULL");
    TRY(rungi_outofcore_matrix_check(matrix, "the matrix", false));
    if (row < 0 || col < 0 || rows < 0 || cols < 0 || row > matrix->view.rows - rows || col > matrix->view.cols - cols)
        return rungi_invalid("a block of %lld x %lld at (%lld, %lld) is not inside a matrix of %lld x %lld",
                             (long long)rows, (long long)cols, (long long)row, (long long)col,
                             (long long)matrix->view.rows, (long long)matrix->view.cols);
    return rungi_outofcore_matrix_load(matrix, rung_matrix_block(matrix->view, row, col, rows, cols), false, to);
}

/* ---- Checking ---------------------------------------------------------------------------------------- */

bool rungi_outofcore_view_byte_range(const rung_matrix *view, int64_t *first, int64_t *end)
{
    int64_t size = rung_type_size(view->type), last = view->offset;
    if (view->rows == 0 || view->cols == 0) {
        *first = *end = 0;
        return true;
    }
    return rungi_checked_multiply_add(view->rows - 1, view->row_stride, &last) &&
           rungi_checked_multiply_add(view->cols - 1, view->col_stride, &last) && rungi_checked_add(last, 1, &last) &&
           rungi_checked_multiply(last, size, end) && rungi_checked_multiply(view->offset, size, first);
}

static bool is_same_file(int x, int y)
{
    struct stat x_status, y_status;
    return x == y || (fstat(x, &x_status) == 0 && fstat(y, &y_status) == 0 && x_status.st_ino == y_status.st_ino &&
                      x_status.st_dev == y_status.st_dev);
}

bool rungi_outofcore_matrix_overlaps(const rung_outofcore_matrix *x, const rung_outofcore_matrix *y)
{
    int64_t x_first, x_end, y_first, y_end;
    if (!x->view.data != !y->view.data || !rungi_outofcore_view_byte_range(&x->view, &x_first, &x_end) ||
        !rungi_outofcore_view_byte_range(&y->view, &y_first, &y_end) || x_first == x_end || y_first == y_end)
        return false;
    if (!x->view.data) /* no overflow: the files have these bytes */
        return is_same_file(x->fd, y->fd) && x->data_offset + x_first < y->data_offset + y_end &&
               y->data_offset + y_first < x->data_offset + x_end;
    const char *x_data = x->view.data, *y_data = y->view.data;
    return x_data + x_first < y_data + y_end && y_data + y_first < x_data + x_end;
}

/* Returns whether one stride is 1 and the other is at least a whole row or column. */
static bool is_row_or_column_major(const rung_matrix *view)
{
    bool is_row_major = view->col_stride == 1 && (view->row_stride >= view->cols || view->rows <= 1);
    bool is_column_major = view->row_stride == 1 && (view->col_stride >= view->rows || view->cols <= 1);
    return is_row_major || is_column_major || view->rows == 0 || view->cols == 0;
}

static rung_status check_file(const rung_outofcore_matrix *stored, const char *name, int64_t end, bool is_written)
{
    struct stat status;
    int64_t last;
    if (!is_row_or_column_major(&stored->view))
        return rungi_invalid("%s has strides %lld and %lld; in a file, one stride must be 1 and the other at "
                             "least a whole row or column",
                             name, (long long)stored->view.row_stride, (long long)stored->view.col_stride);
    if (stored->data_offset < 0 || !rungi_checked_add(stored->data_offset, end, &last))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s exceeds the largest size of a file", name);
    if (!is_written && (fstat(stored->fd, &status) != 0 || status.st_size < last))
        return rungi_fail(RUNG_STATUS_IO, "%s needs %lld bytes of its file, which is shorter", name, (long long)last);
    return RUNG_OK;
}

rung_status rungi_outofcore_matrix_check(const rung_outofcore_matrix *stored, const char *name, bool is_written)
{
    const rung_matrix *view = &stored->view;
    int64_t first, end;
    if (rung_type_size(view->type) == 0 || view->rows < 0 || view->cols < 0 || view->row_stride < 0 ||
        view->col_stride < 0 || view->offset < 0 || view->buffer)
        return rungi_invalid("%s is not a matrix in memory or in a file: its type must be set, its sizes, strides "
                             "and offset must not be negative, and its buffer must be NULL",
                             name);
    if (!rungi_outofcore_view_byte_range(view, &first, &end))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s is larger than the address space", name);
    if (is_written && view->data && !is_row_or_column_major(view))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "%s has overlapping elements, or neither rows nor columns that are contiguous; "
                          "one stride must be 1 and the other at least a whole row or column",
                          name);
    if (end == 0 || view->data)
        return RUNG_OK;
    if (stored->fd < 0)
        return rungi_invalid("%s has neither memory nor a file", name);
    return check_file(stored, name, end, is_written);
}

/* ---- Opening ------------------------------------------------------------------------------------------ */

rung_outofcore_matrix rungi_outofcore_matrix_absent(rung_type type)
{
    return (rung_outofcore_matrix){.view = rung_matrix_of(type, 0, 0, NULL), .fd = -1};
}

/* Creates the caller's object, which takes over the file. Closes the file on failure. */
static rung_status create_matrix(rung_outofcore_matrix stored, rung_outofcore_matrix **matrix)
{
    *matrix = malloc(sizeof **matrix);
    if (!*matrix) {
        if (stored.fd >= 0)
            close(stored.fd);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to describe a matrix");
    }
    **matrix = stored;
    return RUNG_OK;
}

/* Creates the caller's object with its own descriptor of the file, if there is one. */
static rung_status create_with_duplicated_fd(rung_outofcore_matrix stored, rung_outofcore_matrix **matrix)
{
    if (stored.fd >= 0) {
        stored.fd = fcntl(stored.fd, F_DUPFD_CLOEXEC, 0);
        if (stored.fd < 0)
            return rungi_fail(RUNG_STATUS_IO, "the descriptor of a matrix's file cannot be duplicated: %s",
                              strerror(errno));
    }
    return create_matrix(stored, matrix);
}

rung_status rung_outofcore_matrix_wrap(rung_matrix view, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_matrix stored = {.view = view, .fd = -1};
    *matrix = NULL;
    TRY(rungi_outofcore_matrix_check(&stored, "the matrix", false));
    return create_matrix(stored, matrix);
}

rung_status rung_outofcore_matrix_wrap_file(rung_matrix view, int file, int64_t start, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_matrix stored = {.view = view, .fd = file, .data_offset = start};
    *matrix = NULL;
    if (view.data)
        return rungi_invalid("the view of a matrix in a file has data; set it to NULL");
    if (file < 0)
        return rungi_invalid("file descriptor %d is invalid; open the file first", file);
    TRY(rungi_outofcore_matrix_check(&stored, "the matrix", true)); /* the file may still be too short */
    return create_with_duplicated_fd(stored, matrix);
}

rung_status rung_outofcore_matrix_with_view(const rung_outofcore_matrix *matrix, rung_matrix view,
                                            rung_outofcore_matrix **result)
{
    RUNGI_DISABLE_CANCELLATION;
    *result = NULL;
    if (!matrix)
        return rungi_invalid("the matrix is NULL");
    if (view.data != matrix->view.data)
        return rungi_invalid("the view has other memory than the matrix; derive it from rung_outofcore_matrix_view()");
    rung_outofcore_matrix stored = *matrix;
    stored.view = view;
    TRY(rungi_outofcore_matrix_check(&stored, "the view", matrix->fd >= 0));
    return create_with_duplicated_fd(stored, result);
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
    if (matrix->fd >= 0)
        close(matrix->fd);
    free(matrix);
}

/* Opens a regular file and returns its size. O_NONBLOCK: opening a pipe would otherwise wait for a writer. */
static rung_status open_regular(const char *path, int *file, int64_t *bytes)
{
    struct stat status;
    *file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*file < 0)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(*file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(*file);
        return rungi_fail(RUNG_STATUS_IO, "%s is not a regular file; only regular files can be read at any offset",
                          path);
    }
    *bytes = (int64_t)status.st_size;
    return RUNG_OK;
}

static rung_status read_npy(const char *path, int file, int64_t bytes, rung_type expected_type,
                            rung_outofcore_matrix *stored)
{
    int64_t count = rungi_min(bytes, RUNGI_NPY_HEADER_MAX_BYTES), end, first;
    rungi_npy npy;
    char *header = malloc(RUNGI_NPY_HEADER_MAX_BYTES);
    if (!header)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the header of %s", path);
    rung_status status = transfer_all(file, 0, count, NULL, header);
    const char *error = status == RUNG_OK ? rungi_npy_parse(header, count, expected_type, &npy) : NULL;
    free(header);
    TRY(status);
    if (error)
        return rungi_invalid("%s %s", path, error);
    rung_matrix view = rung_matrix_of(npy.type, npy.is_column_major ? npy.cols : npy.rows,
                                      npy.is_column_major ? npy.rows : npy.cols, NULL);
    if (!rungi_outofcore_view_byte_range(&view, &first, &end) || bytes - npy.data_offset != end)
        return rungi_invalid("%s has %lld bytes of elements, which does not match its header; it was "
                             "truncated or is still being written",
                             path, (long long)(bytes - npy.data_offset));
    *stored = (rung_outofcore_matrix){
        .view = npy.is_column_major ? rung_matrix_transpose(view) : view, .fd = file, .data_offset = npy.data_offset};
    return RUNG_OK;
}

rung_status rung_outofcore_matrix_open_npy(const char *path, rung_type type, rung_outofcore_matrix **matrix)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_outofcore_matrix stored = {.fd = -1};
    int file;
    int64_t bytes;
    *matrix = NULL;
    if (!path)
        return rungi_invalid("the path of a matrix is NULL");
    TRY(open_regular(path, &file, &bytes));
    rung_status status = read_npy(path, file, bytes, type, &stored);
    if (status == RUNG_OK)
        return create_matrix(stored, matrix);
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
        return rungi_invalid("the path of a matrix is NULL");
    if (rung_type_size(type) == 0 || rows < 0 || cols < 0)
        return rungi_invalid("%s cannot be read as %lld x %lld %s: give the type of its elements and sizes that "
                             "are not negative",
                             path, (long long)rows, (long long)cols, rung_type_name(type));
    TRY(open_regular(path, &file, &bytes));
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    if (rungi_outofcore_view_byte_range(&view, &first, &end) && end == bytes)
        return create_matrix((rung_outofcore_matrix){.view = view, .fd = file}, matrix);
    close(file);
    return rungi_invalid("%s has %lld bytes, but %lld x %lld elements of %s need another size", path, (long long)bytes,
                         (long long)rows, (long long)cols, rung_type_name(type));
}
