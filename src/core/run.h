/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the options that every piece of work takes. */
#ifndef RUNGI_RUN_H
#define RUNGI_RUN_H

#include "rung/rung.h"

/* So that a device can gather a wait list without allocating. */
enum { RUNGI_WAITS_MAX = 64 };

/* Reads and checks the options of work on this queue; NULL gives the defaults. */
rung_status rungi_run_check(const rung_queue *queue, const rung_run_options *given, rung_run_options *options);

#endif /* RUNGI_RUN_H */
