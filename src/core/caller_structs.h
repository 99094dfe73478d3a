/* SPDX-License-Identifier: Apache-2.0 */
/* caller_structs.h - copies the structs of rung.h that callers fill. The caller may use an older or a newer header: see
 * base/versioned_struct.h and docs/internals/decisions/0040-api-growth.md. Inside the library every struct has the size
 * of this version. */
#pragma once

#include "base/versioned_struct.h"

/* Copies a problem, or options, to `copy`. Options may be NULL: the defaults. */
rung_status rungi_problem_read(const rung_problem *given, rung_problem *copy);
rung_status rungi_plan_options_read(const rung_plan_options *given, rung_plan_options *copy);
rung_status rungi_run_options_read(const rung_run_options *given, rung_run_options *copy);
