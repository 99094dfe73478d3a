/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h. */
#include "outofcore/progress.h"

#include <errno.h>
#include <time.h>

enum { WAIT_SECONDS = 1 }; /* of a worker for one call */

static void *report(void *user)
{
    rungi_reporter *reporter = user;
    pthread_mutex_lock(&reporter->mutex);
    for (;;) {
        while (reporter->reported == reporter->posted && !reporter->is_closing)
            pthread_cond_wait(&reporter->changed, &reporter->mutex);
        if (reporter->reported == reporter->posted || reporter->stops)
            break;
        rung_outofcore_progress progress = reporter->latest;
        int64_t posted = reporter->posted;
        pthread_mutex_unlock(&reporter->mutex);
        int stops = reporter->function(reporter->user, &progress);
        pthread_mutex_lock(&reporter->mutex);
        reporter->reported = posted;
        reporter->stops = stops != 0;
        pthread_cond_broadcast(&reporter->changed);
    }
    pthread_mutex_unlock(&reporter->mutex);
    return NULL;
}

rung_status rungi_reporter_start(rungi_reporter *reporter, rung_outofcore_progress_function function, void *user)
{
    pthread_condattr_t monotonic;
    *reporter = (rungi_reporter){.user = user};
    if (!function)
        return RUNG_OK;
    pthread_mutex_init(&reporter->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&reporter->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    reporter->function = function;
    if (pthread_create(&reporter->thread, NULL, report, reporter) == 0)
        return RUNG_OK;
    reporter->function = NULL;
    pthread_mutex_destroy(&reporter->mutex);
    pthread_cond_destroy(&reporter->changed);
    return rung_error_set(RUNG_STATUS_NO_MEMORY, "no thread could be started for the progress function");
}

/* With the mutex: waits until snapshot number `ticket` is reported. */
static void wait_for_report(rungi_reporter *reporter, int64_t ticket)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAIT_SECONDS;
    while (reporter->reported < ticket && !reporter->stops && !reporter->is_late)
        reporter->is_late = pthread_cond_timedwait(&reporter->changed, &reporter->mutex, &end) == ETIMEDOUT ||
                            reporter->is_late;
}

bool rungi_reporter_post(rungi_reporter *reporter, const rung_outofcore_progress *progress)
{
    if (!reporter->function)
        return true;
    pthread_mutex_lock(&reporter->mutex);
    if (progress->done >= reporter->latest.done) /* threads may come in another order than they counted in */
        reporter->latest = *progress;
    int64_t ticket = ++reporter->posted;
    pthread_cond_broadcast(&reporter->changed);
    wait_for_report(reporter, ticket);
    bool goes_on = !reporter->stops;
    pthread_mutex_unlock(&reporter->mutex);
    return goes_on;
}

bool rungi_reporter_close(rungi_reporter *reporter)
{
    if (!reporter->function)
        return true;
    pthread_mutex_lock(&reporter->mutex);
    reporter->is_closing = true;
    pthread_cond_broadcast(&reporter->changed);
    pthread_mutex_unlock(&reporter->mutex);
    pthread_join(reporter->thread, NULL);
    pthread_mutex_destroy(&reporter->mutex);
    pthread_cond_destroy(&reporter->changed);
    reporter->function = NULL;
    return !reporter->stops;
}
