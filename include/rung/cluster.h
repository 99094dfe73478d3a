/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - one matrix multiplication on many machines: librung-cluster, and librung-cluster-mpi for the calls.
 *
 * This header is the manual. Every rank of a communicator makes the same call; each has a part of A, B and C, and
 * gives the same description of how all parts lie:
 *
 *     rung_cluster_matrix a = rung_cluster_matrix_of_scalapack(RUNG_F64, desc_a, process_rows, process_cols, 0, my_a);
 *     rung_cluster_matrix b = ..., c = ...;
 *     if (rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &a, &b, 0.0, &c, NULL) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *
 * Ranks     are put into a box (rung_cluster_grid) that has least to send. What does not lie as that box wants
 *           it is sent there first, and C back behind it; matrices that are kept as shares stay where they are.
 * Threads   One thread of a process calls at a time, and MPI was initialised. The communicator is duplicated at its
 *           first call, which is kept with it and freed with it. Freeing waits for all ranks, for `silence` at most.
 * Failures  All ranks return a failure if one does, each with a sentence that names the rank it happened on. What is
 *           wrong with arguments, and memory that is not there, is found before anything is sent: the next call is
 *           free to do better. Once data is under way, whoever fails tells the others, and one that no longer answers
 *           counts as lost after rung_cluster_options.silence seconds: RUNG_STATUS_DEVICE_LOST. C is then undefined, messages
 *           may still be under way and keep their memory, and every later call on that communicator fails: the job
 *           should end. The library never ends it, since MPI_Abort is the caller's to call. Messages are sent from where
 *           shares of A and B lie: behind such a failure their memory must stay until the process ends. That of C, and of
 *           A and B in any other layout, may go.
 * Bits      The same ranks, grid and layouts give the same bits each time. */
#ifndef RUNG_CLUSTER_H
#define RUNG_CLUSTER_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Many ranks -------------------------------------------------------------- */

/* What a multiply on many ranks costs, and how they should share it. None of this needs MPI or the machines;
 * rung/cluster.h does the work, by the same arithmetic. */
typedef struct rung_cluster_problem {
    int64_t      ranks;
    int64_t      m, n, k;
    rung_product product; /* elements of A and B go as they are, those of C as sums */
    double       idle;    /* the share of ranks that may have nothing to do, 0.06: where ranks do not divide well,
                           * fewer have less to send */
    int64_t      memory;  /* bytes that a rank has for its shares and for its work; 0: enough */
    double       flops, bandwidth; /* a rank's, a second, 1 at least, to send and to multiply in the least time; 0: not
                                    * known, and the fewest bytes are best */
} rung_cluster_problem;

/* Ranks as a box: each multiplies one of pm parts of m by one of pn parts of n along one of pk parts of k; ranks from
 * pm * pn * pk on have nothing to do. Its part of A comes in sm pieces and its part of B in sn, 1 to 1024, so that it
 * multiplies what is there while the rest is on its way. */
typedef struct rung_cluster_grid {
    int64_t pm, pn, pk;
    int64_t sm, sn;
} rung_cluster_grid;

/* The grid with the fewest bytes received by its busiest rank, or the least time; RUNG_STATUS_NO_MEMORY where none fits. */
RUNG_API rung_status rung_cluster_grid_choose(const rung_cluster_problem *cluster, rung_cluster_grid *grid);

typedef struct rung_cluster_cost {
    int64_t received; /* bytes, by the rank that receives most, where each begins with its share of A and B and
                       * ends with one of C */
    double  bound;    /* which no way of sharing goes below, of such a start and end and any memory (Al Daas,
                       * Ballard, Grigori, Kumar, Rouse 2022, for words of several sizes) */
    int64_t memory;   /* bytes that no rank needs more than: shares of A, B and C and all it works in. The most by some
                       * elements */
    double  flops;    /* of the rank that has most to multiply */
    int64_t messages; /* received by the rank that gets most */
} rung_cluster_cost;

RUNG_API rung_status rung_cluster_grid_cost(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, rung_cluster_cost *cost);

/* A machine as one of its ranks sees it, all speeds a second. */
typedef struct rung_cluster_speed {
    double flops;     /* while it multiplies */
    double bandwidth; /* bytes that it receives, while it sends as many */
    double latency;   /* seconds until a message begins to come */
    double memory;    /* bytes that are read or written, for copying and adding */
} rung_cluster_speed;

typedef struct rung_cluster_prediction {
    double seconds;               /* from shares of A and B to shares of C */
    double multiplying, moving, waiting; /* of them; moving: copying and adding in memory */
} rung_cluster_prediction;

/* How long the busiest rank takes, by going through its schedule: what it multiplies, what comes in meanwhile and what
 * it waits for. The network is a rank's own link, which messages share alike; that links behind it are never
 * short is assumed. A speed of memory of 0 costs nothing. */
RUNG_API rung_status rung_cluster_grid_predict(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, const rung_cluster_speed *speed,
                                       rung_cluster_prediction *prediction);

/* ---- Shares ----------------------------------------------------------------------------- */

typedef enum rung_cluster_operand { RUNG_CLUSTER_OPERAND_A, RUNG_CLUSTER_OPERAND_B, RUNG_CLUSTER_OPERAND_C } rung_cluster_operand;

/* A piece of a rank's share: elements `first` to `first + count` of a block of the whole matrix, its rows one behind the other,
 * stand at `offset` in the share. */
typedef struct rung_cluster_piece {
    int64_t row, col, rows, cols; /* the block */
    int64_t first, count;
    int64_t offset;
} rung_cluster_piece;

/* Piece `index` of what that rank holds of A, B or C; RUNG_STATUS_NOT_FOUND behind the last. */
RUNG_API rung_status rung_cluster_share_piece(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank,
                                    rung_cluster_operand operand, int64_t index, rung_cluster_piece *piece);

/* Elements of all of them, 0 for a rank with nothing to do and where the grid is none. */
RUNG_API int64_t rung_cluster_share_elements(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank,
                                         rung_cluster_operand operand);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_CLUSTER_H */

/* What follows takes an MPI communicator, and is in librung-cluster-mpi: include <mpi.h> before this header. */
#if defined(MPI_VERSION) && !defined(RUNG_CLUSTER_WITH_MPI)
#define RUNG_CLUSTER_WITH_MPI

#ifdef __cplusplus
extern "C" {
#endif

/* ---- How a matrix lies ------------------------------------------------------------ */

/* Three ways for a matrix to be spread over the ranks of a communicator. */
typedef enum rung_cluster_layout {
    RUNG_CLUSTER_LAYOUT_SHARES, /* as the grid deals it out: nothing is sent but what must be */
    RUNG_CLUSTER_LAYOUT_CYCLIC, /* block-cyclic, as ScaLAPACK has it */
    RUNG_CLUSTER_LAYOUT_BLOCKS  /* cut by rows and columns anywhere, each block anybody's */
} rung_cluster_layout;

/* What a ScaLAPACK descriptor says. Ranks stand in a rectangle of processes, those behind its last have nothing. The
 * memory of a rank is column-major. */
typedef struct rung_cluster_cyclic {
    int64_t row_block, col_block;       /* MB, NB */
    int64_t row_source, col_source;     /* RSRC, CSRC: who has the first block */
    int64_t process_rows, process_cols;
    int     by_columns;                 /* not 0: ranks are counted down the columns of processes (BLACS's "Col") */
    int64_t leading;                    /* LLD, this rank's */
    int64_t row, col;                   /* where the matrix begins in the one that is dealt out: IA - 1, JA - 1 */
} rung_cluster_cyclic;

/* Blocks of any sizes: splits begin at 0, ascend and end at the number of rows or columns; owners are ranks, a row of
 * blocks behind the other. Views of this rank's own blocks stand in the same order, in memory, with any strides. The
 * arrays are the caller's and must last for the call. */
typedef struct rung_cluster_blocks {
    int64_t            row_parts, col_parts;
    const int64_t     *row_splits, *col_splits; /* one more than parts */
    const int         *owners;
    const rung_matrix *views;
    int64_t            view_count;
} rung_cluster_blocks;

/* A matrix of rows x cols, as it lies; transposed, the multiply sees it with both exchanged. Only the fields of its
 * kind count. Memory of C may not be memory of A or B. */
typedef struct rung_cluster_matrix {
    rung_type       type;
    int64_t         rows, cols;
    int             transposed; /* not 0; not for shares, which are of what is multiplied */
    rung_cluster_layout   kind;
    void           *data;       /* of shares and of what is cyclic; written only if it is C */
    rung_cluster_cyclic cyclic;
    rung_cluster_blocks blocks;
} rung_cluster_matrix;

/* The whole of a matrix with that descriptor {1, context, M, N, MB, NB, RSRC, CSRC, LLD}; the context is not looked at. For a
 * part of it, set rows, cols, cyclic.row and cyclic.col of the result. */
RUNG_API rung_cluster_matrix rung_cluster_matrix_of_scalapack(rung_type type, const int descriptor[9], int64_t process_rows,
                                            int64_t process_cols, int by_columns, const void *data);

/* What a matrix is by its blocks. */
RUNG_API rung_cluster_matrix rung_cluster_matrix_of_blocks(rung_type type, int64_t rows, int64_t cols, const rung_cluster_blocks *blocks);

/* Shares: rows x cols are those of A, B or C as they are multiplied, `data` is this rank's share, its pieces one behind the
 * other (rung_cluster_share_piece). The grid is then best given in the options, since both must be of one. */
RUNG_API rung_cluster_matrix rung_cluster_matrix_of_shares(rung_type type, int64_t rows, int64_t cols, const void *data);

/* ---- The call ------------------------------------------------------------------------------- */

/* What a call did, on this rank. */
typedef struct rung_cluster_report {
    rung_cluster_grid grid;
    int64_t   received, messages; /* bytes and messages of the multiply itself: what rung_cluster_grid_cost tells */
    int64_t   redistributed;      /* bytes that this rank received on the way into shares and back out of them */
    double    seconds;            /* all of the call, and of it: */
    double    redistributing, multiplying, waiting; /* waiting: for others, whatever for */
} rung_cluster_report;

/* C = A B of matrices in memory, all dense and row-major, C's type that of the sums. */
typedef rung_status (*rung_cluster_multiply_function)(void *user, rung_matrix a, rung_matrix b, rung_matrix c);

/* All zero is the default. All ranks give the same, but for context, multiply and report. */
typedef struct rung_cluster_options {
    rung_context    *context;       /* its device multiplies; NULL: the default one */
    const rung_cluster_grid *grid;          /* NULL: rung_cluster_grid_choose's */
    double           idle;          /* the share of ranks that may have nothing to do; 0: 0.06, below 0: none */
    int64_t          memory;        /* bytes that a rank has, see rung_cluster_problem; 0: enough. A grid that needs more is refused */
    double           silence;       /* seconds after which a rank that does not answer is lost; 0: 300. It answers
                                     * between multiplies, so these should be well longer than one takes */
    int64_t          message_bytes; /* no message is longer; 0: 1 GiB, which is also the most */
    rung_cluster_multiply_function multiply; /* NULL: rung_gemm with the context */
    void            *multiply_user;
    rung_cluster_report *report;        /* NULL: nobody asks */
} rung_cluster_options;

/* C = alpha * A * B + beta * C, by all ranks of the communicator. As in rung_gemm, alpha = 0 reads neither A nor B and
 * beta = 0 does not read C; any sizes, and any product (RUNG_PRODUCT_LIST). C is scaled and rounded where it
 * lies. A rank works in about rung_cluster_cost.memory bytes, and in what leaves and comes where a layout is none of shares.
 * Its memory is kept with the communicator for the next call, and freed with it: less than twice what one call works in,
 * since what is kept and does not fit is freed before more is taken. */
RUNG_API rung_status rung_cluster_gemm(MPI_Comm comm, double alpha, const rung_cluster_matrix *a, const rung_cluster_matrix *b,
                                   double beta, const rung_cluster_matrix *c, const rung_cluster_options *options);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_CLUSTER_WITH_MPI */
