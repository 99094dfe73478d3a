/* SPDX-License-Identifier: Apache-2.0 */
/* worker_plans.h - the multiplication of one slice by one panel, and the plans of a worker for it. */
#ifndef RUNGI_OUTOFCORE_WORKER_PLANS_H
#define RUNGI_OUTOFCORE_WORKER_PLANS_H

#include "outofcore/worker.h"

/* Returns the problem that adds slice * panel to the rows of the slice in the block. */
rung_problem rungi_worker_slice_problem(const rungi_worker *worker, const rungi_outofcore_slice *slice);

/* Finds or creates the plan for the shape of `part`. The worker owns the plan and may evict it at the next call. */
rung_status rungi_worker_find_plan(rungi_worker *worker, const rung_problem *part, rung_plan **plan);

/* Creates packed_b if the device can pack panels of B and the packed panel fits in the second panel's memory. */
rung_status rungi_worker_create_packed_b(rungi_worker *worker);

#endif /* RUNGI_OUTOFCORE_WORKER_PLANS_H */
