/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - calls the caller's progress function from a thread of its own, so that a function that blocks, as on a
 * terminal that takes no more text, stalls no device. */
#ifndef RUNGI_OUTOFCORE_PROGRESS_H
#define RUNGI_OUTOFCORE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

#include "rung/outofcore.h"

typedef struct rungi_reporter {
    rung_outofcore_progress_function function; /* NULL: nobody is called, and there is no thread */
    void *user;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below; not held during a call */
    pthread_cond_t changed;
    rung_outofcore_progress latest;
    int64_t posted, reported; /* snapshots */
    bool is_late;             /* a call took longer than workers wait: they wait no more */
    bool is_closing;
    bool stops; /* the function returned a value other than 0: it is not called again */
} rungi_reporter;

/* Starts the thread, if there is a function. After a failure, rungi_reporter_close() does nothing. */
rung_status rungi_reporter_start(rungi_reporter *reporter, rung_outofcore_progress_function function, void *user);

/* Reports a snapshot. Waits for the call to return, so that a call that stops the multiply does so at once, but at most for
 * a second, and no more after that happened once. Snapshots that are posted during a call are reported together, as the
 * furthest of them. Returns false if the function wants the multiply to stop. Any thread may call this. */
bool rungi_reporter_post(rungi_reporter *reporter, const rung_outofcore_progress *progress);

/* Reports what is posted, waits for the last call to return and ends the thread. Returns false if the function wants the
 * multiply to stop. */
bool rungi_reporter_close(rungi_reporter *reporter);

#endif /* RUNGI_OUTOFCORE_PROGRESS_H */
