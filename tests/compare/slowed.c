/* SPDX-License-Identifier: Apache-2.0 */
/* slowed.c - makes a rung that is slower by a known part: linked with --wrap=rung_plan_run, every run of
 * a plan spins for PLANTED_PERCENT (5) per cent of the time it took. On the CPU, where a run is over
 * when the call returns, that is what rung bench must find. With PLANTED_IDLE runs are skipped once the
 * first ones were verified: what remains is right, and faster than anything can be. With PLANTED_CRASH the process
 * aborts when it destroys a context, after its last run. */
#include <stdlib.h>
#include <time.h>

#include "rung/rung.h"

rung_status __real_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options);
rung_status __wrap_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options);

void __real_rung_context_destroy(rung_context *context);
void __wrap_rung_context_destroy(rung_context *context);

void __wrap_rung_context_destroy(rung_context *context)
{
    if (context && getenv("PLANTED_CRASH"))
        abort();
    __real_rung_context_destroy(context);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double injected_percent(void)
{
    static double part = -1;
    const char *text = getenv("PLANTED_PERCENT");
    if (part < 0)
        part = text ? atof(text) / 100 : 0.05;
    return part;
}

rung_status __wrap_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options)
{
    static int runs;
    if (getenv("PLANTED_IDLE") && ++runs > 2)
        return RUNG_OK;
    double started = now();
    rung_status status = __real_rung_plan_run(plan, queue, problem, options);
    double until = now() + injected_percent() * (now() - started);
    while (now() < until)
        ;
    return status;
}
