/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - validates the options of copies and runs (queue.c). */
#ifndef RUNGI_RUN_OPTIONS_H
#define RUNGI_RUN_OPTIONS_H

#include "rung/rung.h"

enum { RUNGI_WAIT_EVENTS_MAX = 64 }; /* a bound, so that devices need no allocation for a wait list */

/* Copies and validates the options of work on this queue. NULL selects the defaults. */
rung_status rungi_run_options_check(const rung_queue *queue, const rung_run_options *given, rung_run_options *options);

/* Checks a number of threads that a caller requests. `automatic` is what 0 selects, for the message. */
rung_status rungi_threads_check(int64_t threads, const char *automatic);

#endif /* RUNGI_RUN_OPTIONS_H */
