/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped_mpi.c - functions of MPI that fail when they are told to, in the program cluster_points. MPI's own functions are those with
 * the prefix PMPI. not_wrapped.txt lists the others that librung-cluster-mpi calls. */
#include "fault_calls.h"

#include <mpi.h>

#define CALLER __builtin_return_address(0)

#define WRAP(name, parameters, arguments)                                                    \
    int name parameters                                                                      \
    {                                                                                        \
        return fault_hits(FAULT_DRIVERS, #name, CALLER) ? MPI_ERR_OTHER : P##name arguments; \
    }

WRAP(MPI_Comm_create_keyval,
     (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *delete, int *key, void *extra),
     (copy, delete, key, extra))
WRAP(MPI_Comm_free, (MPI_Comm * comm), (comm))
WRAP(MPI_Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found), (comm, key, value, found))
WRAP(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *copy, MPI_Request *request), (comm, copy, request))
WRAP(MPI_Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
WRAP(MPI_Comm_set_attr, (MPI_Comm comm, int key, void *value), (comm, key, value))
WRAP(MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
WRAP(MPI_Comm_size, (MPI_Comm comm, int *ranks), (comm, ranks))
WRAP(MPI_Iallreduce,
     (const void *own, void *all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm, MPI_Request *request),
     (own, all, count, type, operation, comm, request))
WRAP(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
WRAP(MPI_Irecv, (void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
     (bytes, count, type, from, tag, comm, request))
WRAP(MPI_Isend, (const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
     (bytes, count, type, to, tag, comm, request))

/* How often a rank tests depends on time. The test that completes a request is a point: there are as many as requests. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    int code = PMPI_Test(request, done, status);
    return code == MPI_SUCCESS && *done && fault_hits(FAULT_DRIVERS, "MPI_Test", CALLER) ? MPI_ERR_OTHER : code;
}
