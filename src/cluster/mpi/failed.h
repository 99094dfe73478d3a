/* SPDX-License-Identifier: Apache-2.0 */
/* failed.h - what MPI says of a failure, as a status. */
#ifndef RUNGI_MPI_FAILED_H
#define RUNGI_MPI_FAILED_H

#include "rung/rung.h"

/* RUNG_STATUS_DEVICE_LOST with MPI's own words. */
rung_status rungi_mpi_failed(int code);

#endif /* RUNGI_MPI_FAILED_H */
