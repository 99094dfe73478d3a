/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - one rank's part of a multiply: gathering, multiplying and adding up, each behind the other.
 *
 * It sees operands only as shares.h deals them, one dense range of elements a chunk; layout.c brings a caller's
 * matrices there and back. What it multiplies with, where its memory comes from and how it waits are functions it is
 * given: on a machine those of local.c, in a simulation some that cost what the machine would. */
#ifndef RUNGI_SCHEDULE_H
#define RUNGI_SCHEDULE_H

#include <mpi.h>
#include <stdbool.h>

#include "cluster/shares.h"

/* What a rank's work stands on. */
typedef struct rungi_local {
    void *user;
    /* C = A B, all dense and row-major, of the product's types; C in that of its sums. */
    rung_status (*multiply)(void *user, int64_t rows, int64_t cols, int64_t depth, const void *a, const void *b,
                            void *c);
    /* target += source. */
    void (*add)(void *user, int64_t elements, const void *source, void *target);
    void (*copy)(void *user, int64_t bytes, const void *source, void *target);
    /* NULL if there is none; memory of 0 bytes may be NULL too. */
    void *(*allocate)(void *user, int64_t bytes);
    void (*release)(void *user, void *memory);
    /* Where byte `offset` of it is. A simulation has little memory, and all of it everywhere. */
    char *(*at)(void *user, void *memory, int64_t offset);
    /* Until all are done, or one fails, or none has been for too long; `ranks` are those that they are from or to. */
    rung_status (*wait)(void *user, int64_t count, MPI_Request *requests, const int *ranks);
    int64_t message_bytes; /* what is longer goes as several: MPI counts in int */
} rungi_local;

/* What was sent to this rank. */
typedef struct rungi_traffic {
    int64_t bytes, messages;
} rungi_traffic;

typedef struct rungi_work rungi_work; /* what a job works in */

typedef struct rungi_duty {
    MPI_Comm comm; /* the library's own */
    int64_t rank;
    const rung_cluster_problem *cluster;
    const rung_cluster_grid *grid;
    const rungi_local *local;
    /* This rank's shares, of one chunk behind the other: sm of A, sn of B, sm * sn of C (row by row of blocks). */
    void *a, *b, *c;
    rungi_traffic traffic; /* for the caller */
    rungi_work *work;
} rungi_duty;

/* How many elements this rank has of each. */
int64_t rungi_share_a(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank);
int64_t rungi_share_b(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank);
int64_t rungi_share_c(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank);

/* All the memory that running takes, so that ranks can agree that each has it before one sends. */
rung_status rungi_duty_prepare(rungi_duty *job);

/* Every rank of the grid calls it; the others have nothing to do. C's share is the sums; alpha, beta and C's type are
 * the caller's. All ranks add in the same order: the same bits each time. A rank that cannot multiply goes on
 * sending, so that no other waits for it in vain, and fails at the end. */
rung_status rungi_duty_run(rungi_duty *job);

/* Whether a run ended with messages unsent or under way. */
bool rungi_duty_is_broken(const rungi_duty *duty);

/* After a failed run, what may still be on its way keeps its memory. */
void rungi_duty_free(rungi_duty *job);

#endif /* RUNGI_SCHEDULE_H */
