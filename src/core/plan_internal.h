/* SPDX-License-Identifier: Apache-2.0 */
/* plan_internal.h - what plan.c, plan_run.c and plan_pack.c share. No other file includes it. */
#ifndef RUNGI_PLAN_INTERNAL_H
#define RUNGI_PLAN_INTERNAL_H

#include "core/plan_types.h"

/* Returns the rungi_alignment bits of a normalized problem. */
unsigned rungi_plan_alignment_of(const rung_problem *normalized);

/* Checks that the plan's device can access the memory of an operand. */
rung_status rungi_plan_check_view(const rung_plan *plan, const char *name, const rung_matrix *view);

/* Checks that the buffer can hold the plan's packed B. */
rung_status rungi_plan_check_packed_buffer(const rung_plan *plan, const rung_buffer *packed);

#endif /* RUNGI_PLAN_INTERNAL_H */
