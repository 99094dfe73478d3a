/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_error.h - converts MPI error codes to statuses. */
#ifndef RUNGI_CLUSTER_MPI_ERROR_H
#define RUNGI_CLUSTER_MPI_ERROR_H

#include "rung/rung.h"

/* Sets the error to MPI's text for `code` and returns RUNG_STATUS_DEVICE_LOST. */
rung_status rungi_mpi_error_set(int code);

#endif /* RUNGI_CLUSTER_MPI_ERROR_H */
