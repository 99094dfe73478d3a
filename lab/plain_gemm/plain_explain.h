/* SPDX-License-Identifier: Apache-2.0 */
/* plain_explain.h - rung explain for a plain CUDA file. */
#pragma once

#include "cli/options.h"
#include "explain/explain.h"
#include "plain_gemm/plain_options.h"

/* Explains the kernels of the file that multiply matrices, and prints the result. `request` has the machine and the sizes
 * of the command line. Returns the exit code. */
int lab_plain_explain(const lab_options *options, const lab_plain_file *file, const lab_explain_request *request);
