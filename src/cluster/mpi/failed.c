/* SPDX-License-Identifier: Apache-2.0 */
/* failed.c - see failed.h. A file of its own, since the simulation has the schedule and nothing else. */
#include "cluster/mpi/failed.h"

#include <mpi.h>

rung_status rungi_mpi_failed(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    return rung_error_set(RUNG_STATUS_DEVICE_LOST, "MPI failed: %.*s; end the job", length, text);
}
