/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_check.h - checks a kernel file on Oclgrind, for kernel_check.h.
 *
 * Runs `rung verify` again as a child process on Oclgrind, a simulator, on a few problems around the tile edges. The
 * check fails if the child used another OpenCL driver. */
#pragma once

#include "verify/kernel_check.h"

/* Checks a kernel, as lab_kernel_check_run(). `seconds` limits the time per problem; 0 means no limit. */
void lab_oclgrind_check_kernel(const rung_kernel *kernel, const char *parameters, const char *dtype, double seconds,
                               lab_kernel_check *check);

/* Converts Oclgrind's log to findings. Public for the tests. */
void lab_oclgrind_check_parse_log(const char *log, const rung_kernel_info *kernel, lab_kernel_check *check);
