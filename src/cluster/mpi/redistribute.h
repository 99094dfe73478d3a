/* SPDX-License-Identifier: Apache-2.0 */
/* redistribute.h - copies a matrix from the caller's layout to shares, or from shares to the caller's layout.
 *
 * Each rank packs one message per receiving rank, in an order that both ends know: block by block of the layout, rectangle by
 * rectangle of the partition, row by row. Elements that stay on the rank are copied once. */
#pragma once

#include "cluster/mpi/cluster_layout.h"
#include "cluster/mpi/liveness.h"
#include "cluster/operand_partition.h"

/* Messages to or from each rank: elements, and the first byte of each message. */
typedef struct rungi_redistribution_messages {
    int64_t *elements, *starts;
    int64_t bytes; /* of all messages */
} rungi_redistribution_messages;

typedef struct rungi_redistribution {
    rungi_cluster_comm *comm;
    const rungi_cluster_layout *layout;
    int64_t element_bytes;     /* of a transferred element */
    int64_t max_message_bytes; /* longer messages are split */
    rungi_partition partition;
    rungi_redistribution_messages block_messages; /* elements of this rank's blocks in each other rank's share */
    rungi_redistribution_messages share_messages; /* elements of this rank's share in each other rank's blocks */
    int64_t *chunk_starts;                        /* of this rank's share, in elements */
    int64_t *packed_elements;                     /* scratch: elements packed so far, per rank */
    MPI_Request *requests;                        /* of the messages in flight */
    int *peers;
    int64_t received_bytes; /* for the report */
} rungi_redistribution;

/* Counts the messages and allocates all memory except for the elements, so that ranks can agree that each has enough before
 * any message is sent. The members comm, layout, element_bytes and max_message_bytes must be set. */
rung_status rungi_redistribution_open(rungi_redistribution *redistribution, const rung_cluster_problem *cluster,
                                      const rung_cluster_grid *grid, rung_cluster_operand operand);
void rungi_redistribution_close(rungi_redistribution *redistribution);

/* Copies from the layout to this rank's share. send_buffer has block_messages.bytes, receive_buffer share_messages.bytes. */
rung_status rungi_redistribution_to_shares(rungi_redistribution *redistribution, char *send_buffer,
                                           char *receive_buffer, char *share);

/* Copies this rank's share of sums to the layout: C = alpha * sums + beta * C. send_buffer has share_messages.bytes,
 * receive_buffer block_messages.bytes. */
typedef struct rungi_scaling {
    rung_type sum;
    double alpha, beta;
} rungi_scaling;

rung_status rungi_redistribution_from_shares(rungi_redistribution *redistribution, char *send_buffer,
                                             char *receive_buffer, const char *share, rungi_scaling scaling);
