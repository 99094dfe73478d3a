/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - what a rank's schedule stands on, on a real machine: this process's memory, its multiply, its team. */
#ifndef RUNGI_LOCAL_H
#define RUNGI_LOCAL_H

#include "cluster/mpi/schedule.h"
#include "cluster/mpi/team.h"

typedef struct rungi_machine {
    rungi_team *team;
    const rung_cluster_options *options;
    rung_type in, sum;
    double multiplied; /* seconds */
} rungi_machine;

rungi_local rungi_local_of(rungi_machine *machine, int64_t message_bytes);

#endif /* RUNGI_LOCAL_H */
