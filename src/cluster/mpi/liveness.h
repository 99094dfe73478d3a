/* SPDX-License-Identifier: Apache-2.0 */
/* liveness.h - the library's state of a communicator: waits with a timeout, detects lost ranks, agrees on failures, and
 * caches memory for the next call.
 *
 * MPI does not report that a rank has died, and its collectives wait forever. The library therefore uses point-to-point
 * messages and limits every wait: a rank that waits too long sends probes. Ranks that wait or are about to multiply reply; a
 * rank that does not reply is lost. The rank that detects this notifies all others, which stop waiting. */
#pragma once

#include <stdbool.h>

#include <mpi.h>

#include "rung/cluster.h"

enum { RUNGI_CLUSTER_MAX_CACHED_BUFFERS = 32 };

/* Memory that is cached for the next call. */
typedef struct rungi_cluster_cached_buffer {
    void *memory;
    int64_t bytes;
    bool is_used;
} rungi_cluster_cached_buffer;

/* Status that one rank sends about itself or another rank. */
typedef struct rungi_cluster_rank_status {
    int64_t status;
    int64_t rank;
    uint64_t fingerprint; /* of the arguments of the call */
    char text[488];
} rungi_cluster_rank_status;

typedef struct rungi_cluster_comm {
    MPI_Comm data_comm, control_comm; /* for data; for probes and failures */
    int rank, ranks;
    double timeout_seconds;            /* of the current call */
    double wait_seconds;               /* in the current call */
    bool is_broken;                    /* messages may be in flight that nobody waits for: unusable from now on */
    rungi_cluster_rank_status failure; /* why it is broken */
    int64_t pending_probes;            /* probes without a reply */
    rungi_cluster_cached_buffer cached_buffers[RUNGI_CLUSTER_MAX_CACHED_BUFFERS];
    int own_vote, lowest_vote; /* while the state is created */
    /* For consensus.c, in the memory of this struct: once a communicator exists, agreeing needs no more memory. */
    MPI_Request *requests;
    int *peers;
    char *probe_states;                   /* one per rank */
    rungi_cluster_rank_status statuses[]; /* rank 0: one per rank; other ranks: their own and the decision */
} rungi_cluster_comm;

/* Returns the state of a communicator. The first call creates it, on all ranks together. If a rank has no memory for it, the
 * call fails on all ranks, and the next call creates it again. After other failures the state stays, broken: MPI may still
 * write to it. */
rung_status rungi_cluster_comm_get(MPI_Comm mpi_comm, double timeout_seconds, rungi_cluster_comm **comm);

/* Waits until all requests are complete (then MPI_REQUEST_NULL), one fails, or a rank is lost. ranks[i] is the peer of
 * request i. A failure breaks the communicator. */
rung_status rungi_cluster_comm_wait(rungi_cluster_comm *comm, int64_t count, MPI_Request *requests, const int *ranks);

/* Replies to probes and receives failures. Call this function before work that takes a while. */
void rungi_cluster_comm_poll(rungi_cluster_comm *comm);

/* Returns the failure that broke the communicator, or RUNG_OK. */
rung_status rungi_cluster_comm_status(const rungi_cluster_comm *comm);

/* Breaks the communicator and sends the failure to all other ranks. Returns `status`. */
rung_status rungi_cluster_comm_break(rungi_cluster_comm *comm, rung_status status);

/* Collects the status of all ranks. If one failed, or has another fingerprint, all ranks fail with a message that names the
 * rank. No other message may be in flight. (consensus.c) */
rung_status rungi_cluster_comm_agree(rungi_cluster_comm *comm, rung_status status, uint64_t fingerprint);

/* Returns cached or new memory, aligned to 64 bytes; NULL if there is none. */
void *rungi_cluster_comm_allocate(rungi_cluster_comm *comm, int64_t bytes);
void rungi_cluster_comm_release(rungi_cluster_comm *comm, void *memory);

/* Returns seconds of the monotonic clock. */
double rungi_cluster_now_seconds(void);
