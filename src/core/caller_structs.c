/* SPDX-License-Identifier: Apache-2.0 */
/* caller_structs.c - see caller_structs.h. */
#include "core/caller_structs.h"

rung_status rungi_problem_read(const rung_problem *given, rung_problem *copy)
{
    return rungi_versioned_struct_read(given, copy, sizeof *copy, "rung_problem", "rung_problem_of");
}

rung_status rungi_plan_options_read(const rung_plan_options *given, rung_plan_options *copy)
{
    return rungi_versioned_options_read(given, copy, sizeof *copy, "rung_plan_options", "rung_plan_options_default");
}

rung_status rungi_run_options_read(const rung_run_options *given, rung_run_options *copy)
{
    return rungi_versioned_options_read(given, copy, sizeof *copy, "rung_run_options", "rung_run_options_default");
}
