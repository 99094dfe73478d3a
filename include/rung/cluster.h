/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - one matrix multiplication on many machines.
 *
 * This header is the manual of two libraries. The rules of rung.h on compatibility, errors and
 * output apply here too.
 *
 *     librung-cluster      plans a multiplication on many ranks and predicts its cost. It needs no
 *                          MPI. Link rung-cluster (pkg-config) or rung::cluster (CMake).
 *     librung-cluster-mpi  runs the multiplication with MPI. Link rung-cluster-mpi or
 *                          rung::cluster-mpi, compile with mpicc, and include <mpi.h> before this
 *                          header. The library is built only if CMake finds an MPI, and works only
 *                          with that MPI, because MPI implementations have different ABIs.
 *
 * Every rank of a communicator makes the same call. Each rank has a part of A, B and C, and
 * describes how the whole matrices are distributed:
 *
 *     rung_cluster_matrix a = rung_cluster_matrix_of_scalapack(RUNG_F64, desc_a, process_rows, process_cols, 0, my_a);
 *     rung_cluster_matrix b = ..., c = ...;
 *     if (rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &a, &b, 0.0, &c, NULL, NULL) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *
 * Contents
 *     Problems and grids     Costs and predictions     Shares     Distributed matrices     Multiplying
 */
#ifndef RUNG_CLUSTER_H
#define RUNG_CLUSTER_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Problems and grids -------------------------------------------------------------- */

/* A multiplication C = A * B on many ranks: A is m x k, B is k x n. Elements of A and B are sent
 * in their own type, partial sums of C in the accumulator type (rung.h, "Element types"). */
typedef struct rung_cluster_problem {
    size_t    size;  /* set by rung_cluster_problem_of() */
    int64_t   ranks; /* 1 to 2^31 - 1 */
    int64_t   m, n, k;
    rung_type a_type, b_type, c_type;
    double    max_idle;         /* fraction of the ranks that may stay idle, 0 to less than 1; default 0.06. If the
                                 * number of ranks has few divisors, a grid of slightly fewer ranks may send less */
    int64_t   memory_bytes;     /* memory limit per rank, for its shares (see "Shares") and its work; 0: unlimited */
    double    flops_per_second; /* speed of a rank; 0: unknown. See bytes_per_second */
    double    bytes_per_second; /* network bandwidth: bytes per second that a rank receives; 0: unknown. If both
                                 * speeds are known (at least 1), the grid minimizes time, otherwise bytes */
} rung_cluster_problem;

static inline rung_cluster_problem rung_cluster_problem_of(int64_t ranks, int64_t m, int64_t n, int64_t k,
                                                           rung_type a_type, rung_type b_type, rung_type c_type)
{
    rung_cluster_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.size     = sizeof problem;
    problem.ranks    = ranks;
    problem.m        = m;
    problem.n        = n;
    problem.k        = k;
    problem.a_type   = a_type;
    problem.b_type   = b_type;
    problem.c_type   = c_type;
    problem.max_idle = 0.06;
    return problem;
}

/* How ranks are arranged: a grid of pm x pn x pk ranks. Rank (i, j, l) multiplies part i of m, part
 * j of n and part l of k; the pk ranks with the same i and j add their results. The ranks with
 * numbers from pm * pn * pk on are idle. A rank receives its part of A in a_chunks chunks and its
 * part of B in b_chunks chunks. It multiplies the chunks that have arrived while others are in
 * flight. */
typedef struct rung_cluster_grid {
    size_t  size;               /* set by rung_cluster_grid_of() */
    int64_t pm, pn, pk;         /* at least 1 each; the product is at most the number of ranks */
    int64_t a_chunks, b_chunks; /* 1 to 1024 */
} rung_cluster_grid;

/* Returns a grid of pm x pn x pk ranks with one chunk per operand. */
static inline rung_cluster_grid rung_cluster_grid_of(int64_t pm, int64_t pn, int64_t pk)
{
    rung_cluster_grid grid;
    memset(&grid, 0, sizeof grid);
    grid.size     = sizeof grid;
    grid.pm       = pm;
    grid.pn       = pn;
    grid.pk       = pk;
    grid.a_chunks = 1;
    grid.b_chunks = 1;
    return grid;
}

/* Selects the grid whose busiest rank receives the fewest bytes. If both speeds of the problem are
 * known, it selects the grid whose busiest rank finishes first. The call fails with
 * RUNG_STATUS_NO_MEMORY if no grid fits memory_bytes.
 *
 *     rung_cluster_problem problem = rung_cluster_problem_of(64, m, n, k, RUNG_F64, RUNG_F64, RUNG_F64);
 *     rung_cluster_grid grid = rung_cluster_grid_of(1, 1, 1);
 *     rung_cluster_grid_choose(&problem, &grid); */
RUNG_API rung_status rung_cluster_grid_choose(const rung_cluster_problem *problem, rung_cluster_grid *grid);

/* ---- Costs and predictions ------------------------------------------------------------ */

/* What a multiplication costs on a grid. Each number is the maximum over all ranks. At the start,
 * each rank holds its share of A and B; at the end, its share of C (see "Shares"). */
typedef struct rung_cluster_cost {
    size_t  size; /* set by rung_cluster_cost_default() */
    int64_t received_bytes;
    int64_t messages;     /* number of messages received */
    int64_t memory_bytes; /* shares of A, B and C and all memory for the work; exact up to a few elements */
    double  flops;        /* floating-point operations */
    double  bound_bytes;  /* lower bound of received_bytes for every algorithm that starts and ends with shares, with
                           * any memory (Al Daas, Ballard, Grigori, Kumar, Rouse 2022, extended to inputs and sums
                           * with different element sizes) */
} rung_cluster_cost;

static inline rung_cluster_cost rung_cluster_cost_default(void)
{
    rung_cluster_cost cost;
    memset(&cost, 0, sizeof cost);
    cost.size = sizeof cost;
    return cost;
}

RUNG_API rung_status rung_cluster_grid_cost(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                            rung_cluster_cost *cost);

/* Speed of one rank of a machine. */
typedef struct rung_cluster_speed {
    size_t size;                    /* set by rung_cluster_speed_default() */
    double flops_per_second;        /* speed while the rank multiplies; at least 1 */
    double bytes_per_second;        /* bytes received per second while sending at the same rate; at least 1 */
    double latency_seconds;         /* time until a message begins to arrive; 0 to 1e9 */
    double memory_bytes_per_second; /* bytes read or written per second while the rank copies and adds; at
                                     * least 1. 0: copying and adding take no time */
} rung_cluster_speed;

static inline rung_cluster_speed rung_cluster_speed_default(void)
{
    rung_cluster_speed speed;
    memset(&speed, 0, sizeof speed);
    speed.size = sizeof speed;
    return speed;
}

/* How long the busiest rank takes. */
typedef struct rung_cluster_prediction {
    size_t size;    /* set by rung_cluster_prediction_default() */
    double seconds; /* total, from the shares of A and B to the shares of C. It includes: */
    double multiply_seconds;
    double copy_seconds; /* copying and adding in memory */
    double wait_seconds; /* waiting for messages */
} rung_cluster_prediction;

static inline rung_cluster_prediction rung_cluster_prediction_default(void)
{
    rung_cluster_prediction prediction;
    memset(&prediction, 0, sizeof prediction);
    prediction.size = sizeof prediction;
    return prediction;
}

/* Simulates the schedule of the busiest rank. The only network link that is simulated is the rank's
 * own; messages in flight share it evenly. All other links are assumed to be fast enough. */
RUNG_API rung_status rung_cluster_grid_predict(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                               const rung_cluster_speed *speed, rung_cluster_prediction *prediction);

/* ---- Shares ---------------------------------------------------------------------------- */

typedef enum rung_cluster_operand {
    RUNG_CLUSTER_OPERAND_A = 0,
    RUNG_CLUSTER_OPERAND_B = 1,
    RUNG_CLUSTER_OPERAND_C = 2
} rung_cluster_operand;

/* The share of a rank is the part of an operand that the rank holds before (A, B) or after (C) the
 * multiplication. A share consists of pieces, one after another in memory. A piece is `count`
 * consecutive elements of one block of the whole matrix, in row-major order of the block, beginning
 * with element number `first` of the block. rung_cluster_piece is a plain value: its fields never
 * change. */
typedef struct rung_cluster_piece {
    int64_t row, col, rows, cols; /* the block in the whole matrix */
    int64_t first, count;         /* elements of the block */
    int64_t offset;               /* where the piece begins in the share, in elements */
} rung_cluster_piece;

/* Returns piece `index` of a rank's share of an operand. For an index past the last piece, the call
 * fails with RUNG_STATUS_NOT_FOUND. This example fills a share of A:
 *
 *     rung_cluster_operand a = RUNG_CLUSTER_OPERAND_A;
 *     rung_cluster_piece piece;
 *     for (int64_t i = 0; rung_cluster_share_piece(&problem, &grid, rank, a, i, &piece) == RUNG_OK; i++)
 *         for (int64_t e = 0; e < piece.count; e++)
 *             share[piece.offset + e] = element(piece.row + (piece.first + e) / piece.cols,
 *                                               piece.col + (piece.first + e) % piece.cols); */
RUNG_API rung_status rung_cluster_share_piece(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                              int64_t rank, rung_cluster_operand operand, int64_t index,
                                              rung_cluster_piece *piece);

/* Returns the number of elements of a rank's share; 0 for an idle rank and for invalid
 * arguments. */
RUNG_API int64_t rung_cluster_share_elements(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                             int64_t rank, rung_cluster_operand operand);

/* ---- Distributed matrices -------------------------------------------------------------- */

/* How a matrix is distributed over the ranks of a communicator. */
typedef enum rung_cluster_layout {
    RUNG_CLUSTER_LAYOUT_SHARES = 0, /* shares, see above: no redistribution is needed */
    RUNG_CLUSTER_LAYOUT_CYCLIC = 1, /* block-cyclic, as in ScaLAPACK */
    RUNG_CLUSTER_LAYOUT_BLOCKS = 2  /* split by rows and columns anywhere, any block on any rank */
} rung_cluster_layout;

/* The contents of a ScaLAPACK descriptor. Ranks form a rectangle of process_rows x process_cols;
 * the remaining ranks hold nothing. A rank's memory is column-major. rung_cluster_cyclic is a plain
 * value: its fields never change. */
typedef struct rung_cluster_cyclic {
    int64_t row_block, col_block;   /* MB, NB */
    int64_t row_source, col_source; /* RSRC, CSRC: process row and column of the first block */
    int64_t process_rows, process_cols;
    int     col_major_ranks;        /* not 0: ranks are numbered down the process columns (BLACS "Col") */
    int64_t ld;                     /* LLD: leading dimension of this rank's memory */
    int64_t row_offset, col_offset; /* IA - 1, JA - 1: offset of this submatrix in the distributed matrix */
} rung_cluster_cyclic;

/* Blocks of any sizes. The splits ascend from 0 to the number of rows or columns. `owners` has one
 * rank per block, in row-major order of the blocks. `views` has one view per block of this rank, in
 * the same order, in memory, with any strides. The caller owns the arrays, which must live until
 * the call returns. rung_cluster_blocks is a plain value: its fields never change. */
typedef struct rung_cluster_blocks {
    int64_t            row_parts, col_parts;
    const int64_t     *row_splits, *col_splits; /* row_parts + 1 and col_parts + 1 numbers */
    const int         *owners;
    const rung_matrix *views;
    int64_t            view_count;
} rung_cluster_blocks;

/* A distributed matrix, and this rank's part of it. The comments say which layouts use `data`,
 * `cyclic` and `blocks`. The memory of C must not overlap that of A or B. */
typedef struct rung_cluster_matrix {
    size_t              size; /* set by one of the functions below */
    rung_type           type;
    int64_t             rows, cols; /* size of the whole matrix, as it is stored */
    int                 transposed; /* not 0: the multiplication uses the transpose; not for shares */
    rung_cluster_layout layout;
    void               *data;   /* layouts SHARES and CYCLIC: this rank's memory; only C is written */
    rung_cluster_cyclic cyclic; /* layout CYCLIC */
    rung_cluster_blocks blocks; /* layout BLOCKS */
} rung_cluster_matrix;

/* Returns a matrix distributed as shares. `rows` and `cols` are the sizes of the operand in C = A *
 * B: shares cannot be transposed. `data` is this rank's share. Set rung_cluster_options.grid to the
 * grid of the shares. */
static inline rung_cluster_matrix rung_cluster_matrix_of_shares(rung_type type, int64_t rows, int64_t cols,
                                                                const void *data)
{
    rung_cluster_matrix matrix;
    memset(&matrix, 0, sizeof matrix);
    matrix.size   = sizeof matrix;
    matrix.type   = type;
    matrix.rows   = rows;
    matrix.cols   = cols;
    matrix.layout = RUNG_CLUSTER_LAYOUT_SHARES;
    matrix.data   = (void *)data;
    return matrix;
}

/* Returns the matrix of a ScaLAPACK descriptor {1, context, M, N, MB, NB, RSRC, CSRC, LLD}; the
 * context is ignored. For a submatrix, set rows, cols, cyclic.row_offset and cyclic.col_offset
 * of the result. */
static inline rung_cluster_matrix rung_cluster_matrix_of_scalapack(rung_type type, const int descriptor[9],
                                                                   int64_t process_rows, int64_t process_cols,
                                                                   int col_major_ranks, const void *data)
{
    rung_cluster_matrix matrix = rung_cluster_matrix_of_shares(type, 0, 0, data);
    matrix.layout              = RUNG_CLUSTER_LAYOUT_CYCLIC;
    if (descriptor) {
        matrix.rows              = descriptor[2];
        matrix.cols              = descriptor[3];
        matrix.cyclic.row_block  = descriptor[4];
        matrix.cyclic.col_block  = descriptor[5];
        matrix.cyclic.row_source = descriptor[6];
        matrix.cyclic.col_source = descriptor[7];
        matrix.cyclic.ld         = descriptor[8];
    }
    matrix.cyclic.process_rows    = process_rows;
    matrix.cyclic.process_cols    = process_cols;
    matrix.cyclic.col_major_ranks = col_major_ranks;
    return matrix;
}

/* Returns a matrix of blocks. */
static inline rung_cluster_matrix rung_cluster_matrix_of_blocks(rung_type type, int64_t rows, int64_t cols,
                                                                const rung_cluster_blocks *blocks)
{
    rung_cluster_matrix matrix = rung_cluster_matrix_of_shares(type, rows, cols, NULL);
    matrix.layout              = RUNG_CLUSTER_LAYOUT_BLOCKS;
    if (blocks)
        matrix.blocks = *blocks;
    return matrix;
}

/* ---- Multiplying ------------------------------------------------------------------------ */

/* Computes C = A * B for matrices in memory, dense and row-major. C has the accumulator type. */
typedef rung_status (*rung_cluster_multiply_function)(void *user, rung_matrix a, rung_matrix b, rung_matrix c);

/* All ranks must set the same values, except for context, multiply and multiply_user. */
typedef struct rung_cluster_options {
    size_t                   size;              /* set by rung_cluster_options_default() */
    rung_context            *context;           /* context whose device multiplies; NULL: the default context */
    const rung_cluster_grid *grid;              /* grid of ranks; NULL: selected by rung_cluster_grid_choose() */
    double                   max_idle;          /* fraction of the ranks that may stay idle; default 0.06 */
    int64_t                  memory_bytes;      /* memory limit per rank; 0: unlimited. If the grid needs more, the call
                                                 * fails with RUNG_STATUS_NO_MEMORY */
    double                   timeout_seconds;   /* a rank that does not answer within this time counts as lost; default
                                                 * 300. Ranks answer only between local multiplications: set several
                                                 * times the duration of one local multiplication */
    int64_t                  max_message_bytes; /* longer messages are split; default and maximum 2^30 */
    rung_cluster_multiply_function multiply;    /* local multiplication; NULL: rung_gemm with `context` */
    void                          *multiply_user;
    int64_t                        checked; /* 1: each rank checks the products that it computes, and corrects them
                                                 * or fails with RUNG_STATUS_CORRUPTED, as with
                                                 * rung_multiply_options.checked. Default 0. Not with `multiply`. Messages
                                                 * and the addition of the ranks' products are not checked */
} rung_cluster_options;

static inline rung_cluster_options rung_cluster_options_default(void)
{
    rung_cluster_options options;
    memset(&options, 0, sizeof options);
    options.size              = sizeof options;
    options.max_idle          = 0.06;
    options.timeout_seconds   = 300.0;
    options.max_message_bytes = (int64_t)1 << 30;
    return options;
}

/* What a call did on this rank. The library creates the report; later versions append fields. */
typedef struct rung_cluster_report {
    const rung_cluster_grid *grid;
    int64_t received_bytes, messages; /* received during the multiplication itself: see rung_cluster_cost */
    int64_t redistributed_bytes;      /* bytes received while matrices were redistributed to and from shares */
    double  seconds;                  /* duration of the call. It includes: */
    double  redistribute_seconds;
    double  multiply_seconds;
    double  wait_seconds; /* waiting for other ranks, for any reason */
    int64_t corrected;    /* with `checked`: number of elements of this rank's products that were corrected */
} rung_cluster_report;

#ifdef __cplusplus
}
#endif
#endif /* RUNG_CLUSTER_H */

/* The functions below are in librung-cluster-mpi. Include <mpi.h> before this header. */
#if defined(MPI_VERSION) && !defined(RUNG_CLUSTER_WITH_MPI)
#define RUNG_CLUSTER_WITH_MPI

#ifdef __cplusplus
extern "C" {
#endif

/* Computes C = alpha * A * B + beta * C on all ranks of a communicator. As in rung_gemm, A and B
 * are not read if alpha is 0, and C is not read if beta is 0. The supported types are those of
 * rung_accumulator_type(); C is scaled and rounded on the rank that stores it. If `options` is
 * NULL, the defaults are used.
 *
 * Layouts   Ranks are arranged in a grid that minimizes communication. Matrices that are not shares
 *           are redistributed to shares first, and C is redistributed back.
 * Bits      The same ranks, grid and layouts give the same bits in every run.
 * Memory    A rank needs about rung_cluster_cost.memory_bytes, and memory for redistribution. The
 *           library keeps this memory for the next call, up to about twice as much as one call
 *           needs, and frees it with the communicator.
 * Threads   MPI must be initialized. Only one thread of a process at a time may make calls. The
 *           first call duplicates the communicator. The duplicate is freed with the communicator,
 *           and freeing waits up to timeout_seconds for all ranks.
 * Failures  If one rank fails, all ranks return a failure, and rung_error_text() names the rank.
 *           There are three cases:
 *           - Invalid arguments and insufficient memory are detected before any data is sent. C is
 *             unchanged, and the communicator stays usable.
 *           - If a local multiplication fails, its rank continues to send, so that no rank waits
 *             for it, and all ranks fail at the end. C is undefined, and the communicator stays
 *             usable.
 *           - If MPI fails, or a rank does not answer and therefore counts as lost, the call fails
 *             with RUNG_STATUS_DEVICE_LOST. C is undefined, every later call on the communicator
 *             fails, and the job should end. Only if MPI fails on another rank at the very end of
 *             the call, a rank may succeed; its part of C is then right. The library does not call
 *             MPI_Abort. Messages may still be in flight: if A and B are shares, keep their memory
 *             until the process ends. Other memory may be freed.
 * Report    `report` may be NULL. Otherwise *report receives a report even if the call fails, with
 *           the fields that were known by then. *report is NULL if there is no memory for the
 *           report. Destroy the report with rung_cluster_report_destroy(). */
RUNG_API rung_status rung_cluster_gemm(MPI_Comm comm, double alpha, const rung_cluster_matrix *a,
                                       const rung_cluster_matrix *b, double beta, const rung_cluster_matrix *c,
                                       const rung_cluster_options *options, rung_cluster_report **report);
RUNG_API void        rung_cluster_report_destroy(rung_cluster_report *report);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_CLUSTER_WITH_MPI */
