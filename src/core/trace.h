/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - RUNG_VERBOSE: a line for each multiply, with the command that does it
 * again. */
#ifndef RUNGI_TRACE_H
#define RUNGI_TRACE_H

#include "core/plan.h"

/* Runs the plan on the problem as it was `given`, settled to be run, and notes a
 * line, to be told once its time is known. Options are checked ones. */
rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given, const rung_problem *settled,
                            rungi_sizes sizes, const rung_run_options *options);

/* Tells and forgets the lines of a queue whose work is done. */
void rungi_trace_tell(rung_queue *queue);

#endif /* RUNGI_TRACE_H */
