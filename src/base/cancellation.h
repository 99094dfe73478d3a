/* SPDX-License-Identifier: Apache-2.0 */
/* cancellation.h - prevents pthread_cancel() from ending a thread inside a call of the library.
 *
 * A thread that ends inside a call leaks memory and leaves locks and other libraries' initialisation incomplete. So
 * every public function that may allocate, wait or call other code disables cancellation until it returns. The fast path
 * of rung_multiply() and rung_plan_run() (rungi_plan_can_run_fast()) does not, because the guard would take a noticeable
 * part of a small multiply's time. Code on that path has no cancellation point outside a guard. */
#pragma once

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

/* Declares a guard: until the end of the enclosing block this thread cannot be cancelled. Guards may be nested. */
#define RUNGI_DISABLE_CANCELLATION \
    __attribute__((cleanup(rungi_cancel_restore), unused)) const int rungi_cancel_state = rungi_cancel_disable()
