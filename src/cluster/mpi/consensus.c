/* SPDX-License-Identifier: Apache-2.0 */
/* consensus.c - all ranks send their status to rank 0, which sends the common result back.
 *
 * A star instead of a tree: rank 0 then knows which rank has not reported and can name it. The memory belongs to the state of the
 * communicator: ranks can agree that one of them has no memory. */
#include <stdio.h>

#include "base/try.h"
#include "cluster/mpi/liveness.h"
#include "cluster/mpi/mpi_error.h"

enum { TAG_REPORT = 11, TAG_DECISION };

/* Returns the status of the lowest rank that failed or has another fingerprint, or success. Runs on rank 0. */
static rungi_cluster_rank_status decide(const rungi_cluster_rank_status *reports, int ranks)
{
    for (int i = 0; i < ranks; i++)
        if (reports[i].status != RUNG_OK)
            return reports[i];
    for (int i = 1; i < ranks; i++)
        if (reports[i].fingerprint != reports[0].fingerprint)
            return (rungi_cluster_rank_status){
                .status = RUNG_STATUS_INVALID,
                .rank = i,
                .text =
                    "its matrices, scalars or options are not those of rank 0; all ranks describe the same multiply"};
    return reports[0];
}

/* Sends the status of rank 0 to all other ranks, or receives the status of each. */
static rung_status exchange_status(rungi_cluster_comm *comm, bool is_in)
{
    rungi_cluster_rank_status *statuses = comm->statuses;
    int code = MPI_SUCCESS;
    for (int i = 1; i < comm->ranks && code == MPI_SUCCESS; i++) {
        MPI_Request *request = &comm->requests[i - 1];
        comm->peers[i - 1] = i;
        code = is_in ? MPI_Irecv(&statuses[i], sizeof *statuses, MPI_BYTE, i, TAG_REPORT, comm->data_comm, request)
                     : MPI_Isend(statuses, sizeof *statuses, MPI_BYTE, i, TAG_DECISION, comm->data_comm, request);
    }
    return code == MPI_SUCCESS ? rungi_cluster_comm_wait(comm, comm->ranks - 1, comm->requests, comm->peers)
                               : rungi_cluster_comm_break(comm, rungi_mpi_error_set(code));
}

/* Receives all statuses and sends the decision. */
static rung_status run_root(rungi_cluster_comm *comm, rungi_cluster_rank_status *rank_status)
{
    comm->statuses[0] = *rank_status;
    TRY(exchange_status(comm, true));
    *rank_status = comm->statuses[0] = decide(comm->statuses, comm->ranks);
    return exchange_status(comm, false);
}

static rung_status run_other(rungi_cluster_comm *comm, rungi_cluster_rank_status *rank_status)
{
    rungi_cluster_rank_status *statuses = comm->statuses;
    MPI_Request *requests = comm->requests;
    statuses[0] = *rank_status;
    comm->peers[0] = comm->peers[1] = 0;
    int code = MPI_Irecv(&statuses[1], sizeof *statuses, MPI_BYTE, 0, TAG_DECISION, comm->data_comm, &requests[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(&statuses[0], sizeof *statuses, MPI_BYTE, 0, TAG_REPORT, comm->data_comm, &requests[1]);
    if (code != MPI_SUCCESS)
        return rungi_cluster_comm_break(comm, rungi_mpi_error_set(code));
    TRY(rungi_cluster_comm_wait(comm, 2, requests, comm->peers));
    *rank_status = statuses[1];
    return RUNG_OK;
}

rung_status rungi_cluster_comm_agree(rungi_cluster_comm *comm, rung_status status, uint64_t fingerprint)
{
    rungi_cluster_rank_status rank_status = {.status = status, .rank = comm->rank, .fingerprint = fingerprint};
    if (status != RUNG_OK)
        snprintf(rank_status.text, sizeof rank_status.text, "%s", rung_error_text());
    TRY(comm->rank == 0 ? run_root(comm, &rank_status) : run_other(comm, &rank_status));
    if (rank_status.status == RUNG_OK)
        return RUNG_OK;
    return rungi_fail((rung_status)rank_status.status, "rank %lld: %s", (long long)rank_status.rank, rank_status.text);
}
