/* SPDX-License-Identifier: Apache-2.0 */
/* plain_verify.h - rung verify for a plain CUDA file: every kernel that multiplies matrices, on the emulator. */
#pragma once

#include "plain_gemm/plain_options.h"

/* Verifies the kernels of the file, and prints the result. Returns the exit code. */
int lab_plain_verify(const lab_options *options, const lab_plain_file *file);
