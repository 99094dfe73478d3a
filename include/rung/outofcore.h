/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore.h - matrices larger than a device or than memory, and several devices at once.
 *
 * This is the header of librung-outofcore, which stands on librung; rung.h has the rules on threads, memory
 * and errors, and they hold here too. Two files are multiplied into a third with 256 MiB of memory by
 *
 *     rung_outofcore_matrix a, b;
 *     rung_outofcore_matrix_open_npy("A.npy", RUNG_TYPE_NONE, &a);
 *     rung_outofcore_matrix_open_npy("B.npy", RUNG_TYPE_NONE, &b);
 *     rung_outofcore_problem problem = rung_outofcore_problem_of(a, b);
 *     problem.path = "C.npy";
 *     rung_outofcore_options options = {.memory = 256 << 20};
 *     if (rung_outofcore_multiply(NULL, &problem, &options, NULL) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *     rung_outofcore_matrix_close(&a);
 *     rung_outofcore_matrix_close(&b);
 */
#ifndef RUNG_OUTOFCORE_H
#define RUNG_OUTOFCORE_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Matrices in files --------------------------------------------------------------- */

/* A matrix in memory, or in a file. The view says its type, shape and strides, and with `data` that is
 * all; else element 0 of the view stands `start` bytes into `file`, an open descriptor. In a file one of
 * the two strides is 1: rows or columns are in one piece each. A block of a file is a block of the
 * view (rung_matrix_block), a transpose its transpose. */
typedef struct rung_outofcore_matrix {
    rung_matrix view;
    int         file; /* -1: none */
    int64_t     start;
} rung_outofcore_matrix;

/* A matrix in memory. */
RUNG_API rung_outofcore_matrix rung_outofcore_matrix_of(rung_matrix matrix);

/* Opens a matrix that NumPy has saved (.npy of version 1, 2 or 3): two dimensions, little-endian, of f4, f8,
 * f2, i1 or i4. `as` is RUNG_TYPE_NONE, or the type that it must have; BF16, for which NumPy has no
 * name, is what files of "V2" are read as if it is asked for. */
RUNG_API rung_status rung_outofcore_matrix_open_npy(const char *path, rung_type as, rung_outofcore_matrix *stored);

/* Opens a bare file of rows, of just that size. */
RUNG_API rung_status rung_outofcore_matrix_open_raw(const char *path, rung_type type, int64_t rows, int64_t cols,
                                   rung_outofcore_matrix *stored);

/* Closes the file of one that was opened here; memory stays. */
RUNG_API void rung_outofcore_matrix_close(rung_outofcore_matrix *stored);

/* Copies a block from where it stands into dense rows, rows * cols elements of the view's type. */
RUNG_API rung_status rung_outofcore_matrix_read(const rung_outofcore_matrix *stored, int64_t row, int64_t col, int64_t rows,
                                      int64_t cols, void *to);

/* ---- Multiplying them ------------------------------------------------------------------- */

/* C = alpha * A * B + beta * C0. C0 is read where beta is not 0 and has C's type; it may be C itself if
 * C is memory. No batch and no epilogue: what those follow is cut into many multiplies here.
 *
 * C goes to `c`, memory or an open file that is written in place, or, with `path`, becomes that file:
 * dense rows behind an .npy header, or bare. Of `c` only the type counts then (c.view.type). Such a file is
 * complete or not there: it is written beside itself, as PATH.part, synced and renamed. A file of that name
 * stays what it was until then. It may be C0, to which beta adds, but neither A nor B under any name
 * (RUNG_STATUS_ALIASED). PATH.part and PATH.journal may be none of the three. If `path` is a symbolic link, PATH stands for
 * the file that it names, and the link stays. A `path` that is a directory or another kind of file, and a PATH.part or
 * PATH.journal that no earlier call has left, are refused with RUNG_STATUS_INVALID before anything is computed.
 *
 * PATH.journal tells which blocks of C are done. If a call ends early, by a failure, a kill or a power
 * cut, the same call goes on behind those, to the same bits where the same kind of device computes the rest;
 * it is refused, with the reason, where the problem or one of the files has changed (size, mtime, ctime, inode or a
 * hash of samples) or where another version of rung wrote the journal. If A, B or C0 is in memory, the call cannot be
 * resumed. One process at a time writes a path; another is refused. */
typedef struct rung_outofcore_problem {
    double       alpha;
    rung_outofcore_matrix  a, b;
    double       beta;
    rung_outofcore_matrix  c0;
    rung_compute compute;
    rung_outofcore_matrix  c;
    const char  *path; /* NULL: there is none */
    int          bare; /* not 0: the file at `path` has no header */
} rung_outofcore_problem;

/* alpha = 1, beta = 0, strict; C of A's type, or of I32 for I8. */
RUNG_API rung_outofcore_problem rung_outofcore_problem_of(rung_outofcore_matrix a, rung_outofcore_matrix b);

/* How it is done: a block of C stays in the device's memory. Panels of B, depth x cols, stream through two buffers, and
 * beside each one strips of a panel of A, an eighth of rows x depth each, through two others: while one strip is multiplied, the
 * next is fetched, and a piece of the next panel of B; and the block before goes out. On the CPU a panel of B is packed once for
 * all its strips, into the second of its buffers. Blocks and panels at the end may be smaller. Sums stay in the block in the
 * sums' type, and are rounded to C's when they go out. */
typedef struct rung_outofcore_blocking {
    int64_t rows, cols, depth;              /* of a block, and of a panel */
    int64_t row_blocks, col_blocks, panels; /* how many there are, panels for each block */
    int64_t memory;                         /* bytes that it was cut for ... */
    int64_t used;                           /* ... and that it takes */
    int64_t read, written;                  /* bytes of A, B and C0, and of C, that are moved */
    double  bound; /* what is to be compared with read + written: (2 m n k / sqrt(S) + m n) elements, in bytes,
                    * where S elements fit the memory; and C0 where that is read */
} rung_outofcore_blocking;

/* The cut of a problem for one device. The least bytes that are moved, then the deepest panels. */
RUNG_API rung_status rung_outofcore_blocking_choose(const rung_outofcore_problem *problem, int64_t memory, rung_outofcore_blocking *cut);

/* A device with what it may take of its memory: 0 is half of what is free on the CPU, to a container too, and half of all
 * elsewhere. A processor that is an OpenCL device takes of the same memory as the CPU: beside others it is best given
 * an amount. On the CPU the kernels' own scratch, some MiB a thread, comes on top, and wherever elements must be
 * brought into another order or type, or to another device, two pieces of 4 MiB of this process's memory. */
typedef struct rung_outofcore_device {
    rung_device *device;
    int64_t      memory;
} rung_outofcore_device;

/* How far it is. */
typedef struct rung_outofcore_progress {
    double  done;            /* 0 to 1, of what there is to compute; what an earlier call did counts */
    double  before;          /* of that, by an earlier call */
    int64_t blocks, of;      /* done, of how many */
} rung_outofcore_progress;

enum { RUNG_OUTOFCORE_DEVICES_MAX = 16 };

/* All zero is the default: the CPU, with half of the memory that is free. */
typedef struct rung_outofcore_options {
    int64_t                  memory;       /* of the CPU, where no devices are listed */
    const rung_outofcore_device *devices;      /* each computes, has blocks of its own, and three threads */
    int64_t                  device_count; /* RUNG_OUTOFCORE_DEVICES_MAX at most */
    int                      restart;      /* not 0: what an earlier call left is thrown away */
    /* Called after each strip by a thread of the library, never twice at a time, with values of `done` that never
     * decrease. A value other than 0 ends the call with RUNG_STATUS_CANCELLED. No lock is held meanwhile. A device waits at most
     * one second for a call; after the first longer one, devices no longer wait, and later strips are reported together. The call itself returns only after the function has. */
    int (*progress)(void *user, const rung_outofcore_progress *progress);
    /* Called before a file gets its name: where it does not return RUNG_OK, the file gets none, and the call returns that. What
     * was computed is thrown away, unless it could not be judged: RUNG_STATUS_NO_MEMORY, RUNG_STATUS_IO or RUNG_STATUS_CANCELLED leave it to the next
     * call. Of the report, `cut` is filled in by then. */
    rung_status (*accept)(void *user, const rung_outofcore_matrix *c);
    void *user;
} rung_outofcore_options;

/* What one device did. */
typedef struct rung_outofcore_device_report {
    char    name[32];      /* "opencl:0" */
    int64_t blocks;
    double  waited;        /* seconds in which it could not compute for want of a panel or of room */
    char    failure[512];  /* "", or why it was left out from then on, cut to fit */
} rung_outofcore_device_report;

typedef struct rung_outofcore_report {
    rung_outofcore_blocking   cut;            /* as it was used */
    int64_t          blocks_before;  /* done by an earlier call */
    int64_t          read, written;  /* bytes that were moved from and to files or memory ... */
    int64_t          up, down;       /* ... and to and from devices with memory of their own */
    double           seconds;
    double           flops;          /* floating-point operations of this call */
    int64_t          device_count;
    rung_outofcore_device_report devices[RUNG_OUTOFCORE_DEVICES_MAX];
} rung_outofcore_report;

/* Multiplies. With several devices, blocks are as many and as small as the smallest memory wants; each takes the
 * next one when it is done, unless the others would be done sooner without it, by the speeds that were seen. One
 * that fails hands its block to the others; if all have failed the call fails as the first did. `report` may be
 * NULL, and is filled in also where the call fails. The context is for the CPU where no devices are listed. */
RUNG_API rung_status rung_outofcore_multiply(rung_context *context, const rung_outofcore_problem *problem,
                                         const rung_outofcore_options *options, rung_outofcore_report *report);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_OUTOFCORE_H */
