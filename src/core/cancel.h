/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.h - keeps pthread_cancel from ending a thread inside a call of the library.
 *
 * A thread that ends inside a call leaks what the call has allocated, and leaves locks and other
 * libraries' initialisation in a state that nobody completes. So every public function that may
 * allocate, wait or call other code disables cancellation until it returns. The short path of
 * rung_multiply and rung_plan_run (rungi_plan_sees_through) does not: the guard would take a noticeable
 * part of a small multiply's time. Code on that path has no cancellation point outside a guard. */
#ifndef RUNGI_CANCEL_H
#define RUNGI_CANCEL_H

#include <pthread.h>

static inline int rungi_cancel_disable(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void rungi_cancel_restore(const int *state)
{
    pthread_setcancelstate(*state, NULL);
}

/* A declaration: until the end of the enclosing block this thread cannot be cancelled. Guards nest. */
#define RUNGI_DISABLE_CANCELLATION \
    __attribute__((cleanup(rungi_cancel_restore), unused)) const int rungi_cancel_state = rungi_cancel_disable()

#endif /* RUNGI_CANCEL_H */
