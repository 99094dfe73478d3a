/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_error.h - converts MPI error codes to statuses. */
#pragma once

#include <mpi.h>

#include "base/error.h"

/* Sets the error to MPI's text for `code` and returns RUNG_STATUS_DEVICE_LOST. */
static inline rung_status rungi_mpi_error_set(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    return rungi_fail(RUNG_STATUS_DEVICE_LOST, "MPI failed: %.*s; end the job", length, text);
}
