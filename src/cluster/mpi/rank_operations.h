/* SPDX-License-Identifier: Apache-2.0 */
/* rank_operations.h - the operations of a rank's schedule on a real machine: memory, multiplication and waiting. */
#pragma once

#include "cluster/mpi/schedule.h"
#include "cluster/mpi/liveness.h"

typedef struct rungi_rank_operations_state {
    rungi_cluster_comm *comm;
    const rung_cluster_options *options;
    rung_type input_type, sum_type;
    double multiply_seconds; /* time spent in multiplications */
    int64_t corrected;       /* elements that were corrected */
} rungi_rank_operations_state;

rungi_rank_operations rungi_rank_operations_of(rungi_rank_operations_state *state, int64_t message_bytes);
