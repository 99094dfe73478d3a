/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - the header of lab/verify for the rest of the lab: test cases, how to run one, the error bound, and the
 * exact check of large products. */
#pragma once

#include "cli/options.h"
#include "verify/case_runner.h"
#include "verify/cases.h"
#include "verify/freivalds.h"
#include "verify/oracle.h"
#include "verify/sampled_check.h"

/* Runs `rung verify` and prints the result. Returns the exit code. */
int lab_verify_run(const lab_options *options);
