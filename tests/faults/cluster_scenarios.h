/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_scenarios.h - distributed multiplications on two ranks, for cluster_points.c. */
#pragma once

#include <stdbool.h>

#include <mpi.h>

#include "rung/cluster.h"

enum { CLUSTER_RANKS = 2 };

/* A call that both ranks make. Rank `faulty_rank` meets the fault. */
typedef struct cluster_scenario {
    const char *name;
    int faulty_rank;
    rung_status (*run)(MPI_Comm comm, int rank);
    bool (*is_right)(int rank); /* after a run that succeeded */
    bool is_planted;
} cluster_scenario;

extern const cluster_scenario cluster_scenarios[];

/* Opens what a call needs: a context. These calls do not fail. */
void cluster_scenario_open(void);
void cluster_scenario_close(void);

/* Sets this rank's part of C to the value before a call. */
void cluster_scenario_clear_c(void);
bool cluster_scenario_c_is_clear(void);
