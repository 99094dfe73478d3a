/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - one rank's part of a multiply: gathers, multiplications and reductions, overlapped.
 *
 * The schedule uses operands as shares (grid.h), one dense range of elements per chunk. redistribute.c converts a caller's
 * matrices to shares and back. The functions for multiplying, memory and waiting are parameters: rank_operations.c has those
 * of a real machine, tools/simulate those of a simulated one. */
#pragma once

#include <mpi.h>

#include "cluster/operand_partition.h"

/* Operations of a rank. */
typedef struct rungi_rank_operations {
    void *user;
    /* Computes C = A * B, all dense and row-major; C has the accumulator type. */
    rung_status (*multiply)(void *user, int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b,
                            void *c);
    /* target += source. */
    void (*add)(void *user, int64_t elements, const void *source, void *target);
    void (*copy)(void *user, int64_t bytes, const void *source, void *target);
    /* Returns NULL if there is no memory; for 0 bytes it may return NULL too. */
    void *(*allocate)(void *user, int64_t bytes);
    void (*release)(void *user, void *memory);
    /* Returns the address of byte `offset`. In a simulation, all memory shares a few bytes. */
    char *(*address)(void *user, void *memory, int64_t offset);
    /* Waits until all requests are complete, one fails, or a rank is lost. ranks[i] is the peer of request i. */
    rung_status (*wait)(void *user, int64_t count, MPI_Request *requests, const int *ranks);
    int64_t message_bytes; /* longer messages are split: MPI counts in int */
} rungi_rank_operations;

/* Messages received by this rank. */
typedef struct rungi_traffic {
    int64_t bytes, messages;
} rungi_traffic;

typedef struct rungi_schedule_state rungi_schedule_state; /* memory and messages in flight */

typedef struct rungi_schedule {
    MPI_Comm comm; /* the library's duplicate */
    int64_t rank;
    const rung_cluster_problem *cluster;
    const rung_cluster_grid *grid;
    const rungi_rank_operations *operations;
    /* This rank's shares, chunk after chunk: a_chunks of A, b_chunks of B, a_chunks * b_chunks of C (row by row). */
    void *a, *b, *c;
    rungi_traffic traffic; /* for the caller */
    rungi_schedule_state *state;
} rungi_schedule;

/* Allocates all memory of a run, so that ranks can agree that each has enough before any message is sent. */
rung_status rungi_schedule_prepare(rungi_schedule *schedule);

/* Runs the schedule. Every rank of the grid must call this function; on idle ranks it does nothing. The share of C receives
 * sums; the caller applies alpha, beta and C's type. Sums are added in a fixed order, so results are reproducible. A rank
 * whose multiplication fails continues to send, so that no other rank waits for it, and fails at the end. */
rung_status rungi_schedule_run(rungi_schedule *schedule);

/* Returns whether a run ended with messages unsent or in flight. */
bool rungi_schedule_is_broken(const rungi_schedule *schedule);

/* Frees the state. After a broken run the memory is leaked: MPI may still write to it. */
void rungi_schedule_free(rungi_schedule *schedule);
