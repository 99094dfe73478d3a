/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h - the types of an MPI that the public headers name, for dumps that are the same with every MPI. */
#ifndef RUNG_ABI_MPI_H
#define RUNG_ABI_MPI_H

#define MPI_VERSION 3

typedef struct rung_abi_mpi_comm *MPI_Comm;

#endif
