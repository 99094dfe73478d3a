/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - RUNG_VERBOSE=1: logs one line per multiply, with the command that runs the same multiply again. */
#ifndef RUNGI_TRACE_H
#define RUNGI_TRACE_H

#include "core/plan_types.h"

/* Runs the plan on a normalized problem and records a line about the problem as it was given. The line is logged when its
 * time is known. The options are validated. */
rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                            const rung_problem *normalized, rungi_gemm_sizes sizes, const rung_run_options *options);

/* Logs and frees all entries of a queue whose work is complete. */
void rungi_trace_flush(rung_queue *queue);

#endif /* RUNGI_TRACE_H */
