/* SPDX-License-Identifier: Apache-2.0 */
/* progress_reporter.h - calls the caller's progress function from its own thread, so that a function that blocks, for
 * example on a stopped terminal, does not stall a device. */
#ifndef RUNGI_OUTOFCORE_PROGRESS_REPORTER_H
#define RUNGI_OUTOFCORE_PROGRESS_REPORTER_H

#include <pthread.h>
#include <stdbool.h>

#include "rung/outofcore.h"

typedef struct rungi_reporter {
    rung_outofcore_progress_function function; /* NULL: nothing is called, and there is no thread */
    void *user;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects the members below; not held during a call */
    pthread_cond_t changed;
    rung_outofcore_progress latest;
    int64_t posted_count, reported_count; /* snapshots */
    bool has_timed_out;                   /* one call took too long: workers no longer wait */
    bool is_closing;
    bool is_cancelled; /* the function returned a value other than 0: it is not called again */
} rungi_reporter;

/* Starts the thread, if there is a function. After a failure, rungi_reporter_close() does nothing. */
rung_status rungi_reporter_start(rungi_reporter *reporter, rung_outofcore_progress_function function, void *user);

/* Reports a snapshot. Waits for the call to return, so that the function can stop the multiply at once, but at most for one
 * second; after the first timeout, never again. Snapshots that are posted during a call are combined: the one with the most
 * progress is reported. Returns false if the function wants the multiply to stop. Any thread may call this function. */
bool rungi_reporter_post(rungi_reporter *reporter, const rung_outofcore_progress *progress);

/* Reports the last snapshot, waits for the last call to return and ends the thread. Returns false if the function wants the
 * multiply to stop. */
bool rungi_reporter_close(rungi_reporter *reporter);

#endif /* RUNGI_OUTOFCORE_PROGRESS_REPORTER_H */
