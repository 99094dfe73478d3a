/* SPDX-License-Identifier: Apache-2.0 */
/* progress_reporter.c - the thread that calls the caller's progress function. See worker.h. */
#include "outofcore/worker.h"

#include <errno.h>
#include <time.h>

#include "base/error.h"

enum { MAX_WAIT_SECONDS = 1 }; /* of a worker, for one call of the function */

static void *run_reporter(void *user)
{
    rungi_reporter *reporter = user;
    pthread_mutex_lock(&reporter->mutex);
    for (;;) {
        while (reporter->reported_count == reporter->posted_count && !reporter->is_closing)
            pthread_cond_wait(&reporter->changed, &reporter->mutex);
        if (reporter->reported_count == reporter->posted_count || reporter->is_cancelled)
            break;
        rung_outofcore_progress progress = reporter->latest;
        int64_t posted = reporter->posted_count;
        pthread_mutex_unlock(&reporter->mutex);
        bool is_cancelled = reporter->function(reporter->user, &progress) != 0;
        pthread_mutex_lock(&reporter->mutex);
        reporter->reported_count = posted;
        reporter->is_cancelled = is_cancelled;
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
    if (pthread_create(&reporter->thread, NULL, run_reporter, reporter) == 0)
        return RUNG_OK;
    reporter->function = NULL;
    pthread_mutex_destroy(&reporter->mutex);
    pthread_cond_destroy(&reporter->changed);
    return rungi_fail(RUNG_STATUS_NO_MEMORY, "no thread could be started for the progress function");
}

/* Waits until snapshot `number` is reported, or a timeout. The caller holds the mutex. */
static void wait_for_report(rungi_reporter *reporter, int64_t number)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += MAX_WAIT_SECONDS;
    while (reporter->reported_count < number && !reporter->is_cancelled && !reporter->has_timed_out)
        reporter->has_timed_out = pthread_cond_timedwait(&reporter->changed, &reporter->mutex, &end) == ETIMEDOUT ||
                                  reporter->has_timed_out;
}

bool rungi_reporter_post(rungi_reporter *reporter, const rung_outofcore_progress *progress)
{
    if (!reporter->function)
        return true;
    pthread_mutex_lock(&reporter->mutex);
    if (progress->done >= reporter->latest.done) /* threads may post in another order than they counted */
        reporter->latest = *progress;
    int64_t number = ++reporter->posted_count;
    pthread_cond_broadcast(&reporter->changed);
    wait_for_report(reporter, number);
    bool can_continue = !reporter->is_cancelled;
    pthread_mutex_unlock(&reporter->mutex);
    return can_continue;
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
    return !reporter->is_cancelled;
}
