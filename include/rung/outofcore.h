/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore.h - multiplies matrices that are larger than memory, and uses several devices.
 *
 * This header is the manual of librung-outofcore. Link rung-outofcore (pkg-config) or
 * rung::outofcore (CMake). The rules of rung.h on compatibility, errors, threads and output apply
 * here too. This program multiplies two files into a third with 256 MiB of memory:
 *
 *     rung_outofcore_matrix *a = NULL, *b = NULL;
 *     rung_status status = rung_outofcore_matrix_open_npy("A.npy", RUNG_TYPE_NONE, &a);
 *     if (status == RUNG_OK)
 *         status = rung_outofcore_matrix_open_npy("B.npy", RUNG_TYPE_NONE, &b);
 *     rung_outofcore_problem problem = rung_outofcore_problem_of(a, b);
 *     problem.path = "D.npy";
 *     rung_outofcore_options options = rung_outofcore_options_default();
 *     options.memory_bytes = 256 << 20;
 *     if (status == RUNG_OK)
 *         status = rung_outofcore_multiply(NULL, &problem, &options, NULL);
 *     if (status != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *     rung_outofcore_matrix_destroy(a);
 *     rung_outofcore_matrix_destroy(b);
 *
 * Contents
 *     Matrices     Problems     Block sizes     Options     Report     Multiplying
 */
#ifndef RUNG_OUTOFCORE_H
#define RUNG_OUTOFCORE_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Matrices ---------------------------------------------------------------------- */

/* A matrix in a file or in memory. The object is immutable: any number of threads may use it
 * at the same time. */
typedef struct rung_outofcore_matrix rung_outofcore_matrix;

/* Opens, for reading, a matrix that NumPy saved: .npy version 1, 2 or 3 with two dimensions,
 * little-endian, of type f4, f8, f2, i1 or i4, in C or Fortran order. `type` is the type that the
 * file must have, or RUNG_TYPE_NONE for any. NumPy has no name for BF16: with RUNG_BF16, files of
 * type "V2" are read as BF16. */
RUNG_API rung_status rung_outofcore_matrix_open_npy(const char *path, rung_type type, rung_outofcore_matrix **matrix);

/* Opens, for reading, a file without a header. The file must contain exactly rows * cols elements,
 * stored as dense rows. */
RUNG_API rung_status rung_outofcore_matrix_open_raw(const char *path, rung_type type, int64_t rows, int64_t cols,
                                                    rung_outofcore_matrix **matrix);

/* Creates a matrix from a view of memory. The memory stays the caller's and must live as long as
 * the matrix. */
RUNG_API rung_status rung_outofcore_matrix_wrap(rung_matrix view, rung_outofcore_matrix **matrix);

/* Creates a matrix from an open file descriptor, for example to write D into a part of a file.
 * Element 0 of `view` begins `start` bytes into the file. view.data must be NULL. One stride of the
 * view must be 1, and the other at least the length of a row or column. The descriptor is
 * duplicated; the caller may close it. */
RUNG_API rung_status rung_outofcore_matrix_wrap_file(rung_matrix view, int file, int64_t start,
                                                     rung_outofcore_matrix **matrix);

/* Creates a second matrix on the same file or memory, such as a transpose or a block:
 *
 *     rung_matrix view = rung_outofcore_matrix_view(a);
 *     rung_outofcore_matrix_with_view(a, rung_matrix_transpose(view), &transposed); */
RUNG_API rung_status rung_outofcore_matrix_with_view(const rung_outofcore_matrix *matrix, rung_matrix view,
                                                     rung_outofcore_matrix **result);

/* Returns type, shape, strides and offset. `data` is NULL for a matrix in a file. An absent
 * matrix (NULL) has an absent view. */
RUNG_API rung_matrix rung_outofcore_matrix_view(const rung_outofcore_matrix *matrix);

/* Copies a block to `to` as dense rows: rows * cols elements of the matrix's type. */
RUNG_API rung_status rung_outofcore_matrix_read(const rung_outofcore_matrix *matrix, int64_t row, int64_t col,
                                                int64_t rows, int64_t cols, void *to);

/* Destroys a matrix and closes its file. NULL is ignored. Memory of the caller is not freed. */
RUNG_API void rung_outofcore_matrix_destroy(rung_outofcore_matrix *matrix);

/* ---- Problems ---------------------------------------------------------------------- */

/* Format of a result file. */
typedef enum rung_outofcore_format {
    RUNG_OUTOFCORE_FORMAT_NPY = 0, /* an .npy header, then dense rows */
    RUNG_OUTOFCORE_FORMAT_RAW = 1  /* dense rows */
} rung_outofcore_format;

/* D = alpha * A * B + beta * C
 *
 * A is m x k, B is k x n, C and D are m x n. As in rung_problem, A and B are not read if alpha is
 * 0, and C is not read if beta is 0. There are no batches and no epilogues.
 *
 * The result is stored in one of three destinations:
 *
 *     path   A new file. The file is complete or absent: the library writes PATH.part, syncs it and
 *            renames it to PATH. An existing file at PATH stays unchanged until the rename. PATH
 *            may name the file of C, but not the file of A or B.
 *     d      Memory, or an open file (rung_outofcore_matrix_wrap_file), written in place.
 *     c      If neither path nor d is set, the result is written to C in place. C must be in
 *            memory. If beta is 0, C may also be a writable file of
 *            rung_outofcore_matrix_wrap_file().
 *
 * Resuming: PATH.journal lists the blocks of D that are complete. If a call with a path ends early,
 * by an error, a kill or a power failure, the same call resumes after these blocks. The result has
 * the same bits if the rest is computed on the same kind of device. The call fails with
 * RUNG_STATUS_INVALID if the problem changed, if an input file changed (size, mtime, ctime, inode
 * or a hash of samples), or if a different version of rung wrote the journal; see
 * rung_outofcore_options.restart. A call with an operand in memory cannot be resumed.
 *
 * Restrictions on PATH: only one call at a time may write to PATH; a second concurrent call fails
 * with RUNG_STATUS_IO. If PATH is the file of A or B, the call fails with RUNG_STATUS_ALIASED. If
 * PATH is a symbolic link, the file that it names is replaced and the link stays. The call fails
 * with RUNG_STATUS_INVALID if PATH is a directory or a special file, or if rung did not write an
 * existing PATH.part or PATH.journal. */
typedef struct rung_outofcore_problem {
    size_t                       size;    /* set by rung_outofcore_problem_of() */
    double                       alpha;   /* default 1 */
    double                       beta;    /* default 0 */
    rung_compute                 compute; /* default RUNG_COMPUTE_STRICT */
    const rung_outofcore_matrix *a, *b;
    const rung_outofcore_matrix *c;      /* read if beta is not 0; must then have the result's type. May be
                                          * NULL if C is neither read nor written */
    const rung_outofcore_matrix *d;      /* result in place; NULL: see path and c */
    const char                  *path;   /* result file; NULL: see d and c. Do not set both path and d */
    rung_type                    type;   /* type of the result file; RUNG_TYPE_NONE: A's type, or I32 for I8 */
    rung_outofcore_format        format; /* format of the result file; default RUNG_OUTOFCORE_FORMAT_NPY */
} rung_outofcore_problem;

/* Returns the problem D = A * B with the defaults that are listed above. Set `path`, `d` or `c`. */
static inline rung_outofcore_problem rung_outofcore_problem_of(const rung_outofcore_matrix *a,
                                                               const rung_outofcore_matrix *b)
{
    rung_outofcore_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.size  = sizeof problem;
    problem.alpha = 1.0;
    problem.a     = a;
    problem.b     = b;
    return problem;
}

/* ---- Block sizes ------------------------------------------------------------------- */

/* How a problem is split. One block of D stays in the memory of a device. Panels of B, panel_depth
 * x block_cols, are read through two buffers. Slices of a panel of A, one eighth of block_rows x
 * panel_depth each, are read through two more: while one slice is multiplied, the next one is read,
 * and the previous block of D is written. On the CPU, only one of the two buffers for B receives
 * panels; the other holds the packed panel. Sums stay in the block in the accumulator type and are
 * rounded when the block is written. Blocks and panels at the edges may be smaller. */
typedef struct rung_outofcore_blocking {
    size_t  size;                      /* set by rung_outofcore_blocking_default() */
    int64_t block_rows, block_cols;    /* size of a block of D */
    int64_t panel_depth;               /* extent of a panel along k: columns of A, rows of B */
    int64_t row_blocks, col_blocks;    /* number of blocks of D */
    int64_t panels;                    /* number of panels per block */
    int64_t memory_bytes;              /* limit for which the sizes were chosen */
    int64_t used_bytes;                /* memory used; at most memory_bytes */
    int64_t read_bytes, written_bytes; /* bytes of A, B and C that are read, bytes of D that are written */
    double  bound_bytes;               /* approximate lower bound of read_bytes + written_bytes: the bytes of
                                        * 2 m n k / sqrt(S) + m n elements (+ m n if C is read), where S is
                                        * the number of elements that fit in memory_bytes */
} rung_outofcore_blocking;

static inline rung_outofcore_blocking rung_outofcore_blocking_default(void)
{
    rung_outofcore_blocking blocking;
    memset(&blocking, 0, sizeof blocking);
    blocking.size = sizeof blocking;
    return blocking;
}

/* Computes the block sizes that rung_outofcore_multiply() would use on one device with this
 * much memory (0: as in rung_outofcore_options). It selects the sizes with the fewest bytes
 * transferred and, among those, the deepest panels (the largest panel_depth). Nothing is read or
 * written. */
RUNG_API rung_status rung_outofcore_blocking_choose(const rung_outofcore_problem *problem, int64_t memory_bytes,
                                                    rung_outofcore_blocking *blocking);

/* ---- Options ------------------------------------------------------------------------ */

/* Progress of a call. */
typedef struct rung_outofcore_progress {
    double  done;         /* fraction of the computation that is complete, 0 to 1, including resumed blocks */
    double  resumed;      /* fraction that an earlier call completed */
    int64_t blocks;       /* done * total_blocks, rounded down */
    int64_t total_blocks; /* number of blocks of D */
} rung_outofcore_progress;

typedef struct rung_outofcore_report        rung_outofcore_report;
typedef struct rung_outofcore_device_report rung_outofcore_device_report;

/* Called after each slice (see rung_outofcore_blocking) by a thread of the library, never by two
 * threads at a time. `done` never decreases. Return 0 to continue; any other value ends
 * rung_outofcore_multiply() with RUNG_STATUS_CANCELLED. The library holds no lock while the
 * function runs. A device waits at most one second for the function. Once the function has taken
 * longer than one second, devices no longer wait for it, and several slices are reported
 * together. */
typedef int (*rung_outofcore_progress_function)(void *user, const rung_outofcore_progress *progress);

/* Called before the result file is renamed to PATH, for example to verify it. `d` is the result;
 * only the field `blocking` of the report is set. If the function does not return RUNG_OK,
 * rung_outofcore_multiply() returns that status and the file is not renamed. The computed blocks
 * are discarded, unless the status is RUNG_STATUS_NO_MEMORY, RUNG_STATUS_IO or
 * RUNG_STATUS_CANCELLED: then the next call resumes. */
typedef rung_status (*rung_outofcore_accept_function)(void *user, const rung_outofcore_matrix *d,
                                                      const rung_outofcore_report *report);

/* Memory: 0 bytes selects half of the free memory for the CPU (of the container, if there is one),
 * and half of all memory for other devices. An OpenCL device that is the processor itself uses the
 * same memory as "cpu": give both a limit. In addition to these limits, the library allocates
 * scratch memory for CPU kernels (a few MiB per thread) and staging buffers: two for each device
 * with its own memory, and one more per device if the type of the result is not the accumulator
 * type. A staging buffer has 4 MiB, or the size of one row or column of a block or panel if that is
 * larger.
 *
 * This example uses two devices:
 *
 *     rung_device *devices[2];         (opened by rung_device_open)
 *     int64_t      memory[2] = {2LL << 30, 16LL << 30};
 *     options.devices = devices;
 *     options.device_memory_bytes = memory;
 *     options.device_count = 2;
 *
 * With `checked`, the product of each slice and each panel is checked and corrected as by
 * rung_multiply_options.checked, and the host adds it to the block. If a product cannot be corrected,
 * its device fails with RUNG_STATUS_CORRUPTED. Blocks and panels of all devices are then in the memory
 * of the host, up to the limits above, and the product of a slice needs additional memory. The blocks
 * of an interrupted call without `checked` are not used by a call with it, and vice versa: resuming
 * fails with RUNG_STATUS_INVALID. Files, and the sums in a block between two products, are not checked. */
typedef struct rung_outofcore_options {
    size_t                           size;                /* set by rung_outofcore_options_default() */
    int64_t                          memory_bytes;        /* memory limit of the CPU, if device_count is 0; see above */
    rung_device *const              *devices;             /* devices to use; each has its own block and three threads */
    const int64_t                   *device_memory_bytes; /* one limit per device; NULL: 0 for all */
    int64_t                          device_count;        /* 0: the CPU; at most 256 */
    int                              restart;             /* not 0: discard the completed blocks of an earlier call */
    rung_outofcore_progress_function progress;            /* may be NULL */
    rung_outofcore_accept_function   accept;              /* may be NULL; used with problem.path only */
    void                            *user;                /* first argument of both functions */
    int64_t                          checked; /* 1: check each product and correct it; default 0. See below */
} rung_outofcore_options;

static inline rung_outofcore_options rung_outofcore_options_default(void)
{
    rung_outofcore_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* ---- Report ------------------------------------------------------------------------- */

/* What a call did. The library creates the report; later versions append fields. */
struct rung_outofcore_report {
    const rung_outofcore_blocking *blocking;                     /* the block sizes that were used */
    int64_t                        resumed_blocks;               /* number of blocks that an earlier call completed */
    int64_t                        read_bytes, written_bytes;    /* bytes from and to the caller's files or memory */
    int64_t                        upload_bytes, download_bytes; /* bytes to and from devices with their own memory */
    double                         seconds;
    double                         flops; /* floating-point operations of this call */
    int64_t                        device_count;
    int64_t                        corrected; /* with `checked`: number of elements of products that were corrected */
};

/* What one device did. */
struct rung_outofcore_device_report {
    const char *name;         /* "opencl:0" */
    int64_t     blocks;       /* number of blocks that this device completed */
    double      wait_seconds; /* time in which the device waited for a panel or for a free buffer */
    rung_status status;       /* RUNG_OK, or why the device was no longer used */
    const char *failure;      /* error text that belongs to `status`; "" if status is RUNG_OK */
};

/* Returns the entry of device `index`, in the order of rung_outofcore_options.devices; NULL for
 * an index outside 0 to device_count - 1. The entry lives as long as the report. */
RUNG_API const rung_outofcore_device_report *rung_outofcore_report_device(const rung_outofcore_report *report,
                                                                          int64_t                      index);
RUNG_API void                                rung_outofcore_report_destroy(rung_outofcore_report *report);

/* ---- Multiplying --------------------------------------------------------------------- */

/* Computes `problem`. If options.device_count is 0, the call uses the CPU of `context`; NULL is the
 * default context. NULL options are the defaults.
 *
 * With several devices, all use the block sizes that fit the smallest memory. Each device takes the
 * next block when it is free, unless the other devices, at the speeds measured in this call, would
 * complete all remaining blocks before this device completes one. If a device fails, the others
 * compute its blocks. If all devices fail, the call returns the status of the device that failed
 * first.
 *
 * `report` may be NULL. Otherwise *report receives a report even if the call fails, with the fields
 * that were known by then. *report is NULL if the arguments are invalid or there is no memory for
 * the report. Destroy the report with rung_outofcore_report_destroy(). */
RUNG_API rung_status rung_outofcore_multiply(rung_context *context, const rung_outofcore_problem *problem,
                                             const rung_outofcore_options *options, rung_outofcore_report **report);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_OUTOFCORE_H */
