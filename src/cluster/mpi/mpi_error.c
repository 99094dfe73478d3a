/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_error.c - see mpi_error.h. A separate file, because the simulation compiles only the schedule and this file. */
#include "cluster/mpi/mpi_error.h"

#include <mpi.h>

rung_status rungi_mpi_error_set(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    return rung_error_set(RUNG_STATUS_DEVICE_LOST, "MPI failed: %.*s; end the job", length, text);
}
