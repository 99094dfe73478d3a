/* SPDX-License-Identifier: Apache-2.0 */
/* cancelled_thread.h - calls from a thread that was cancelled before, or is at some moment. */
#ifndef RUNG_CANCELLED_THREAD_H
#define RUNG_CANCELLED_THREAD_H

#include "support/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

typedef void cancelled_call_t(void *user);

typedef struct cancelled_thread {
    cancelled_call_t *call;
    void *user;
    bool is_pending; /* the cancellation comes before the call, else at some moment */
    sem_t is_ready, is_cancelled;
    bool has_returned, has_continued;
} cancelled_thread_t;

/* Waits although signals may arrive. */
static inline void cancelled_thread_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue;
}

static inline void *cancelled_thread_main(void *user)
{
    cancelled_thread_t *self = user;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    sem_post(&self->is_ready);
    if (self->is_pending)
        cancelled_thread_wait(&self->is_cancelled);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state); /* is no cancellation point */
    self->call(self->user);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    assert_int_equal(state, PTHREAD_CANCEL_ENABLE); /* the call restored it */
    self->has_returned = true;
    if (!self->is_pending)
        cancelled_thread_wait(&self->is_cancelled);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_testcancel();
    self->has_continued = true;
    return NULL;
}

/* Calls `call` on a thread of its own, which is cancelled before the call (`after_ns` negative) or so many nanoseconds
 * after it began. The call must return, and the thread must end at its next cancellation point. */
static inline void cancelled_thread_call(const char *name, cancelled_call_t *call, void *user, long after_ns)
{
    enum { TIMEOUT_SECONDS = 120 }; /* seconds */
    cancelled_thread_t self = {.call = call, .user = user, .is_pending = after_ns < 0};
    pthread_t thread;
    struct timespec until;
    void *result;
    sem_init(&self.is_ready, 0, 0);
    sem_init(&self.is_cancelled, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, cancelled_thread_main, &self), 0);
    cancelled_thread_wait(&self.is_ready);
    if (after_ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = after_ns}, NULL);
    pthread_cancel(thread);
    sem_post(&self.is_cancelled);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TIMEOUT_SECONDS;
    if (pthread_timedjoin_np(thread, &result, &until) != 0)
        fail_msg("%s: the thread has not ended after %d s", name, TIMEOUT_SECONDS);
    if (!self.has_returned)
        fail_msg("%s: the thread ended inside the call", name);
    assert_true(result == PTHREAD_CANCELED && !self.has_continued);
    sem_destroy(&self.is_ready);
    sem_destroy(&self.is_cancelled);
}

#endif /* RUNG_CANCELLED_THREAD_H */
