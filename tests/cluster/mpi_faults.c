/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_faults.c - see mpi_faults.h. MPI's own function stays to be had as PMPI_Isend. */
#include "mpi_faults.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int fault_at, fault_sends;

static void read_environment(void)
{
    const char *text = getenv("RUNG_TEST_FAULT");
    int at, culprit, rank = -1;
    if (text && sscanf(text, "%d:%d", &culprit, &at) == 2 && PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS &&
        rank == culprit)
        fault_at = at;
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (fault_sends++ == 0)
        read_environment();
    return fault_sends == fault_at ? MPI_ERR_OTHER : PMPI_Isend(bytes, count, type, to, tag, comm, request);
}
