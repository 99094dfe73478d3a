/* SPDX-License-Identifier: Apache-2.0 */
/* threaded_kernel.h - a kernel of the tests' own for the CPU, which is cut between threads and works in
 * scratch, whatever those of the ladder do. */
#ifndef RUNG_UNIT_THREADED_H
#define RUNG_UNIT_THREADED_H

#include "core/kernel.h"
#include "cpu/kernels/cpu_kernels.h"
#include "support/unit.h"

enum { THREADED_SCRATCH = 300000, THREADED_GRAIN_M = 6, THREADED_GRAIN_N = 16 };

/* How many threads have run it since the last change of the round. */
static atomic_int threaded_round, threaded_thread_count;

static inline void threaded_run(const rungi_cpu_job *job)
{
    static _Thread_local int round = -1;
    if (round != atomic_load(&threaded_round)) {
        round = atomic_load(&threaded_round);
        atomic_fetch_add(&threaded_thread_count, 1);
    }
    memset(job->scratch, 0x11, THREADED_SCRATCH); /* not there, or somebody else's: a crash, a race */
    rungi_cpu_01_naive.run(job);
}

static inline void threaded_begin_round(void)
{
    atomic_fetch_add(&threaded_round, 1);
    atomic_store(&threaded_thread_count, 0);
}

static inline rung_status threaded_configure(const rungi_cpu_job *job, rung_compute compute,
                                             rungi_cpu_kernel_config *config)
{
    (void)job;
    (void)compute;
    config->scratch = THREADED_SCRATCH;
    config->grain_m = THREADED_GRAIN_M;
    config->grain_n = THREADED_GRAIN_N;
    return RUNG_OK;
}

static const rungi_cpu_kernel threaded_table = {
    .run = threaded_run, .configure = threaded_configure, .is_threaded = true};

typedef struct threaded {
    rung_kernel kernel; /* for rung_plan_options, as long as the context lives */
    rungi_ladder_step step;
} threaded_t;

/* False if there is no ladder. */
static inline bool threaded_make(rung_context *context, threaded_t *made)
{
    rung_kernel *naive;
    if (rung_kernel_find(context, "cpu", "1", &naive) != RUNG_OK)
        return false;
    made->kernel = *naive;
    made->step = *naive->step;
    made->step.function = &threaded_table;
    made->kernel.step = &made->step;
    made->kernel.info.name = "threaded";
    return true;
}

#endif /* RUNG_UNIT_THREADED_H */
