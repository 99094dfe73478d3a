/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h - matrices larger than a device or than memory, and several devices at once.
 *
 * This is the header of librung-scale, which stands on librung; rung.h has the rules on threads, memory
 * and errors, and they hold here too. Two files are multiplied into a third with 256 MiB of memory by
 *
 *     rung_stored a, b;
 *     rung_npy_open("A.npy", RUNG_TYPE_NONE, &a);
 *     rung_npy_open("B.npy", RUNG_TYPE_NONE, &b);
 *     rung_large_problem problem = rung_large_problem_of(a, b);
 *     problem.path = "C.npy";
 *     rung_large_options options = {.memory = 256 << 20};
 *     if (rung_large_multiply(NULL, &problem, &options, NULL) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *     rung_stored_close(&a);
 *     rung_stored_close(&b);
 */
#ifndef RUNG_SCALE_H
#define RUNG_SCALE_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Matrices in files --------------------------------------------------------------- */

/* A matrix in memory, or in a file. The view says its type, shape and strides, and with `data` that is
 * all; else element 0 of the view stands `start` bytes into `file`, an open descriptor. In a file one of
 * the two strides is 1: rows or columns are in one piece each. A block of a file is a block of the
 * view (rung_matrix_block), a transpose its transpose. */
typedef struct rung_stored {
    rung_matrix view;
    int         file; /* -1: none */
    int64_t     start;
} rung_stored;

/* A matrix in memory. */
RUNG_API rung_stored rung_stored_of(rung_matrix matrix);

/* Opens a matrix that NumPy has saved (.npy of version 1, 2 or 3): two dimensions, little-endian, of f4, f8,
 * f2, i1 or i4. `as` is RUNG_TYPE_NONE, or the type that it must have; BF16, for which NumPy has no
 * name, is what files of "V2" are read as if it is asked for. */
RUNG_API rung_status rung_npy_open(const char *path, rung_type as, rung_stored *stored);

/* Opens a bare file of rows, of just that size. */
RUNG_API rung_status rung_raw_open(const char *path, rung_type type, int64_t rows, int64_t cols,
                                   rung_stored *stored);

/* Closes the file of one that was opened here; memory stays. */
RUNG_API void rung_stored_close(rung_stored *stored);

/* Copies a block from where it stands into dense rows, rows * cols elements of the view's type. */
RUNG_API rung_status rung_stored_read(const rung_stored *stored, int64_t row, int64_t col, int64_t rows,
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
typedef struct rung_large_problem {
    double       alpha;
    rung_stored  a, b;
    double       beta;
    rung_stored  c0;
    rung_compute compute;
    rung_stored  c;
    const char  *path; /* NULL: there is none */
    int          bare; /* not 0: the file at `path` has no header */
} rung_large_problem;

/* alpha = 1, beta = 0, strict; C of A's type, or of I32 for I8. */
RUNG_API rung_large_problem rung_large_problem_of(rung_stored a, rung_stored b);

/* How it is done: a block of C stays in the device's memory. Panels of B, depth x cols, stream through two buffers, and
 * beside each one strips of a panel of A, an eighth of rows x depth each, through two others: while one strip is multiplied, the
 * next is fetched, and a piece of the next panel of B; and the block before goes out. On the CPU a panel of B is packed once for
 * all its strips, into the second of its buffers. Blocks and panels at the end may be smaller. Sums stay in the block in the
 * sums' type, and are rounded to C's when they go out. */
typedef struct rung_large_cut {
    int64_t rows, cols, depth;              /* of a block, and of a panel */
    int64_t row_blocks, col_blocks, panels; /* how many there are, panels for each block */
    int64_t memory;                         /* bytes that it was cut for ... */
    int64_t used;                           /* ... and that it takes */
    int64_t read, written;                  /* bytes of A, B and C0, and of C, that are moved */
    double  bound; /* what is to be compared with read + written: (2 m n k / sqrt(S) + m n) elements, in bytes,
                    * where S elements fit the memory; and C0 where that is read */
} rung_large_cut;

/* The cut of a problem for one device. The least bytes that are moved, then the deepest panels. */
RUNG_API rung_status rung_large_cut_of(const rung_large_problem *problem, int64_t memory, rung_large_cut *cut);

/* A device with what it may take of its memory: 0 is half of what is free on the CPU, to a container too, and half of all
 * elsewhere. A processor that is an OpenCL device takes of the same memory as the CPU: beside others it is best given
 * an amount. On the CPU the kernels' own scratch, some MiB a thread, comes on top, and wherever elements must be
 * brought into another order or type, or to another device, two pieces of 4 MiB of this process's memory. */
typedef struct rung_large_device {
    rung_device *device;
    int64_t      memory;
} rung_large_device;

/* How far it is. */
typedef struct rung_large_progress {
    double  done;            /* 0 to 1, of what there is to compute; what an earlier call did counts */
    double  before;          /* of that, by an earlier call */
    int64_t blocks, of;      /* done, of how many */
} rung_large_progress;

enum { RUNG_LARGE_DEVICES_MAX = 16 };

/* All zero is the default: the CPU, with half of the memory that is free. */
typedef struct rung_large_options {
    int64_t                  memory;       /* of the CPU, where no devices are listed */
    const rung_large_device *devices;      /* each computes, has blocks of its own, and three threads */
    int64_t                  device_count; /* RUNG_LARGE_DEVICES_MAX at most */
    int                      restart;      /* not 0: what an earlier call left is thrown away */
    /* Called after each strip by a thread of the library, never twice at a time, with values of `done` that never
     * decrease. A value other than 0 ends the call with RUNG_STATUS_CANCELLED. No lock is held meanwhile. A device waits at most
     * one second for a call; after the first longer one, devices no longer wait, and later strips are reported together. The call itself returns only after the function has. */
    int (*progress)(void *user, const rung_large_progress *progress);
    /* Called before a file gets its name: where it does not return RUNG_OK, the file gets none, and the call returns that. What
     * was computed is thrown away, unless it could not be judged: RUNG_STATUS_NO_MEMORY, RUNG_STATUS_IO or RUNG_STATUS_CANCELLED leave it to the next
     * call. Of the report, `cut` is filled in by then. */
    rung_status (*accept)(void *user, const rung_stored *c);
    void *user;
} rung_large_options;

/* What one device did. */
typedef struct rung_large_share {
    char    name[32];      /* "opencl:0" */
    int64_t blocks;
    double  waited;        /* seconds in which it could not compute for want of a panel or of room */
    char    failure[512];  /* "", or why it was left out from then on, cut to fit */
} rung_large_share;

typedef struct rung_large_report {
    rung_large_cut   cut;            /* as it was used */
    int64_t          blocks_before;  /* done by an earlier call */
    int64_t          read, written;  /* bytes that were moved from and to files or memory ... */
    int64_t          up, down;       /* ... and to and from devices with memory of their own */
    double           seconds;
    double           flops;          /* floating-point operations of this call */
    int64_t          device_count;
    rung_large_share devices[RUNG_LARGE_DEVICES_MAX];
} rung_large_report;

/* Multiplies. With several devices, blocks are as many and as small as the smallest memory wants; each takes the
 * next one when it is done, unless the others would be done sooner without it, by the speeds that were seen. One
 * that fails hands its block to the others; if all have failed the call fails as the first did. `report` may be
 * NULL, and is filled in also where the call fails. The context is for the CPU where no devices are listed. */
RUNG_API rung_status rung_large_multiply(rung_context *context, const rung_large_problem *problem,
                                         const rung_large_options *options, rung_large_report *report);

/* ---- Many ranks -------------------------------------------------------------- */

/* What a multiply on many ranks costs, and how they should share it. None of this needs MPI or the machines;
 * rung/mpi.h does the work, by the same arithmetic. */
typedef struct rung_cluster {
    int64_t      ranks;
    int64_t      m, n, k;
    rung_product product; /* elements of A and B go as they are, those of C as sums */
    double       idle;    /* the share of ranks that may have nothing to do, 0.06: where ranks do not divide well,
                           * fewer have less to send */
    int64_t      memory;  /* bytes that a rank has for its shares and for its work; 0: enough */
    double       flops, bandwidth; /* a rank's, a second, 1 at least, to send and to multiply in the least time; 0: not
                                    * known, and the fewest bytes are best */
} rung_cluster;

/* Ranks as a box: each multiplies one of pm parts of m by one of pn parts of n along one of pk parts of k; ranks from
 * pm * pn * pk on have nothing to do. Its part of A comes in sm pieces and its part of B in sn, 1 to 1024, so that it
 * multiplies what is there while the rest is on its way. */
typedef struct rung_grid {
    int64_t pm, pn, pk;
    int64_t sm, sn;
} rung_grid;

/* The grid with the fewest bytes received by its busiest rank, or the least time; RUNG_STATUS_NO_MEMORY where none fits. */
RUNG_API rung_status rung_grid_choose(const rung_cluster *cluster, rung_grid *grid);

typedef struct rung_grid_cost {
    int64_t received; /* bytes, by the rank that receives most, where each begins with its share of A and B and
                       * ends with one of C */
    double  bound;    /* which no way of sharing goes below, of such a start and end and any memory (Al Daas,
                       * Ballard, Grigori, Kumar, Rouse 2022, for words of several sizes) */
    int64_t memory;   /* bytes that no rank needs more than: shares of A, B and C and all it works in. The most by some
                       * elements */
    double  flops;    /* of the rank that has most to multiply */
    int64_t messages; /* received by the rank that gets most */
} rung_grid_cost;

RUNG_API rung_status rung_grid_count(const rung_cluster *cluster, const rung_grid *grid, rung_grid_cost *cost);

/* A machine as one of its ranks sees it, all speeds a second. */
typedef struct rung_rank_speed {
    double flops;     /* while it multiplies */
    double bandwidth; /* bytes that it receives, while it sends as many */
    double latency;   /* seconds until a message begins to come */
    double memory;    /* bytes that are read or written, for copying and adding */
} rung_rank_speed;

typedef struct rung_prediction {
    double seconds;               /* from shares of A and B to shares of C */
    double multiplying, moving, waiting; /* of them; moving: copying and adding in memory */
} rung_prediction;

/* How long the busiest rank takes, by going through its schedule: what it multiplies, what comes in meanwhile and what
 * it waits for. The network is a rank's own link, which messages share alike; that links behind it are never
 * short is assumed. A speed of memory of 0 costs nothing. */
RUNG_API rung_status rung_grid_predict(const rung_cluster *cluster, const rung_grid *grid, const rung_rank_speed *speed,
                                       rung_prediction *prediction);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_SCALE_H */
