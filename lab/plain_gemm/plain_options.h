/* SPDX-License-Identifier: Apache-2.0 */
/* plain_options.h - the options of the command line for plain CUDA files. */
#pragma once

#include "cli/options.h"
#include "plain_gemm/launch_options.h"

/* Returns whether a path names a CUDA file that is not written in rung's dialect: the file has a __global__ function. */
bool lab_is_plain_cuda(const char *path);

/* Reads --kernel, --template, --grid, --block, --shared and --args. Returns NULL, or what is wrong. */
const char *lab_plain_options_read(const lab_options *options, lab_launch_options *launch);
