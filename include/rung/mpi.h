/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h - one matrix multiplication on many machines: librung-mpi.
 *
 * This header is the manual. Every rank of a communicator makes the same call; each has a part of A, B and C, and
 * gives the same description of how all parts lie:
 *
 *     rung_mpi_matrix a = rung_mpi_scalapack(RUNG_F64, desc_a, process_rows, process_cols, 0, my_a);
 *     rung_mpi_matrix b = ..., c = ...;
 *     if (rung_mpi_gemm(MPI_COMM_WORLD, 1.0, &a, &b, 0.0, &c, NULL) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *
 * Ranks     are put into a box (rung_grid, rung/scale.h) that has least to send. What does not lie as that box wants
 *           it is sent there first, and C back behind it; matrices that are kept as shares stay where they are.
 * Threads   One thread of a process calls at a time, and MPI was initialised. The communicator is duplicated at its
 *           first call, which is kept with it and freed with it. Freeing waits for all ranks, for `silence` at most.
 * Failures  All ranks return a failure if one does, each with a sentence that names the rank it happened on. What is
 *           wrong with arguments, and memory that is not there, is found before anything is sent: the next call is
 *           free to do better. Once data is under way, whoever fails tells the others, and one that no longer answers
 *           counts as lost after rung_mpi_options.silence seconds: RUNG_STATUS_DEVICE_LOST. C is then undefined, messages
 *           may still be under way and keep their memory, and every later call on that communicator fails: the job
 *           should end. The library never ends it, since MPI_Abort is the caller's to call. Messages are sent from where
 *           shares of A and B lie: behind such a failure their memory must stay until the process ends. That of C, and of
 *           A and B in any other layout, may go.
 * Bits      The same ranks, grid and layouts give the same bits each time. */
#ifndef RUNG_MPI_H
#define RUNG_MPI_H

#include <mpi.h>

#include "rung/scale.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- How a matrix lies ------------------------------------------------------------ */

/* Three ways for a matrix to be spread over the ranks of a communicator. */
typedef enum rung_mpi_kind {
    RUNG_MPI_SHARES, /* as the grid deals it out: nothing is sent but what must be */
    RUNG_MPI_CYCLIC, /* block-cyclic, as ScaLAPACK has it */
    RUNG_MPI_BLOCKS  /* cut by rows and columns anywhere, each block anybody's */
} rung_mpi_kind;

/* What a ScaLAPACK descriptor says. Ranks stand in a rectangle of processes, those behind its last have nothing. The
 * memory of a rank is column-major. */
typedef struct rung_mpi_cyclic {
    int64_t row_block, col_block;       /* MB, NB */
    int64_t row_source, col_source;     /* RSRC, CSRC: who has the first block */
    int64_t process_rows, process_cols;
    int     by_columns;                 /* not 0: ranks are counted down the columns of processes (BLACS's "Col") */
    int64_t leading;                    /* LLD, this rank's */
    int64_t row, col;                   /* where the matrix begins in the one that is dealt out: IA - 1, JA - 1 */
} rung_mpi_cyclic;

/* Blocks of any sizes: splits begin at 0, ascend and end at the number of rows or columns; owners are ranks, a row of
 * blocks behind the other. Views of this rank's own blocks stand in the same order, in memory, with any strides. The
 * arrays are the caller's and must last for the call. */
typedef struct rung_mpi_blocks {
    int64_t            row_parts, col_parts;
    const int64_t     *row_splits, *col_splits; /* one more than parts */
    const int         *owners;
    const rung_matrix *views;
    int64_t            view_count;
} rung_mpi_blocks;

/* A matrix of rows x cols, as it lies; transposed, the multiply sees it with both exchanged. Only the fields of its
 * kind count. Memory of C may not be memory of A or B. */
typedef struct rung_mpi_matrix {
    rung_type       type;
    int64_t         rows, cols;
    int             transposed; /* not 0; not for shares, which are of what is multiplied */
    rung_mpi_kind   kind;
    void           *data;       /* of shares and of what is cyclic; written only if it is C */
    rung_mpi_cyclic cyclic;
    rung_mpi_blocks blocks;
} rung_mpi_matrix;

/* The whole of a matrix with that descriptor {1, context, M, N, MB, NB, RSRC, CSRC, LLD}; the context is not looked at. For a
 * part of it, set rows, cols, cyclic.row and cyclic.col of the result. */
RUNG_API rung_mpi_matrix rung_mpi_scalapack(rung_type type, const int descriptor[9], int64_t process_rows,
                                            int64_t process_cols, int by_columns, const void *data);

/* What a matrix is by its blocks. */
RUNG_API rung_mpi_matrix rung_mpi_blocks_of(rung_type type, int64_t rows, int64_t cols, const rung_mpi_blocks *blocks);

/* Shares: rows x cols are those of A, B or C as they are multiplied, `data` is this rank's share, its pieces one behind the
 * other (rung_mpi_share). The grid is then best given in the options, since both must be of one. */
RUNG_API rung_mpi_matrix rung_mpi_shares(rung_type type, int64_t rows, int64_t cols, const void *data);

/* ---- Shares ----------------------------------------------------------------------------- */

typedef enum rung_mpi_operand { RUNG_MPI_A, RUNG_MPI_B, RUNG_MPI_C } rung_mpi_operand;

/* A piece of a rank's share: elements `first` to `first + count` of a block of the whole matrix, its rows one behind the other,
 * stand at `offset` in the share. */
typedef struct rung_mpi_piece {
    int64_t row, col, rows, cols; /* the block */
    int64_t first, count;
    int64_t offset;
} rung_mpi_piece;

/* Piece `index` of what that rank holds of A, B or C; RUNG_STATUS_NOT_FOUND behind the last. */
RUNG_API rung_status rung_mpi_share(const rung_cluster *cluster, const rung_grid *grid, int64_t rank,
                                    rung_mpi_operand operand, int64_t index, rung_mpi_piece *piece);

/* Elements of all of them, 0 for a rank with nothing to do and where the grid is none. */
RUNG_API int64_t rung_mpi_share_elements(const rung_cluster *cluster, const rung_grid *grid, int64_t rank,
                                         rung_mpi_operand operand);

/* ---- The call ------------------------------------------------------------------------------- */

/* What a call did, on this rank. */
typedef struct rung_mpi_report {
    rung_grid grid;
    int64_t   received, messages; /* bytes and messages of the multiply itself: what rung_grid_count tells */
    int64_t   redistributed;      /* bytes that this rank received on the way into shares and back out of them */
    double    seconds;            /* all of the call, and of it: */
    double    redistributing, multiplying, waiting; /* waiting: for others, whatever for */
} rung_mpi_report;

/* C = A B of matrices in memory, all dense and row-major, C's type that of the sums. */
typedef rung_status (*rung_mpi_multiply_function)(void *user, rung_matrix a, rung_matrix b, rung_matrix c);

/* All zero is the default. All ranks give the same, but for context, multiply and report. */
typedef struct rung_mpi_options {
    rung_context    *context;       /* its device multiplies; NULL: the default one */
    const rung_grid *grid;          /* NULL: rung_grid_choose's */
    double           idle;          /* the share of ranks that may have nothing to do; 0: 0.06, below 0: none */
    int64_t          memory;        /* bytes that a rank has, see rung_cluster; 0: enough. A grid that needs more is refused */
    double           silence;       /* seconds after which a rank that does not answer is lost; 0: 300. It answers
                                     * between multiplies, so these should be well longer than one takes */
    int64_t          message_bytes; /* no message is longer; 0: 1 GiB, which is also the most */
    rung_mpi_multiply_function multiply; /* NULL: rung_gemm with the context */
    void            *multiply_user;
    rung_mpi_report *report;        /* NULL: nobody asks */
} rung_mpi_options;

/* C = alpha * A * B + beta * C, by all ranks of the communicator. As in rung_gemm, alpha = 0 reads neither A nor B and
 * beta = 0 does not read C; any sizes, and any product (RUNG_PRODUCT_LIST). C is scaled and rounded where it
 * lies. A rank works in about rung_grid_cost.memory bytes, and in what leaves and comes where a layout is none of shares.
 * Its memory is kept with the communicator for the next call, and freed with it: less than twice what one call works in,
 * since what is kept and does not fit is freed before more is taken. */
RUNG_API rung_status rung_mpi_gemm(MPI_Comm comm, double alpha, const rung_mpi_matrix *a, const rung_mpi_matrix *b,
                                   double beta, const rung_mpi_matrix *c, const rung_mpi_options *options);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_MPI_H */
