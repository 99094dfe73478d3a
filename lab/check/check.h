/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - rung check: runs any kernel of a CUDA or PTX file on the emulator under all checks, without a reference. */
#pragma once

#include "cli/options.h"

/* Runs the command on options->argument. Returns an exit code. */
int lab_check_run(const lab_options *options);
