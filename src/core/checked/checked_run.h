/* SPDX-License-Identifier: Apache-2.0 */
/* checked_run.h - runs of plans whose products are checked (rung_run_options.checked). */
#pragma once

#include "core/plan.h"

/* Runs a plan on a normalized problem that was validated, and checks the product. Fails with RUNG_STATUS_UNSUPPORTED if the
 * host cannot read A and B. options->corrected may be NULL. */
rung_status rungi_plan_run_checked(rung_plan *plan, rung_queue *queue, const rung_problem *normalized,
                                   const rung_run_options *options);
